"""What KG-Agent takes out of an answer, and that a set is ranked from its rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kg_agent_world import planned, search_of, world

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context, Ints
from ark.records import Attempt
from baselines.kg_agent.answer import Dropped, ranked
from baselines.kg_agent.method import KGAgent
from baselines.kg_agent.sets import of_rows

ROOT = Path(__file__).resolve().parents[2]
CODE: dict[str, Any] = {"strict": False, "repairs": 0, "keep_last": False, "drop_topics": "all"}


@pytest.fixture
def graph(data_root_path: Path) -> KnowledgeGraph:
    return world(data_root_path)


def answer(graph: KnowledgeGraph, done: Attempt) -> list[str]:
    return [graph.id(i) for i in done.ranking.nodes[: done.ranking.answers or 0]]


def rows(*numbers: int) -> Ints:
    return np.array(numbers, dtype=np.int64)


def test_a_topic_in_a_ranked_set_stays_out_of_the_answer(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    lines = [
        "v1 = search_in(team, club sea, 5)",
        "v2 = get_tail_entity(v0, has player)",
        "end(v1)",
    ]
    asked: dict[str, Any] = {"topics": ["club"], "question": "club sea", "search_in": True}
    done = planned(graph, data_root_path, lines, **asked)
    assert answer(graph, done) == ["city"]
    assert done.trajectory.steps[-1].state["answer"] == {"size": 1}
    every = [graph.id(i) for i in done.ranking.nodes]
    assert every == ["city", "a", "b", "d", "club"]  # the topic as what linking found
    narrowed = [lines[0], "v3 = intersect(v1, v1)", lines[1], "end(v3)"]
    assert answer(graph, planned(graph, data_root_path, narrowed, **asked)) == ["city"]


def test_scores_go_with_their_rows() -> None:
    nodes = of_rows(rows(1, 4, 7), scores={1: 3.0, 4: 2.0, 7: 1.0})
    left = Dropped(frozenset({1})).of(nodes)
    assert left.rows.tolist() == [4, 7]
    assert dict(left.scores) == {4: 2.0, 7: 1.0}
    assert Dropped(frozenset({2})).of(nodes) is nodes


def test_a_set_is_ranked_from_its_rows(graph: KnowledgeGraph, data_root_path: Path) -> None:
    search = search_of(graph, data_root_path)
    ctx = Context(graph, search, LexicalBackbone(), random.Random(0))
    partly = of_rows(rows(1, 2, 3), scores={0: 9.0, 3: 1.0, 2: 2.0})
    found = ranked(ctx, "Which?", partly, [], [], Dropped(), "bm25")
    assert found.nodes == (2, 3, 1)
    assert found.answers == 3


def test_used_topics_are_taken_out_unless_nothing_else_is_left(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    typed = ["v2 = get_entity_by_type(team)", "end(v2)"]
    done = planned(graph, data_root_path, typed, topics=["club", "city"])
    assert sorted(answer(graph, done)) == ["city", "club"]  # no call used them
    joined = ["v2 = union(city, club)", "end(v2)"]
    assert sorted(answer(graph, planned(graph, data_root_path, joined))) == ["city", "club"]
    used = ["v2 = get_entity_by_type(team)", "v3 = get_relation(v0)", "end(v2)"]
    done = planned(graph, data_root_path, used, topics=["club", "city"])
    assert answer(graph, done) == ["city"]


def test_the_released_code_takes_out_all_topics_and_written_entities(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    moved = ["v2 = get_tail_entity(v0, home of)", "end(v2)"]
    done = planned(graph, data_root_path, moved, topics=["town", "city"], **CODE)
    assert answer(graph, done) == ["club"]  # city was linked, and no call used it
    typed = ["v2 = get_entity_by_type(team)", "v3 = get_relation(club)", "end(v2)"]
    done = planned(graph, data_root_path, typed, topics=["town"], **CODE)
    assert answer(graph, done) == ["city"]  # club was written by its id
    done = planned(graph, data_root_path, typed, topics=["city"], **CODE)
    assert answer(graph, done) == []  # nothing else is left, and they go all the same
    assert done.trajectory.steps[-1].state["ended"] is True
    assert [graph.id(i) for i in done.ranking.nodes] == ["city"]  # what linking found


def test_only_the_preset_of_the_code_takes_out_all() -> None:
    folder = ROOT / "configs" / "method"
    said = {
        name: (folder / f"{name}.yaml").read_text(encoding="utf-8").partition("drop_topics: ")[2]
        for name in ("kg_agent", "kg_agent_plain", "kg_agent_code")
    }
    said = {name: rest.split()[0] for name, rest in said.items()}
    assert said == {"kg_agent": "used", "kg_agent_plain": "used", "kg_agent_code": "all"}
    assert KGAgent().drop_topics == "used"
    with pytest.raises(UserError, match=r"method\.drop_topics"):
        KGAgent(drop_topics="some")


def test_of_equal_scores_the_text_says_which_are_kept(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """More nodes without a score than a ranking holds: those that fit the question come first."""
    every = np.arange(graph.n_nodes, dtype=np.int64)
    last = graph.index("fan699")
    nodes = of_rows(every, scores=dict.fromkeys(every.tolist(), 0.0))
    ctx = Context(graph, search_of(graph, data_root_path), LexicalBackbone(), random.Random(0))
    done = ranked(ctx, "fan699", nodes, [], [], Dropped(), "bm25")
    assert done.nodes[0] == last
    assert done.answers == 100


def test_a_list_of_relations_is_no_answer(graph: KnowledgeGraph, data_root_path: Path) -> None:
    lines = ["v1 = get_relation(v0)", "end(v1)", "v2 = get_tail_entity(v0, has player)", "end(v2)"]
    done = planned(graph, data_root_path, lines, topics=["club"])
    assert done.trajectory.steps[1].state["error"] == (
        "error (kind): v1 is a list of relations; follow one of them first"
    )
    assert sorted(answer(graph, done)) == ["a", "b", "d"]


def test_0_and_0_0_degrees_are_one_run() -> None:
    assert repr(KGAgent(temperature=0).identity) == repr(KGAgent(temperature=0.0).identity)
    assert KGAgent(temperature=None).identity["temperature"] is None
