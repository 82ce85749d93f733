"""What a provider's failure means for the run: the one place that reads libraries' exceptions.

The openai SDK tells most of it by class, status, code and cause. LiteLLM hides much: a refused or
reset connection, a cut body and an HTML page all come as an InternalServerError with status 500, a
403 as a plain APIError. So errors are sorted by status and by class name first and by text where
nothing else is left. Every message is one clipped line of printable characters without secrets, and
nothing of the library's exception is kept: its text may hold the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ark.backbone.keys import one_line, secrets
from ark.backbone.waits import told_wait, wait_of_headers
from ark.errors import ArkError, FatalBackboneError, QueryFailedError, RetryableError
from ark.records import Usage

_PREFIX = re.compile(
    r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout|LLM)(?: Error)?(?::\s*|\s*-\s*))+"
)
_NO_SERVER = re.compile(r"cannot connect to host", re.IGNORECASE)
_NO_CONNECTION = re.compile(r"connection error|connect(?:ion)? |disconnected", re.IGNORECASE)
_NO_ACCESS = re.compile(
    r"missing (?:credentials|\w+ api key)|must provide one of the", re.IGNORECASE
)
_NO_MONEY = re.compile(
    r"insufficient[_ ](?:quota|funds|balance|credit)|exceeded your current quota|billing",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"maximum context length|context (?:length|window|size)|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_FLAGGED = re.compile(r"moderation|flagged|content[ _]?(?:policy|filter)", re.IGNORECASE)
_UNREADABLE = re.compile(r"^Invalid response object", re.IGNORECASE)
_FORCED = re.compile(r"tool[_ ]choice|forced tool", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# Classes of httpx and aiohttp, by name as neither is imported here. The SDK's aiohttp transport
# calls a refused or reset connection a time-out; the cause says what it was.
_REFUSED = frozenset({"ConnectError", "ClientConnectorError"})
_BROKEN = frozenset(
    {"ReadError", "RemoteProtocolError", "ClientOSError", "ServerDisconnectedError"}
)
_DEEPEST = 8  # causes that are looked at
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation"})


class UnreadableError(Exception):
    """An answer of status 200 that is no JSON object: an HTML page, a body that was cut."""


@dataclass(frozen=True)
class Asked:
    """What an error line may name. ``proved``: this model has answered with these settings."""

    model: str
    where: str
    key_hint: str
    timeout: float
    proved: bool


@dataclass(frozen=True)
class Failure:
    """What is known of a failed call, whoever reported it. ``names``: classes of the exception."""

    said: str
    status: int | None = None
    code: str = ""
    names: frozenset[str] = frozenset()
    wait: float | None = None

    @property
    def timed_out(self) -> bool:
        """Whether the client or a gateway gave up waiting."""
        if self.status in (408, 504):
            return True
        return not self.names & (_REFUSED | _BROKEN) and any("Timeout" in n for n in self.names)

    @property
    def lost_connection(self) -> bool:
        """Whether there was no connection or it broke: refused, unknown host, reset, closed."""
        if self.timed_out:
            return False
        if self.status is None:
            return "APIConnectionError" in self.names
        # LiteLLM says so by text only, under the status of a server's own error.
        return self.status == 500 and bool(_NO_CONNECTION.search(self.said))

    @property
    def never_connected(self) -> bool:
        """Whether it is certain that there was no connection at all (refused, unknown host)."""
        return bool(self.names & _REFUSED or _NO_SERVER.search(self.said))


def failure_of(error: Exception) -> Failure:
    """What an exception of litellm, the openai SDK or a time-out tells."""
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    entry: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    said = _words(error, entry)
    code = getattr(error, "code", None) or entry.get("code") or entry.get("type")
    names = _names(error)
    if status is None and names & (_REFUSED | _BROKEN):
        said = "Connection error."
    return Failure(
        said,
        status if isinstance(status, int) else None,
        str(code or ""),
        names,
        _wait(error, said),
    )


def _names(error: BaseException) -> frozenset[str]:
    """Names of its classes and of those of its causes."""
    names: set[str] = set()
    found: BaseException | None = error
    for _ in range(_DEEPEST):
        if found is None:
            break
        names |= {cls.__name__ for cls in type(found).__mro__}
        found = found.__cause__
    return frozenset(names)


def failure_in(answer: Mapping[str, Any]) -> Failure | None:
    """The failure that an answer of status 200 holds in ``error``, as gateways do; else None."""
    entry = answer.get("error")
    if not entry:
        return None
    fields: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"message": entry}
    said = one_line(str(fields.get("message") or "an error without words"), secrets())
    code = fields.get("code")
    status = int(str(code)) if re.fullmatch(r"[45]\d\d", str(code)) else None
    return Failure(said, status, str(code or fields.get("type") or ""), wait=told_wait(said))


def sort_failure(failure: Failure, asked: Asked) -> ArkError:
    """Our error for a failed call, by what to do about it."""
    found = (
        _about_time(failure, asked)
        or _about_access(failure, asked)
        or _about_content(failure, asked)
    )
    if found is not None:
        return found
    status, said = failure.status, failure.said
    if status == 429:
        return RetryableError(
            f"{asked.model}: rate limit (429): {said}", retry_after=failure.wait, limited=True
        )
    what = "unreadable answer" if UnreadableError.__name__ in failure.names else _server(status)
    if status is None and failure.lost_connection:
        what = "no connection" if failure.never_connected else "the connection was lost"
    return RetryableError(f"{asked.model}: {what}: {said}", retry_after=failure.wait)


def unusable(asked: Asked, what: str, usage: Usage | None = None) -> RetryableError:
    """An answer of status 200 that cannot be used; ``usage`` is what it cost all the same."""
    return RetryableError(f"{asked.model}: {what}", usage=usage)


def no_server(asked: Asked) -> FatalBackboneError:
    """Nothing listens there, and nothing has answered so far."""
    return FatalBackboneError(
        f"no server answers at {asked.where}: start it (or check the network), or set "
        "backbone.api_base=URL"
    )


def _about_time(failure: Failure, asked: Asked) -> ArkError | None:
    if not failure.timed_out:
        return None
    if failure.status is None:
        return RetryableError(
            f"{asked.model}: no whole answer within {asked.timeout:g} s (backbone.timeout)"
        )
    return RetryableError(
        f"{asked.model}: timed out ({failure.status}): {failure.said}", retry_after=failure.wait
    )


def _about_access(failure: Failure, asked: Asked) -> ArkError | None:
    status, said = failure.status, failure.said
    if status == 403 and _FLAGGED.search(said):
        return QueryFailedError(f"{asked.model}: refused for its content (403): {said}")
    if status in (401, 403) or _NO_ACCESS.search(said):
        return FatalBackboneError(
            f"{asked.where} refuses access ({status}): {asked.key_hint} (it says: {said})"
        )
    if status == 402 or failure.code in _QUOTA_CODES or (status == 429 and _spent(said)):
        return FatalBackboneError(
            f"{asked.where} has no credit left for this key ({status}): {said}"
        )
    if status == 404:
        return FatalBackboneError(
            f"{asked.where} has no model {asked.model} (404): check backbone.model, and that "
            f"backbone.api_base is right (most end in /v1) (it says: {said})"
        )
    return None


def _spent(said: str) -> bool:
    """Gemini has OpenAI's words for an empty purse in its rate limits too, and a time to wait."""
    return bool(_NO_MONEY.search(said)) and told_wait(said) is None


def _about_content(failure: Failure, asked: Asked) -> ArkError | None:
    status, said, names = failure.status, failure.said, failure.names
    bad = status in (400, 422)
    long = failure.code == "context_length_exceeded" or (bad and _TOO_LONG.search(said))
    if "ContextWindowExceededError" in names or status == 413 or long:
        return QueryFailedError(f"{asked.model}: the prompt is too long for it: {said}")
    if "ContentPolicyViolationError" in names or failure.code in _CONTENT_CODES:
        return QueryFailedError(f"{asked.model}: refused for its content ({status}): {said}")
    if "UnsupportedParamsError" in names:
        return FatalBackboneError(f"{asked.model} does not take these settings: {_hinted(said)}")
    if bad:
        text = f"{asked.model}: the request was refused ({status}): {said}"
        # The settings are the same for every question: what has worked once is not their fault.
        return QueryFailedError(text) if asked.proved else FatalBackboneError(_hinted(text))
    return None


def _hinted(text: str) -> str:
    return f"{text} (try backbone.tool_choice=auto)" if _FORCED.search(text) else text


def _server(status: int | None) -> str:
    # A real 500 and an answer that litellm cannot read look the same here.
    if status == 500:
        return "server error or unreadable answer (500)"
    return "server error" if status is None else f"server error ({status})"


def _wait(error: Exception, said: str) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    own = getattr(error, "litellm_response_headers", None)
    for found in (headers, own):
        wait = wait_of_headers(found) if found else None
        if wait is not None:
            return wait
    return told_wait(said)


def _words(error: Exception, body: Mapping[str, Any]) -> str:
    own = body.get("message")
    text = own if isinstance(own, str) and own.strip() else _PREFIX.sub("", str(error).strip())
    if _UNREADABLE.search(text):
        return "the answer is no chat completion"  # the rest is a traceback with paths
    text = text.partition("Traceback (most recent call last)")[0]
    return one_line(text, secrets()) or type(error).__name__
