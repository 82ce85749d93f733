"""From per-question values to the ``measures`` part of ``result.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ark.scoring.intervals import (
    NOTHING,
    Estimate,
    Floats,
    Ints,
    bootstrap,
    cluster_codes,
    effective_n,
    kish_n,
    wilson,
)
from ark.scoring.measures import DEFAULT_MEASURES, Measure

DIGITS = 10  # decimals that a result keeps; hides the last bits of floating point

Row = Mapping[str, float | None]


def summarise(
    rows: Sequence[Row],
    clusters: Sequence[str],
    measures: Sequence[Measure] = DEFAULT_MEASURES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Mean and 95 % interval of each measure, by its name and in the order given.

    ``rows`` holds one row for every question of the split in stored order, failed and missing ones
    as ``zero_row``; ``clusters`` names each question's cluster ("" = by itself). Hit rates get
    Wilson's interval on the effective number of questions, the rest a percentile bootstrap over
    clusters (Wilson's where resampling shows no spread). A measure of the answer set is averaged
    over all questions, None as 0, if any question has a value, and is without value (n = 0) if
    none has. Rounded to 10 decimals.

    Raises ValueError when lengths differ, or a value is missing or outside [0, 1].
    """
    if len(rows) != len(clusters):
        raise ValueError(f"{len(rows)} rows but {len(clusters)} clusters")
    present = [m for m in measures if rows and any(_given(m, row) is not None for row in rows)]
    values = np.empty((len(rows), len(present)))
    for j, measure in enumerate(present):
        values[:, j] = [_given(measure, row) or 0.0 for row in rows]
    wrong = ~((values >= 0) & (values <= 1))  # true for NaN too
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(f"row {i}: {present[j].name}={values[i, j]} is not between 0 and 1")
    codes = cluster_codes(clusters)
    estimates = _estimates(values, codes, present, seed)
    found = {m.name: e for m, e in zip(present, estimates, strict=True)}
    return {m.name: found.get(m.name, NOTHING).rounded(DIGITS) for m in measures}


def _given(measure: Measure, row: Row) -> float | None:
    value = row.get(measure.name)
    if value is None and not measure.of_answers:
        raise ValueError(f"a row has no value for {measure.name}; failed questions are zero rows")
    return value


def _estimates(
    values: Floats, codes: Ints, measures: Sequence[Measure], seed: int
) -> list[Estimate]:
    if not measures:
        return []
    n, sizes = len(values), np.bincount(codes).astype(np.int64)
    out = []
    for measure, column, resampled in zip(
        measures, values.T, bootstrap(values, codes, seed=seed), strict=True
    ):
        if measure.is_rate:
            size = effective_n(np.bincount(codes, column).astype(np.float64), sizes)
            out.append(wilson(float(column.sum()), n, effective_n=size))
        elif resampled.low == resampled.high:
            # One cluster, or all alike: resampling shows no spread, which is not certainty.
            # Wilson's interval is safe, as no value in [0, 1] varies more than a rate does.
            safe = wilson(float(column.sum()), n, effective_n=kish_n(sizes))
            out.append(replace(safe, mean=resampled.mean))
        else:
            out.append(resampled)
    return out
