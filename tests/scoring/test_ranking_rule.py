from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.scoring.ranking_rule import countable, rank_scores

SCORES = st.dictionaries(
    st.integers(0, 30), st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1e8, 1e8 + 1, float("inf")])
)


def test_score_descending_then_id_ascending() -> None:
    assert rank_scores({7: 1.0, 2: 5.0, 4: 5.0, 1: 1.0}) == [2, 4, 1, 7]


def test_ties_follow_the_given_order_not_the_spelling() -> None:
    row = {"b": 0, "a": 1, "c": 2}
    assert rank_scores({"a": 1.0, "b": 1.0, "c": 2.0}, row.__getitem__) == ["c", "b", "a"]


def test_doubles_are_not_tied_by_rounding() -> None:
    assert rank_scores({2: 1e8, 4: 1e8 + 1}) == [4, 2]


def test_negative_zero_is_zero() -> None:
    assert rank_scores({2: 0.0, 1: -0.0, 3: -0.0}) == [1, 2, 3]


def test_nan_is_refused_and_named() -> None:
    with pytest.raises(ValueError, match="1 of 2 scores are NaN, the first for 5"):
        rank_scores({4: 1.0, 5: float("nan")})


@given(SCORES, st.randoms(use_true_random=False))
def test_insertion_order_does_not_matter(scores: dict[int, float], rng: Random) -> None:
    items = list(scores.items())
    rng.shuffle(items)
    ranked = rank_scores(dict(items))
    assert ranked == rank_scores(scores)
    for first, second in pairwise(ranked):
        assert scores[first] > scores[second] or (
            scores[first] == scores[second] and first < second
        )


def test_countable_filters_maps_and_keeps_the_first() -> None:
    twin = {8: 3}
    kept = countable([9, 8, 3, 1, 8, 1], keep=lambda i: i != 9, same=lambda i: twin.get(i, i))
    assert kept == [3, 1]


def test_the_filter_sees_the_id_as_given() -> None:
    assert countable([8], keep=lambda i: i == 8, same=lambda _: 3) == [3]


@given(st.lists(st.integers(0, 20)))
def test_countable_is_idempotent(ranked: list[int]) -> None:
    once = countable(ranked, keep=lambda i: i % 3 != 0, same=lambda i: i)
    assert countable(once, keep=lambda i: i % 3 != 0, same=lambda i: i) == once
    assert len(set(once)) == len(once)
