"""The oracle: the ceiling of ARK's tools, by words of the question and filters of the schema."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ark.agent.method import Ark
from ark.agent.oracle import EXAMPLES, Oracle
from ark.agent.oracle_moves import Planner
from ark.agent.oracle_program import expression, levels
from ark.agent.oracle_words import Words
from ark.agent.toolbox import Toolbox
from ark.agent.tools import ADD, NEIGHBORS, SEARCH, ToolOptions
from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context
from ark.records import Attempt, Mention, Query, ToolCall
from ark.run.fingerprint import behaviour
from ark.search import BM25
from ark.text import tokens

HUB = 60


class Hub:
    """A hub with sixty members; nothing in a name tells members 30 to 59 from each other.

    Two of them are described. A second hub joins four members.
    """

    name = "hub"

    def key(self) -> str:
        return "b" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        members = [f"m{i}" for i in range(HUB)]
        texts = ["", "", *("" for _ in members)]
        texts[2 + 41], texts[2 + 55] = "of amber", "of amber"
        edges = [(2 + i, 0, 0) for i in range(HUB)] + [(2 + i, 1, 1) for i in (33, 41, 50, 55)]
        source, relation, target = zip(*edges, strict=True)
        return GraphData(
            ("h", "s", *members),
            ("hub", "set", *["member"] * HUB),
            ("Great hall", "Small society", *(f"item {i}" for i in range(HUB))),
            texts,
            list(source),
            list(relation),
            list(target),
            ("in", "of"),
        )


@pytest.fixture(scope="module")
def hub(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Hub(), data_root_path)


def replay(graph: KnowledgeGraph, root: Path, query: Query, **settings: Any) -> Attempt:
    search = BM25.open_or_build(graph, root)
    context = Context(graph, search, LexicalBackbone(), random.Random(0), query)
    return asyncio.run(Oracle(**settings).attempt(query.text, context, 0))


def calls(attempt: Attempt) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (call.name, json.loads(call.arguments))
        for message in attempt.trajectory.messages
        for call in message.tool_calls
    ]


def found(attempt: Attempt, graph: KnowledgeGraph) -> set[str]:
    return {graph.id(i) for i in attempt.ranking.nodes}


AMBER = Query(
    "a",
    "Which items in the great hall have to do with amber?",
    ("m41", "m55"),
    anchor_ids=("h",),
    mentions=(Mention("h", "great hall"),),
    program='end(text(backward(node("h"), "in"), "amber"))',
)
BOTH = Query(
    "b",
    "Which members does the great hall share with the small society?",
    ("m33", "m41", "m50", "m55"),
    anchor_ids=("h", "s"),
    mentions=(Mention("h", "great hall"), Mention("s", "small society")),
    program='end(intersect(backward(node("h"), "in"), backward(node("s"), "of")))',
)


def test_a_condition_on_text_is_met_by_a_search_or_a_query(
    hub: KnowledgeGraph, data_root_path: Path
) -> None:
    attempt = replay(hub, data_root_path, AMBER)
    assert found(attempt, hub) == {"m41", "m55"}
    assert calls(attempt)[0] == (SEARCH, {"query": "amber", "size": 30})
    assert attempt.ranking.answers == 2
    assert attempt.status == "ok"


def test_it_goes_from_the_rarest_side(hub: KnowledgeGraph, data_root_path: Path) -> None:
    attempt = replay(hub, data_root_path, BOTH)
    assert found(attempt, hub) == set(BOTH.answer_ids)
    first, second, added, _ = calls(attempt)
    assert first[1]["query"] == "small society"
    assert second == (NEIGHBORS, {"node_index": 1, "node_type": "member", "edge_type": "of"})
    assert added[0] == ADD


def test_what_no_list_shows_is_not_found(hub: KnowledgeGraph, data_root_path: Path) -> None:
    """Without the small side all words of the question leave members in node order."""
    query = replace(
        BOTH,
        text="Which members does the great hall have?",
        answer_ids=("m7", "m59"),
        mentions=(Mention("h", "great hall"),),
        program='end(backward(node("h"), "in"))',
    )
    assert found(replay(hub, data_root_path, query), hub) == {"m7"}
    assert found(replay(hub, data_root_path, query, neighbor_k=60), hub) == {"m7", "m59"}
    assert found(replay(hub, data_root_path, query, paging=True), hub) == {"m7", "m59"}
    assert found(replay(hub, data_root_path, query, neighbors=False), hub) == set()


def test_a_larger_budget_never_finds_less(hub: KnowledgeGraph, data_root_path: Path) -> None:
    shares = []
    for steps in range(1, 6):
        attempt = replay(hub, data_root_path, BOTH, max_steps=steps)
        assert len(attempt.trajectory.steps) <= steps
        shares.append(len(attempt.ranking.nodes))
    assert shares == sorted(shares)
    assert shares[0] == 0  # one step is needed to add
    assert shares[-1] == 4


@pytest.mark.parametrize("ablation", [{}, *Oracle.ablations.values()])
def test_it_plays_by_the_rules_of_the_tools(
    toy_graph: KnowledgeGraph, data_root_path: Path, ablation: Mapping[str, bool]
) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path)
    for query in toy_questions(toy_graph, data_root_path):
        attempt = replay(toy_graph, data_root_path, query, **ablation)
        asked = set(tokens(query.text))
        toolbox = Toolbox(toy_graph, search, ToolOptions(**ablation))
        for name, given in calls(attempt):
            assert set(tokens(given.get("query", ""))) <= asked
            assert toolbox.execute(ToolCall("", name, json.dumps(given))).valid
        gold = {toy_graph.canonical(toy_graph.index(i)) for i in query.answer_ids}
        assert {toy_graph.canonical(i) for i in attempt.ranking.nodes} <= gold
        assert set(attempt.ranking.nodes) <= set(toolbox.seen)
        assert list(attempt.ranking.nodes) == list(toolbox.picks)


def toy_questions(graph: KnowledgeGraph, root: Path) -> list[Query]:
    from ark.run.session import all_questions as composed
    from ark.run.spec import GraphSpec

    return list(composed(GraphSpec("toy"), graph, root, queries=None, split="all"))


def test_every_toy_answer_is_within_reach(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    for query in toy_questions(toy_graph, data_root_path):
        attempt = replay(toy_graph, data_root_path, query)
        gold = {toy_graph.canonical(toy_graph.index(i)) for i in query.answer_ids}
        assert {toy_graph.canonical(i) for i in attempt.ranking.nodes} == gold


def test_moves_show_what_the_toolbox_then_shows(hub: KnowledgeGraph, data_root_path: Path) -> None:
    """Planning may not promise more than a call gives, where the observation has room."""
    search = BM25.open_or_build(hub, data_root_path)
    for paging in (False, True):
        toolbox = Toolbox(hub, search, ToolOptions(paging=paging), 10**6)
        end = expression(str(BOTH.program), hub)
        golds = {hub.index(i): hub.index(i) for i in BOTH.answer_ids}
        planner = Planner(toolbox, Words(BOTH, hub, search, end), golds, levels(hub, end, golds))
        toolbox.execute(ToolCall("", SEARCH, '{"query": "great hall"}'))
        outcomes = [*planner._searches(), *planner.behind(0), *planner.behind(1)]
        assert len(outcomes) > 3
        toolbox.handles.show([0, 1])
        for outcome in outcomes:
            given = json.dumps(outcome.move.arguments(toolbox))
            shown = toolbox.execute(ToolCall("", outcome.move.tool, given))
            assert shown.valid
            assert outcome.golds == {golds[i] for i in shown.offered if i in golds}
            assert set(outcome.stones) <= set(shown.offered)


def test_levels_are_the_nodes_that_lead_to_an_answer(toy_graph: KnowledgeGraph) -> None:
    end = expression('a = backward(node("h3"), "grows in")\nend(backward(a, "visits"))', toy_graph)
    golds = [toy_graph.index("i3")]
    ids = [[toy_graph.id(i) for i in level] for level in levels(toy_graph, end, golds)]
    assert ids == [["p1"], ["h3"]]  # p2 grows there too, but i3 does not visit it


def test_a_name_is_never_searched_for_with_words_that_the_question_lacks(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    query = Query(
        "x",
        "What comes to the dunes' own thorny one?",
        ("i2",),
        anchor_ids=("p3",),
        program='end(backward(node("p3"), "visits"))',  # Sand thistle, which is not named
    )
    made = calls(replay(toy_graph, data_root_path, query))
    queries = [given["query"] for _, given in made if "query" in given]
    assert queries
    assert all("thistle" not in each and "sand" not in each.lower() for each in queries)


def test_questions_without_a_program_are_answered_around_a_search(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    query = Query("y", "thorny plant of dry dunes", ("i1", "i2", "h1"))
    near = {0: set(), 1: {"i2", "h1"}, 2: {"i2", "h1"}}
    search = BM25.open_or_build(toy_graph, data_root_path)
    (hit,) = [toy_graph.id(h.node) for h in search.search(query.text, 1)]
    assert hit == "p3"
    for hops, wanted in near.items():
        attempt = replay(toy_graph, data_root_path, query, hops=hops, global_k=1, global_k_max=1)
        assert found(attempt, toy_graph) == wanted
        assert attempt.trajectory.steps[0].state["kind"] == "evidence"
    alone = replay(toy_graph, data_root_path, query, neighbors=False, global_k=1, global_k_max=1)
    assert found(alone, toy_graph) == set()


@pytest.mark.parametrize(
    "program",
    ['end(backward(node("X:1"), "is a"))', 'end(node("X:1"))', "end(", 'end(count(type("plant")))'],
)
def test_a_program_that_does_not_fit_is_no_program(
    toy_graph: KnowledgeGraph, data_root_path: Path, program: str
) -> None:
    query = Query("z", "Night bell", ("p2", "gone"), program=program)
    assert found(replay(toy_graph, data_root_path, query), toy_graph) == {"p2"}
    lost = replace(query, answer_ids=("gone",))
    assert found(replay(toy_graph, data_root_path, lost), toy_graph) == set()


def test_the_fingerprint_replays_programs(data_root_path: Path) -> None:
    (first, _) = behaviour(Oracle(), data_root_path)["attempts"]
    said = json.dumps(first["messages"])
    assert SEARCH in said
    assert NEIGHBORS in said
    assert first["ranking"]
    other = behaviour(Oracle(neighbors=False), data_root_path)["attempts"][0]
    assert other["messages"] != first["messages"]


def test_examples_are_what_their_programs_say(toy_graph: KnowledgeGraph) -> None:
    from ark.program import Executor

    for query in EXAMPLES:
        if query.program is not None:
            rows = Executor(toy_graph).run(query.program)
            ids = {toy_graph.id(i) for i in rows.tolist()}  # type: ignore[union-attr]
            assert set(query.answer_ids) <= ids


def test_its_settings_are_those_of_ark() -> None:
    ark, oracle = Ark(), Oracle()
    for name, value in oracle.identity.items():
        if name != "hops":
            assert getattr(ark, name) == value, name
    assert dict(Ark.ablations) == dict(Oracle.ablations)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0},
        {"hops": -1},
        {"global_k": 9, "global_k_max": 8},
        {"neighbor_rank": "dense"},
        {"observation_tokens": 3},
        {"neighbor_k": True},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"method\."):
        Oracle(**wrong)
