"""One cell of a dry run, and how its figures are written."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ark.backbone.prices import Price
from ark.records import Usage
from ark.run.estimate import Effort


@dataclass(frozen=True)
class Row:
    """A cell. ``cost``, ``most_cost`` (US dollars) and ``seconds`` are of one agent of a question.

    ``done`` counts agents that ended, of ``queries`` times ``agents``. ``shows`` is a fraction.
    ``model`` is empty where none is asked; ``spent`` is what the run has taken up to now.
    """

    name: str
    folder: str = ""
    queries: int = 0
    agents: int = 0
    done: int = 0
    shows: float = math.inf
    effort: Effort | None = None
    error: str = ""
    model: str = ""
    price: Price | None = None
    cost: float | None = None
    most_cost: float | None = None
    seconds: float | None = None
    spent: Usage = Usage()

    @property
    def left(self) -> int:
        """Agents still to run."""
        return self.queries * self.agents - self.done

    def times(self, amount: float | None) -> float | None:
        """So much an agent, for all that are left."""
        return 0.0 if self.folder and not self.left else _times(amount, self.left)


def _times(amount: float | None, n: int) -> float | None:
    return None if amount is None else amount * n


def count(value: float) -> str:
    """``1,234``."""
    return f"{value:,.0f}"


def tokens(value: float) -> str:
    """``950``, ``12.3k``, ``4.56M``, ``1,424M``."""
    if value < 1000:
        return f"{value:.0f}"
    if value < 999_950:
        return f"{value / 1000:.1f}k"
    return f"{value / 1e6:.2f}M" if value < 1e8 else f"{value / 1e6:,.0f}M"


def dollars(value: float) -> str:
    """``$12.34``; small sums with as many decimals as they need to be seen."""
    if value == 0 or value >= 0.1:
        return f"${value:,.2f}"
    return f"${value:.4f}" if value >= 0.0001 else "under $0.0001"


def minutes(value: float) -> str:
    """``12``, ``0.3``, from seconds."""
    if value == 0:
        return "0"
    if value < 3:
        return "under 0.1"
    return f"{value / 60:,.0f}" if value >= 600 else f"{value / 60:.1f}"
