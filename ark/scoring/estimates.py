"""Which interval a mean gets: Wilson's for rates, BCa for the rest, a safe one without spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ark.scoring.bca import t_quantile
from ark.scoring.intervals import (
    CONFIDENCE,
    NOTHING,
    RESAMPLES,
    Estimate,
    Floats,
    Ints,
    bootstrap,
    cluster_codes,
    effective_n,
    kish_n,
    wilson,
)


def estimate_columns(
    values: Floats,
    codes: Ints,
    rates: Sequence[bool],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Estimate]:
    """Mean and interval of each column of values[n, m], all in [0, 1]; the rule of this harness.

    Rates get Wilson's interval on the effective number of questions. The rest gets the BCa
    bootstrap over clusters or, where resampling shows no spread (one cluster, or all alike), which
    is not certainty, Wilson's on ``kish_n`` questions: safe, as no value in [0, 1] varies more
    than a rate does.
    """
    n = len(values)
    if n == 0 or not rates:
        return [NOTHING] * len(rates)
    sizes = np.bincount(codes).astype(np.int64)
    others = [j for j, rate in enumerate(rates) if not rate]
    drawn = []
    if others:
        drawn = bootstrap(
            values[:, others], codes, seed=seed, resamples=resamples, confidence=confidence
        )
    resampled = dict(zip(others, drawn, strict=True))
    out = []
    for j, column in enumerate(values.T):
        found = resampled.get(j)
        if found is None:
            found = _rate(column, codes, sizes, confidence)
        elif found.low == found.high:
            safe = wilson(float(column.sum()), n, confidence, effective_n=kish_n(sizes))
            found = replace(found, low=safe.low, high=safe.high)
        out.append(found)
    return out


def _rate(column: Floats, codes: Ints, sizes: Ints, confidence: float) -> Estimate:
    """Wilson on the effective n, times (t_(n-1) / t_(c-1))^2 as the design effect is estimated.

    That factor is Korn & Graubard's (1998, Surv. Methodol. 24:193); 1 for clusters of one.
    """
    n, count, hits = len(column), len(sizes), float(column.sum())
    size = effective_n(np.bincount(codes, column).astype(np.float64), sizes)
    worth = size
    if 1 < count < n and 0 < hits < n:
        worth *= (t_quantile(n - 1, confidence) / t_quantile(count - 1, confidence)) ** 2
    found = wilson(hits, n, confidence, effective_n=worth, clusters=count)
    return replace(found, design_effect=n / size)


def estimate_mean(
    values: ArrayLike,
    clusters: Sequence[str],
    *,
    rate: bool,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Mean of values[n] with its interval, number of clusters and design effect.

    ``clusters`` names each value's cluster ("" = by itself). ``rate`` (values in [0, 1], as hits
    are) picks Wilson's interval, else BCa; see ``estimate_columns``. Values outside [0, 1], as
    tokens per question, are fine where ``rate`` is false; without spread they get None for limits,
    since nothing bounds them.

    Raises ValueError when lengths differ, or values are not finite, or a rate's not in [0, 1].
    """
    column = checked(values, len(clusters), "values", unit=rate)
    if not column.size:
        return NOTHING
    codes = cluster_codes(clusters)
    scale = scale_of(column)
    inside = column.min() >= 0 and scale == 1
    if inside:
        (found,) = estimate_columns(
            column[:, None], codes, [rate], seed=seed, resamples=resamples, confidence=confidence
        )
        return found
    (found,) = bootstrap(
        column[:, None] / scale, codes, seed=seed, resamples=resamples, confidence=confidence
    )
    return scaled(found, scale)


def checked(values: ArrayLike, n: int, name: str, *, unit: bool) -> Floats:
    """``values`` as float64[n]; ValueError for another shape, NaN, or (``unit``) beyond [0, 1]."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(f"{name} have shape {column.shape} but there are {n} clusters")
    wrong = ~((column >= 0) & (column <= 1)) if unit else ~np.isfinite(column)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        kind = "between 0 and 1" if unit else "finite"
        raise ValueError(f"{name}[{i}]={column[i]} is not {kind}")
    return column


def scale_of(values: Floats) -> float:
    """The power of 2 (at least 1) that brings values within +-1: dividing by it rounds nothing."""
    largest = float(np.abs(values).max(initial=0))
    return 1.0 if largest <= 1 else 2.0 ** math.ceil(math.log2(largest))


def scaled(estimate: Estimate, scale: float) -> Estimate:
    """An estimate of values / scale as one of the values; limits are None without spread."""
    mean, low, high = estimate.mean, estimate.low, estimate.high
    if mean is None or low is None or high is None:
        return estimate
    if low == high:
        return replace(estimate, mean=mean * scale, low=None, high=None)
    return replace(estimate, mean=mean * scale, low=low * scale, high=high * scale)
