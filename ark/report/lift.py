"""Lift: what a model adds to the rule-based controller on the same questions, and its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ark.records import Json
from ark.report.cells import RULES
from ark.report.entry import Entry
from ark.report.grid import Column, Grid, Row
from ark.report.marks import Place
from ark.report.paired import Difference, differ
from ark.report.unlike import same_data, treatment_differences
from ark.run.identity import canonical_json
from ark.scoring.statistics import holm

NONE = "lift: no rule-based run of the same questions given"
SAMPLING = ("temperature", "top_p", "max_tokens")  # of the model alone; rules do not sample


@dataclass(frozen=True)
class Lift:
    """One model row on one graph against the rule-based row."""

    rules: int
    differences: Mapping[str, Difference]
    p_holm: Mapping[str, float | None]
    tokens: float | None
    per_question: float | None


def lifts(grid: Grid, *, allow_unequal: bool = False) -> dict[tuple[int, Column], Lift | None]:
    """By row and column of every row with a model; None where there is no rule-based twin.

    p is corrected after Holm over each column.
    """
    asked = [(i, c) for c in grid.columns for i, _ in grid.at(c) if grid.rows[i].is_llm]
    twins = {(i, c): _twin(grid, grid.rows[i], c) for i, c in asked}
    found: dict[Place, Difference] = {}
    for (i, column), twin in twins.items():
        if twin is not None:
            pair = grid.rows[i].entries[column], grid.rows[twin].entries[column]
            for m in grid.measures:
                found[i, column, m] = differ(*pair, m, allow_unequal=allow_unequal)
    corrected = _corrected(grid, found)
    out: dict[tuple[int, Column], Lift | None] = {}
    for (i, column), twin in twins.items():
        if twin is None:
            out[i, column] = None
            continue
        entry = grid.rows[i].entries[column]
        tokens = entry.total("tokens")
        n = sum(cell.data["counts"]["queries"] for cell in entry.cells)
        out[i, column] = Lift(
            twin,
            {m: found[i, column, m] for m in grid.measures},
            {m: corrected.get((i, column, m)) for m in grid.measures},
            tokens,
            None if tokens is None or not n else tokens / n,
        )
    return out


def _corrected(grid: Grid, found: Mapping[Place, Difference]) -> dict[Place, float | None]:
    out: dict[Place, float | None] = {}
    for column in grid.columns:
        for measure in grid.measures:
            places = [p for p in found if p[1] == column and p[2] == measure]
            given = [d.found.p_value if (d := found[p]).found else None for p in places]
            out |= dict(zip(places, holm(given), strict=True))
    return out


def _twin(grid: Grid, row: Row, column: Column) -> int | None:
    """The rule-based row with the same method, settings, reading and questions."""
    ours = row.entries[column]
    wanted = _settings(ours)
    found = [
        i
        for i, entry in grid.at(column)
        if entry.first.cell["backbone_model"] == RULES
        and _settings(entry) == wanted
        and same_data(entry.first, ours.first)
    ]
    found.sort(key=lambda i: bool(treatment_differences(ours, grid.rows[i].entries[column])))
    return found[0] if found else None


def _settings(entry: Entry) -> str:
    c: Mapping[str, Json] = entry.first.cell
    changed = {k: v for k, v in c["changed"].items() if k not in (*SAMPLING, "seed")}
    return canonical_json([c["method"], c["preset"], c["ablation"], changed, c["reading"]])
