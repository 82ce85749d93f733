"""Bounds and figures of a dry run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.agent.method import Ark
from ark.backbone import LexicalBackbone
from ark.backbone.prices import Price
from ark.records import Json
from ark.run import Transport
from ark.run.dryrun_row import Row, dollars, minutes, tokens
from ark.run.dryrun_table import COLUMNS, HEADER, render
from ark.run.estimate import Asked, Effort, Most, most_of
from ark.run.spec import Limits


class Cut(LexicalBackbone):
    """A backbone whose settings cut its answers."""

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"max_tokens": 20}


def test_answers_are_bounded_by_max_tokens() -> None:
    seen = [[Asked(100, 5), Asked(130, 9)], [Asked(90, 1)]]
    most = most_of(Ark(max_steps=4), LexicalBackbone(), seen)
    assert most == Most(4, 4 * 100 + 30 * (1 + 2 + 3), 36, 190, bounded=False)
    bounded = most_of(Ark(max_steps=4, max_tokens=50), LexicalBackbone(), seen)
    assert bounded == replace(most, completion=200, bounded=True)
    assert most_of(Ark(max_steps=4), Cut(), seen) == replace(most, completion=80, bounded=True)


def test_no_bound_is_made_up() -> None:
    assert most_of(object(), LexicalBackbone(), [[Asked(1, 1)]]) is None  # no max_steps
    assert (
        most_of(Ark(max_steps=1), LexicalBackbone(), [[Asked(1, 1)] * 2]) is None
    )  # steps are not calls
    assert most_of(Ark(), LexicalBackbone(), [[], []]) is None


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 99)), max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_what_was_seen_lies_within_the_bound(seen: list[list[tuple[int, int]]]) -> None:
    agents = [[Asked(*pair) for pair in calls] for calls in seen]
    most = most_of(Ark(max_steps=6), LexicalBackbone(), agents)
    for calls in agents:
        assert most is not None or not any(agents)
        if most is not None:
            assert len(calls) <= most.calls
            assert sum(c.prompt for c in calls) <= most.prompt
            assert sum(c.completion for c in calls) <= most.completion
            assert max([0, *(c.prompt for c in calls)]) <= most.longest


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (tokens(950), "950"),
        (tokens(12_345), "12.3k"),
        (tokens(999_960), "1.00M"),
        (tokens(1_423_500_000), "1,424M"),
        (dollars(0), "$0.00"),
        (dollars(1234.5), "$1,234.50"),
        (dollars(0.0123), "$0.0123"),
        (dollars(1e-9), "under $0.0001"),  # never shown as nothing
        (minutes(0), "0"),
        (minutes(0.2), "under 0.1"),
        (minutes(3.1), "0.1"),
        (minutes(90), "1.5"),
        (minutes(7200), "120"),
    ],
)
def test_figures(written: str, text: str) -> None:
    assert written == text


def test_longer_prompts_than_the_price_holds_for_have_no_bound_in_money(tmp_path: Path) -> None:
    effort = Effort("x", 2, 100, 10, most=Most(4, 500, 40, 200, bounded=True))
    row = Row(
        "a",
        "f",
        10,
        1,
        0,
        0.1,
        effort,
        model="m",
        price=Price(2.0, 8.0, longest_prompt=199),
        cost=0.5,
    )
    text = render([row], Transport(results_dir=tmp_path), Limits())
    cells = [cell.strip() for cell in text.splitlines()[2].split("|")[1:-1]]
    shown = dict(zip(HEADER, cells, strict=True))
    assert shown["US$"] == "$5.00 (at most unknown)"
    assert shown["calls"] == "20 (at most 40)"
    assert len(COLUMNS) + 6 == len(HEADER)
