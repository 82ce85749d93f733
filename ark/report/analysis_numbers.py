"""Numbers of an analysis with their intervals, and tables of them in Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ark.report.tables import markdown
from ark.scoring.intervals import (
    Estimate,
    bootstrap,
    cluster_codes,
    effective_n,
    wilson,
)

ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Number:
    """A value over ``n`` things. ``unit`` is ``%`` (of 1), ``$``, or empty."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = ""
    plain: bool = False  # Markdown shows no interval; CSV always does

    def text(self) -> str:
        """As Markdown shows it."""
        if self.value is None:
            return ABSENT
        shown = self._one(self.value)
        if self.plain or self.low is None or self.high is None:
            return shown
        return f"{shown} [{self._one(self.low)}, {self._one(self.high)}]"

    def _one(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.unit == "%" else self.unit + short(value)


Value = Number | str | int


def short(value: float) -> str:
    """Three or four figures that count, never an exponent for large ones."""
    size = abs(value)
    if size >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def number(estimate: Estimate, unit: str = "") -> Number:
    """An estimate of the scoring room as a cell."""
    return Number(estimate.mean, estimate.low, estimate.high, estimate.n, unit)


def share(hits: Sequence[bool], clusters: Sequence[str]) -> Number:
    """A share with Wilson's interval on the effective number of things.

    The things (calls, trajectories, questions) need not be independent: ``clusters`` names the
    cluster of each, and the interval widens by their design effect (Kish 1965).
    """
    if not hits:
        return Number(None, unit="%")
    codes = cluster_codes(clusters)
    sums = np.bincount(codes, np.asarray(hits, dtype=np.float64)).astype(np.float64)
    size = effective_n(sums, np.bincount(codes).astype(np.int64))
    return number(wilson(sum(map(bool, hits)), len(hits), effective_n=size), "%")


def mean(
    values: Sequence[float] | Sequence[int], clusters: Sequence[str], unit: str = ""
) -> Number:
    """A mean with a BCa bootstrap interval over whole clusters (2,000 resamples).

    Without an interval where resampling shows no spread: one cluster, or all values alike.
    """
    if not values:
        return Number(None, unit=unit)
    column = np.asarray(values, dtype=np.float64)
    scale = float(np.abs(column).max()) or 1.0  # the bootstrap takes values within +-1
    found = bootstrap((column / scale)[:, None], cluster_codes(clusters))[0]
    value = float(column.mean())
    if found.low is None or found.high is None or found.low == found.high:
        return Number(value, n=len(values), unit=unit)
    return Number(value, found.low * scale, found.high * scale, found.n, unit)


def quantile(values: Sequence[int], q: float) -> int:
    """The smallest value that at least a share ``q`` of all do not exceed: never interpolated."""
    return int(np.quantile(np.asarray(values, dtype=np.int64), q, method="inverted_cdf"))


def plain(value: Number) -> Number:
    """The same, shown without its interval where the table would grow too wide."""
    return replace(value, plain=True)


@dataclass(frozen=True)
class Row:
    """One line: where it comes from, within which group, and its cells by column."""

    where: tuple[str, str, str]  # graph, split, method
    run: str
    cells: dict[str, Value]
    group: str = ""


@dataclass
class Table:
    """One question that the analysis answers."""

    kind: str
    title: str
    note: str
    rows: list[Row]
    group: str = ""  # heading of the rows' groups, if they have any

    def markdown(self) -> str:
        """Heading, table, note."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row.cells))
        header = ["graph", "split", "method", *([self.group] if self.group else []), *columns]
        lines = [
            [
                *row.where,
                *([row.group] if self.group else []),
                *(_text(row.cells.get(name, ABSENT)) for name in columns),
            ]
            for row in self.rows
        ]
        body = markdown(header, lines) if lines else "Nothing to show."
        return "\n\n".join(x for x in (f"## {self.title}", body, self.note) if x)

    def long(self) -> list[list[str]]:
        """One line a number: table, graph, split, method, run, group, quantity, value, low, ..."""
        return [
            [self.kind, *row.where, row.run, row.group, name, *_long(value)]
            for row in self.rows
            for name, value in row.cells.items()
        ]


LONG = ["table", "graph", "split", "method", "run", "group", "quantity"]
LONG += ["value", "low", "high", "n", "unit"]


def as_csv(tables: Sequence[Table]) -> str:
    """All tables in one long CSV; shares are of 1, absent values empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(LONG)
    for table in tables:
        writer.writerows(table.long())
    return out.getvalue()


def _text(value: Value) -> str:
    if isinstance(value, Number):
        return value.text()
    return f"{value:,}" if isinstance(value, int) else value


def _long(value: Value) -> list[str]:
    if isinstance(value, Number):
        three = (value.value, value.low, value.high)
        unit = "share" if value.unit == "%" else value.unit
        return [*("" if v is None else repr(round(v, 10)) for v in three), str(value.n), unit]
    return [str(value), "", "", "", ""]
