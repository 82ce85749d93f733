"""Means with intervals: Wilson for rates, percentile bootstrap over clusters for the rest.

The same input gives the same bytes on every machine and numpy version: resampling uses the raw
64-bit stream of PCG64 (which numpy promises to keep, unlike ``Generator`` methods), sums are taken
over integers, and limits are order statistics, never interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ark.records import Json

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 2_000
CONFIDENCE = 0.95
SCALE = 10**12  # values are summed as whole multiples of 1e-12
_BLOCK = 1 << 22  # draws held at once: 32 MB


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``n`` questions and its interval; all None when there is nothing to average."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def rounded(self, digits: int) -> Estimate:
        """The same to so many decimals."""
        mean, low, high = (
            None if v is None else round(v, digits) for v in (self.mean, self.low, self.high)
        )
        return Estimate(mean, low, high, self.n)

    def to_json(self) -> dict[str, Json]:
        """``{"mean", "low", "high", "n"}`` as ``result.json`` keeps it; None, never NaN."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


NOTHING = Estimate(None, None, None, 0)


def wilson(
    successes: float,
    n: int,
    confidence: float = CONFIDENCE,
    *,
    effective_n: float | None = None,
) -> Estimate:
    """Wilson's score interval for a rate, without continuity correction (Wilson 1927).

    ``effective_n`` replaces ``n`` in the width where questions are not independent. Raises
    ValueError unless 0 <= successes <= n and 0 < confidence < 1.
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
    return Estimate(p, low, high, n)


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


def bootstrap_means(
    sums: Ints, sizes: Ints, *, seed: int = 0, resamples: int = RESAMPLES
) -> Floats:
    """Means under resampling of whole clusters, float64[resamples, m], all columns drawn together.

    Resample b takes c clusters with replacement. Its j-th is ``(u >> 32) * c >> 32`` with u the
    (b*c + j)-th word of ``PCG64(seed)``; that favours no cluster by more than c / 2^32.
    """
    count = len(sizes)
    stream = np.random.PCG64(seed)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _BLOCK // max(1, count))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        words = stream.random_raw(rows * count).astype(np.uint64, copy=False)
        picks = ((words >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64)
        picks += np.repeat(np.arange(rows, dtype=np.int64) * count, count)
        times = np.bincount(picks, minlength=rows * count).reshape(rows, count)
        means[start : start + rows] = (times @ sums) / (times @ sizes * SCALE)[:, None]
    return means


def bootstrap(
    values: Floats,
    codes: Ints,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Estimate]:
    """Mean and percentile bootstrap interval of each column of values[n, m] (Efron 1981).

    ``codes[n]`` numbers the clusters, 0 to c-1. With 2,000 resamples and 95 % the limits are the
    50th smallest and the 50th largest resampled mean. Values may be any within +-1.
    """
    n = len(values)
    if n == 0:
        return [NOTHING] * values.shape[1]
    sums, sizes = cluster_sums(values, codes)
    ordered = np.sort(bootstrap_means(sums, sizes, seed=seed, resamples=resamples), axis=0)
    tail = max(1, round(resamples * (1 - confidence) / 2))
    means = sums.sum(axis=0) / (n * SCALE)
    return [
        Estimate(float(m), float(low), float(high), n)
        for m, low, high in zip(means, ordered[tail - 1], ordered[-tail], strict=True)
    ]
