"""Sign-flip permutation test: two-sided p that a sum of paired differences is by chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FLIPS = 9_999
_ENUMERATED = 10  # up to 2^10 sign patterns are all tried
_CELLS = 20_000_000  # additions that an exact distribution may cost: some hundredths of a second


def sign_flip_p(sums: Ints, *, slack: int = 0, seed: int = 0, flips: int = FLIPS) -> float:
    """P(|sum of +-sums| >= |sum of sums|) over all sign patterns, for whole numbers ``sums[c]``.

    Each cluster's difference is as likely to have come out the other way round if the methods are
    alike (Fisher 1935; Good 2005, Permutation Tests, section 3.7). Zeros change nothing. Exact by
    enumeration for up to 10 clusters (``scipy.stats.permutation_test``), and by convolution where
    the sums are few multiples of one unit, as for 0/1 values; else (b+1)/(m+1) over ``flips``
    seeded patterns (Phipson & Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39). Sums that miss the
    one seen by up to ``slack`` count as ties with it: thirds are no whole numbers of any unit.
    Same input, same p, on every machine.
    """
    moving = sums[sums != 0]
    if not moving.size:
        return 1.0
    if moving.size <= _ENUMERATED:
        return _enumerated(moving, slack)
    unit = math.gcd(*moving.tolist())
    units, seen = np.abs(moving) // unit, -(-(abs(int(moving.sum())) - slack) // unit)
    if len(units) * (int(units.sum()) + 1) <= _CELLS:
        return _convolved(units, seen)
    return (_as_large(units, seen, seed, flips) + 1) / (flips + 1)


def _enumerated(sums: Ints, slack: int) -> float:
    if len(sums) == 1:
        return 1.0
    from scipy.stats import permutation_test

    seen = abs(int(sums.sum())) - slack

    def as_large(flipped: NDArray[np.float64], axis: int) -> NDArray[np.bool_]:
        return np.asarray(np.abs(flipped.sum(axis=axis)) >= seen)

    found = permutation_test(
        (sums.astype(np.float64),),
        as_large,
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=2 << _ENUMERATED,
    )
    return float(found.pvalue)


def _convolved(units: Ints, seen: int) -> float:
    """Exact: the distribution of the sum of the flipped ones, one cluster after another."""
    total = int(units.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    top = 0
    for unit in sorted(units.tolist()):
        moved = chance[: top + 1] / 2
        chance[: top + 1] /= 2
        chance[unit : unit + top + 1] += moved
        top += unit
    # flipping a total of f leaves a sum of total - 2f; both tails are alike
    tail = math.fsum(chance[: (total - seen) // 2 + 1].tolist())
    return min(1.0, 2 * tail) if seen > 0 else 1.0


def _as_large(units: Ints, seen: int, seed: int, flips: int) -> int:
    """How many of ``flips`` patterns give a sum at least as far from 0; bits of PCG64's words.

    Eight clusters share a byte of the stream, whose 256 sums are looked up: whole numbers, so
    nothing depends on the order of summation.
    """
    groups = -(-len(units) // 64) * 8
    padded = np.zeros(groups * 8, dtype=np.int64)
    padded[: len(units)] = units
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    table = padded.reshape(groups, 8) @ (2 * bits - 1).T  # [groups, 256]
    words = np.asarray(np.random.PCG64(seed).random_raw(flips * groups // 8), dtype="<u8")
    picks = np.ascontiguousarray(words.view(np.uint8).reshape(flips, groups).T)
    totals = np.zeros(flips, dtype=np.int64)
    for sums, places in zip(table, picks, strict=True):
        totals += sums[places]
    return int((np.abs(totals) >= seen).sum())
