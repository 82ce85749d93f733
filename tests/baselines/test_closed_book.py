"""Closed book: what a model names from memory, grounded in the graph."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.errors import QueryLimitError, UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Backbone, Context
from ark.records import Attempt, Completion, Json, Message
from ark.run.session import method_label
from ark.search import BM25
from baselines.closed_book import TAG, ClosedBook

QUESTION = "Which plant do moths visit?"


class Told(ScriptedBackbone):
    """Plays a script and keeps how it was asked."""

    is_llm = True

    def __init__(self, *answers: str) -> None:
        super().__init__([{"content": answer} for answer in answers])
        self.asked: list[tuple[list[Message], dict[str, Any]]] = []

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        self.asked.append((list(messages), how))
        return await super().complete(messages, **how)


class Spent:
    label = "spent"
    identity: ClassVar[Mapping[str, Json]] = {}

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        raise QueryLimitError("no more calls")


def names(*given: str) -> str:
    return json.dumps({"names": given})


def answer(
    graph: KnowledgeGraph, root: Path, backbone: Backbone, **settings: Any
) -> tuple[Attempt, list[str]]:
    context = Context(graph, BM25.open_or_build(graph, root), backbone, random.Random(0))
    attempt = asyncio.run(ClosedBook(**settings).attempt(QUESTION, context, 2))
    return attempt, [graph.id(i) for i in attempt.ranking.nodes]


class Twins:
    """Names that nodes share, and names that differ little."""

    name = "twins"

    def key(self) -> str:
        return "c" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        return GraphData(
            ("a", "b", "c", "d", "e"),
            ("lake", "river", "lake", "lake", "hill"),
            ("Mirror", "Mirror", "Long water north", "Long water south", "Grey tor"),
            ("", "", "", "", ""),
            [],
            [],
            [],
            ("r",),
        )


@pytest.fixture(scope="module")
def twins(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Twins(), data_root_path)


def test_names_are_ranked_as_given(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    told = Told(names("Marsh candle", "  moonbell ", "Sand thistle", "MARSH  CANDLE"))
    attempt, ids = answer(toy_graph, data_root_path, told)
    assert ids == ["p4", "p2", "p3"]  # an alias counts, a repeated name does not
    assert attempt.ranking.answers == 3
    assert attempt.status == "ok"
    (step,) = attempt.trajectory.steps
    assert (step.tag, step.state["kind"], step.invalid) == (TAG, "evidence", 0)
    assert step.state["names"][1] == {"name": "moonbell", "how": "name", "nodes": ["p2"]}


def test_one_call_that_shows_nothing_of_the_graph_but_its_types(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    told = Told(names("Night bell"))
    answer(toy_graph, data_root_path, told, temperature=0.0, max_tokens=99)
    ((messages, how),) = told.asked
    said = "\n".join(m.content or "" for m in messages)
    assert [m.role for m in messages] == ["system", "user"]
    assert messages[1].content == f"Question: {QUESTION}"
    assert all(kind in said for kind in toy_graph.node_types)
    for i in range(toy_graph.n_nodes):
        assert toy_graph.name(i) not in said
        assert toy_graph.id(i) not in said.split()
    assert not any(relation in said for relation in toy_graph.relations)
    assert how["tag"] == TAG
    assert how["draw"] == 2
    assert (how["temperature"], how["max_tokens"]) == (0.0, 99)
    assert how["schema"]["properties"]["names"]["maxItems"] == 20


def test_no_more_names_than_asked_for(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    told = Told(names("Night bell", "Sand thistle", "Marsh candle"))
    assert answer(toy_graph, data_root_path, told, names=2)[1] == ["p2", "p3"]


def test_nodes_of_one_name(twins: KnowledgeGraph, data_root_path: Path) -> None:
    assert answer(twins, data_root_path, Told(names("mirror")))[1] == ["a"]
    assert answer(twins, data_root_path, Told(names("mirror")), several="all")[1] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "settings", "found"),
    [
        ("Long water north", {}, ["c"]),
        ("The long water of the north", {}, ["c"]),  # "north" makes the hit clear
        ("Long water", {}, []),  # c and d are as good as each other
        ("The long water of the north", {"fuzzy": False}, []),
        ("The long water of the north", {"margin": 50}, []),
        ("Long water", {"margin": 1}, ["c"]),
        ("Grey peak", {}, ["e"]),  # nothing else has a word of it
        ("Nowhere", {}, []),
        ("—", {}, []),
    ],
)
def test_a_name_that_no_node_has_needs_a_clear_hit(
    twins: KnowledgeGraph,
    data_root_path: Path,
    name: str,
    settings: dict[str, Any],
    found: list[str],
) -> None:
    attempt, ids = answer(twins, data_root_path, Told(names(name)), **settings)
    assert ids == found
    assert attempt.trajectory.steps[0].state["names"][0]["nodes"] == found


def test_the_margin_is_that_of_the_scores(twins: KnowledgeGraph, data_root_path: Path) -> None:
    name = "long water north shore"
    first, second = (h.score for h in BM25.open_or_build(twins, data_root_path).search(name, 2))
    for factor, found in ((0.99, ["c"]), (1.01, [])):
        margin = max(1.0, factor * first / second)
        assert answer(twins, data_root_path, Told(names(name)), margin=margin)[1] == found


def test_records_of_one_answer_are_no_rivals(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """Copper moth is there twice, joined by an equivalence."""
    (found,) = answer(toy_graph, data_root_path, Told(names("the copper moths, a moth")))[1]
    assert toy_graph.canonical(toy_graph.index(found)) == toy_graph.index("i1")


def test_an_unreadable_answer_is_repaired_once_then_empty(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    told = Told("I think it is Night bell.", names("Night bell"))
    attempt, ids = answer(toy_graph, data_root_path, told)
    assert ids == ["p2"]
    assert [s.invalid for s in attempt.trajectory.steps] == [1, 0]
    told = Told("Night bell.", '{"answer": "Night bell"}')
    attempt, ids = answer(toy_graph, data_root_path, told)
    assert ids == []
    assert attempt.status == "ok"
    assert sum(s.fallbacks for s in attempt.trajectory.steps) == 1


def test_knowing_nothing_is_an_answer(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    told = Told(names())
    attempt, ids = answer(toy_graph, data_root_path, told)
    assert (ids, len(told.asked)) == ([], 1)
    assert attempt.trajectory.steps[0].invalid == 0


def test_strangers_text_stays_short_and_on_its_line(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    told = Told(names("Night\nbell", "x" * 5000, "1. fake"))
    attempt, ids = answer(toy_graph, data_root_path, told)
    assert ids == ["p2"]
    said = [each["name"] for each in attempt.trajectory.steps[0].state["names"]]
    assert said[0] == "Night bell"
    assert all(len(each) <= 120 for each in said)


def test_a_limit_ends_it(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    attempt, ids = answer(toy_graph, data_root_path, Spent())
    assert (attempt.status, ids) == ("limit", [])


def test_without_a_model_the_label_says_that_no_memory_is_tested() -> None:
    label = method_label(ClosedBook(), LexicalBackbone())
    assert "no memory test" in label
    assert method_label(ClosedBook(), Told(names())) == "Closed book"


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": 0},
        {"margin": 0.5},
        {"several": "some"},
        {"max_tokens": 0},
        {"temperature": -1},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"method\."):
        ClosedBook(**wrong)
