"""Errors by what to do about them. Each library's own exceptions are mapped where it is called."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ark.records import Usage


class ArkError(Exception):
    """Base of all errors that this package raises on purpose.

    ``usage`` is what was paid for before an error of a backbone, if anything.
    """

    usage: Usage | None = None


class UserError(ArkError):
    """The user can mend it: the message is one line and holds the fix. Exit code 2."""


class RetryableError(ArkError):
    """A call may succeed if made again (rate limit, time-out, reset).

    ``retry_after``: seconds that the server asks to wait; ``limited``: it refused for the rate of
    requests.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        limited: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after, self.limited, self.usage = retry_after, limited, usage


class QueryFailedError(ArkError):
    """This question is lost, the others are not: record it and go on."""


class FatalBackboneError(ArkError):
    """No further call can succeed (bad key, unknown model): stop. Exit code 4."""


class QueryLimitError(ArkError):
    """A limit of one question (calls, tokens, seconds, dollars) is reached: a method returns what
    it has, with status ``limit``; the question is scored.
    """


class BudgetReachedError(ArkError):
    """The money, calls or tokens that the user allowed are spent: stop cleanly. Exit code 3."""


def nearest(word: str, choices: Iterable[str], n: int = 3) -> list[str]:
    """The ``n`` choices most like ``word``, without regard to case, best first."""
    known = {str(c).casefold(): str(c) for c in choices}
    close = difflib.get_close_matches(str(word).casefold(), known, n=n, cutoff=0.3)
    return [known[c] for c in close]


def unknown(kind: str, word: str, choices: Iterable[str]) -> str:
    """``unknown KIND 'WORD'; did you mean a, b or c? (all: ...)`` on one line."""
    every = sorted(_printable(c) for c in choices)  # strangers' names: one line
    word = _printable(word)
    close = nearest(word, every)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    listing = f" (choices: {', '.join(every)})" if every and len(every) <= 20 else ""
    return f"unknown {kind} {word!r}{hint}{listing}"


def _printable(word: object) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in str(word)).split())[:80]
