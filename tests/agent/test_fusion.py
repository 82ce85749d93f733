"""Fusion: known cases, and properties that hold for any lists."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.agent import Fusion, fuse
from ark.agent.fusion import KINDS, TIES
from ark.errors import UserError

LISTS = (["a", "b", "c"], ["d", "b"], ["e", "c", "b"])
unique_lists = st.lists(
    st.lists(st.integers(0, 12), max_size=8, unique=True), min_size=1, max_size=4
)
fusions = st.builds(Fusion, st.sampled_from(KINDS), st.sampled_from(TIES))


def fused(kind: str, ties: str = "earliest_position", lists: object = LISTS) -> list[str]:
    return fuse(lists, Fusion(kind, ties), random.Random(0))  # type: ignore[arg-type]


def test_voting_breaks_ties_by_earliest_position() -> None:
    # b has 3 votes, c 2; a, d, e have one vote each at position 0: first seen decides.
    assert fused("voting") == ["b", "c", "a", "d", "e"]


def test_the_two_tie_rules_differ_where_they_should() -> None:
    lists = (["a", "b"], ["c"])
    assert fused("voting", "earliest_position", lists) == ["a", "c", "b"]
    assert fused("voting", "concatenation", lists) == ["a", "b", "c"]


def test_ordering_concatenates() -> None:
    assert fused("ordering") == ["a", "b", "c", "d", "e"]


def test_reciprocal_rank_values() -> None:
    # b: 1/62 + 1/62 + 1/63, c: 1/63 + 1/62, then 1/61 each.
    assert fused("rrf") == ["b", "c", "a", "d", "e"]


def test_random_is_seeded() -> None:
    lists = [list(range(50)), list(range(25, 60))]
    runs = [fuse(lists, Fusion("random"), random.Random(s)) for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert sorted(runs[0]) == list(range(60))


def test_a_wrong_kind_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean voting"):
        Fusion("votting")
    with pytest.raises(UserError, match=r"fusion\.ties"):
        Fusion("voting", "first")


@given(unique_lists, fusions, st.integers())
def test_the_union_comes_out_once(lists: list[list[int]], fusion: Fusion, seed: int) -> None:
    out = fuse(lists, fusion, random.Random(seed))
    assert len(out) == len(set(out))
    assert set(out) == {x for one in lists for x in one}


@given(st.lists(st.integers(), unique=True), fusions)
def test_a_single_list_is_left_alone(one: list[int], fusion: Fusion) -> None:
    assert fuse([one], fusion, random.Random(0)) == one


@given(unique_lists, st.sampled_from(TIES))
def test_more_votes_never_rank_lower(lists: list[list[int]], ties: str) -> None:
    if len(lists) < 2:
        return
    out = fuse(lists, Fusion("voting", ties), random.Random(0))
    votes = [sum(x in one for one in lists) for x in out]
    assert votes == sorted(votes, reverse=True)


@given(unique_lists, st.sampled_from(["voting", "rrf"]), st.randoms())
def test_agent_order_matters_for_full_ties_only(
    lists: list[list[int]], kind: str, rng: random.Random
) -> None:
    if len(lists) < 2:
        return
    shuffled = list(lists)
    rng.shuffle(shuffled)
    a = fuse(lists, Fusion(kind), random.Random(0))
    b = fuse(shuffled, Fusion(kind), random.Random(0))

    def key(node: int) -> tuple[float, int]:
        places = sorted(one.index(node) for one in lists if node in one)
        score = float(len(places)) if kind == "voting" else sum(1 / (61 + p) for p in places)
        return round(score, 12), places[0]

    assert [key(x) for x in a] == [key(x) for x in b]


@given(unique_lists)
def test_equal_lists_fuse_to_themselves(lists: list[list[int]]) -> None:
    same = [lists[0]] * 3
    for kind in ("voting", "ordering", "rrf"):
        assert fuse(same, Fusion(kind), random.Random(0)) == lists[0]
