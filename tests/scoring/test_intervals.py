from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t
from scipy.stats import bootstrap as scipy_bootstrap

from ark.scoring.bca import bca_ranks, expanded_quantile, percentile_ranks
from ark.scoring.intervals import (
    NOTHING,
    Estimate,
    bootstrap,
    bootstrap_means,
    cluster_codes,
    cluster_sums,
    design_effect,
    effective_n,
    kish_n,
    wilson,
)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 50), (3, 7), (41, 100), (1649, 2801)])
def test_wilson_equals_scipy(k: int, n: int, confidence: float) -> None:
    known = binomtest(k, n).proportion_ci(confidence, method="wilson")
    ours = wilson(k, n, confidence)
    assert (ours.mean, ours.n) == (k / n, n)
    assert ours.low == pytest.approx(known.low, abs=1e-12)
    assert ours.high == pytest.approx(known.high, abs=1e-12)


def test_wilson_known_answer() -> None:
    """81 of 263 at 95 % (Newcombe 1998, Statist. Med. 17:857, table I)."""
    ours = wilson(81, 263).rounded(4)
    assert (ours.low, ours.high) == (0.2553, 0.3662)


def test_wilson_of_nothing_is_none_and_json_has_no_nan() -> None:
    assert wilson(0, 0) == NOTHING
    text = json.dumps(wilson(0, 0).to_json(), allow_nan=False)
    known = '"mean": null, "low": null, "high": null, "n": 0, "clusters": 0, "design_effect": null'
    assert text == "{" + known + "}"


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (float("nan"), 5)])
def test_wilson_refuses_impossible_counts(k: float, n: int) -> None:
    with pytest.raises(ValueError, match="not between 0 and"):
        wilson(k, n)


@given(st.integers(1, 500), st.data())
def test_wilson_brackets_the_rate_and_mirrors(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    a, b = wilson(k, n), wilson(n - k, n)
    assert a.low is not None
    assert a.high is not None
    assert b.high is not None
    assert 0 <= a.low <= k / n <= a.high <= 1
    assert a.low == pytest.approx(1 - b.high, abs=1e-12)
    assert (a.low == 0) == (k == 0)
    assert (a.high == 1) == (k == n)


def test_rounding_keeps_n_and_none() -> None:
    assert Estimate(1 / 3, None, 2 / 3, 7).rounded(2) == Estimate(0.33, None, 0.67, 7)


def test_cluster_codes_first_appearance_and_nameless_alone() -> None:
    assert cluster_codes(["b", "", "a", "b", "", "a"]).tolist() == [0, 1, 2, 0, 3, 2]
    assert cluster_codes([]).tolist() == []


def spread(codes: list[int], column: list[float]) -> tuple[np.ndarray, np.ndarray]:
    sums = np.bincount(codes, column).astype(np.float64)
    return sums, np.bincount(codes).astype(np.int64)


def test_effective_n_of_singletons_is_n() -> None:
    assert effective_n(*spread([0, 1, 2, 3], [1, 0, 0, 1])) == 4


def test_effective_n_where_clusters_agree_is_about_their_number() -> None:
    """40 clusters of 5 that all agree: worth 40, but for the c/(c-1) of the variance."""
    codes = [c for c in range(40) for _ in range(5)]
    assert effective_n(*spread(codes, [float(c < 13) for c in codes])) == pytest.approx(39)
    assert effective_n(*spread(codes, [0.0] * 200)) == 40
    assert effective_n(*spread(codes, [1.0] * 200)) == 40


def test_effective_n_of_one_cluster_is_one() -> None:
    assert effective_n(*spread([0, 0, 0], [1, 0, 1])) == 1


def test_kish_n_of_unequal_clusters() -> None:
    assert kish_n(np.array([1, 1, 2])) == pytest.approx(16 / 6)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=60))
def test_effective_n_stays_between_one_and_n(rows: list[tuple[int, bool]]) -> None:
    codes = cluster_codes([str(c) for c, _ in rows]).tolist()
    size = effective_n(*spread(codes, [float(v) for _, v in rows]))
    assert 1 <= size <= len(rows)


def test_wilson_on_effective_n_covers_where_plain_wilson_does_not() -> None:
    """Clusters of 4 that share nine tenths of their fate: nominal 95 %, 400 draws."""
    rng = np.random.default_rng(7)
    codes = np.repeat(np.arange(60), 4)
    plain = adjusted = 0
    for _ in range(400):
        shared, own = rng.random(60) < 0.4, rng.random(240) < 0.4
        values = np.where(rng.random(240) < 0.9, shared[codes], own).astype(float)
        sums, sizes = spread(codes.tolist(), values.tolist())
        for size in (None, effective_n(sums, sizes)):
            e = wilson(values.sum(), 240, effective_n=size)
            assert e.low is not None
            assert e.high is not None
            hit = e.low <= 0.4 <= e.high
            plain, adjusted = plain + (hit and size is None), adjusted + (hit and size is not None)
    assert plain / 400 < 0.8
    assert 0.92 <= adjusted / 400 <= 0.98


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


@pytest.mark.parametrize(("n", "p"), [(1000, 0.3), (280, 0.5), (2801, 0.13)])
def test_bootstrap_error_matches_bernoulli(n: int, p: float) -> None:
    values = column([float(i < round(n * p)) for i in range(n)])
    p = float(values.mean())
    sums, sizes = cluster_sums(values, np.arange(n))
    error = bootstrap_means(sums, sizes, seed=3).std()
    assert error == pytest.approx(math.sqrt(p * (1 - p) / n), rel=0.05)


def test_bootstrap_error_of_agreeing_clusters_is_that_of_the_clusters() -> None:
    codes = np.repeat(np.arange(200), 5)
    values = (codes % 10 < 3).astype(np.float64)[:, None]
    sums, sizes = cluster_sums(values, codes)
    error = bootstrap_means(sums, sizes, seed=1).std()
    assert error == pytest.approx(math.sqrt(0.3 * 0.7 / 200), rel=0.05)


def by_the_recipe(values: list[float], names: list[str], seed: int) -> tuple[list[float], int]:
    """Sorted resampled means: word b*c + j of PCG64(seed), its upper half scaled to c."""
    groups: dict[object, list[float]] = {}
    for i, (name, v) in enumerate(zip(names, values, strict=True)):
        groups.setdefault(name or i, []).append(v)
    members, c = list(groups.values()), len(groups)
    words = np.random.PCG64(seed).random_raw(2000 * c).tolist()
    means = []
    for b in range(2000):
        picks = [(word >> 32) * c >> 32 for word in words[c * b : c * b + c]]
        drawn = [v for pick in picks for v in members[pick]]
        means.append(sum(drawn) / len(drawn))
    return sorted(means), c


def test_percentile_bootstrap_follows_its_written_recipe() -> None:
    """Limits by rank from each end, at a level widened by sqrt(c/(c-1)) t_(c-1)."""
    values = [i * 37 % 101 / 101 for i in range(20)]
    names = ["" if i % 5 == 0 else f"pair {i // 2}" for i in range(20)]
    means, c = by_the_recipe(values, names, 11)
    rank = round(2000 * norm.cdf(-math.sqrt(c / (c - 1)) * t.ppf(0.975, c - 1)))
    assert rank == 25
    assert means[rank - 2] < means[rank - 1] < means[rank]
    (ours,) = bootstrap(column(values), cluster_codes(names), seed=11, accelerated=False)
    assert ours.mean == pytest.approx(sum(values) / 20, abs=1e-12)
    assert ours.low == pytest.approx(means[rank - 1], abs=1e-11)
    assert ours.high == pytest.approx(means[-rank], abs=1e-11)
    assert (ours.n, ours.clusters) == (20, c)


def test_many_clusters_are_not_widened() -> None:
    assert percentile_ranks(2000, expanded_quantile(10**6, 0.95)) == (50, 1951)


@pytest.mark.parametrize("n", [12, 60, 400])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_bca_ranks_pick_what_scipy_interpolates(n: int, confidence: float) -> None:
    """On scipy's own resamples our limits are the neighbours of its interpolated ones."""
    values = np.random.default_rng(n).random(n) ** 6
    known = scipy_bootstrap(
        (values,),
        np.mean,
        method="BCa",
        n_resamples=2000,
        confidence_level=confidence,
        random_state=np.random.default_rng(1),
    )
    ordered = np.sort(known.bootstrap_distribution)
    left_out = (values.sum() - values) / (n - 1)
    quantile = norm.ppf((1 + confidence) / 2)
    first, last = bca_ranks(ordered, float(values.mean()), left_out, quantile)
    low, high = known.confidence_interval
    assert ordered[first - 3] <= low <= ordered[first + 1]
    assert ordered[last - 3] <= high <= ordered[last + 1]


def test_bca_equals_scipy_within_monte_carlo_error() -> None:
    """400 skewed values, each its own cluster; the limits of either move by 4 % of the width."""
    values = np.random.default_rng(5).random(400) ** 6
    known = scipy_bootstrap(
        (values,), np.mean, n_resamples=9999, random_state=np.random.default_rng(1)
    ).confidence_interval
    (ours,) = bootstrap(values[:, None], np.arange(400))
    width = known.high - known.low
    assert ours.low == pytest.approx(known.low, abs=0.04 * width)
    assert ours.high == pytest.approx(known.high, abs=0.04 * width)


def test_bootstrap_gives_these_numbers_on_every_machine() -> None:
    values = column([i * i % 17 / 16 for i in range(40)])
    (ours,) = bootstrap(values, np.arange(40) // 2, seed=0)
    assert (ours.mean, ours.low, ours.high) == PINNED


PINNED = (0.484375, 0.340625, 0.6171875)


def test_totals_beyond_exact_floats_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(60, dtype=np.float64).reshape(30, 2) / 60
    floats = bootstrap(values, np.arange(30) // 2, seed=5)
    monkeypatch.setattr("ark.scoring.intervals._EXACT", 0)
    assert bootstrap(values, np.arange(30) // 2, seed=5) == floats


def test_design_effect_equals_that_of_rates_and_a_closed_form() -> None:
    codes = np.repeat(np.arange(40), 5)
    hits = np.random.default_rng(2).random(200) < 0.4
    assert design_effect(hits.astype(float), codes) == pytest.approx(
        200 / effective_n(*spread(codes.tolist(), hits.astype(float).tolist()))
    )
    # clusters that agree: 1 + (m - 1) * 1, but for the c/(c-1) of the variance
    assert design_effect((codes % 3) / 2, codes) == pytest.approx(5 * 40 / 39)
    assert design_effect(np.full(200, 0.3), codes) == 5
    assert design_effect(np.random.default_rng(2).random(200), np.arange(200)) == 1


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(60, dtype=np.float64).reshape(30, 2) / 60
    whole = bootstrap(values, np.arange(30), seed=5)
    monkeypatch.setattr("ark.scoring.intervals._BLOCK", 70)
    assert bootstrap(values, np.arange(30), seed=5) == whole


def test_bootstrap_columns_are_drawn_together_and_seeds_differ() -> None:
    one = column([0, 0.1, 0.7, 0.2, 1, 0.9, 0.4])
    codes = np.arange(7)
    both = bootstrap(np.hstack([one, 1 - one]), codes, seed=2)
    assert both[0] == bootstrap(one, codes, seed=2)[0]
    assert both[0].low is not None
    assert both[1].high == pytest.approx(1 - both[0].low, abs=1e-11)
    assert bootstrap(one, codes, seed=3) != bootstrap(one, codes, seed=2)


def test_bootstrap_of_nothing_is_none() -> None:
    assert bootstrap(np.empty((0, 2)), cluster_codes([])) == [NOTHING, NOTHING]


def test_bootstrap_covers() -> None:
    """Reciprocal ranks of 120 questions in 60 clusters: nominal 95 %, 200 draws."""
    rng = np.random.default_rng(12)
    codes = np.repeat(np.arange(60), 2)
    truth = np.mean(1 / np.arange(1, 11))
    covered = 0
    for i in range(200):
        ranks = rng.integers(1, 11, 60)
        values = np.where(rng.random(120) < 0.5, 1 / ranks[codes], 1 / rng.integers(1, 11, 120))
        (e,) = bootstrap(values[:, None], codes, seed=i, resamples=500)
        assert e.low is not None
        assert e.high is not None
        covered += bool(e.low <= truth <= e.high)
    assert 0.9 <= covered / 200 <= 0.99
