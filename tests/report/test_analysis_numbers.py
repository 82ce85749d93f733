"""Intervals, quantiles and digits of an analysis."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.report.analysis_numbers import mean, quantile, share, short
from ark.report.analysis_usage import expected_largest
from ark.scoring.intervals import wilson


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_shares_of_independent_things_are_wilsons(hits: list[bool]) -> None:
    found = share(hits, [str(i) for i in range(len(hits))])
    expected = wilson(sum(hits), len(hits))
    assert (found.value, found.low, found.high, found.n) == (
        expected.mean,
        expected.low,
        expected.high,
        len(hits),
    )


def test_clusters_widen_the_interval_of_a_share() -> None:
    hits = [i % 2 == 0 for i in range(40) for _ in range(10)]  # whole clusters agree
    alone = share(hits, [str(i) for i in range(400)])
    grouped = share(hits, [str(i // 10) for i in range(400)])
    expected = wilson(20, 40)  # as if each cluster were one thing
    assert alone.value == grouped.value == 0.5
    assert grouped.low == pytest.approx(expected.low, abs=0.005)
    assert alone.low > grouped.low + 0.08


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_means_of_any_size_lie_within_their_interval(values: list[float]) -> None:
    found = mean(values, [str(i) for i in range(len(values))])
    assert found.value == pytest.approx(np.mean(values), rel=1e-9, abs=1e-3)
    if found.low is not None:
        assert found.low <= found.value <= found.high


def test_no_spread_is_no_interval() -> None:
    assert mean([7, 7, 7], ["a", "b", "c"]).text() == "7.00"
    assert mean([1, 2, 3], ["a", "a", "a"]).text() == "2.00"  # one cluster
    assert mean([], []).text() == share([], []).text() == "-"


def test_quantiles_are_values_that_occur() -> None:
    assert [quantile([1, 2, 3, 4], q) for q in (0.5, 0.9)] == [2, 4]
    assert quantile([5], 0.9) == 5


def test_numbers_are_short_without_exponents() -> None:
    shown = [short(v) for v in (0, 0.01234, 1.234, 12.34, 1234.5, 2_500_000)]
    assert shown == ["0", "0.0123", "1.23", "12.3", "1,234", "2,500,000"]


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=6), st.integers(1, 6))
def test_the_expected_largest_is_a_mean_over_all_choices(values: list[float], k: int) -> None:
    k = min(k, len(values))
    every = [max(choice) for choice in combinations(values, k)]
    assert expected_largest(values, k) == pytest.approx(sum(every) / len(every))
