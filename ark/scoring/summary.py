"""From per-question values to the ``measures`` part of ``result.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ark.scoring.estimates import estimate_columns
from ark.scoring.intervals import NOTHING, Estimate, cluster_codes
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
    Wilson's interval on the effective number of questions, the rest a BCa bootstrap over clusters
    (Wilson's where resampling shows no spread). A measure of the answer set is averaged
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
    estimates = estimate_columns(values, codes, [m.is_rate for m in present], seed=seed)
    found = {m.name: e for m, e in zip(present, estimates, strict=True)}
    return {m.name: found.get(m.name, NOTHING).rounded(DIGITS) for m in measures}


def _given(measure: Measure, row: Row) -> float | None:
    value = row.get(measure.name)
    if value is None and not measure.of_answers:
        raise ValueError(f"a row has no value for {measure.name}; failed questions are zero rows")
    return value
