"""Mistakes in a command's settings, each as one line with what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ark.cli.help import CONFIGS, groups
from ark.errors import UserError, unknown


def composition_error(error: Exception, overrides: Sequence[str]) -> UserError:
    """What is wrong with a command that Hydra refuses."""
    text = first_line(error)
    if not text.startswith("Could not override"):
        return UserError(f"cannot compose the configuration: {text}")
    key = text.split("'")[1]
    group, _, field = key.partition(".")
    if field and _fields(group, _choice(overrides).get(group)):
        return _no_field(group, field, _choice(overrides)[group])
    known = _settings()
    if key in known:  # a key below it was given, which the line does not show
        return UserError(f"{key} has no fields of that name: {key}={{name: value}} sets it whole")
    if inside := [f"{group}.{key}" for group in groups() if _having(group, key)]:
        return UserError(f"unknown setting {key!r}; did you mean {' or '.join(inside)}?")
    return UserError(unknown("setting", key, known))


def check_ablation(overrides: Sequence[str]) -> None:
    """Raises UserError where an ablation takes away what the method does not have."""
    chosen = _choice(overrides)
    name, method = chosen["ablation"], chosen["method"]
    if name not in groups()["ablation"] or method not in groups()["method"]:
        return  # composing says so
    if any(text.lstrip("+").startswith("method.target=") for text in overrides):
        return  # a class of the user's, which has what it has
    lacks = [f for f in _fields("ablation", name) if f not in _fields("method", method)]
    if lacks:
        raise UserError(
            f"ablation={name} sets method.{lacks[0]}, which method={method} has not; it is for "
            f"method={'|'.join(_having('method', lacks[0]))}"
        )


def _no_field(group: str, field: str, choice: str) -> UserError:
    own, have = _fields(group, choice), _having(group, field)
    key = f"{group}.{field}"
    if key in own:  # as in _settings: a key below it was given
        return UserError(f"{key} has no fields of that name: {key}={{name: value}} sets it whole")
    if not have:
        return UserError(unknown("setting", key, [f"{group}.{name}" for name in own]))
    return UserError(
        f"{key} is no setting of {group}={choice}; {group}={'|'.join(have)} "
        f"{'has' if len(have) == 1 else 'have'} it"
    )


def _having(group: str, field: str) -> list[str]:
    """The choices of a group that have a field."""
    return [choice for choice in groups()[group] if field in _fields(group, choice)]


def _fields(group: str, choice: str | None) -> list[str]:
    """The settings of a choice, with those of the files that it starts from; none of ``preset``,
    whose files set what other groups have.
    """
    if choice not in groups().get(group, ()) or group == "preset":
        return []
    from omegaconf import OmegaConf

    loaded: Any = OmegaConf.load(CONFIGS / group / f"{choice}.yaml") or {}
    before = [other for other in loaded.get("defaults", ()) if other != "_self_"]
    own = [str(name) for name in loaded if name != "defaults"]
    return list(dict.fromkeys([*own, *(f for other in before for f in _fields(group, other))]))


def _settings() -> list[str]:
    from omegaconf import OmegaConf

    defaults: Any = OmegaConf.load(CONFIGS / "config.yaml")
    return [str(k) for k in defaults if k != "defaults"] + list(groups())


def _choice(overrides: Sequence[str]) -> dict[str, str]:
    """The file of each group: the user's word, else the default."""
    from omegaconf import OmegaConf

    defaults: Any = OmegaConf.load(CONFIGS / "config.yaml").defaults
    usual = {k: v for d in defaults if not isinstance(d, str) for k, v in d.items()}
    return usual | {k: v for k, _, v in (text.partition("=") for text in overrides)}


def first_line(error: Exception) -> str:
    """Of what an error says; its name where it says nothing."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
