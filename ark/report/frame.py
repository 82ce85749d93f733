"""Rows between floor and ceiling: (row - floor) / (ceiling - floor).

The floor is ``method=ark backbone=random``, the ceiling ``method=oracle``, each the plainest row of
the same graph, questions and settings outside the method. A row may lie outside 0 to 1: the ceiling
is that of one policy with ARK's tools (docs/methods/oracle.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ark.records import Json
from ark.report.entry import ORACLE, Entry
from ark.report.grid import Column, Grid, plainness
from ark.report.marks import Place
from ark.report.names import title
from ark.report.per_query import Floats
from ark.report.unlike import same_data, treatment_differences
from ark.scoring.bca import expanded_quantile, percentile_ranks
from ark.scoring.intervals import (
    CONFIDENCE,
    SCALE,
    bootstrap_means,
    cluster_codes,
    cluster_sums,
)

FLOOR = "ark.agent.method:Ark"
RANDOM = "random"
UNDEFINED = "–"
MOST_UNDEFINED = 0.025  # of the resamples; with more there is no interval
FIELDS = ("floor", "ceiling", "framed", "framed_low", "framed_high")


@dataclass(frozen=True)
class Framed:
    """``share`` None: the ceiling does not lie above the floor. Limits None: no interval."""

    floor: float
    ceiling: float
    share: float | None
    low: float | None = None
    high: float | None = None


@dataclass
class Frame:
    """What is framed, between which rows, and why something is not."""

    values: dict[Place, Framed] = field(default_factory=dict)
    between: dict[tuple[int, Column], tuple[int, int]] = field(default_factory=dict)
    reasons: dict[Column, dict[str, None]] = field(default_factory=dict)


def frames(grid: Grid, *, allow_unequal: bool = False) -> Frame:
    """Every row but floors and ceilings, where there are both."""
    out = Frame()
    for column in grid.columns:
        entries = dict(grid.at(column))
        ends = [[i for i, e in entries.items() if of(e)] for of in (_is_floor, _is_ceiling)]
        lacking = [
            f"no run of {how}"
            for found, how in zip(
                ends, ("method=ark backbone=random", "method=oracle"), strict=True
            )
            if not found
        ]
        if lacking:
            out.reasons[column] = {" and ".join(lacking): None}
            continue
        for i, entry in entries.items():
            if i in ends[0] or i in ends[1]:
                continue
            pair, reason = _ends(grid, column, entry, ends, allow_unequal=allow_unequal)
            if pair is None:
                out.reasons.setdefault(column, {})[f"{grid.rows[i].name}: {reason}"] = None
                continue
            out.between[i, column] = pair
            for measure in grid.measures:
                found = _framed(entry, entries[pair[0]], entries[pair[1]], measure)
                if found is not None:
                    out.values[i, column, measure] = found
    return out


def _is_floor(entry: Entry) -> bool:
    return entry.target == FLOOR and entry.first.cell["backbone_model"] == RANDOM


def _is_ceiling(entry: Entry) -> bool:
    return entry.target == ORACLE


def _ends(
    grid: Grid,
    column: Column,
    entry: Entry,
    ends: Sequence[Sequence[int]],
    *,
    allow_unequal: bool,
) -> tuple[tuple[int, int] | None, str]:
    """Row numbers of the floor and the ceiling of one row, or why there are none."""
    chosen: list[int] = []
    for found in ends:
        alike = [i for i in found if same_data(grid.rows[i].entries[column].first, entry.first)]
        if not alike:
            return None, "the data differ"
        unequal = {i: _unequal(entry, grid.rows[i].entries[column]) for i in alike}
        best = min(alike, key=lambda i: (bool(unequal[i]), plainness(grid.rows[i])))
        if unequal[best] and not allow_unequal:
            return None, ", ".join(unequal[best])
        chosen.append(best)
    return (chosen[0], chosen[1]), ""


def _unequal(entry: Entry, end: Entry) -> list[str]:
    """A reranker does not count: floor and ceiling are those of the tools."""
    differ = treatment_differences(entry, end)
    return [text for text in differ if not text.startswith("rerank ")]


def _framed(entry: Entry, floor: Entry, ceiling: Entry, measure: str) -> Framed | None:
    columns = [_aligned(each, entry.ids, measure) for each in (entry, floor, ceiling)]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns) or not len(known[0]):
        return None
    values = np.column_stack(known)
    sums, sizes = cluster_sums(values, cluster_codes(entry.clusters))
    score, low, high = (float(total) / (SCALE * len(values)) for total in sums.sum(axis=0))
    if high <= low:
        return Framed(low, high, None)
    share = (score - low) / (high - low)
    return Framed(low, high, share, *_limits(bootstrap_means(sums, sizes), len(sizes)))


def _aligned(entry: Entry, ids: Sequence[str], measure: str) -> Floats | None:
    values = entry.values(measure) if entry.testable else None
    if values is None or set(entry.ids) != set(ids):
        return None
    place = {query: i for i, query in enumerate(entry.ids)}
    return values[np.array([place[query] for query in ids], dtype=np.int64)]


def _limits(means: Floats, clusters: int) -> tuple[float | None, float | None]:
    """Percentile limits of the share over resamples of all three rows together."""
    score, low, high = means.T
    defined = high > low
    if clusters < 2 or not defined.any() or (~defined).mean() > MOST_UNDEFINED:
        return None, None
    shares = np.sort((score[defined] - low[defined]) / (high[defined] - low[defined]))
    if shares[0] == shares[-1]:  # no spread is not certainty
        return None, None
    first, last = percentile_ranks(len(shares), expanded_quantile(clusters, CONFIDENCE))
    return float(shares[first - 1]), float(shares[last - 1])


def rows(grid: Grid, found: Frame | None) -> tuple[tuple[str, ...], ...]:
    """Header and a row for each that is framed; empty without any."""
    if found is None or not found.values:
        return ()
    out = [("framed", "graph", *map(title, grid.measures))]
    for i, column in found.between:
        cells = [_cell(found.values.get((i, column, measure))) for measure in grid.measures]
        out.append((grid.rows[i].name, column.label, *cells))
    return tuple(out)


def _cell(framed: Framed | None) -> str:
    if framed is None or framed.share is None:
        return UNDEFINED
    if framed.low is None or framed.high is None:
        return f"{framed.share:.2f}"
    return f"{framed.share:.2f} [{framed.low:.2f}, {framed.high:.2f}]"


def lines(grid: Grid, found: Frame | None) -> list[str]:
    """What the table means, and what is not framed."""
    if found is None:
        return []
    out = []
    if found.values:
        out.append(
            "Framed, a share and no percent: (row - floor) / (ceiling - floor), [95 % interval] by "
            "resampling clusters of questions for all three together (percentile limits); "
            f"{UNDEFINED} where the ceiling does not lie above the floor. The ceiling is what one "
            "policy that knows the answers gets with ARK's tools: a row may lie above 1, and below "
            "0."
        )
        pairs: Mapping[tuple[Column, int, int], None] = {
            (column, *pair): None for (_, column), pair in found.between.items()
        }
        out += [_ends_line(grid, found, *key) for key in pairs]
    for column, reasons in found.reasons.items():
        out += [f"{column.label}: not framed: {reason}." for reason in reasons]
    return out


def _ends_line(grid: Grid, found: Frame, column: Column, floor: int, ceiling: int) -> str:
    """Which rows are floor and ceiling, with their means in percent."""
    of = [i for (i, c), pair in found.between.items() if c == column and pair == (floor, ceiling)]
    spans = {
        measure: framed
        for measure in grid.measures
        for i in of
        if (framed := found.values.get((i, column, measure))) is not None
    }
    means = [
        f"{title(measure)} {100 * framed.floor:.1f} to {100 * framed.ceiling:.1f}"
        for measure, framed in spans.items()
    ]
    names = f"floor {grid.rows[floor].name}, ceiling {grid.rows[ceiling].name}"
    return f"{column.label}: {names}: {', '.join(means)}."


def record(found: Frame | None, place: Place) -> dict[str, Json]:
    """Values of ``FIELDS`` of one row, column and measure."""
    framed = None if found is None else found.values.get(place)
    if framed is None:
        return {}
    values = framed.floor, framed.ceiling, framed.share, framed.low, framed.high
    return dict(zip(FIELDS, values, strict=True))
