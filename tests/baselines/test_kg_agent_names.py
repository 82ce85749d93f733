"""Names that a line cannot spell as the graph does: runs of spaces, commas, equal up to case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from kg_agent_world import Desk

from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build

RELATIONS = ("has  part", "part, of", "Part, Of", "a | b", "non\u00a0breaking")


@dataclass(frozen=True)
class Odd:
    """Four nodes whose ids, types and relations are as strangers write them."""

    name: str = "odd-names"

    def key(self) -> str:
        return "6" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        return GraphData(
            ids=["one", "a, b", "three", "four"],
            types=["Body  Part", "Body_Part", "Thing", "thing"],
            names=["One", "Two", "Three", "x"],
            texts=["", "red flowers", "red", ""],
            source=[0, 0, 0, 2, 3],
            relation=[0, 1, 2, 3, 4],
            target=[1, 2, 3, 0, 0],
            relations=RELATIONS,
            attrs=[{"size  m": 3}, {"size  m": 4, "a, b": "x, y"}, {}, {}],
        )


@pytest.fixture
def desk(data_root_path: Path) -> Desk:
    graph: KnowledgeGraph = open_or_build(Odd(), data_root_path)
    return Desk(graph, data_root_path).bind(v0="one", v1="a, b", v2="three")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("get_tail_entity(v0, has part)", ["a, b"]),
        ("get_tail_entity(v0, HAS  part)", ["a, b"]),
        ("get_tail_entity(v0, part, of)", ["three"]),
        ("get_tail_entity(v0, Part, Of)", ["four"]),
        ("get_head_entity(v0, a | b)", ["three"]),
        ("get_head_entity(v0, non breaking)", ["four"]),
        ('get_head_entity("a, b", has part)', ["one"]),
        ('union("a, b", v2)', ["a, b", "three"]),
        ("get_entity_by_type(Body Part)", ["one"]),
        ("get_entity_by_type(Body_Part)", ["a, b"]),
        ("get_entity_by_type(Thing)", ["three"]),
        ("get_entity_by_type(thing)", ["four"]),
        ("get_entity_by_constraint(v0, size m, =, 3)", ["one"]),
        ("get_entity_by_constraint(v1, a, b, =, x, y)", ["a, b"]),
        ("get_entity_by_constraint(v0, part, of, =, three)", ["one"]),
    ],
)
def test_each_is_found_by_what_a_line_can_hold(desk: Desk, line: str, found: list[str]) -> None:
    assert desk.ids(line) == found
