"""From a command line to plain records: Hydra's compose API, and every mistake as one line.

Hydra's config groups and override grammar are used, not ``@hydra.main``: error lines, exit codes
and output folders are ours. Only this package knows Hydra.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ark.agent import Fusion
from ark.backbone.reliable import Retries
from ark.cli.help import CONFIGS, groups
from ark.cli.mistakes import composition_error, first_line
from ark.errors import UserError, unknown
from ark.run.jobs import Job, check_n_jobs
from ark.run.locate import record
from ark.run.spec import AgentLimits, CellSpec, GraphSpec, Limits, PluginSpec, Transport
from ark.run.values import check_value
from ark.search import SearchSettings
from ark.search.choose import kind_of

SPEAK_OF_OTHERS = {"ablation", "preset"}  # groups whose files set fields of other groups
LISTED = ("budget", "sweep_budget", "agent_limits", "retry", "cache")  # settings with fields


def expand(overrides: Sequence[str], *, sweep: bool) -> list[tuple[str, ...]]:
    """Overrides of each job: the product of all comma lists, in the order written."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    for text in overrides:
        if text.startswith("-"):
            raise UserError(f"unknown option {text}; see python run.py --help")
        if text.lstrip("+~").startswith("hydra"):
            raise UserError(f"{text}: Hydra only composes here, its own settings have no effect")
        if "=" not in text and not text.startswith("~"):
            owners = [f"{g}={text}" for g, choices in groups().items() if text in choices]
            hint = f"did you mean {' or '.join(owners)}?" if owners else "write setting=value"
            raise UserError(f"cannot read {text!r}; {hint}")
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except (HydraException, ValueError) as error:
        raise UserError(f"cannot read the command: {first_line(error)}") from None
    axes: list[list[str]] = []
    for text, override in zip(overrides, parsed, strict=True):
        if not override.is_sweep_override():
            values = [text]
        elif not sweep:
            raise UserError(f"{text} is a sweep; add -m")
        else:
            key = override.get_key_element()
            try:
                values = [f"{key}={_plain(key, v)}" for v in override.sweep_string_iterator()]
            except HydraException as error:
                raise UserError(f"cannot sweep over {text}: {first_line(error)}") from None
        for value in values:
            _check_group(value)
        axes.append(values)
    return list(itertools.product(*axes))


def _plain(key: str, value: object) -> str:
    """A choice of a group without quotes: graph=hpo,"cwe"."""
    text = str(value)
    return text.strip("\"'") if key in groups() else text


def _check_group(override: str) -> None:
    key, equals, value = override.partition("=")
    choices = groups().get(key)
    if equals and choices is not None and value not in choices:
        raise UserError(f"{unknown(key, value, choices)}")


@dataclass(frozen=True)
class Settings:
    """What a command says beside its cells."""

    n_jobs: int
    dry_run: bool
    sweep_budget: Limits


def compose_jobs(overrides: Sequence[str]) -> tuple[list[Job], Settings]:
    """Compose the configs and turn them into plain records: as many jobs as there are repeats.

    Every mistake is a UserError.
    """
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        config = _composed(overrides)
        chosen = dict(config.hydra.runtime.choices)
        own = OmegaConf.masked_copy(config, [str(k) for k in config if k != "hydra"])
        plain = OmegaConf.to_container(own, resolve=True)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise composition_error(error, overrides) from None
    assert isinstance(plain, dict)
    values: dict[str, Any] = {str(key): value for key, value in plain.items()}
    _check_keys(values)
    try:
        return _repeated(to_job(values, chosen, overrides), values["repeats"]), _settings_of(values)
    except KeyError as error:
        raise UserError(f"the setting {error} is missing; it cannot be taken away") from None


_CONFIGS: dict[tuple[str, ...], Any] = {}  # composed before, by everything but plain values


def _composed(overrides: Sequence[str]) -> Any:
    """The configuration; composing takes a tenth of a second, so that of a job which differs from
    an earlier one in plain values only is a copy with these values set.
    """
    from hydra import compose, initialize_config_dir
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf

    values: dict[str, Any] = {}
    shape = []
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    for text, override in zip(overrides, parsed, strict=True):
        value = override.value()
        key = override.key_or_group
        simple = override.type is not None and override.type.name == "CHANGE"
        if simple and key not in groups() and isinstance(value, str | int | float | None):
            values[key] = value
            shape.append(f"{key}=")
        else:
            shape.append(text)
    if (known := _CONFIGS.get(tuple(shape))) is None:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            known = compose("config", list(overrides), return_hydra_config=True)
        _CONFIGS[tuple(shape)] = known
        return known
    copy = known.copy()
    for key, value in values.items():
        OmegaConf.update(copy, key, value)
    return copy


def compose_one(overrides: Sequence[str]) -> Job:
    """The cell of a command that is no sweep. Every mistake is a UserError."""
    (own,) = expand(overrides, sweep=False)
    jobs, _ = compose_jobs(own)
    if len(jobs) > 1:
        raise UserError("repeats: one cell at a time here")
    return jobs[0]


def _check_keys(values: Mapping[str, Any]) -> None:
    """Exactly the groups and settings of the configs, groups as mappings, the rest as scalars."""
    from omegaconf import OmegaConf

    known = {*map(str, OmegaConf.load(CONFIGS / "config.yaml")), *groups()} - {"defaults"}
    known -= SPEAK_OF_OTHERS
    for key in values:
        if key not in known | SPEAK_OF_OTHERS or (key in SPEAK_OF_OTHERS and values[key]):
            raise UserError(unknown("setting", key, known))
    for key in sorted(known):
        if key not in values:
            raise UserError(f"{key} is missing; it cannot be taken away")
        if key in groups() and not isinstance(values[key], dict):
            raise UserError(f"{key} must be one of {', '.join(groups()[key])}")
        if key in LISTED and not isinstance(values[key], dict):
            raise UserError(f"{key} has fields, see python run.py --help: {key}.FIELD=VALUE")
    for key in ("method", "backbone", "tracker", "rerank"):
        if "target" not in values[key]:
            raise UserError(f"{key}.target is missing; it cannot be taken away")
    for key in ("split", "candidates", "results_dir", "over_budget", "backfill", "seeds"):
        if not isinstance(values[key], str) or not values[key]:
            raise UserError(f"{key}={values[key]} must be a text")
    for key in ("queries", "official"):
        if values[key] is not None and (not isinstance(values[key], str) or not values[key]):
            raise UserError(f"{key}={values[key]} must be a path or null")


def to_job(values: dict[str, Any], chosen: Mapping[str, str], overrides: Sequence[str]) -> Job:
    """Plain values of the configs as the records that the runner takes."""
    graph = dict(values["graph"])
    types = graph.pop("candidate_types", None)
    if types is not None and not isinstance(types, list):
        raise UserError("graph.candidate_types must be a list: graph.candidate_types=[a,b]")
    source = str(graph.pop("source"))
    for key in ("path", "root"):
        if not isinstance(graph.get(key), str | None):
            raise UserError(f"graph.{key}={graph[key]} must be the path of a folder")
    missing = [f"graph.{key}" for key, value in graph.items() if value == "???"]
    if missing:
        raise UserError(f"graph={chosen['graph']} needs {missing[0]}: add {missing[0]}=DIR")
    plugins = {}
    for kind in ("method", "backbone", "rerank"):
        settings = dict(values[kind])
        plugins[kind] = PluginSpec(str(chosen[kind]), str(settings.pop("target")), settings)
    for name in plugins["rerank"].settings if values["rerank"]["target"] is None else ():
        raise UserError(f"rerank.{name} has no effect with rerank=none; drop it")
    queries = values["queries"]
    spec = CellSpec(
        graph=GraphSpec(source, graph, None if types is None else tuple(map(str, types))),
        method=plugins["method"],
        backbone=plugins["backbone"],
        search=_search(values["search"]),
        fusion=record(Fusion, "fusion", values["fusion"]),
        split=str(values["split"]),
        limit=values["limit"],
        queries=None if queries is None else Path(str(queries)),
        candidates=str(values["candidates"]),
        cut=values["cut"],
        seed=values["seed"],
        pool=values["pool"],
        steps=values["steps"],
        over_budget=values["over_budget"],
        backfill=values["backfill"],
        seeds=values["seeds"],
        rerank=None if values["rerank"]["target"] is None else plugins["rerank"],
        agent_limits=record(AgentLimits, "agent_limits", values["agent_limits"]),
    )
    cache = values["cache"]
    transport = Transport(
        results_dir=Path(str(values["results_dir"])),
        concurrency=values["concurrency"],
        max_failures=values["max_failures"],
        progress=values["progress"],
        budget=record(Limits, "budget", values["budget"]),
        retries=record(Retries, "retry", values["retry"]),
        cache=str(cache["mode"]),
        cache_path=None if cache["path"] is None else Path(str(cache["path"])),
        on_model_change=str(values["on_model_change"]),
    )
    official = values["official"]
    return Job(
        tuple(overrides),
        spec,
        transport,
        values["tracker"],
        None if official is None else Path(str(official)),
    )


def _search(values: Mapping[str, Any]) -> SearchSettings:
    """``relevance`` stands in the files of dense and hybrid; without it the search is BM25."""
    own = {name: value for name, value in values.items() if name != "relevance"}
    settings: SearchSettings = record(kind_of(values), "search", own)
    return settings


def _repeated(job: Job, repeats: object) -> list[Job]:
    if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
        raise UserError(f"repeats={repeats} must be a whole number >= 1")
    return [replace(job, spec=replace(job.spec, repeat=k)) for k in range(repeats)]


def _settings_of(values: Mapping[str, Any]) -> Settings:
    check_value("dry_run", values["dry_run"], bool)
    return Settings(
        check_n_jobs(values["n_jobs"]),
        values["dry_run"],
        record(Limits, "sweep_budget", values["sweep_budget"]),
    )
