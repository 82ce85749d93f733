"""Two runs question by question: what differs, by how much, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ark.errors import UserError, unknown
from ark.records import Json
from ark.report.cells import Cell, load
from ark.report.entry import Entry
from ark.report.grid import MEASURES
from ark.report.names import full_name
from ark.report.paired import ALPHA, is_rate
from ark.report.per_query import Bools, Floats, PerQuery
from ark.report.unlike import data_differences, treatment_differences
from ark.scoring.statistics import Comparison, compare_paired, failure_difference, holm

RANK = "mrr"


@dataclass(frozen=True)
class Measured:
    """One measure over one set of questions. ``both`` and ``neither`` count hits; else None."""

    measure: str
    found: Comparison
    p_holm: float | None
    both: int | None
    neither: int | None

    def arrow(self, p_failures: float) -> int:
        """1 where A is above B beyond chance, -1 below, 0 else and where failure rates differ."""
        gap = self.found.difference
        if self.p_holm is None or self.p_holm >= ALPHA or p_failures < ALPHA or not gap:
            return 0
        return 1 if gap > 0 else -1


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two runs, its questions in the order of the comparison."""

    cell: Cell
    name: str
    failed: Bools
    values: Mapping[str, Floats]

    def rank(self, i: int) -> int | None:
        """Rank of the first gold; None without, or where values are means over several lists."""
        share = float(self.values[RANK][i]) if RANK in self.values else 0.0
        near = round(1 / share) if share > 0 else 0
        return near if near and abs(1 / near - share) < 1e-9 else None


@dataclass(frozen=True, eq=False)
class Compared:
    """``whole`` counts failures as 0, ``answered`` takes what both answered; None if that is all.

    ``complaints`` are what is unequal and was allowed.
    """

    a: Side
    b: Side
    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    measures: tuple[str, ...]
    whole: tuple[Measured, ...]
    answered: tuple[Measured, ...] | None
    p_failures: float
    complaints: tuple[str, ...]

    def most_different(self, top: int) -> list[int]:
        """Numbers of the questions that differ most: in the first measure, then in the others."""
        order = [*self.measures, *([RANK] if RANK in self.a.values else [])]

        def key(i: int) -> tuple[float, ...]:
            gaps = [self.a.values[m][i] - self.b.values[m][i] for m in order]
            return *(-abs(float(g)) for g in gaps), float(i)

        found = [i for i in range(len(self.ids)) if any(key(i)[:-1])]
        return sorted(found, key=key)[:top]


def open_reading(path: Path) -> Cell:
    """A result.json, the folder of a reading, or a run folder with one reading.

    Raises UserError for anything else, naming the readings where there are several.
    """
    if path.is_file():
        return load(path)
    for found in (sorted(path.glob("result.json")), sorted(path.glob("readings/*/result.json"))):
        if len(found) == 1:
            return load(found[0])
        if found:
            some = ", ".join(file.parent.name for file in found[:4])
            raise UserError(
                f"{path} has {len(found)} readings: give one, {path}/readings/ + {some}"
            )
    raise UserError(f"{path} is no finished run: give results/runs/NAME or a result.json in it")


def compare_cells(
    a: Cell, b: Cell, measures: Sequence[str] = (), *, allow_unequal: bool = False
) -> Compared:
    """Compare two readings by question id.

    Raises UserError for other data or unequal treatment (with ``allow_unequal`` these are said,
    and questions that both have are compared), for a measure that one lacks, and without files.
    """
    complaints = _complaints(a, b, allow_unequal=allow_unequal)
    first, second = _per_query(a), _per_query(b)
    known = [m for m in first.values if m in second.values]
    wanted = tuple(dict.fromkeys(measures)) or tuple(m for m in MEASURES if m in known)
    for measure in wanted:
        if measure not in known:
            raise UserError(unknown("measure", measure, known))
    place = {query: i for i, query in enumerate(second.ids)}
    mine = [i for i, query in enumerate(first.ids) if query in place]
    if not mine:
        raise UserError(f"{a.path} and {b.path} share no question")
    if len(mine) < max(len(first.ids), len(second.ids)):
        complaints.append(f"only the {len(mine)} questions that both have are compared")
    theirs = [place[first.ids[i]] for i in mine]
    ids = tuple(first.ids[i] for i in mine)
    clusters = tuple(a.clusters(ids))
    left, right = _side(a, first, mine), _side(b, second, theirs)
    answered = ~(left.failed | right.failed)
    some = not answered.all() and answered.any()
    return Compared(
        a=left,
        b=right,
        ids=ids,
        clusters=clusters,
        measures=wanted,
        whole=_measured(left, right, wanted, clusters, np.ones(len(ids), dtype=bool)),
        answered=_measured(left, right, wanted, clusters, answered) if some else None,
        p_failures=failure_difference(left.failed, right.failed, clusters),
        complaints=tuple(complaints),
    )


def _complaints(a: Cell, b: Cell, *, allow_unequal: bool) -> list[str]:
    if a.column[0] != b.column[0]:
        raise UserError(f"{a.column[0]} and {b.column[0]} are two graphs: give runs on one")
    data = [f"{text} differ" for text in data_differences(a, b)]
    unequal = treatment_differences(Entry((a,)), Entry((b,)))
    if (data or unequal) and not allow_unequal:
        what = ", ".join([*data, *unequal])
        raise UserError(f"not compared: {what}; --allow-unequal compares and says so")
    return [*data, *unequal]


def _per_query(cell: Cell) -> PerQuery:
    table = cell.per_query
    if table is None:
        file = cell.path.with_name("per_query.csv")
        raise UserError(f"{file} is missing: run the cell again, finished questions are kept")
    return table


def _side(cell: Cell, table: PerQuery, order: Sequence[int]) -> Side:
    picks = np.array(order, dtype=np.int64)
    values = {m: column[picks] for m, column in table.values.items()}
    return Side(cell, full_name(cell.data), table.failed[picks], values)


def _measured(
    a: Side, b: Side, measures: Sequence[str], clusters: Sequence[str], mask: Bools
) -> tuple[Measured, ...]:
    kept = [c for c, keep in zip(clusters, mask, strict=True) if keep]
    found, hits = [], []
    for measure in measures:
        x, y = a.values[measure][mask], b.values[measure][mask]
        found.append(compare_paired(x, y, kept, binary=is_rate(measure)))
        plain = is_rate(measure) and bool(np.isin(np.concatenate([x, y]), (0.0, 1.0)).all())
        both, neither = int((x * y == 1).sum()), int((x + y == 0).sum())
        hits.append((both, neither) if plain else (None, None))
    corrected = holm([one.p_value for one in found])
    return tuple(
        Measured(m, one, p, *counts)
        for m, one, p, counts in zip(measures, found, corrected, hits, strict=True)
    )


def text_of(cell: Cell, query: str) -> Mapping[str, Json]:
    """Text and number of answers of a question; empty where the run keeps none."""
    known = cell.questions.get(query)
    return {} if known is None else {"text": known.text, "answers": len(known.answers)}
