"""What ark_plus adds, each switch by itself, and that the paper's preset has none of it."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ark.agent import Ark
from ark.agent.method import ArkPlus
from ark.agent.observe import Handles
from ark.agent.prompt import shipped
from ark.agent.toolbox import Observation, Toolbox
from ark.agent.tools import ADD, COMMON, DETAILS, FINISH, NEIGHBORS, SEARCH, ToolOptions
from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, ToolCall
from ark.search import BM25
from ark.search.keyword import Keyword

SWITCHES = (
    "budget_notice",
    "forced_answer",
    "keep_seen",
    "details",
    "intersection",
    "multi_filters",
    "signatures",
    "paging",
)


@pytest.fixture(scope="module")
def search(toy_graph: KnowledgeGraph, data_root_path: Path) -> BM25:
    return BM25.open_or_build(toy_graph, data_root_path)


def call(box: Toolbox, name: str, **arguments: Any) -> Observation:
    return box.execute(ToolCall("c", name, json.dumps(arguments)))


def one(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def play(
    graph: KnowledgeGraph, search: BM25, script: list[dict[str, Any]], **settings: Any
) -> Attempt:
    context = Context(graph, search, ScriptedBackbone(script), random.Random(0))
    return asyncio.run(Ark(**settings).attempt("Which moth?", context, 0))


def texts(attempt: Attempt) -> list[str]:
    return [m.content or "" for m in attempt.trajectory.messages if m.role == "tool"]


def test_every_switch_is_off_in_the_papers_preset_and_on_in_plus() -> None:
    assert all(getattr(Ark(), name) is False for name in SWITCHES)
    assert all(getattr(ArkPlus(), name) is True for name in SWITCHES)
    assert (Ark().handles, ArkPlus().handles) == ("index", "opaque")
    assert {f.name for f in fields(Ark)} == {f.name for f in fields(ArkPlus)}
    assert Ark.label != ArkPlus.label


@pytest.mark.parametrize("name", SWITCHES)
def test_each_switch_changes_the_identity(name: str) -> None:
    assert Ark(**{name: True}).identity != Ark().identity  # type: ignore[arg-type]


def test_budget_notice(toy_graph: KnowledgeGraph, search: BM25) -> None:
    script = [one(SEARCH, query="moth"), one(SEARCH, query="fly"), one(FINISH)]
    seen = texts(play(toy_graph, search, script, max_steps=3, budget_notice=True))
    assert [t.split("\n")[-1] for t in seen] == ["(2 steps left)", "(1 steps left)", "Finished."]
    assert not any("left)" in t for t in texts(play(toy_graph, search, script, max_steps=3)))


def test_forced_answer_demands_one_tool_at_the_last_step(
    toy_graph: KnowledgeGraph, search: BM25
) -> None:
    class Watching(ScriptedBackbone):
        def __init__(self) -> None:
            super().__init__([one(SEARCH, query="moth")] * 3)
            self.asked: list[tuple[int, Any]] = []

        async def complete(self, messages: Any, **how: Any) -> Any:
            self.asked.append((len(how["tools"]), how["tool_choice"]))
            return await super().complete(messages, **how)

    backbone = Watching()
    context = Context(toy_graph, search, backbone, random.Random(0))
    asyncio.run(Ark(max_steps=3, forced_answer=True).attempt("?", context, 0))
    assert backbone.asked == [(4, "required"), (4, "required"), (4, ADD)]


def test_the_rules_follow_a_forced_answer(toy_graph: KnowledgeGraph, search: BM25) -> None:
    context = Context(toy_graph, search, LexicalBackbone(), random.Random(0))
    method = Ark(max_steps=2, forced_answer=True)
    found = asyncio.run(method.attempt("Which plants does Ribbon fly visit?", context, 0))
    assert found.ranking.nodes
    assert found.status == "limit"


def test_keep_seen_is_a_tier_below_the_answers(toy_graph: KnowledgeGraph, search: BM25) -> None:
    i1, i4 = toy_graph.index("i1"), toy_graph.index("i4")
    script = [
        one(SEARCH, query="copper wings"),
        one(ADD, answer_nodes=[{"node_index": i1}]),
        one(FINISH),
    ]
    plain = play(toy_graph, search, script)
    kept = play(toy_graph, search, script, keep_seen=True)
    assert plain.ranking.nodes == (i1,)
    assert kept.ranking.nodes == (i1, i4)
    assert kept.ranking.answers == 1
    assert kept.ranking.picked_at == (2, 1)


def test_details_show_all_that_is_stored(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(details=True))
    call(box, SEARCH, query="night bell")
    seen = call(box, DETAILS, node_index=toy_graph.index("p2"))
    assert '"Evening bell"' in seen.text
    assert '"height_m": 2.5' in seen.text
    assert "after sunset only" in seen.text
    assert seen.valid
    assert not call(box, DETAILS, node_index=99).valid
    short = Toolbox(toy_graph, search, ToolOptions(details=True), observation_tokens=10)
    call(short, SEARCH, query="night bell")
    assert len(call(short, DETAILS, node_index=toy_graph.index("p2")).text) < 100


def test_common_neighbors_are_the_intersection(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(intersection=True))
    call(box, SEARCH, query="silverleaf marsh candle night bell", size=30)
    ids = [toy_graph.index(i) for i in ("p1", "p4")]
    seen = call(box, COMMON, node_indices=ids)
    expected = set(toy_graph.neighbors(ids[0]).tolist()) & set(toy_graph.neighbors(ids[1]).tolist())
    assert set(seen.offered) == expected == {toy_graph.index("i3")}
    assert call(box, COMMON, node_indices=ids, node_type="habitat").offered == ()
    assert "needs 2 to" in call(box, COMMON, node_indices=ids[:1]).text
    assert "needs 2 to" in call(box, COMMON, node_indices=[ids[0], ids[0]]).text
    assert not call(box, COMMON, node_indices=[ids[0], "x"]).valid


def test_filters_take_several_types(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(multi_filters=True))
    call(box, SEARCH, query="copper moth")
    i1 = toy_graph.index("i1")
    seen = call(box, NEIGHBORS, node_index=i1, node_type=["plant", "Habitat"])
    assert {toy_graph.type(i) for i in seen.offered} == {"plant", "habitat"}
    seen = call(box, NEIGHBORS, node_index=i1, edge_type=["visits", "lives in"])
    assert {toy_graph.id(i) for i in seen.offered} == {"p2", "p4", "h3"}
    assert "did you mean plant" in call(box, NEIGHBORS, node_index=i1, node_type=["plants"]).text
    plain = Toolbox(toy_graph, search)
    call(plain, SEARCH, query="copper moth")
    assert not call(plain, NEIGHBORS, node_index=i1, node_type=["plant"]).valid


def test_pages_partition_the_list(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(paging=True, neighbor_k=2))
    call(box, SEARCH, query="copper moth")
    i1 = toy_graph.index("i1")
    pages = [call(box, NEIGHBORS, node_index=i1, page=p).offered for p in (1, 2)]
    assert [*pages[0], *pages[1]] == toy_graph.neighbors(i1).tolist()
    assert "no such page" in call(box, NEIGHBORS, node_index=i1, page=3).text
    whole = call(box, SEARCH, query="a the of with", size=6).offered
    parts = [call(box, SEARCH, query="a the of with", size=3, page=p).offered for p in (1, 2)]
    assert whole == (*parts[0], *parts[1])
    assert "no such page" in call(box, SEARCH, query="a the", size=30, page=9).text


def test_signatures_are_in_the_prompt_only_when_asked(
    toy_graph: KnowledgeGraph, search: BM25
) -> None:
    def system(**settings: Any) -> str:
        found = play(toy_graph, search, [one(FINISH)], **settings)
        return found.trajectory.messages[0].content or ""

    for prompt in shipped():
        assert "insect -[visits]-> plant" in system(signatures=True, prompt=prompt)
        assert "-[visits]->" not in system(prompt=prompt)


def test_shipped_prompts_render_all_fields(toy_graph: KnowledgeGraph, search: BM25) -> None:
    assert shipped() == ["ours", "ours_b", "terse"]
    for prompt in shipped():
        found = play(toy_graph, search, [one(FINISH)], prompt=prompt)
        system = found.trajectory.messages[0].content or ""
        assert '["habitat", "insect", "plant"]' in system
        assert all(t in system for t in (SEARCH, NEIGHBORS, ADD, FINISH))


def test_opaque_handles_hide_rows_and_lead_back(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, handles=Handles("opaque"))
    seen = call(box, SEARCH, query="copper wings")
    handles = [line.split("]")[0] for line in seen.text.split("\n")[1:]]
    assert handles == ["[1", "[2"]
    assert {toy_graph.id(i) for i in seen.offered} == {"i1", "i4"}
    call(box, ADD, answer_nodes=[{"node_index": 1}])
    assert list(box.picks) == [seen.offered[0]]
    assert not call(box, NEIGHBORS, node_index=12).valid  # a row that was never shown
    again = call(box, SEARCH, query="copper wings")
    assert again.text == seen.text
    with pytest.raises(UserError, match="did you mean opaque"):
        Ark(handles="opak")


def test_the_rules_work_with_everything_on(toy_graph: KnowledgeGraph, search: BM25) -> None:
    context = Context(toy_graph, search, LexicalBackbone(), random.Random(0))
    question = "Which insect visits both Silverleaf and Marsh candle?"
    found = asyncio.run(ArkPlus().attempt(question, context, 0))
    assert toy_graph.id(found.ranking.nodes[0]) == "i3"
    assert sum(s.invalid for s in found.trajectory.steps) == 0
    tools = [c.name for m in found.trajectory.messages for c in m.tool_calls]
    assert COMMON in tools


def test_keyword_ranks_names_first_and_drops_the_rest(
    toy_graph: KnowledgeGraph, search: BM25
) -> None:
    keyword = Keyword(toy_graph)
    everything = toy_graph.of_type("plant")
    ranked = keyword.rank("marsh candle", everything, 10)
    assert [toy_graph.id(h.node) for h in ranked] == ["p4"]
    ranked = keyword.rank("plant water yellow", everything, 10)
    assert [toy_graph.id(h.node) for h in ranked] == ["p4", "p2", "p3"]
    assert [h.score for h in ranked] == [3.0, 1.0, 1.0]
    assert keyword.rank("zzz", everything, 10) == []
    assert keyword.rank("", everything, 10) == []
    assert keyword.count("copper") == 2
    assert keyword.identity != search.identity


def test_keyword_filters_neighbors_where_bm25_ranks(
    toy_graph: KnowledgeGraph, search: BM25
) -> None:
    i1 = toy_graph.index("i1")
    script = [
        one(SEARCH, query="copper moth"),
        one(NEIGHBORS, node_index=i1, query="yellow flower"),
        one(NEIGHBORS, node_index=i1, query="nothing fits"),
        one(FINISH),
    ]
    bm25 = play(toy_graph, search, script).trajectory.steps[1].state["calls"][0]["offered"]
    found = play(toy_graph, search, script, neighbor_rank="keyword")
    assert len(bm25) == 4
    assert found.trajectory.steps[1].state["calls"][0]["offered"] == ["p4"]
    assert "none of 4 matches the query" in texts(found)[2]


def test_hints_name_the_edges_where_filters_leave_nothing(
    toy_graph: KnowledgeGraph, search: BM25
) -> None:
    i1 = toy_graph.index("i1")
    script = [
        one(SEARCH, query="copper wings"),
        one(NEIGHBORS, node_index=i1, edge_type="grows in"),
        one(FINISH),
    ]
    plain = texts(play(toy_graph, search, script))[1]
    hinted = texts(play(toy_graph, search, script, hints=True))[1]
    assert plain.endswith("none. Drop a filter.")
    visits = len([r for r in toy_graph.out_edges(i1)[1] if toy_graph.relations[r] == "visits"])
    assert visits
    assert hinted.startswith(plain)
    assert f"Edges of [{i1}]: " in hinted
    assert f"visits {visits} out" in hinted
