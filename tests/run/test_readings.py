"""Readings of one journal: denominators, filters, equal answers, sets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ark.agent import Fusion
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.records import AgentLine, Query, Usage
from ark.run.identity import Identity
from ark.run.journal import Entries
from ark.run.readings import Scored, read
from ark.run.result import result
from ark.run.spec import Reading

Q1 = Query("q1", "?", ("i1", "p1"), answer_type="insect", hops=1, textual=False)
Q2 = Query("q2", "?", ("p2",), answer_type="plant", hops=2, textual=True)
Q3 = Query("q3", "?", ("h1",), hops=2)


def entries(*lines: AgentLine) -> Entries:
    return Entries(agents={(line.query, line.agent): line for line in lines})


def agent(
    query: str, number: int, *nodes: str, status: str = "ok", answers: bool = True
) -> AgentLine:
    return AgentLine(
        query,
        number,
        status,  # type: ignore[arg-type]
        nodes=nodes,
        answers=len(nodes) if answers else None,
        usage={"t": Usage(1, 2, 3, 0.5)},
    )


def scored(
    found: Entries,
    graph: KnowledgeGraph,
    *queries: Query,
    types: tuple[str, ...] | None = None,
    **reading: object,
) -> list[Scored]:
    return read(found, queries, graph, Reading(**reading), types, seed=0)  # type: ignore[arg-type]


def test_missing_and_failed_score_zero_over_the_whole_split(toy_graph: KnowledgeGraph) -> None:
    found = entries(agent("q1", 0, "i1"), agent("q2", 0, "p2", status="failed"))
    rows = scored(found, toy_graph, Q1, Q2, Q3)
    assert [s.status for s in rows] == ["ok", "failed", "missing"]
    assert [s.values["hit@1"] for s in rows] == [1.0, 0.0, 0.0]
    data = result(Identity({}, {}), {}, rows)
    assert data["counts"] == {
        "queries": 3,
        "ok": 1,
        "limit": 0,
        "failed": 1,
        "missing": 1,
        "agents_differ": None,
    }
    assert data["measures"]["hit@1"]["mean"] == pytest.approx(1 / 3)
    assert data["measures"]["hit@1"]["n"] == 3
    assert data["measures"]["hit@1"]["answered_only"]["mean"] == 1.0
    assert data["usage"]["calls"] == 2
    assert data["usage"]["cost"] == 1.0
    assert data["strata"]["hops"]["2"]["hit@1"]["n"] == 2
    assert data["strata"]["textual"]["yes"]["hit@1"]["mean"] == 0.0


def test_a_question_with_a_missing_agent_is_missing(toy_graph: KnowledgeGraph) -> None:
    found = entries(agent("q1", 0, "i1"))
    assert scored(found, toy_graph, Q1, agents=2)[0].status == "missing"
    found = entries(agent("q1", 0, "i1"), agent("q1", 1, "i1", status="limit"))
    assert scored(found, toy_graph, Q1, agents=2)[0].status == "limit"
    assert scored(found, toy_graph, Q1, agents=1)[0].status == "ok"


def test_unknown_cost_stays_unknown(toy_graph: KnowledgeGraph) -> None:
    line = replace(agent("q1", 0, "i1"), usage={"t": Usage(1, 2, 3, None)})
    data = result(Identity({}, {}), {}, scored(entries(line), toy_graph, Q1))
    assert data["usage"]["cost"] is None
    assert data["usage"]["by_tag"]["t"]["cost"] is None


def test_equal_answers_count_once(toy_graph: KnowledgeGraph) -> None:
    # i4 is the same record as i1.
    found = entries(agent("q1", 0, "i4", "i1", "p1"))
    (row,) = scored(found, toy_graph, Q1)
    assert row.ranked == ("i1", "p1")
    assert row.values["hit@1"] == 1.0
    assert row.values["recall@20"] == 1.0
    twin = replace(Q1, answer_ids=("i4", "i1", "p1"))
    assert scored(found, toy_graph, twin)[0].values["recall@20"] == 1.0


def test_candidates_are_filtered_before_the_cut(toy_graph: KnowledgeGraph) -> None:
    found = entries(agent("q2", 0, "h1", "i1", "p2"))
    assert scored(found, toy_graph, Q2, cut=1)[0].values["hit@1"] == 0.0
    (typed,) = scored(found, toy_graph, Q2, cut=1, candidates="answer_type")
    assert typed.ranked == ("p2",)
    assert typed.values["hit@1"] == 1.0
    (by_graph,) = scored(found, toy_graph, Q2, types=("plant", "insect"))
    assert by_graph.ranked == ("i1", "p2")
    with pytest.raises(UserError, match="question q3 has no answer_type"):
        scored(entries(agent("q3", 0)), toy_graph, Q3, candidates="answer_type")


def test_the_cut_holds_for_every_measure(toy_graph: KnowledgeGraph) -> None:
    found = entries(agent("q2", 0, "h1", "i1", "p2"))
    (row,) = scored(found, toy_graph, Q2, cut=2)
    assert row.ranked == ("h1", "i1")
    assert row.values["mrr"] == 0.0


def test_set_measures_need_a_commitment(toy_graph: KnowledgeGraph) -> None:
    (row,) = scored(entries(agent("q1", 0, "i1", "h1")), toy_graph, Q1)
    assert row.values["precision"] == 0.5
    assert row.values["recall"] == 0.5
    ranked_only = entries(agent("q1", 0, "i1", "h1", answers=False))
    (row,) = scored(ranked_only, toy_graph, Q1)
    assert row.values["precision"] is None
    assert "f1" not in result(Identity({}, {}), {}, [row])["measures"]


def test_committed_prefix_of_one_agent(toy_graph: KnowledgeGraph) -> None:
    line = replace(agent("q1", 0, "i1", "h1", "h2"), answers=1)
    (row,) = scored(entries(line), toy_graph, Q1)
    assert row.values["precision"] == 1.0
    assert row.ranked == ("i1", "h1", "h2")


def test_fusion_is_a_reading_and_random_is_seeded_by_question(toy_graph: KnowledgeGraph) -> None:
    found = entries(
        agent("q1", 0, "h1", "i1"), agent("q1", 1, "h2", "i1"), agent("q1", 2, "h3", "p1")
    )
    (row,) = scored(found, toy_graph, Q1, agents=3)
    assert row.ranked[0] == "i1"
    assert row.agents_differ is True
    (row,) = scored(found, toy_graph, Q1, agents=3, fusion=Fusion("ordering"))
    assert row.ranked == ("h1", "i1", "h2", "h3", "p1")
    a, b = (
        scored(found, toy_graph, Q1, agents=3, fusion=Fusion("random"))[0].ranked for _ in range(2)
    )
    assert a == b
    assert set(a) == set(row.ranked)


def test_the_filter_looks_at_a_node_as_it_is_and_not_at_its_equal(
    toy_graph: KnowledgeGraph,
) -> None:
    class CrossTyped:
        """i4, written as its equal i1, is called a plant here."""

        def __getattr__(self, name: str) -> object:
            return getattr(toy_graph, name)

        def type(self, i: int) -> str:
            return "plant" if toy_graph.id(i) == "i4" else toy_graph.type(i)

    query = replace(Q2, answer_ids=("i4",))
    found = entries(agent("q2", 0, "i1", "i4", "p1"))
    (row,) = scored(found, CrossTyped(), query, candidates="answer_type")  # type: ignore[arg-type]
    assert row.ranked == ("i1", "p1")
    assert row.values["hit@1"] == 1.0
