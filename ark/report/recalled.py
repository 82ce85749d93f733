"""Questions that a model may know by heart, told apart by its closed-book run.

A question is *recalled* where the closed-book run of the same backbone, on the same graph, split
and gold, has Hit@1 = 1. Rows of that backbone are then shown on both parts of the questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ark.records import Json
from ark.report.entry import Entry
from ark.report.grid import Column, Grid, plainness
from ark.report.per_query import Bools, Floats
from ark.report.tables import percent
from ark.report.unlike import same_data
from ark.scoring.intervals import Estimate
from ark.scoring.statistics import estimate_mean

TARGET = "baselines.closed_book:ClosedBook"
MEASURE = "hit@1"
HEADER = (
    *("recalled", "graph", "n recalled", "Hit@1 recalled"),
    *("n not recalled", "Hit@1 not recalled"),
)
FIELDS = tuple(  # of the CSV; for Hit@1 only
    f"{part}_{what}" for part in ("recalled", "rest") for what in ("n", "mean", "low", "high")
)


@dataclass(frozen=True)
class Parts:
    """Hit@1 of one row on both parts. ``book`` is the row number of the closed-book run."""

    book: int
    recalled: Estimate
    rest: Estimate


def parts(grid: Grid) -> dict[tuple[int, Column], Parts | None]:
    """By row and column of every row with a model but closed-book ones.

    None where no closed-book run of its backbone can flag the questions.
    """
    out: dict[tuple[int, Column], Parts | None] = {}
    for column in grid.columns:
        for i, entry in grid.at(column):
            if grid.rows[i].is_llm and not is_closed_book(entry):
                book = _book(grid, entry, column)
                out[i, column] = None if book is None else _split(grid, book, entry, column)
    return out


def is_closed_book(entry: Entry) -> bool:
    """Whether a row is one of the method."""
    return entry.target == TARGET


def _book(grid: Grid, entry: Entry, column: Column) -> int | None:
    """The plainest closed-book row of a row's backbone whose first ranks are the model's own."""
    found = []
    for i, other in grid.at(column):
        treatment = other.treatment
        own = treatment.get("backfill") == "none" and not treatment.get("rerank")
        model = other.first.cell["backbone_model"]
        if (
            is_closed_book(other)
            and own
            and grid.rows[i].is_llm
            and model == entry.first.cell["backbone_model"]
            and same_data(other.first, entry.first)
            and other.testable
        ):
            found.append(i)
    return min(found, key=lambda i: plainness(grid.rows[i]), default=None)


def _split(grid: Grid, book: int, entry: Entry, column: Column) -> Parts | None:
    flags = recalled(grid.rows[book].entries[column])
    values = entry.values(MEASURE) if entry.testable else None
    if values is None or flags is None or set(entry.ids) != set(flags):
        return None
    known = np.array([flags[query] for query in entry.ids], dtype=bool)
    return Parts(book, _mean(entry, values, known), _mean(entry, values, ~known))


def recalled(book: Entry) -> Mapping[str, bool] | None:
    """By question; of the first repeat. A question that failed there is not recalled."""
    table = book.first.per_query
    values = None if table is None else table.values.get(MEASURE)
    if table is None or values is None:
        return None
    return dict(zip(table.ids, (values >= 1).tolist(), strict=True))


def _mean(entry: Entry, values: Floats, part: Bools) -> Estimate:
    chosen = values[part]
    clusters = [name for name, kept in zip(entry.clusters, part, strict=True) if kept]
    hits = bool(np.isin(chosen, (0.0, 1.0)).all())  # means over repeats or orders are no hits
    return estimate_mean(chosen, clusters, rate=hits)


def rows(
    grid: Grid, found: Mapping[tuple[int, Column], Parts | None]
) -> tuple[tuple[str, ...], ...]:
    """Header and a row for each that has both parts; empty without any."""
    out = []
    for (i, column), both in found.items():
        if both is not None:
            halves = [(str(e.n), percent(e.to_json())) for e in (both.recalled, both.rest)]
            cells = [text for half in halves for text in half]
            out.append((grid.rows[i].name, column.label, *cells))
    return (HEADER, *out) if out else ()


def lines(grid: Grid, found: Mapping[tuple[int, Column], Parts | None]) -> list[str]:
    """What a reader must know of the table, and how to get one where there is none."""
    books = sorted({grid.rows[p.book].name for p in found.values() if p is not None})
    out = []
    if books:
        out.append(
            f"Recalled: {', '.join(books)} has the answer at its first rank (Hit@1 = 1), so the "
            "model may know it by heart; a question that failed there is not. Whether another "
            "row found its answer or remembered it is not told by this."
        )
    lacking: dict[str, list[str]] = {}
    for (i, column), both in found.items():
        if both is None:
            whose = lacking.setdefault(column.label, [])
            whose += [grid.rows[i].backbone] if grid.rows[i].backbone not in whose else []
    return [
        *out,
        *(
            f"{label}: recalled questions are not told apart for {', '.join(names)}: no run of "
            "method=closed_book with the same backbone and questions given."
            for label, names in lacking.items()
        ),
    ]


def record(both: Parts | None, measure: str) -> dict[str, Json]:
    """Values of ``FIELDS`` of one row and column."""
    if both is None or measure != MEASURE:
        return {}
    values = [(e.n, e.mean, e.low, e.high) for e in (both.recalled, both.rest)]
    return dict(zip(FIELDS, (v for of in values for v in of), strict=True))
