"""Means with intervals: Wilson for rates, BCa bootstrap over clusters for the rest.

The same input gives the same bytes on every machine and numpy version: resampling uses the raw
64-bit stream of PCG64 (which numpy promises to keep, unlike ``Generator`` methods), sums are taken
over integers, and limits are order statistics, never interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ark.records import Json
from ark.scoring.bca import bca_ranks, expanded_quantile, percentile_ranks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = NDArray[np.uint16]

RESAMPLES = 2_000
CONFIDENCE = 0.95
SCALE = 10**12  # values are summed as whole multiples of 1e-12
_BLOCK = 1 << 22  # draws held at once: 32 MB
_EXACT = 1 << 53  # whole numbers below are exact in float64, in whatever order they are summed


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``n`` questions and its interval; all None when there is nothing to average.

    ``clusters`` is the number of clusters resampled and ``design_effect`` what they cost: the
    variance of the mean over that of ``n`` independent questions, at least 1.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int = 0
    design_effect: float | None = None

    def rounded(self, digits: int) -> Estimate:
        """The same to so many decimals."""
        mean, low, high, effect = (
            None if v is None else round(v, digits)
            for v in (self.mean, self.low, self.high, self.design_effect)
        )
        return replace(self, mean=mean, low=low, high=high, design_effect=effect)

    def to_json(self) -> dict[str, Json]:
        """The fields by name as ``result.json`` keeps them; None, never NaN."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "clusters": self.clusters,
            "design_effect": self.design_effect,
        }


NOTHING = Estimate(None, None, None, 0)


def wilson(
    successes: float,
    n: int,
    confidence: float = CONFIDENCE,
    *,
    effective_n: float | None = None,
    clusters: int | None = None,
) -> Estimate:
    """Wilson's score interval for a rate, without continuity correction (Wilson 1927).

    ``effective_n`` replaces ``n`` in the width where questions are not independent; ``clusters``
    (n if not given) is only noted. Raises ValueError unless 0 <= successes <= n and
    0 < confidence < 1.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes={successes} is not between 0 and n={n}")
    if n == 0:
        return NOTHING
    size = float(n) if effective_n is None else effective_n
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p = successes / n
    scale = 1 + z * z / size
    centre = (p + z * z / (2 * size)) / scale
    half = z * math.sqrt(p * (1 - p) / size + z * z / (4 * size * size)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(p, low, high, n, n if clusters is None else clusters, n / size)


def cluster_codes(clusters: Sequence[str]) -> Ints:
    """Cluster numbers in order of first appearance, int64[n]; each "" is a cluster by itself."""
    seen: dict[tuple[str, int], int] = {}
    keys = ((name, -1 if name else i) for i, name in enumerate(clusters))
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def cluster_sums(values: Floats, codes: Ints) -> tuple[Ints, Ints]:
    """Sums in units of 1e-12, int64[c, m], and sizes, int64[c], of the clusters of values[n, m]."""
    whole = np.rint(values * SCALE).astype(np.int64)
    count = int(codes.max()) + 1 if codes.size else 0
    sums = np.zeros((count, values.shape[1]), dtype=np.int64)
    np.add.at(sums, codes, whole)
    return sums, np.bincount(codes, minlength=count).astype(np.int64)


def kish_n(sizes: Ints) -> float:
    """(sum m)^2 / sum m^2: what clusters are worth whose questions all agree (Kish 1965)."""
    return float(sizes.sum()) ** 2 / float((sizes * sizes).sum())


def effective_n(sums: Floats, sizes: Ints) -> float:
    """How many independent questions a rate over clusters is worth; between 1 and n.

    n over the design effect (Kish 1965, Survey Sampling): the variance of the rate as a ratio of
    cluster totals (linearised) over p(1-p)/n. An effect below 1 is taken as 1, so that clusters
    never narrow an interval. Where the variance cannot be seen (one cluster, or p is 0 or 1),
    ``kish_n`` stands in. Clusters of one give n exactly. ``sums`` float64[c], ``sizes`` int64[c].
    For Wilson's interval on it see Franco et al. 2019 (J. Survey Stat. Methodol. 7:334).
    """
    n, count = float(sizes.sum()), len(sizes)
    if count == n:
        return n
    p = float(sums.sum()) / n
    if count == 1 or p <= 0 or p >= 1:
        return kish_n(sizes)
    residuals = sums - p * sizes
    variance = count / (count - 1) * float((residuals * residuals).sum()) / (n * n)
    return min(n, max(1.0, p * (1 - p) / variance)) if variance > 0 else n


def design_effect(values: Floats, codes: Ints) -> float:
    """Variance of the mean of values[n] over clusters, over that of n independent values; >= 1.

    Both linearised as in ``effective_n``, which for 0/1 values is n over this. Where the variance
    cannot be seen (one cluster, or all alike), n over ``kish_n``. Clusters of one give 1 exactly.
    """
    n = len(values)
    sizes = np.bincount(codes).astype(np.int64)
    count = len(sizes)
    if count == n:
        return 1.0
    mean = float(values.mean())
    alone = float(((values - mean) ** 2).sum())
    if count == 1 or np.ptp(values) == 0:
        return n / kish_n(sizes)
    residuals = np.bincount(codes, values) - mean * sizes
    return max(1.0, count / (count - 1) * float((residuals * residuals).sum()) / alone)


def bootstrap_means(
    sums: Ints, sizes: Ints, *, seed: int = 0, resamples: int = RESAMPLES
) -> Floats:
    """Means under resampling of whole clusters, float64[resamples, m], all columns drawn together.

    Resample b takes c clusters with replacement. Its j-th is ``(u >> 32) * c >> 32`` with u the
    (b*c + j)-th word of ``PCG64(seed)``; that favours no cluster by more than c / 2^32.
    """
    means = np.empty((resamples, sums.shape[1]))
    done, totals = 0, np.column_stack([sums, sizes])
    for times in bootstrap_counts(len(sizes), seed, resamples):
        drawn = exact_product(times, totals)
        means[done : done + len(times)] = drawn[:, :-1] / (drawn[:, -1:] * SCALE)
        done += len(times)
    return means


def exact_product(times: Counts, totals: Ints) -> Ints:
    """Matrix product of times[b, c], whose rows sum to c, and totals[c, m], int64[b, m]."""
    # With floats it is several times as fast, and as exact as long as no sum can reach 2^53.
    small = len(totals) * int(np.abs(totals).max(initial=0)) < _EXACT
    kind = np.float64 if small else np.int64
    return np.asarray(times.astype(kind) @ totals.astype(kind)).astype(np.int64)


def bootstrap_counts(count: int, seed: int, resamples: int) -> Iterable[Counts]:
    """How often each of ``count`` clusters is in each resample: blocks of uint16[rows, count]."""
    step = max(1, _BLOCK // max(1, count))
    if resamples * count <= 4 * _BLOCK:  # paired tests of a table ask for the same draws again
        return _kept_counts(count, seed, resamples, step)
    return _draw_counts(count, seed, resamples, step)


@lru_cache(maxsize=2)
def _kept_counts(count: int, seed: int, resamples: int, step: int) -> tuple[Counts, ...]:
    return tuple(_draw_counts(count, seed, resamples, step))


def _draw_counts(count: int, seed: int, resamples: int, step: int) -> Iterator[Counts]:
    stream = np.random.PCG64(seed)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        words = stream.random_raw(rows * count).astype(np.uint64, copy=False)
        picks = ((words >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64)
        picks += np.repeat(np.arange(rows, dtype=np.int64) * count, count)
        times = np.bincount(picks, minlength=rows * count).reshape(rows, count)
        yield times.astype(np.uint16)


def bootstrap(
    values: Floats,
    codes: Ints,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    accelerated: bool = True,
) -> list[Estimate]:
    """Mean and bootstrap interval of each column of values[n, m]: BCa (Efron 1987) or percentile.

    ``codes[n]`` numbers the clusters, 0 to c-1; whole clusters are resampled, and left out in turn
    for the acceleration. ``accelerated`` picks BCa, for means that are skewed; differences, which
    are symmetric where it matters, do better without. Limits are two of the resampled means, at
    levels widened for few clusters (``expanded_quantile``): with 2,000 of them, 95 %, many
    clusters and no bias or skew, the 50th smallest and the 50th largest. Values may be any within
    +-1. Where no resample differs from another, low = high.
    """
    n = len(values)
    if n == 0:
        return [NOTHING] * values.shape[1]
    sums, sizes = cluster_sums(values, codes)
    count = len(sizes)
    resampled = np.sort(bootstrap_means(sums, sizes, seed=seed, resamples=resamples), axis=0)
    out = []
    for j, column in enumerate(values.T):
        total, ordered = int(sums[:, j].sum()), resampled[:, j]
        mean = total / (n * SCALE)
        if ordered[0] == ordered[-1]:
            low = high = mean
        else:
            quantile = expanded_quantile(count, confidence)
            first, last = percentile_ranks(resamples, quantile)
            if accelerated:
                left_out = (total - sums[:, j]) / ((n - sizes) * SCALE)
                first, last = bca_ranks(ordered, mean, left_out, quantile)
            low, high = float(ordered[first - 1]), float(ordered[last - 1])
        out.append(Estimate(mean, low, high, n, count, design_effect(column, codes)))
    return out
