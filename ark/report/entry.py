"""One entry of a table: a cell, or the repeats of one cell pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ark.records import Json
from ark.report.cells import Cell
from ark.report.per_query import Floats
from ark.run.identity import canonical_json
from ark.scoring.intervals import Estimate
from ark.scoring.statistics import two_level

ORACLE = "ark.agent.oracle:Oracle"
GOLD_PROGRAMS = "baselines.kg_agent.gold:KGAgentGold"
KNOWS_GOLD = (ORACLE, GOLD_PROGRAMS)  # never ranked among systems
DIGITS = 10  # decimals, as in result.json


@dataclass(frozen=True, eq=False)
class Entry:
    """Cells that differ by ``repeat`` only, in its order; most often one."""

    cells: tuple[Cell, ...]

    @property
    def first(self) -> Cell:
        """What all repeats share can be read from it."""
        return self.cells[0]

    @property
    def repeats(self) -> int:
        """How many."""
        return len(self.cells)

    @property
    def testable(self) -> bool:
        """Whether the questions of every repeat are there, and the same ones."""
        tables = [cell.per_query for cell in self.cells]
        return all(t is not None and t.ids == self.ids for t in tables)

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions in stored order; empty where they are not there."""
        table = self.first.per_query
        return () if table is None else table.ids

    @cached_property
    def clusters(self) -> list[str]:
        """By question."""
        return self.first.clusters(self.ids)

    @property
    def n_clusters(self) -> int | None:
        """How many; None where the questions are not there."""
        names = self.clusters
        return len(set(names) - {""}) + names.count("") if names else None

    @property
    def target(self) -> str:
        """``package.module:Class`` of the method; empty in results that do not say it."""
        return str((self.first.cell["identity"].get("method") or {}).get("target", ""))

    def stacked(self, measure: str) -> Floats | None:
        """float64[repeats, n], or None where a repeat has no such measure."""
        columns = [c.per_query.values.get(measure) for c in self.cells if c.per_query is not None]
        if len(columns) != self.repeats or any(c is None for c in columns):
            return None
        return np.array(columns, dtype=np.float64)

    def values(self, measure: str) -> Floats | None:
        """Means over the repeats, float64[n]."""
        table = self.stacked(measure)
        return None if table is None else table.mean(axis=0)

    @cached_property
    def failed(self) -> Floats:
        """Share of the repeats in which a question failed, float64[n]."""
        tables = [c.per_query.failed for c in self.cells if c.per_query is not None]
        return np.array(tables, dtype=np.float64).mean(axis=0) if tables else np.zeros(0)

    @cached_property
    def failures(self) -> float:
        """Failed and missing questions, a mean over the repeats."""
        counts = [c.data["counts"] for c in self.cells]
        return float(sum(c["failed"] + c["missing"] for c in counts)) / len(counts)

    def estimate(self, measure: str) -> Estimate | None:
        """Mean and interval as the result has them, or over both levels where repeats are pooled.

        None where the measure has no value here.
        """
        if self.repeats == 1:
            return _stored(self.first.data["measures"].get(measure))
        table = self.stacked(measure)
        if table is None:
            return None
        return two_level(table, self.clusters).rounded(DIGITS)

    def total(self, what: str) -> float | None:
        """A figure of ``usage`` over all repeats; None where one does not know it."""
        values = [cell.data["usage"].get(what) for cell in self.cells]
        return None if None in values else float(sum(values))

    @property
    def treatment(self) -> dict[str, Json]:
        """Settings outside the method, and the cut: equal, or no paired test (design, rule 11)."""
        cell = self.first.cell
        return {**cell["treatment"], "cut": cell["reading"]["cut"]}


def _stored(found: Mapping[str, Json] | None) -> Estimate | None:
    if not found or found.get("mean") is None:
        return None
    return Estimate(
        *(found["mean"], found["low"], found["high"], found["n"]),
        found.get("clusters") or 0,
        found.get("design_effect"),
    )


def pooled(cells: Sequence[Cell]) -> list[Entry]:
    """Cells of one column: those that differ by ``repeat`` only become one entry.

    A second cell of the same repeat (another code version, say) is an entry of its own.
    """
    groups: dict[str, list[list[Cell]]] = {}
    for cell in cells:
        found = groups.setdefault(identity(cell), [[]])
        rest = [g for g in found if cell.cell["repeat"] not in [c.cell["repeat"] for c in g]]
        (rest[0] if rest else _opened(found)).append(cell)
    return [
        Entry(tuple(sorted(group, key=lambda c: int(c.cell["repeat"]))))
        for found in groups.values()
        for group in found
    ]


def _opened(groups: list[list[Cell]]) -> list[Cell]:
    groups.append([])
    return groups[-1]


def identity(cell: Cell) -> str:
    """Equal for repeats of one cell: code, data and settings, without the number of the repeat."""
    run = {k: v for k, v in cell.cell["identity"].items() if k != "repeat"}
    c = cell.cell
    rest = [c[k] for k in ("method", "backbone", "preset", "ablation", "changed", "reading")]
    return canonical_json([run, *rest])


def row_key(cell: Cell) -> str:
    """Equal for cells that share a row, whatever their graph: method, backbone and settings."""
    c = cell.cell
    names = [c[k] for k in ("method", "backbone", "preset", "ablation", "changed", "gold")]
    reading = {k: v for k, v in c["reading"].items() if k != "candidate_types" and v is not None}
    if "steps" not in reading:
        reading.pop("over_budget", None)
    return canonical_json([names, {"backfill": "none", **reading}])
