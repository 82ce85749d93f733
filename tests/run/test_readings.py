"""Readings of one journal: denominators, filters, equal answers, sets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ark.agent import Fusion
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.records import AgentLine, Call, Hit, Query, Usage
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
    data = result(Identity({}, {}), {}, Reading(), rows)
    assert data["counts"] == {
        "queries": 3,
        "ok": 1,
        "limit": 0,
        "failed": 1,
        "missing": 1,
        "partly_failed": 0,
        "agents_differ": None,
        "orders": 1,
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
    data = result(Identity({}, {}), {}, Reading(), scored(entries(line), toy_graph, Q1))
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
    assert "f1" not in result(Identity({}, {}), {}, Reading(), [row])["measures"]


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


def test_fewer_agents_average_over_all_choices_and_orders(toy_graph: KnowledgeGraph) -> None:
    # Gold first in one list of three: an ordered pair starts with it in 2 of 6 cases.
    found = entries(agent("q2", 0, "p2"), agent("q2", 1, "h1"), agent("q2", 2, "h2"))
    (row,) = scored(found, toy_graph, Q2, agents=2, pool=3, fusion=Fusion("ordering"))
    assert row.values["hit@1"] == pytest.approx(2 / 6)
    assert row.values["hit@5"] == pytest.approx(4 / 6)
    assert row.values["mrr"] == pytest.approx((2 * 1 + 2 * 0.5) / 6)
    assert row.ranked == ()
    assert [one["hit@1"] for one in row.singles] == [1.0, 0.0, 0.0]
    reading = Reading(Fusion("ordering"), 2, 3)
    data = result(Identity({}, {}), {}, reading, [row])
    assert data["counts"]["orders"] == 6
    assert data["usage"]["calls"] == 2  # of the pool's three
    assert data["usage"]["cost"] == 1.0
    assert data["single_agents"]["hit@1"] == [1.0, 0.0, 0.0]
    (alone,) = scored(found, toy_graph, Q2, agents=1, pool=3)
    assert alone.values["hit@1"] == pytest.approx(1 / 3)
    missing = entries(agent("q2", 0, "p2"))
    assert scored(missing, toy_graph, Q2, agents=1, pool=3)[0].status == "missing"


def test_a_failed_agent_fails_the_choices_that_hold_it(toy_graph: KnowledgeGraph) -> None:
    found = entries(
        agent("q2", 0, "p2"), agent("q2", 1, "h1"), agent("q2", 2, "p2", status="failed")
    )
    (one,) = scored(found, toy_graph, Q2, agents=1, pool=3)
    assert (one.status, one.partly_failed) == ("ok", True)
    assert one.values["hit@1"] == pytest.approx(1 / 3)
    assert one.values["recall"] == pytest.approx(1 / 3)
    (two,) = scored(found, toy_graph, Q2, agents=2, pool=3, fusion=Fusion("ordering"))
    assert two.values["hit@1"] == pytest.approx(1 / 6)  # of (0,1) and (1,0), the first
    assert two.values["hit@5"] == pytest.approx(2 / 6)
    assert [row["hit@1"] for row in two.singles] == [1.0, 0.0, 0.0]
    (three,) = scored(found, toy_graph, Q2, agents=3)
    assert (three.status, three.partly_failed) == ("failed", False)
    assert result(Identity({}, {}), {}, Reading(agents=1, pool=3), [one])["counts"]["failed"] == 0
    every = entries(*(agent("q2", i, status="failed") for i in range(3)))
    assert scored(every, toy_graph, Q2, agents=1, pool=3)[0].status == "failed"


def test_impossible_pools_are_refused() -> None:
    with pytest.raises(UserError, match=r"pool=2 is less than method.agents=3"):
        Reading(agents=3, pool=2)
    with pytest.raises(UserError, match="more than 5040 orders"):
        Reading(agents=6, pool=12)
    with pytest.raises(UserError, match="steps=0"):
        Reading(steps=0)
    with pytest.raises(UserError, match="over_budget"):
        Reading(over_budget="cut")
    with pytest.raises(UserError, match="backfill"):
        Reading(backfill="dense")


def stepping(status: str = "ok") -> AgentLine:
    """p2 picked at step 2, i1 at step 4, five steps."""
    return replace(
        agent("q2", 0, "h1", "p2", "i1", status=status),
        picked_at=(1, 2, 4),
        steps=5,
        usage={"t": Usage(5, 50, 5, 0.5)},
        calls=tuple(Call("t", 10, 1, 0.1, 2.0, invalid=int(i == 0)) for i in range(5)),
    )


def test_fewer_steps_read_the_list_as_it_stood(toy_graph: KnowledgeGraph) -> None:
    found = entries(stepping())
    (whole,) = scored(found, toy_graph, Q2)
    assert (whole.status, whole.ranked) == ("ok", ("h1", "p2", "i1"))
    (three,) = scored(found, toy_graph, Q2, steps=3)
    assert (three.status, three.ranked) == ("limit", ("h1", "p2"))
    assert three.values["precision"] == 0.5
    assert three.usage["t"].calls == 3
    assert three.usage["t"].prompt_tokens == 30
    assert three.usage["t"].cost == pytest.approx(0.3)
    assert three.usage["t"].invalid == 1
    (one,) = scored(found, toy_graph, Q2, steps=1)
    assert one.ranked == ("h1",)
    (five,) = scored(found, toy_graph, Q2, steps=5, over_budget="as_published")
    assert five == whole
    (published,) = scored(found, toy_graph, Q2, steps=4, over_budget="as_published")
    assert (published.status, published.ranked) == ("limit", ())
    assert scored(entries(stepping("failed")), toy_graph, Q2, steps=1)[0].status == "failed"
    with pytest.raises(UserError, match="does not keep single calls"):
        scored(entries(replace(stepping(), calls=())), toy_graph, Q2, steps=1)


class _Search:
    """Finds what it is told to, best first."""

    def __init__(self, graph: KnowledgeGraph, *ids: str) -> None:
        self._hits = [Hit(graph.index(i), 1.0 / n) for n, i in enumerate(ids, 1)]

    def search(self, query: str, k: int) -> list[Hit]:
        return self._hits[:k]


def test_backfill_follows_the_list_and_is_not_committed(toy_graph: KnowledgeGraph) -> None:
    found = entries(agent("q2", 0, "h1"))
    search = _Search(toy_graph, "i4", "p2", "h1", "i1")
    read_with = {"graph": toy_graph, "candidate_types": None, "seed": 0, "search": search}
    (row,) = read(found, [Q2], reading=Reading(backfill="bm25"), **read_with)  # type: ignore[arg-type]
    assert row.ranked == ("h1", "i1", "p2")  # i4 is i1, and h1 stands already
    assert row.values["mrr"] == pytest.approx(1 / 3)
    assert row.values["precision"] == 0.0
    reading = Reading(backfill="bm25", cut=2)
    read_with["candidate_types"] = ("plant", "herb", toy_graph.type(toy_graph.index("h1")))
    (typed,) = read(found, [Q2], reading=reading, **read_with)  # type: ignore[arg-type]
    assert typed.ranked == ("h1", "p2")
    with pytest.raises(UserError, match="needs the search index"):
        scored(found, toy_graph, Q2, backfill="bm25")
