"""Selection by split and limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.queries import select
from ark.records import Query


def queries(*splits: str) -> list[Query]:
    return [Query(f"q{k}", "?", ("a",), split=s) for k, s in enumerate(splits)]


def ids(found: list[Query]) -> list[str]:
    return [q.id for q in found]


MIXED = queries("train", "test", "val", "test-0.1", "test", "train")


@pytest.mark.parametrize(
    ("split", "limit", "wanted"),
    [
        ("all", None, ["q0", "q1", "q2", "q3", "q4", "q5"]),
        ("test", None, ["q1", "q3", "q4"]),
        ("test", 2, ["q1", "q3"]),
        ("test", 99, ["q1", "q3", "q4"]),
        ("test-0.1", None, ["q3"]),
        ("train", 1, ["q0"]),
        ("val", None, ["q2"]),
    ],
)
def test_stored_order(split: str, limit: int | None, wanted: list[str]) -> None:
    assert ids(select(MIXED, split, limit)) == wanted


@given(st.integers(1, 300))
def test_a_tenth_is_drawn_where_none_is_stored(n: int) -> None:
    every = queries(*["test"] * n)
    tenth = select(every, "test-0.1")
    assert len(tenth) == max(1, round(n / 10))
    assert tenth == select(every, "test-0.1")
    places = [every.index(q) for q in tenth]
    assert places == sorted(set(places))


def test_unknown_splits_are_answered_with_those_there_are() -> None:
    with pytest.raises(UserError) as caught:
        select(MIXED, "dev")
    assert str(caught.value) == (
        "no questions in split 'dev'; there are: test 3, test-0.1 1, train 2, val 1, and all"
    )
    with pytest.raises(UserError, match=r"'test-0\.1'; there are: train 1"):
        select(queries("train"), "test-0.1")


@pytest.mark.parametrize("limit", [0, -1])
def test_limits_below_one(limit: int) -> None:
    with pytest.raises(UserError, match="give at least 1"):
        select(MIXED, "all", limit)
