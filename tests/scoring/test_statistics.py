from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.scoring.intervals import NOTHING, wilson
from ark.scoring.measures import parse_measure
from ark.scoring.statistics import (
    Estimate,
    compare_paired,
    estimate_mean,
    holm,
    smallest_difference,
    two_level,
)
from ark.scoring.summary import summarise


def width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


# --- one mean ---


@pytest.mark.parametrize("rate", [True, False])
@pytest.mark.parametrize(("n", "p"), [(280, 0.5), (2801, 0.13)])
def test_error_of_a_mean_matches_bernoulli(n: int, p: float, rate: bool) -> None:
    values = [float(i < round(n * p)) for i in range(n)]
    p = sum(values) / n
    found = estimate_mean(values, [""] * n, rate=rate, resamples=5_000)
    assert width(found) / (2 * 1.96) == pytest.approx(math.sqrt(p * (1 - p) / n), rel=0.05)
    assert (found.mean, found.n, found.clusters, found.design_effect) == (p, n, n, 1.0)


def test_estimate_mean_is_what_a_result_holds() -> None:
    rng = np.random.default_rng(0)
    names = [str(i // 3) for i in range(60)]
    rows = [{"hit@1": float(x < 0.4), "mrr": float(x)} for x in rng.random(60)]
    measures = [parse_measure("hit@1"), parse_measure("mrr")]
    for m, found in zip(measures, summarise(rows, names, measures).values(), strict=True):
        column = [row[m.name] for row in rows]
        assert estimate_mean(column, names, rate=m.is_rate).rounded(10) == found
        assert found.clusters == 20


def test_agreeing_clusters_are_worth_their_number() -> None:
    values = [float(i // 5 % 3 == 0) for i in range(300)]
    found = estimate_mean(values, [str(i // 5) for i in range(300)], rate=True)
    assert found.design_effect == pytest.approx(5 * 60 / 59)
    assert found.clusters == 60
    # 300 / 5.08 questions, and t with 59 instead of 299 degrees of freedom
    assert width(found) == pytest.approx(width(wilson(20, 60)), rel=0.03)
    assert width(found) > width(wilson(20, 60))


def test_values_of_any_size() -> None:
    tokens = np.array([100.0, 2_000, 350, 900, 1_200, 40, 770, 8_000])
    found = estimate_mean(tokens, [""] * 8, rate=False)
    shares = estimate_mean(tokens / 8192, [""] * 8, rate=False)
    assert found.mean == tokens.mean()
    assert found.low == pytest.approx((shares.low or 0) * 8192, rel=1e-6)
    assert found.high == pytest.approx((shares.high or 0) * 8192, rel=1e-6)
    alike = estimate_mean([7.0, 7.0], ["", ""], rate=False)
    assert (alike.mean, alike.low, alike.high) == (7.0, None, None)


def test_means_of_next_to_nothing() -> None:
    assert estimate_mean([], [], rate=True) == NOTHING
    for rate in (True, False):
        assert estimate_mean([0.0], [""], rate=rate) == wilson(0, 1)
        assert estimate_mean([1.0] * 10, [""] * 10, rate=rate) == wilson(10, 10)
        one = estimate_mean([1.0, 0.5, 0.0], ["a"] * 3, rate=rate)
        assert (one.mean, one.clusters, one.design_effect) == (0.5, 1, 3)
        assert (one.low, one.high) == (wilson(0.5, 1).low, wilson(0.5, 1).high)


@pytest.mark.parametrize(("value", "rate"), [(math.nan, False), (math.inf, False), (1.2, True)])
def test_means_of_wrong_values_are_refused(value: float, rate: bool) -> None:
    with pytest.raises(ValueError, match=r"values\[1\]=.* is not"):
        estimate_mean([0.0, value], ["", ""], rate=rate)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match=r"values have shape \(1,\) but there are 2 clusters"):
        estimate_mean([0.0], ["", ""], rate=True)
    with pytest.raises(ValueError, match=r"values\[0\] have shape \(1,\)"):
        two_level([[0.0]], ["", ""])
    with pytest.raises(ValueError, match="not \\(repeats >= 1, questions\\)"):
        two_level([0.0, 1.0], ["", ""])


# --- repeats ---


def test_one_repeat_is_a_plain_mean() -> None:
    values = np.random.default_rng(0).random(30)
    names = [str(i // 2) for i in range(30)]
    plain = estimate_mean(values, names, rate=False)
    for table in (values[None], np.stack([values] * 4)):
        found = two_level(table, names)
        assert found.repeats == len(table)
        assert found.mean == pytest.approx(plain.mean, abs=1e-12)
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_two_levels_follow_the_written_recipe() -> None:
    """Clusters by PCG64(seed), repeats by PCG64(seed + 1), limits the 50th from each end."""
    table = np.random.default_rng(1).random((3, 12))
    codes = np.arange(12) // 2
    means = []
    clusters = np.random.PCG64(7).random_raw(2000 * 6).tolist()
    repeats = np.random.PCG64(8).random_raw(2000 * 3).tolist()
    for b in range(2000):
        picks = [(w >> 32) * 6 >> 32 for w in clusters[6 * b : 6 * b + 6]]
        runs = [(w >> 32) * 3 >> 32 for w in repeats[3 * b : 3 * b + 3]]
        means.append(np.mean([table[r, codes == c] for r in runs for c in picks]))
    means.sort()
    found = two_level(table, [str(c) for c in codes], seed=7)
    assert found.mean == pytest.approx(table.mean(), abs=1e-11)
    assert found.low == pytest.approx(means[49], abs=1e-11)
    assert found.high == pytest.approx(means[-50], abs=1e-11)
    assert (found.n, found.clusters, found.repeats) == (12, 6, 3)


def test_runs_that_differ_as_a_whole_widen_the_interval() -> None:
    """Every question .2, .5 or .8 by run: 1 of 27 resamples has one run only, thrice."""
    table = np.array([0.2, 0.5, 0.8])[:, None] + np.zeros(200)
    found = two_level(table, [""] * 200)
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.8))
    assert found.mean == pytest.approx(0.5)


def test_repeats_at_the_edges() -> None:
    empty = two_level(np.empty((2, 0)), [])
    assert (empty.mean, empty.n, empty.repeats) == (None, 0, 2)
    one = two_level([[1.0], [0.0]], [""])
    assert (one.mean, one.low, one.high) == (0.5, 0.0, 1.0)
    assert json.loads(json.dumps(one.to_json(), allow_nan=False))["repeats"] == 2
    large = two_level(np.array([[5_000.0, 100.0], [4_000.0, 200.0]]), ["", ""])
    assert large.mean == 2325
    with pytest.raises(ValueError, match=r"values\[1\]\[0\]=nan"):
        two_level([[0.0], [math.nan]], [""])


# --- Holm ---


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.03, None, 0.02]) == [None, pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_as_the_stepwise_rule(p_values: list[float]) -> None:
    rejected: set[int] = set()
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] * (len(p_values) - rank) > 0.05:
            break
        rejected.add(i)
    assert {i for i, p in enumerate(holm(p_values)) if p is not None and p <= 0.05} == rejected


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_p(bad: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        holm([0.5, bad])


# --- how many questions ---


def test_smallest_difference_of_the_sample_split() -> None:
    assert smallest_difference(280) == pytest.approx(0.0746, abs=1e-4)


@pytest.mark.parametrize(("n", "effect"), [(60, 1.0), (280, 1.0), (2801, 2.5)])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_smallest_difference_solves_connors_formula(n: int, effect: float, power: float) -> None:
    x = smallest_difference(n, design_effect=effect, discordant=0.3, power=power)
    z = NormalDist().inv_cdf
    needed = (z(0.975) * math.sqrt(0.3) + z(power) * math.sqrt(0.3 - x * x)) ** 2 / x**2
    assert needed == pytest.approx(n / effect)


def test_smallest_difference_is_found_by_the_test_about_so_often() -> None:
    """500 data sets of 280 questions, 20 % discordant; the exact test is slightly stricter."""
    x, rng, found = smallest_difference(280), np.random.default_rng(4), 0
    for _ in range(500):
        kind = rng.random(280)
        a, b = kind < (0.2 + x) / 2, (kind >= (0.2 + x) / 2) & (kind < 0.2)
        p = compare_paired(a, b, [""] * 280, binary=True, resamples=1).p_value
        found += p is not None and p <= 0.05
    assert 0.7 < found / 500 < 0.85


def test_too_few_questions() -> None:
    assert smallest_difference(3) == math.inf
    assert smallest_difference(0) == math.inf
    small = [smallest_difference(n) for n in (4, 5, 8, 10, 20, 40, 100)]
    assert small == sorted(small, reverse=True)
    assert 0.2 < small[3] <= 1  # beyond the 20 % discordant: more must differ
    assert smallest_difference(100, design_effect=2) == pytest.approx(smallest_difference(50))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": -1},
        {"n": 9, "design_effect": 0.5},
        {"n": 9, "design_effect": math.nan},
        {"n": 9, "discordant": 0.0},
        {"n": 9, "power": 1.0},
        {"n": 9, "alpha": 0.0},
    ],
)
def test_impossible_questions_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        smallest_difference(**wrong)  # type: ignore[arg-type]
