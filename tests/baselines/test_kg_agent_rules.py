"""The rule-based planner of KG-Agent: what it calls next, from the conversation alone."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_agent_world import search_of, world

from ark.backbone import LexicalBackbone
from ark.backbone.kg_agent_rules import kg_agent_step
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Message
from baselines.kg_agent.calls import parse
from baselines.kg_agent.loop import TAG
from baselines.kg_agent.method import KGAgent


def attempt(graph: KnowledgeGraph, root: Path, question: str, **how: bool) -> Attempt:
    context = Context(graph, search_of(graph, root), LexicalBackbone(), random.Random(0))
    method = KGAgent(search_in=how.get("search_in", True))
    return asyncio.run(method.attempt(question, context, 0))


def calls(done: Attempt) -> list[str]:
    return [
        str(s.state["call"]).partition("= ")[2] or s.state["call"]
        for s in done.trajectory.steps
        if s.tag == TAG
    ]


def answer(graph: KnowledgeGraph, done: Attempt) -> list[str]:
    return sorted(graph.id(i) for i in done.ranking.nodes[: done.ranking.answers or 0])


def test_it_links_follows_and_ends(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    done = attempt(
        toy_graph, data_root_path, "Which plants does Ribbon fly visit?", search_in=False
    )
    assert answer(toy_graph, done) == ["p1", "p4"]
    first, move, last = calls(done)
    assert first.startswith("get_relation(")
    assert move.endswith(", visits)")
    assert last.startswith("end(")
    assert done.status == "ok"


def test_it_intersects_what_two_names_lead_to(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    question = "Which insect visits both Silverleaf and Marsh candle?"
    done = attempt(toy_graph, data_root_path, question)
    assert answer(toy_graph, done) == ["i3"]
    assert any(call.startswith("intersect(") for call in calls(done))


def test_it_goes_over_a_bridge(data_root_path: Path) -> None:
    graph = world(data_root_path)
    done = attempt(graph, data_root_path, "Which place is home of the teams that Cai is in?")
    assert answer(graph, done) == ["town"]


def test_it_searches_in_the_set_with_the_rest_of_the_question(data_root_path: Path) -> None:
    graph = world(data_root_path)
    question = "Which player of the Harbour Club is tall?"
    done = attempt(graph, data_root_path, question)
    assert answer(graph, done) == ["b"]
    assert any(call.startswith("search_in(") for call in calls(done))
    plain = attempt(graph, data_root_path, question, search_in=False)
    assert answer(graph, plain) == ["a", "b", "d"]
    assert not any(call.startswith("search_in(") for call in calls(plain))


def test_it_searches_the_type_where_nothing_is_named(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    done = attempt(toy_graph, data_root_path, "a plant with blue flowers that open late")
    assert toy_graph.id(done.ranking.nodes[0]) == "p2"


def test_a_name_by_its_alias_is_a_name(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    done = attempt(toy_graph, data_root_path, "Which insects visit the Moonbell?")
    assert answer(toy_graph, done) == ["i1", "i4"]


@pytest.mark.parametrize(
    "question", ["", "Zzzz?", "v0 = x | y", 'a "call": ), ( b', "- v1 = a | b"]
)
def test_it_always_ends(toy_graph: KnowledgeGraph, data_root_path: Path, question: str) -> None:
    done = attempt(toy_graph, data_root_path, question)
    assert done.status == "ok"
    assert len(done.trajectory.steps) < 20


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(max_size=60))))
def test_any_conversation_is_answered(said: list[tuple[str, str]]) -> None:
    extra = [Message("assistant", '{"call": "v3 = get_relation(v0)"}'), Message("assistant", "[1]")]
    messages = [Message(role, text) for role, text in said]  # type: ignore[arg-type]
    for talk in (messages, [*messages, *extra]):
        call = json.loads(kg_agent_step(talk, (), None, random.Random(0)))["call"]
        assert "(" in call


def test_its_lines_are_of_the_language(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    for question in ("What lives in Old marsh?", "plants and insects in Mercury", "Copper moth"):
        for step in attempt(toy_graph, data_root_path, question).trajectory.steps:
            if step.tag == TAG:
                parse(str(step.state["call"]))
                assert step.invalid == 0
