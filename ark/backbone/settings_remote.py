"""Checks of the settings of models behind HTTP: each mistake is one line with its fix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from ark.backbone.keys import holds_secret
from ark.errors import UserError
from ark.records import Json

# Parameters of the call that have a setting of their own or would undo what the adapter promises.
OURS = frozenset(
    "model messages tools tool_choice functions function_call response_format temperature top_p "
    "max_tokens seed n stream api_base base_url api_key timeout request_timeout num_retries "
    "max_retries drop_params fallbacks headers extra_headers default_headers client callbacks "
    "mock_response custom_llm_provider caching cache max_completion_tokens".split()
)
_CREDENTIAL = re.compile(
    r"api_?key|access_?key|secret|passw|credential|authori[sz]ation|(auth|ad|access)_tok",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")


def model_name(model: str | None) -> str:
    """The model as given. UserError without one."""
    if not isinstance(model, str) or not model.strip():
        raise UserError(
            "this backbone needs a model: backbone.model=PROVIDER/NAME, or for your own server "
            "backbone.model=openai/NAME backbone.api_base=http://localhost:8000/v1"
        )
    return model.strip()


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """The value. UserError unless it is one of ``choices``."""
    if value not in choices:
        raise UserError(f"backbone.{name}={value} must be {' or '.join(choices)}")
    return value


def number(name: str, value: float | None, low: float, high: float, *, whole: bool = False) -> None:
    """UserError unless ``value`` is None or a number in the closed range."""
    kind = int if whole else (int, float)
    good = value is None or (isinstance(value, kind) and not isinstance(value, bool))
    if not good or (value is not None and not low <= value <= high):
        what = "a whole number" if whole else "a number"
        raise UserError(f"backbone.{name}={value} must be {what} from {low:g} to {high:g}")


def server_url(api_base: str | None) -> str | None:
    """The URL without a final slash. Its text is not repeated in errors: it may hold a password."""
    if api_base is None:
        return None
    parts = urlsplit(str(api_base))
    try:
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:  # the port is no number
        good = False
    if not good:
        raise UserError(
            "backbone.api_base must be a URL with its port: backbone.api_base=http://HOST:PORT/v1"
        )
    if "@" in parts.netloc:  # HTTP clients refuse it beside a key, and it would be logged
        raise UserError(
            "backbone.api_base must hold no user or password: put the key into an environment "
            "variable and name it, backbone.api_key_env=NAME"
        )
    return str(api_base).rstrip("/")


def variable(api_key_env: str | None) -> str | None:
    """The name of an environment variable. A key in its place is refused and not repeated."""
    if api_key_env is not None and not _ENVIRONMENT_NAME.fullmatch(str(api_key_env)):
        raise UserError(
            "backbone.api_key_env must be the name of an environment variable in capitals, such "
            "as MY_API_KEY, never the key itself"
        )
    return api_key_env


def prices(price: Sequence[float] | None) -> tuple[float, float] | None:
    """US dollars per million tokens: (prompt, completion)."""
    if price is None:
        return None
    pair = list(price) if isinstance(price, Sequence) and not isinstance(price, str) else []
    if len(pair) != 2 or not all(isinstance(p, int | float) and p >= 0 for p in pair):
        raise UserError(
            "backbone.price must be two numbers, US dollars per million prompt and completion "
            "tokens: backbone.price=[0.4,1.6]"
        )
    return float(pair[0]), float(pair[1])


def further(params: Mapping[str, Json] | None) -> dict[str, Json]:
    """Further parameters of the call. They enter the run id and run.json, so no keys in them."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise UserError("backbone.params must be a mapping: backbone.params={reasoning_effort:low}")
    for name, value in _pairs(params):
        if _CREDENTIAL.search(name) or (isinstance(value, str) and holds_secret(value)):
            raise UserError(
                "backbone.params must hold no keys, they are written to run.json: name the "
                "environment variable of the key in backbone.api_key_env"
            )
    extra = params.get("extra_body")
    if extra is not None and not isinstance(extra, Mapping):
        raise UserError("backbone.params.extra_body must be a mapping")
    for name in (*params, *(extra or ())):
        if name in OURS:
            raise UserError(
                f"backbone.params.{name} is not for params: use a setting of the backbone or method"
            )
    return dict(params)


def _pairs(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pairs(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _pairs(inner, name)
    else:
        yield name, value
