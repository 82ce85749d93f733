"""Several repeats of a run: the mean over repeats with a two-level bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ark.records import Json
from ark.scoring.estimates import checked, estimate_mean, scale_of, scaled
from ark.scoring.intervals import (
    CONFIDENCE,
    RESAMPLES,
    SCALE,
    Estimate,
    Floats,
    Ints,
    bootstrap_counts,
    cluster_codes,
    cluster_sums,
    design_effect,
    exact_product,
)


@dataclass(frozen=True, slots=True)
class RepeatedEstimate(Estimate):
    """An estimate over ``repeats`` runs of the same questions; ``n`` counts questions."""

    repeats: int = 1

    def to_json(self) -> dict[str, Json]:
        """The fields by name; None, never NaN."""
        return {**Estimate.to_json(self), "repeats": self.repeats}


def two_level(
    values: ArrayLike,
    clusters: Sequence[str],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> RepeatedEstimate:
    """Mean over repeats of the per-question means of values[r, n], with a two-level interval.

    Each resample takes whole clusters of questions with replacement, then r of the r repeats with
    replacement, the same for all its questions, so that what a whole run shares counts too: the
    pigeonhole bootstrap (Owen 2007, Ann. Appl. Stat. 1:386), percentile limits. It is slightly too
    wide where repeats differ by chance alone, and too narrow by up to sqrt((r-1)/r) where what
    runs share dominates. With r = 1 it is ``estimate_mean``, as with several repeats that are all
    alike. ``design_effect`` is that of the per-question means.

    Raises ValueError when r is 0, lengths differ, or a value is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"values have shape {table.shape}, not (repeats >= 1, questions)")
    for r, row in enumerate(table):
        checked(row, len(clusters), f"values[{r}]", unit=False)
    codes = cluster_codes(clusters)
    if (table != table[0]).any():
        plain = _spread(table, codes, seed, resamples, confidence)
    else:
        plain = estimate_mean(
            table[0], clusters, rate=False, seed=seed, resamples=resamples, confidence=confidence
        )
    return RepeatedEstimate(
        plain.mean,
        plain.low,
        plain.high,
        plain.n,
        plain.clusters,
        plain.design_effect,
        len(table),
    )


def _spread(table: Floats, codes: Ints, seed: int, resamples: int, confidence: float) -> Estimate:
    scale = scale_of(table)
    sums, sizes = cluster_sums(table.T / scale, codes)
    repeats, n = table.shape
    ordered = np.sort(_resampled(sums, sizes, seed, resamples))
    tail = max(1, round(resamples * (1 - confidence) / 2))
    mean = int(sums.sum()) / (repeats * n * SCALE)
    effect = design_effect(table.mean(axis=0), codes)
    low, high = float(ordered[tail - 1]), float(ordered[-tail])
    return scaled(Estimate(mean, low, high, n, len(sizes), effect), scale)


def _resampled(sums: Ints, sizes: Ints, seed: int, resamples: int) -> Floats:
    """Means of the resamples, float64[resamples], of sums[c, r]; repeats from ``PCG64(seed+1)``."""
    repeats = sums.shape[1]
    taken = np.concatenate(
        [x.astype(np.int64) for x in bootstrap_counts(repeats, seed + 1, resamples)]
    )
    out, done, totals = np.empty(resamples), 0, np.column_stack([sums, sizes])
    for times in bootstrap_counts(len(sizes), seed, resamples):
        drawn = exact_product(times, totals)
        chosen = (drawn[:, :-1] * taken[done : done + len(times)]).sum(axis=1)
        out[done : done + len(times)] = chosen / (drawn[:, -1] * SCALE * repeats)
        done += len(times)
    return out
