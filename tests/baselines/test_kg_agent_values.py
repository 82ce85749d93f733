"""Typed values of KG-Agent's constraints (specification, sections 3.4 and 3.12): the majority's
type, BCE dates, "= year", prefixes of dates, from/to overlap, strings.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kg_agent_world import Desk, world

from ark.graph import KnowledgeGraph
from ark.records import Scalar
from baselines.kg_agent.dates import NOW, Date, overlaps, read_date
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.literals import (
    ValueKind,
    as_string,
    extreme,
    holds,
    kind_of,
    majority,
    plain,
    read,
    wanted,
)


@pytest.fixture
def desk(data_root_path: Path) -> Desk:
    graph: KnowledgeGraph = world(data_root_path)
    desk = Desk(graph, data_root_path)
    desk("p = get_entity_by_type(player)", "k = get_entity_by_type(ruler)")
    return desk


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (7, "int"),
        ("-12", "int"),
        ("1998", "int"),
        (2.5, "float"),
        ("1e3", "float"),
        ("1998-05", "date"),
        ("1998-05-03T10:00:00Z", "date"),
        ("44 BC", "date"),
        ("-0044-03-15", "date"),
        ("1998-13", "string"),
        ("1998-01-32", "string"),
        (True, "string"),
        ("nan", "string"),
        ("1" * 40, "string"),
        ("", "string"),
    ],
)
def test_what_a_value_looks_like(value: Scalar, kind: ValueKind) -> None:
    assert kind_of(value) == kind


def test_the_majority_decides_and_the_others_are_left_out() -> None:
    assert majority([1, 2, "x"]) == "int"
    assert majority([1, "x", "y"]) == "string"
    assert majority([1.5, 2, 2.5]) == "float"
    assert majority([]) == "int"
    assert majority(["1998-05-03", "1998", "1999", "1997"]) == "date"  # years among dates
    assert majority(["1998-05-03", "a", "b", "c"]) == "string"
    assert extreme({1: ["x"], 2: [5], 3: [7], 4: ["9"]}, largest=True) == [4]
    assert extreme({1: ["x"], 2: [5], 3: [7], 4: ["9"]}, largest=False) == [2]
    assert not holds("x", "int", ">", 0)


def test_untyped_and_unreadable_tails_play_no_part(desk: Desk) -> None:
    assert desk.ids("x = get_entity_by_constraint(p, signed, <, 2030)") == ["a", "b", "c", "d"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, >=, 0)") == ["a", "b", "c", "d"]


def test_equal_to_a_year_means_within_that_year(desk: Desk) -> None:
    assert desk.ids("x = get_entity_by_constraint(p, signed, =, 1998)") == ["a", "b", "d"]
    assert desk.ids('x = get_entity_by_constraint(p, signed, =, "1998"^^xsd:gYear)') == [
        "a",
        "b",
        "d",
    ]
    assert desk.ids("x = get_entity_by_constraint(p, signed, =, 1998-05)") == ["a"]
    with pytest.raises(CallError, match="nothing satisfies"):
        desk("x = get_entity_by_constraint(p, signed, =, 1999-01)")  # a year is within no month


def test_order_of_dates_holds_for_every_day_that_is_meant(desk: Desk) -> None:
    assert desk.ids("x = get_entity_by_constraint(p, signed, >, 1998-06)") == ["b", "c", "d"]
    assert desk.ids("x = get_entity_by_constraint(p, signed, >, 1998)") == ["c"]
    assert desk.ids("x = get_entity_by_constraint(p, signed, <=, 1998-07-01)") == ["a", "d"]
    assert desk.ids("x = get_entity_by_constraint(p, signed, >=, 1998-07-01)") == ["b", "c", "d"]
    assert desk.ids("x = get_entity_by_constraint(p, signed, argmin)") == ["a"]
    assert desk.ids("x = get_entity_by_constraint(p, signed, argmax)") == ["c"]


def test_dates_before_our_era(desk: Desk) -> None:
    assert desk.ids("x = get_entity_by_constraint(k, died, argmin)") == ["k2"]
    assert desk.ids("x = get_entity_by_constraint(k, died, argmax)") == ["k3"]
    assert desk.ids("x = get_entity_by_constraint(k, died, <, 0001)") == ["k1", "k2"]
    assert desk.ids("x = get_entity_by_constraint(k, died, =, -0044)") == ["k1"]
    assert desk.ids("x = get_entity_by_constraint(k, died, =, 44 BC)") == ["k1"]
    assert desk.ids("x = get_entity_by_constraint(k, died, >, 100 BCE)") == ["k1", "k3"]
    assert read_date("-0044-03-15") == Date(-44, 3, 15)


def test_from_and_to_are_one_time_and_equality_is_overlap(desk: Desk) -> None:
    listed = [r.name for r in desk("r = get_relation(k3)")]
    assert listed == ["died", "reign_from", "reign_from_to", "reign_to"]

    def of(year: str) -> list[str]:
        return desk.ids(f"x = get_entity_by_constraint(k, reign_from_to, =, {year})")

    assert of("2000") == ["k1", "k4"]  # k1 has no end, so it is open
    assert of("2022-09") == ["k1", "k4"]
    assert of("2023") == ["k1"]
    assert of("-0030") == ["k1"]
    assert of("-0327") == ["k2"]
    assert of("0010") == ["k1", "k3"]
    assert of("NOW") == ["k1", "k4"]
    for op, kind in ((">", "operator"), ("argmax", "operator")):
        with pytest.raises(CallError) as raised:
            desk(f"x = get_entity_by_constraint(k, reign_from_to, {op}, 2000)")
        assert raised.value.kind == kind
    with pytest.raises(CallError, match="no date"):
        desk("x = get_entity_by_constraint(k, reign_from_to, =, today)")


def test_overlap_at_its_borders() -> None:
    year = Date(1998)
    assert overlaps(Date(1998, 12, 31), None, year)
    assert not overlaps(Date(1999), None, year)
    assert overlaps(None, Date(1998, 1, 1), year)
    assert not overlaps(None, Date(1997, 12, 31), year)
    assert not overlaps(None, None, year)
    assert read_date("now") == read_date(NOW)


def test_strings_compare_without_case_underscores_quotes_and_datatype() -> None:
    assert as_string('"New_York"@en') == "new york"
    assert holds("New York", "string", "=", str(wanted("new_york", "string", "=", strict=True)))
    assert plain('"1998"^^<http://www.w3.org/2001/XMLSchema#gYear>') == "1998"
    with pytest.raises(CallError, match="no order"):
        wanted("b", "string", "<", strict=True)
    assert holds("a", "string", "<", str(wanted("b", "string", "<", strict=False)))
    assert extreme({1: ["b"], 2: ["C"], 3: ["c"]}, largest=True) == [2, 3]


@given(st.text(max_size=40))
def test_any_text_is_read_or_not_but_never_raises(text: str) -> None:
    kind = kind_of(text)
    assert read(text, kind) is not None
    for other in ("int", "float", "date", "string"):
        read(text, other)
    assert majority([text]) == kind


@given(st.dates(), st.dates())
def test_order_of_whole_dates_is_the_calendar(one: object, other: object) -> None:
    mine, target = str(one), str(other)
    date = read_date(target)
    assert date is not None
    assert holds(mine, "date", "<", date) == (mine < target)
    assert holds(mine, "date", ">=", date) == (mine >= target)
    assert holds(mine, "date", "=", date) == (mine == target)
    year = read_date(target[:4])
    assert year is not None
    assert holds(mine, "date", "=", year) == (mine[:4] == target[:4])


@pytest.mark.parametrize(
    "text", ["10 000", "2001 2nd edition", "3 4 inch", "2-1", "12-5-3", "1998T10", "1998-05 10:00"]
)
def test_a_number_with_words_or_a_score_is_no_date(text: str) -> None:
    assert read_date(text) is None
    assert kind_of(text) == "string"


@pytest.mark.parametrize(
    "text",
    [
        *("1998-05-03T10:00:00Z", "1998-05-03 10:00", "1998-05-03Z", "1998-05-03+02:00"),
        *("1998-05-03T10", "1998-05-03T100000", "1998-05-03T10:00:00.5+02:00"),
    ],
)
def test_time_and_zone_are_cut(text: str) -> None:
    assert read_date(text) == Date(1998, 5, 3)


def test_one_date_among_numbers_does_not_make_them_years() -> None:
    values: list[Scalar] = [5, 12_345_678, 87_654_321, "1998-05"]
    assert majority(values) == "int"
    assert extreme({i: [v] for i, v in enumerate(values)}, largest=True) == [2]
    assert majority([1998, 1999, 2001, "1998-05", -44]) == "date"
