"""Marks of a table: differences to a baseline, best and second best, and where there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ark.errors import UserError, unknown
from ark.report.entry import KNOWS_GOLD, Entry
from ark.report.grid import Column, Grid, Row, plainness
from ark.report.paired import ALPHA, Difference, differ, failure_p
from ark.report.unlike import treatment_differences
from ark.scoring.statistics import holm
from ark.text import one_line

OWN_PROMPT = "ours"
MOST_NAMED = 20  # names in a message
Place = tuple[int, Column, str]  # row, column, measure


@dataclass(frozen=True)
class Tested:
    """One entry against the baseline's of its graph. ``arrow`` is 1, -1 or 0."""

    baseline: int
    difference: Difference
    p_holm: float | None = None

    @property
    def arrow(self) -> int:
        """Which way it differs beyond chance; 0 too where failure rates do."""
        found = self.difference.found
        if self.p_holm is None or found is None or self.p_holm >= ALPHA:
            return 0
        if not self.difference.fail_alike or not found.difference:
            return 0
        return 1 if found.difference > 0 else -1


@dataclass
class Best:
    """1 for the best mean of a column and 2 for the second, by place; ``reasons`` by column."""

    marks: dict[Place, int] = field(default_factory=dict)
    reasons: dict[Column, str] = field(default_factory=dict)


def matching(grid: Grid, baseline: str) -> list[int]:
    """Rows that a baseline's name means: a method (with or without its backbone), a preset, an
    ablation (``full`` for none), a fusion, a prompt (``ours``), else a row's whole name.

    Raises UserError where it means none.
    """
    name = baseline.casefold()
    found = [i for i, row in enumerate(grid.rows) if name in map(str.casefold, _names(row))]
    found = found or [i for i, row in enumerate(grid.rows) if row.name.casefold() == name]
    if not found:
        raise UserError(_unknown(grid, baseline))
    return found


def _unknown(grid: Grid, baseline: str) -> str:
    """Names that are like it; where none is, the shortest of all."""
    every = [name for row in grid.rows for name in (row.method, *sorted(_names(row)), row.name)]
    names: dict[str, str] = {}
    for name in every:
        names.setdefault(name.casefold(), name)
    found = unknown("--baseline", baseline, names.values())
    if "did you mean" in found or "choices:" in found:
        return found
    some = sorted(names.values(), key=lambda name: (len(name), name))[:MOST_NAMED]
    return f"{found} (some choices: {', '.join(map(one_line, some))})"


def _names(row: Row) -> set[str]:
    """What a row answers to."""
    cell = row.any.first.cell
    names = {row.method, cell["preset"], cell["ablation"]}
    if row.backbone:
        names.add(f"{row.method} · {row.backbone}")
    names.add("".join(c for c in row.method if c.isalnum()))
    fusion = cell["reading"].get("fusion")
    if fusion:
        names.add(fusion["kind"])
    if "prompt" in (cell["identity"].get("method") or {}):
        names.add(cell["changed"].get("prompt", OWN_PROMPT))
    return {str(name) for name in names if name}


def chosen(
    grid: Grid, candidates: Sequence[int], number: int, column: Column
) -> tuple[int | None, str]:
    """The baseline of one row on one graph; None where the row is one itself, or there is none.

    Of several, first those of the row's own backbone or of none, then of its method and preset,
    then of equal treatment, then of its own backbone, then with the fewest settings that are no
    defaults. A reason comes with it where several backbones stand for the baseline and none is the
    row's own: nothing is tested then.
    """
    row = grid.rows[number]
    there = [i for i in candidates if column in grid.rows[i].entries]
    kin = [i for i in there if _kind(grid.rows[i]) == _kind(row)]
    if number in kin and number == min(kin, key=lambda i: plainness(grid.rows[i])):
        return None, ""

    def rank(i: int) -> tuple[object, ...]:
        other = grid.rows[i]
        unequal = treatment_differences(row.entries[column], other.entries[column])
        foreign = other.backbone not in (row.backbone, "")  # a baseline may ask nobody
        kin = _kind(other) == _kind(row)
        return foreign, not kin, bool(unequal), other.backbone != row.backbone, *plainness(other)

    found = min((i for i in there if i != number), key=rank, default=None)
    backbones = sorted({grid.rows[i].backbone for i in there})
    if found is None or grid.rows[found].backbone in (row.backbone, "") or len(backbones) == 1:
        return found, ""
    return found, f"the baseline has several backbones ({', '.join(backbones)}): name a whole row"


def _kind(row: Row) -> tuple[str, str, str]:
    return row.method, row.backbone, row.preset


def against(grid: Grid, baseline: str, *, allow_unequal: bool = False) -> dict[Place, Tested]:
    """Every entry against its baseline, p corrected after Holm over each column and measure."""
    candidates = matching(grid, baseline)
    out: dict[Place, Tested] = {}
    for column in grid.columns:
        pairs = []
        for i, entry in grid.at(column):
            other, reason = chosen(grid, candidates, i, column)
            if other is not None and reason:
                refused = Tested(other, Difference(None, (reason,)))
                out |= {(i, column, measure): refused for measure in grid.measures}
            elif other is not None:
                pairs.append((i, other, entry, grid.rows[other].entries[column]))
        for measure in grid.measures:
            found = [differ(a, b, measure, allow_unequal=allow_unequal) for _, _, a, b in pairs]
            corrected = holm([d.found.p_value if d.found else None for d in found])
            for (i, other, _, _), d, p in zip(pairs, found, corrected, strict=True):
                out[i, column, measure] = Tested(other, d, p)
    return out


def best(grid: Grid, rivals: Mapping[tuple[Column, str], Mapping[int, float]]) -> Best:
    """Best and second mean of each column, where its rows can be compared at all.

    Oracles know the gold and are left out.
    ``rivals`` are published numbers that may be ranked with ours, as fractions by their line.
    """
    out = Best()
    for column in grid.columns:
        entries = [(i, entry) for i, entry in grid.at(column) if entry.target not in KNOWS_GOLD]
        if len(entries) < 2 and not any((column, m) in rivals for m in grid.measures):
            continue
        reason = _reason(grid, column, entries)
        if reason:
            out.reasons[column] = reason
            continue
        for measure in grid.measures:
            means = {i: e.mean for i, x in entries if (e := x.estimate(measure)) is not None}
            known = {i: m for i, m in means.items() if m is not None}
            known |= rivals.get((column, measure), {})
            for i, place in ranked(known).items():
                out.marks[i, column, measure] = place
    return out


def ranked(means: Mapping[int, float]) -> dict[int, int]:
    """1 for the highest mean and 2 for the next lower one; equals share a place.

    Nothing where all are equal, and none for a mean of 0.
    """
    levels = sorted(set(means.values()), reverse=True)[:2]
    if len(levels) < 2:
        return {}
    return {i: levels.index(m) + 1 for i, m in means.items() if m and m in levels}


def _reason(grid: Grid, column: Column, entries: Sequence[tuple[int, Entry]]) -> str:
    """Why no row of a column is called the best; empty where one may be."""
    if any((i, column) in grid.unlike for i, _ in entries):
        return "the data differ"
    first = entries[0][1]
    for _, entry in entries[1:]:
        unequal = treatment_differences(first, entry)
        if unequal:
            return ", ".join(unequal)
    fewest_at, fewest = min(entries, key=lambda pair: pair[1].failures)
    for i, entry in entries:
        p = failure_p(entry, fewest) if entry is not fewest else 1.0
        if p < ALPHA:
            names = f"{grid.rows[i].name} and {grid.rows[fewest_at].name}"
            counts = f"{entry.failures:g} and {fewest.failures:g}"
            return f"failure rates differ beyond chance ({counts} failed, p {p:.2g}: {names})"
    return ""
