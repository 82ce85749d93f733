"""Two methods on the same questions: difference, interval, and whether it is beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ark.records import Json
from ark.scoring.estimates import checked, scale_of
from ark.scoring.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Floats,
    Ints,
    bootstrap,
    cluster_codes,
    cluster_sums,
    kish_n,
    wilson,
)
from ark.scoring.signflip import sign_flip_p

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
CLUSTER_SIGN_FLIP = "cluster sign-flip permutation"

# Below, no sign-flip test gets under 5 % (2 / 2^5), and resampling sees too little to say more.
_FEWEST = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """Method a against b on ``n`` questions in ``clusters`` clusters; None where n is 0.

    ``difference`` is mean_a - mean_b with its 95 % limits, ``wins`` the questions where a > b.
    ``p_naive`` is McNemar's p as if questions were independent, where values are 0 or 1.
    """

    n: int
    clusters: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    test: str
    wins: int
    losses: int
    ties: int
    design_effect: float | None
    p_naive: float | None = None

    def to_json(self) -> dict[str, Json]:
        """The fields by name; None, never NaN."""
        return asdict(self)


def compare_paired(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Sequence[str],
    *,
    binary: bool,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare a[n] with b[n], values of the same questions in the same order (failed ones 0).

    p is two-sided. ``binary`` (a hit rate) and all values 0 or 1 and every question its own
    cluster: exact McNemar (McNemar 1947; the binomial test of wins among wins + losses). Otherwise
    the sign-flip test of ``sign_flip_p`` on the questions' or, since McNemar is not valid there,
    on the clusters' summed differences. The interval is the percentile bootstrap of the difference
    over clusters (``bootstrap`` says why not BCa). Where fewer than six clusters show any
    difference, or all show the same, resampling cannot see the spread: the limits are then what
    the upper Wilson limit of the share of questions that could differ allows (None for values
    outside [0, 1], which nothing bounds).

    Raises ValueError when lengths differ, or values are not finite, or a rate's not in [0, 1].
    """
    first = checked(a, len(clusters), "a", unit=binary)
    second = checked(b, len(clusters), "b", unit=binary)
    codes = cluster_codes(clusters)
    both = np.concatenate([first, second])
    zero_one = binary and bool(np.isin(both, (0.0, 1.0)).all())
    if not first.size:
        test = MCNEMAR if binary else SIGN_FLIP
        return Comparison(0, 0, None, None, None, None, None, None, test, 0, 0, 0, None)
    scale = scale_of(both)
    gaps = (first - second) / scale
    wins, losses = _count(gaps)
    p_value, test = _p_value(gaps, codes, zero_one, seed)
    (found,) = bootstrap(
        gaps[:, None],
        codes,
        seed=seed,
        resamples=resamples,
        confidence=confidence,
        accelerated=False,
    )
    low, high = found.low, found.high
    safe = _safe_limits(gaps, codes, confidence)
    if safe is not None:
        bounded = scale == 1 and both.min() >= 0
        low, high = safe if bounded else (None, None)
    return Comparison(
        n=found.n,
        clusters=found.clusters,
        mean_a=float(first.mean()),
        mean_b=float(second.mean()),
        difference=None if found.mean is None else found.mean * scale,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        p_value=p_value,
        test=test,
        wins=wins,
        losses=losses,
        ties=found.n - wins - losses,
        design_effect=found.design_effect,
        p_naive=mcnemar_p(wins, losses) if zero_one else None,
    )


def failure_difference(
    failed_a: ArrayLike, failed_b: ArrayLike, clusters: Sequence[str], *, seed: int = 0
) -> float:
    """Two-sided p that two methods fail equally often; ``failed_a[n]`` is 1 or True where a failed.

    The test of ``compare_paired`` on rates; 1.0 where there is no question. Raises ValueError as
    it does.
    """
    first = checked(failed_a, len(clusters), "failed_a", unit=True)
    second = checked(failed_b, len(clusters), "failed_b", unit=True)
    if not first.size:
        return 1.0
    zero_one = bool(np.isin(np.concatenate([first, second]), (0.0, 1.0)).all())
    return _p_value(first - second, cluster_codes(clusters), zero_one, seed)[0]


def mcnemar_p(wins: int, losses: int) -> float:
    """Exact two-sided McNemar: ``wins`` of wins + losses against one half; 1.0 without either."""
    if wins + losses == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue)


def _p_value(gaps: Floats, codes: Ints, zero_one: bool, seed: int) -> tuple[float, str]:
    alone = len(codes) == int(codes.max()) + 1
    if alone and zero_one:
        return mcnemar_p(*_count(gaps)), MCNEMAR
    sums, _ = cluster_sums(gaps[:, None], codes)
    # Each value is rounded by up to half a unit, so a sum may be off by half their number.
    p = sign_flip_p(sums[:, 0], slack=len(gaps), seed=seed)
    return p, SIGN_FLIP if alone else CLUSTER_SIGN_FLIP


def _count(gaps: Floats) -> tuple[int, int]:
    """Wins and losses; differences that round to 0 in units of 1e-12 are ties."""
    sums, _ = cluster_sums(gaps[:, None], np.arange(len(gaps)))
    return int((sums > 0).sum()), int((sums < 0).sum())


def _safe_limits(gaps: Floats, codes: Ints, confidence: float) -> tuple[float, float] | None:
    """Limits where resampling shows too little, None where it does not: see ``compare_paired``.

    With fewer than six clusters that differ, at most a share u of the questions differs, by at
    most 1 either way: +-u. With all questions alike at v, at most u are other than v: from
    v - u (v + 1) to v + u (1 - v), with u the upper limit for none seen.
    """
    sums, sizes = cluster_sums(gaps[:, None], codes)
    moving = np.unique(codes[np.rint(gaps * 1e12) != 0])
    if len(moving) < _FEWEST:
        share = wilson(
            float(sizes[moving].sum()), len(gaps), confidence, effective_n=kish_n(sizes)
        ).high
        return None if share is None else (-share, share)
    if np.unique(sums[:, 0] / sizes).size == 1:
        mean = float(gaps.mean())
        share = wilson(0, len(gaps), confidence, effective_n=kish_n(sizes)).high
        return None if share is None else (mean - share * (mean + 1), mean + share * (1 - mean))
    return None
