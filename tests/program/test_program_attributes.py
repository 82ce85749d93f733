"""Comparison of attribute values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.program.attributes import extreme, satisfies
from ark.program.functions import OPERATORS
from ark.program.words import split_words
from ark.queries.check import compare, cut

_scalars = st.one_of(
    st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text("ab 1-", max_size=4)
)


@pytest.mark.parametrize(
    ("value", "op", "wanted", "holds"),
    [
        (1, "=", 1.0, True),
        ("1", "=", 1, False),
        ("1", "!=", 1, True),
        (True, "=", 1, False),
        (True, "<", 2, False),
        ("1990-05-01", "<", "1990-12-01", True),
        ("b", ">", 1, False),
        ((1, 5), ">", 4, True),
        ((1, 5), "!=", 5, True),
        ((), "=", 1, False),
        (None, "!=", 1, False),
        ("Blue-green, dark", "has", "GREEN blue", True),
        ("Bluegreen", "has", "blue", False),
        ("anything", "has", "", False),
        (7, "has", 7, True),
    ],
)
def test_comparisons(value: object, op: str, wanted: object, holds: bool) -> None:
    assert satisfies(value, op, wanted) is holds  # type: ignore[arg-type]


@given(_scalars, st.sampled_from(OPERATORS), _scalars)
def test_agrees_with_the_checker(value: str | float, op: str, wanted: str | float) -> None:
    assert satisfies(value, op, wanted) == compare(value, op, wanted)


@given(st.text(max_size=40))
def test_words_agree_with_the_checker(text: str) -> None:
    assert split_words(text) == cut(text)
    assert all(w == w.lower() for w in split_words(text) if w.isascii())


def test_extremes_keep_ties_and_prefer_numbers() -> None:
    rows = [(1, 3), (2, (1, 9.0)), (3, "zz"), (4, 9), (5, None), (6, True)]
    assert extreme(rows, largest=True) == [2, 4]
    assert extreme(rows, largest=False) == [2]
    assert extreme([(1, "b"), (2, "a"), (3, "a")], largest=False) == [2, 3]
    assert extreme([(1, None), (2, True)], largest=True) == []
