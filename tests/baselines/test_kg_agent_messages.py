"""Messages of KG-Agent's executor say what to do instead; names of types are read with care."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from kg_agent_world import Desk, world

from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from baselines.kg_agent.calls import parse
from baselines.kg_agent.errors import WIDTH, CallError

TYPES = ("Body_Part", "body part", "GeneProduct", "cell_line")
LONG = "9" * 700


@pytest.fixture
def desk(data_root_path: Path) -> Desk:
    return Desk(world(data_root_path), data_root_path).bind(v0="club", v1="city")


def error(desk: Desk, line: str) -> CallError:
    with pytest.raises(CallError) as raised:
        desk(line)
    return raised.value


# -- an attribute is no link ---------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["get_tail_entity", "get_head_entity"])
@pytest.mark.parametrize("name", ["founded", "Founded"])
def test_a_move_along_an_attribute_names_the_tool_for_it(desk: Desk, tool: str, name: str) -> None:
    found = error(desk, f"x = {tool}(v0, {name})")
    assert found.kind == "relation"
    assert str(found) == (
        f"'{name}' is an attribute and leads to no node: use get_entity_by_constraint"
    )
    assert "did you mean" in str(error(desk, f"x = {tool}(v0, has plaier)"))


# -- k of search_in ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", ["-1", "²", "0", "1.5", "+3", "−2", "k=-1", "k = all", '"-1"'])
def test_a_wrong_k_is_an_error_about_k(desk: Desk, k: str) -> None:
    found = error(desk, f"x = search_in(team, sea, {k})")
    assert found.kind == "value"
    assert str(found).startswith("k is a whole number of nodes, at least 1; found ")


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("v1, one, two", ("v1", "one, two")),
        ("v1, mutated in APOE, E4", ("v1", "mutated in APOE, E4")),
        ("v1, in winter, 1998-05", ("v1", "in winter, 1998-05")),
        ("v1, -1", ("v1", "-1")),
        ('v1, "one, 2"', ("v1", "one, 2")),
        ('v1, "one, two", 3', ("v1", "one, two", "3")),
        ("v1, sea, 99999999", ("v1", "sea", "99999999")),
    ],
)
def test_what_does_not_look_like_k_is_text(inside: str, arguments: tuple[str, ...]) -> None:
    assert parse(f"x = search_in({inside})").arguments == arguments


def test_a_large_k_is_cut(desk: Desk) -> None:
    assert desk.ids("x = search_in(team, sea, 99999999)") == ["club"]


@pytest.mark.parametrize("inside", ["v0, , 3", "v0,", "v0, ''", 'v0, "", 3'])
def test_an_empty_text_is_an_error(desk: Desk, inside: str) -> None:
    found = error(desk, f"x = search_in({inside})")
    assert found.kind == "arity"
    assert str(found).startswith("the text of search_in is empty: ")


# -- a long literal does not push out the reason -------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"x = get_entity_by_constraint(v0, founded, =, {LONG})", "is no int, and the values"),
        (f"x = get_entity_by_constraint(v0, founded, {LONG}, 1)", "known: = > >= < <= argmax"),
        (f"x = get_entity_by_constraint(v0, text, contains, {'?' * 700})", "holds no word"),
        (f"x = judge(v0, founded, =, {LONG})", "is no int, and the values"),
        (f"x = get_entity_by_constraint(v0, mixed, =, {LONG})", "nothing satisfies mixed = 999"),
        (f"x = get_relation(no: {LONG})", "no node has the id 'no: 999"),
        (f"x = get_candidate_entity({LONG})", "no node is found for '999"),
        (f"x = search_in(v0, sea, k={'x' * 700})", "k is a whole number of nodes"),
        (f"x = search_in(v0, {LONG}a)", "no text in v0 has a word of '999"),
    ],
)
def test_a_long_literal_is_clipped_and_the_reason_is_not(
    desk: Desk, line: str, reason: str
) -> None:
    message = str(error(desk, line))
    assert reason in message
    assert message.count("…") == 1
    assert len(message) < WIDTH  # it was not cut as a whole


def test_a_long_date_is_clipped(data_root_path: Path) -> None:
    desk = Desk(world(data_root_path), data_root_path)
    desk("k = get_entity_by_type(ruler)")
    message = str(error(desk, f"x = get_entity_by_constraint(k, reign_from_to, =, {LONG})"))
    assert message.endswith("…' is no date")


# -- names of types ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Typed:
    """A node of each type."""

    name: str = "kg-agent-types"

    def key(self) -> str:
        return "8" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        ids = [f"n{i}" for i in range(len(TYPES))]
        return GraphData(
            ids=ids,
            types=list(TYPES),
            names=[f"Thing {i}" for i in ids],
            texts=["found near the sea"] * len(ids),
            source=[0],
            relation=[0],
            target=[1],
            relations=("near",),
            attrs=[{} for _ in ids],
        )


@pytest.fixture
def typed(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Typed(), data_root_path)


@pytest.mark.parametrize(
    ("said", "node"),
    [
        ("Body_Part", "n0"),  # as it is spelled, before a type that differs by case only
        ("body part", "n1"),
        ("GeneProduct", "n2"),
        ("geneproduct", "n2"),
        ("GENEPRODUCT", "n2"),
        ("cell_line", "n3"),
        ("cell line", "n3"),
        ("Cell_Line", "n3"),
        ('"Cell Line"', "n3"),
    ],
)
def test_a_type_with_underscores_and_capitals(
    typed: KnowledgeGraph, data_root_path: Path, said: str, node: str
) -> None:
    desk = Desk(typed, data_root_path)
    assert desk.ids(f"x = get_entity_by_type({said})") == [node]
    assert desk.ids(f"x = search_in({said}, sea)") == [node]
