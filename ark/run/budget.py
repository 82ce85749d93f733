"""Limits in calls, tokens and money, asked before each call; what was spent before counts too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, MutableSequence
from typing import Any, Protocol

from ark.errors import BudgetReachedError, UserError
from ark.records import Usage
from ark.run.spec import Limits

CALLS, TOKENS, COST = range(3)
NAMES = ("calls", "tokens", "cost")


class _Lock(Protocol):
    def __enter__(self) -> Any: ...
    def __exit__(self, *error: object) -> Any: ...


class Purse:
    """What may be spent and what was. Shared by the cells of a sweep, also across processes.

    ``spent`` may be a ``multiprocessing`` array of three doubles with its lock.
    """

    def __init__(
        self,
        limits: Limits,
        name: str = "budget",
        spent: MutableSequence[float] | None = None,
        lock: _Lock | None = None,
    ) -> None:
        self.limits = limits
        self._name = name
        self._spent: MutableSequence[float] = [0.0, 0.0, 0.0] if spent is None else spent
        self._lock: _Lock = lock or contextlib.nullcontext()

    def add(self, usage: Usage) -> None:
        """Count calls that were made, now or in an earlier run.

        Raises UserError where money is limited and the price of a call is unknown: such a limit
        would be an empty promise.
        """
        if usage.cost is None and self.limits.cost is not None:
            raise UserError(
                f"{self._name}.cost={self.limits.cost} cannot be kept, as the price of this model "
                f"is unknown: give backbone.price=[PROMPT,COMPLETION], or limit {self._name}.tokens"
            )
        with self._lock:
            self._spent[CALLS] += usage.calls
            self._spent[TOKENS] += usage.prompt_tokens + usage.completion_tokens
            self._spent[COST] += usage.cost or 0.0

    def check(self) -> None:
        """Before a call. Raises BudgetReachedError where a limit is reached."""
        for name, spent, most in self._lines():
            if spent >= most:
                shown = f"${spent:.4f} of ${most:g}" if name == "cost" else f"{spent:g} of {most:g}"
                raise BudgetReachedError(
                    f"{self._name}.{name} is spent ({shown}): raise it and run the same command "
                    "again, it goes on from here"
                )

    def _lines(self) -> Iterator[tuple[str, float, float]]:
        for i, name in enumerate(NAMES):
            most = getattr(self.limits, name)
            if most is not None:
                yield name, self._spent[i], most


class Brake(Purse):
    """Refuses every call once it is pulled: the run ends with an error, nothing more is paid."""

    def __init__(self) -> None:
        super().__init__(Limits())
        self.pulled = False

    def check(self) -> None:
        """Raises BudgetReachedError once it is pulled."""
        if self.pulled:
            raise BudgetReachedError("the run is ending with an error")
