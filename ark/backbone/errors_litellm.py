"""What a provider's failure means for the run: the one place that reads its exceptions.

LiteLLM hides much: a refused or reset connection, a cut body and an HTML page all come as an
InternalServerError with status 500, a 403 as a plain APIError. So errors are sorted by status and
by class name first and by text where nothing else is left. Every message is one clipped line of
printable characters without secrets, and nothing of the library's exception is kept: its text may
hold the key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ark.errors import ArkError, FatalBackboneError, QueryFailedError, RetryableError

LONGEST = 240  # characters of a provider's own words

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"(?:Bearer|Basic)\s+\S+|\b(?:sk|pk|rk|hf|gsk|xai|ghp)[-_][\w*.-]{6,}|\bAIza[\w*-]{10,}"
    r"|(?<=://)[^/\s@]+@"
)
_PREFIX = re.compile(
    r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout|LLM)(?: Error)?(?::\s*|\s*-\s*))+"
)
_NO_SERVER = re.compile(r"cannot connect to host", re.IGNORECASE)
_NO_CONNECTION = re.compile(r"connection error|connect(?:ion)? |disconnected", re.IGNORECASE)
_NO_ACCESS = re.compile(
    r"missing (?:credentials|\w+ api key)|must provide one of the", re.IGNORECASE
)
_NO_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)
_FLAGGED = re.compile(r"moderation|flagged|content[ _]?(?:policy|filter)", re.IGNORECASE)
_UNREADABLE = re.compile(r"^Invalid response object", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What an error line may name. ``proved``: this model has answered with these settings."""

    model: str
    where: str
    key_hint: str
    timeout: float
    proved: bool


def secrets(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Values of environment variables that look like keys by name, longest first."""
    found = {v.strip() for k, v in environ.items() if _SECRET_NAME.search(k)}
    return sorted((v for v in found if len(v) >= 8), key=lambda v: (-len(v), v))


def one_line(text: str, hidden: Iterable[str] = (), longest: int = LONGEST) -> str:
    """Printable, on one line, without secrets, clipped."""
    for value in hidden:
        text = text.replace(value, "[hidden]")
    text = _SECRET_TEXT.sub("[hidden]", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def holds_secret(text: str) -> bool:
    """Whether ``text`` looks like a key or holds one of this environment."""
    return bool(_SECRET_TEXT.search(text)) or any(value in text for value in secrets())


def shown_url(url: str) -> str:
    """Scheme, host, port and path: no user, password, query or fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def never_connected(error: Exception) -> bool:
    """Whether the text says that there was no connection at all (refused, unknown host)."""
    return bool(_NO_SERVER.search(str(error)))


def lost_connection(error: Exception) -> bool:
    """Whether there was none or it broke: refused, unknown host, reset, closed. By text only."""
    return _status(error) == 500 and bool(_NO_CONNECTION.search(str(error)))


def sort_error(error: Exception, asked: Asked) -> ArkError:
    """Our error for one of litellm's or the openai SDK's, by what to do about it."""
    said = _words(error)
    status = _status(error)
    found = (
        _about_time(error, status, said, asked)
        or _about_access(status, said, asked)
        or _about_content(error, status, said, asked)
    )
    if found is not None:
        return found
    if status == 429:
        return RetryableError(f"{asked.model}: rate limit (429): {said}")
    return RetryableError(f"{asked.model}: {_failure(status)}: {said}")


def no_server(asked: Asked) -> FatalBackboneError:
    """Nothing listens there, and nothing has answered so far."""
    return FatalBackboneError(
        f"no server answers at {asked.where}: start it (or check the network), or set "
        "backbone.api_base=URL"
    )


def _about_time(error: Exception, status: int | None, said: str, asked: Asked) -> ArkError | None:
    if isinstance(error, TimeoutError):
        return RetryableError(
            f"{asked.model}: no whole answer within {asked.timeout:g} s (backbone.timeout)"
        )
    if status in (408, 504) or "Timeout" in type(error).__name__:
        return RetryableError(f"{asked.model}: timed out ({status or 'no status'}): {said}")
    return None


def _about_access(status: int | None, said: str, asked: Asked) -> ArkError | None:
    if status == 403 and _FLAGGED.search(said):
        return QueryFailedError(f"{asked.model}: refused for its content (403): {said}")
    if status in (401, 403) or _NO_ACCESS.search(said):
        return FatalBackboneError(
            f"{asked.where} refuses access ({status}): {asked.key_hint} (it says: {said})"
        )
    if status == 402 or (status == 429 and _NO_MONEY.search(said)):
        return FatalBackboneError(
            f"{asked.where} has no credit left for this key ({status}): {said}"
        )
    if status == 404:
        return FatalBackboneError(
            f"{asked.where} has no model {asked.model} (404): check backbone.model, and that "
            f"backbone.api_base is right (most end in /v1) (it says: {said})"
        )
    return None


def _about_content(
    error: Exception, status: int | None, said: str, asked: Asked
) -> ArkError | None:
    names = {cls.__name__ for cls in type(error).__mro__}
    if "ContextWindowExceededError" in names or status == 413:
        return QueryFailedError(f"{asked.model}: the prompt is too long for it: {said}")
    if "ContentPolicyViolationError" in names:
        return QueryFailedError(f"{asked.model}: refused for its content ({status}): {said}")
    if "UnsupportedParamsError" in names:
        return FatalBackboneError(f"{asked.model} does not take these settings: {said}")
    if status in (400, 422):
        text = f"{asked.model}: the request was refused ({status}): {said}"
        # The settings are the same for every question: what has worked once is not their fault.
        return QueryFailedError(text) if asked.proved else FatalBackboneError(text)
    return None


def _failure(status: int | None) -> str:
    # A real 500 and an answer that litellm cannot read look the same here.
    return (
        "server error or unreadable answer (500)" if status == 500 else f"server error ({status})"
    )


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _words(error: Exception) -> str:
    text = _PREFIX.sub("", str(error).strip())
    if _UNREADABLE.search(text):
        return "the answer is no chat completion"  # the rest is a traceback with paths
    text = text.partition("Traceback (most recent call last)")[0]
    return one_line(text, secrets()) or type(error).__name__
