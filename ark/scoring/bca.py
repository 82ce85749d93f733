"""Which resampled means are the limits of a bootstrap interval: percentile and BCa."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NORMAL = NormalDist()


def percentile_ranks(b: int, quantile: float) -> tuple[int, int]:
    """Ranks (1 = smallest) of the percentile limits among b resampled means (Efron 1981)."""
    rank = _rank(_NORMAL.cdf(-quantile), b)
    return rank, b + 1 - rank


def bca_ranks(
    ordered: NDArray[np.float64],
    mean: float,
    left_out: NDArray[np.float64],
    quantile: float,
) -> tuple[int, int]:
    """Ranks (1 = smallest) of the BCa limits among ``ordered`` resampled means, float64[b].

    Bias corrected and accelerated (Efron 1987, J. Am. Stat. Assoc. 82:171; Efron & Tibshirani
    1993, section 14.3). ``left_out``, float64[c], holds the mean without each cluster, and
    ``quantile`` is 1.96 for the usual 95 %. Ties with ``mean`` count half, as in scipy. Levels
    become ranks by rounding b times the level, from the nearer end, so that mirrored data give
    mirrored limits.
    """
    b = len(ordered)
    below = np.searchsorted(ordered, mean, "left") + np.searchsorted(ordered, mean, "right")
    share = min(max(float(below) / (2 * b), 0.5 / b), 1 - 0.5 / b)
    bias = _NORMAL.inv_cdf(share)
    pull = left_out.mean() - left_out
    size = float((pull * pull).sum())
    skew = float((pull**3).sum()) / (6 * size**1.5) if size > 0 else 0.0
    low, high = (_level(bias, skew, z) for z in (-quantile, quantile))
    return _rank(low, b), b + 1 - _rank(1 - high, b)


def _level(bias: float, skew: float, quantile: float) -> float:
    moved = bias + quantile
    # |skew| is at most 1/6; only wide intervals of few clusters come near a divisor of 0
    return _NORMAL.cdf(bias + moved / max(1 - skew * moved, 1e-9))


def _rank(level: float, b: int) -> int:
    return min(max(1, round(b * level)), b)


@lru_cache(maxsize=256)
def t_quantile(df: int, confidence: float) -> float:
    """Upper limit of a two-sided interval of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + confidence) / 2))


def expanded_quantile(clusters: int, confidence: float) -> float:
    """Normal quantile that makes bootstrap limits of few clusters wide enough.

    sqrt(c/(c-1)) t_(c-1) in place of z (Hesterberg 2015, Am. Stat. 69:371, section 4.3): resampling
    c clusters shows (c-1)/c of the variance, and limits come from z where t is due. 2 clusters or
    more.
    """
    return math.sqrt(clusters / (clusters - 1)) * t_quantile(clusters - 1, confidence)
