from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from ark.scoring.intervals import wilson
from ark.scoring.statistics import (
    CLUSTER_SIGN_FLIP,
    MCNEMAR,
    SIGN_FLIP,
    Comparison,
    compare_paired,
    failure_difference,
    sign_flip_p,
)


def hits(wins: int, losses: int, ties: int = 0) -> tuple[list[float], list[float]]:
    a = [1.0] * wins + [0.0] * losses + [1.0] * ties
    b = [0.0] * wins + [1.0] * losses + [1.0] * ties
    return a, b


def brute_force(sums: list[int]) -> float:
    """Share of all sign patterns whose sum is as far from 0."""
    seen = abs(sum(sums))
    signs = itertools.product((-1, 1), repeat=len(sums))
    reached = [abs(sum(s * x for s, x in zip(row, sums, strict=True))) >= seen for row in signs]
    return sum(reached) / len(reached)


# --- tests ---


def test_mcnemar_by_its_closed_form() -> None:
    found = compare_paired(*hits(10, 2, 8), [""] * 20, binary=True)
    assert found.p_value == pytest.approx(2 * sum(math.comb(12, k) for k in range(3)) / 2**12)
    assert found.p_value == found.p_naive
    assert (found.test, found.wins, found.losses, found.ties) == (MCNEMAR, 10, 2, 8)
    assert (found.mean_a, found.mean_b, found.difference) == (0.9, 0.5, 0.4)
    assert (found.n, found.clusters, found.design_effect) == (20, 20, 1.0)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_sign_flip_test_of_hits(wins: int, losses: int) -> None:
    a, b = hits(wins, losses, 1)
    found = compare_paired(a, b, [""] * len(a), binary=True, resamples=1)
    gaps = np.array([1] * wins + [-1] * losses + [0], dtype=np.int64)
    assert sign_flip_p(gaps) == pytest.approx(found.p_value, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=12))
def test_exact_sign_flips_equal_brute_force(sums: list[int]) -> None:
    """Up to 10 by scipy's enumeration, 11 and 12 by convolution."""
    assert sign_flip_p(np.array(sums)) == pytest.approx(brute_force(sums), rel=1e-12)


def test_sign_flips_equal_scipy() -> None:
    sums = np.array([3, -1, 4, 1, -5, 9, 2, 6, 5, 3, 5])
    known = permutation_test(
        (sums,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**12,
    )
    assert sign_flip_p(sums) == pytest.approx(known.pvalue, rel=1e-12)


def test_sampled_sign_flips_meet_the_exact_p() -> None:
    rng = np.random.default_rng(3)
    sums = np.rint((rng.random(14) - 0.3) * 1e12).astype(np.int64)
    exact = brute_force(sums.tolist())
    assert 0.01 < exact < 0.5
    error = math.sqrt(exact * (1 - exact) / 9_999)
    found = [sign_flip_p(sums, seed=seed) for seed in range(5)]
    assert found == pytest.approx([exact] * 5, abs=4 * error)
    assert len(set(found)) > 1
    assert found[0] == sign_flip_p(sums, seed=0)


def test_sampled_sign_flips_follow_the_written_recipe() -> None:
    """Bits of PCG64's words, lowest first, 64-cluster blocks; 1 keeps a sign that was made +."""
    rng = np.random.default_rng(9)
    sums = np.rint((rng.random(70) - 0.4) * 1e12).astype(np.int64)
    sizes, seen = np.abs(sums).tolist(), abs(int(sums.sum()))
    words = np.random.PCG64(4).random_raw(2 * 30).tolist()
    reached = 0
    for row in range(30):
        bits = words[2 * row] | words[2 * row + 1] << 64
        total = sum(x if bits >> i & 1 else -x for i, x in enumerate(sizes))
        reached += abs(total) >= seen
    assert sign_flip_p(sums, seed=4, flips=30) == (reached + 1) / 31


def test_sums_of_thirds_tie() -> None:
    """A cluster of three thirds and one of 1 are worth the same, whatever the rounding."""
    a = [1 / 3, 1 / 3, 1 / 3, *[0.0] * 3, 2 / 3, 0.0, 1 / 3]
    b = [0.0, 0.0, 0.0, *[1 / 3] * 3, 0.0, 2 / 3, 0.0]
    names = ["x"] * 3 + ["y"] * 3 + ["z", "u", "v"]
    found = compare_paired(a, b, names, binary=False)
    assert found.p_value == brute_force([3, -3, 2, -2, 1]) == 1.0
    many = compare_paired(a * 4, b * 4, [f"{k} {s}" for k in range(4) for s in names], binary=True)
    assert many.p_value == pytest.approx(brute_force_of_grid([3, 3, 2, 2, 1] * 4, 4), abs=0.02)


def brute_force_of_grid(sizes: list[int], seen: int) -> float:
    chances = {0: 1.0}
    for size in sizes:
        moved: dict[int, float] = {}
        for total, chance in chances.items():
            for step in (-size, size):
                moved[total + step] = moved.get(total + step, 0) + chance / 2
        chances = moved
    return sum(chance for total, chance in chances.items() if abs(total) >= seen)


def test_clusters_are_flipped_as_one() -> None:
    """Eight clusters of five hits each, all won by a: 2 of 2^8 patterns, not 2 of 2^40."""
    a, b = hits(40, 0)
    found = compare_paired(a, b, [str(i // 5) for i in range(40)], binary=True)
    assert found.test == CLUSTER_SIGN_FLIP
    assert found.p_value == 2 / 2**8
    assert found.p_naive == pytest.approx(2 / 2**40)
    assert (found.clusters, found.design_effect) == (8, 5)


def test_averages_over_subsets_are_not_binary() -> None:
    found = compare_paired([1.0, 0.5, 1.0], [0.0, 0.0, 0.0], ["", "", ""], binary=True)
    assert (found.test, found.p_value, found.p_naive) == (SIGN_FLIP, 0.25, None)
    assert (
        compare_paired([1.0, 0.0], [0.0, 0.0], ["a", "a"], binary=False).test == CLUSTER_SIGN_FLIP
    )


def test_floating_point_noise_is_a_tie() -> None:
    found = compare_paired([0.1 + 0.2, 0.5], [0.3, 0.4], ["", ""], binary=False)
    assert (found.wins, found.losses, found.ties) == (1, 0, 1)


# --- intervals ---


def test_interval_of_a_difference_matches_its_closed_form() -> None:
    """60 wins and 40 losses of 500: variance (.2 - .04^2) / 500."""
    a, b = hits(60, 40, 400)
    found = compare_paired(a, b, [""] * 500, binary=True, resamples=20_000)
    assert found.low is not None
    assert found.high is not None
    error = math.sqrt((0.2 - 0.04**2) / 500)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    assert (found.high + found.low) / 2 == pytest.approx(0.04, abs=0.1 * error)


def test_few_differences_leave_what_could_differ() -> None:
    """No interval without 0 where no test could find a difference."""
    for wins in range(6):
        a, b = hits(wins, 0, 50 - wins)
        found = compare_paired(a, b, [""] * 50, binary=True)
        share = wilson(wins, 50).high
        assert share is not None
        assert (found.low, found.high) == (-share, share)
        assert found.p_value is not None
        assert found.p_value > 0.05
    a, b = hits(6, 0, 44)
    found = compare_paired(a, b, [""] * 50, binary=True)
    assert found.low is not None
    assert found.low > 0


def test_all_alike_is_not_certainty() -> None:
    a, b = hits(10, 0)
    found = compare_paired(a, b, [""] * 10, binary=True)
    share = wilson(0, 10).high
    assert share is not None
    assert (found.low, found.high) == (pytest.approx(1 - 2 * share), 1.0)
    assert found.difference == 1.0


def test_shared_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(1)
    a, b = (np.repeat(rng.random(50), 4) for _ in range(2))
    alone = compare_paired(a, b, [""] * 200, binary=False)
    shared = compare_paired(a, b, [str(i // 4) for i in range(200)], binary=False)
    assert shared.design_effect == pytest.approx(4, rel=0.03)
    assert alone.low is not None
    assert alone.high is not None
    assert shared.low is not None
    assert shared.high is not None
    ratio = (shared.high - shared.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(2, rel=0.1)
    assert shared.difference == alone.difference


# --- edges ---


def test_nothing_to_compare() -> None:
    found = compare_paired([], [], [], binary=False)
    assert (found.n, found.clusters, found.p_value, found.difference) == (0, 0, None, None)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["low"] is None


def test_one_question_or_one_cluster_says_nothing() -> None:
    for found in (
        compare_paired([1.0], [0.0], [""], binary=True),
        compare_paired([1.0, 0.25, 1.0], [0.0, 0.0, 0.5], ["a"] * 3, binary=False),
    ):
        assert (found.clusters, found.p_value) == (1, 1.0)
        assert (found.low, found.high) == (-1.0, 1.0)


def test_values_beyond_one_are_scaled() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random(40), rng.random(40)
    small = compare_paired(a, b, [""] * 40, binary=False)
    large = compare_paired(a * 4096, b * 4096, [""] * 40, binary=False)
    assert small.low is not None
    assert large.low == pytest.approx(small.low * 4096, rel=1e-6)
    assert large.difference == pytest.approx((a - b).mean() * 4096)
    assert large.p_value == pytest.approx(small.p_value, abs=0.01)
    alike = compare_paired([900.0] * 9, [800.0] * 9, [""] * 9, binary=False)
    assert (alike.difference, alike.low, alike.high) == (100.0, None, None)


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.5])
def test_rates_outside_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"b\[1\]=.* is not between 0 and 1"):
        compare_paired([0.0, 1.0], [0.0, bad], ["", ""], binary=True)


def test_nan_and_wrong_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a\[0\]=nan is not finite"):
        compare_paired([math.nan], [0.0], [""], binary=False)
    with pytest.raises(ValueError, match=r"b have shape \(2,\) but there are 1 clusters"):
        compare_paired([1.0], [0.0, 1.0], [""], binary=False)
    with pytest.raises(ValueError, match="failed_b have shape"):
        failure_difference([1.0], [0.0, 1.0], [""])


def test_failure_rates_are_tested_paired() -> None:
    a, b = np.zeros(50, dtype=bool), np.zeros(50, dtype=bool)
    assert failure_difference(a, b, [""] * 50) == 1.0
    a[:8] = True
    assert failure_difference(a, b, [""] * 50) == pytest.approx(2 / 2**8)
    assert failure_difference(a, b, [str(i // 8) for i in range(50)]) == 1.0
    assert failure_difference([], [], []) == 1.0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "b", "c", "d", "e", "f"]), st.floats(0, 1), st.floats(0, 1)
        ),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_comparisons_mirror_and_stay_in_range(
    rows: list[tuple[str, float, float]], binary: bool
) -> None:
    names = [name for name, _, _ in rows]
    a, b = ([float(row[i] > 0.5) if binary else row[i] for row in rows] for i in (1, 2))
    found = compare_paired(a, b, names, binary=binary, resamples=200)
    other = compare_paired(b, a, names, binary=binary, resamples=200)
    assert found == compare_paired(a, b, names, binary=binary, resamples=200)
    assert (found.wins, found.losses) == (other.losses, other.wins)
    assert found.wins + found.losses + found.ties == found.n == len(rows)
    check_in_range(found)
    assert found.low == pytest.approx(-other.high, abs=1e-9)
    assert found.p_value == pytest.approx(other.p_value, abs=1e-9)


def check_in_range(found: Comparison) -> None:
    assert found.p_value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.design_effect is not None
    assert 0 < found.p_value <= 1
    assert -1 <= found.low <= found.high <= 1
    assert 1 <= found.clusters <= found.n
    assert found.design_effect >= 1
