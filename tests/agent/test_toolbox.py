"""Tools on the toy graph: what they show, and that nothing a model writes breaks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.agent.observe import CHARACTERS_PER_TOKEN
from ark.agent.toolbox import Observation, Toolbox
from ark.agent.tools import ADD, FINISH, NEIGHBORS, SEARCH, ToolOptions, tool_schemas
from ark.graph import KnowledgeGraph
from ark.records import ToolCall
from ark.search import BM25


@pytest.fixture(scope="module")
def search(toy_graph: KnowledgeGraph, data_root_path: Path) -> BM25:
    return BM25.open_or_build(toy_graph, data_root_path)


@pytest.fixture
def box(toy_graph: KnowledgeGraph, search: BM25) -> Toolbox:
    return Toolbox(toy_graph, search)


def call(box: Toolbox, name: str, arguments: Any) -> Observation:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return box.execute(ToolCall("c", name, text))


def at(graph: KnowledgeGraph, *ids: str) -> list[int]:
    return [graph.index(i) for i in ids]


def test_search_shows_count_rows_and_snippets(box: Toolbox, toy_graph: KnowledgeGraph) -> None:
    seen = call(box, SEARCH, {"query": "copper wings"})
    lines = seen.text.split("\n")
    assert lines[0] == "2 nodes match, the best 2:"
    i4 = toy_graph.index("i4")
    assert lines[1].startswith(f'[{i4}] "Copper Moth" | insect | score ')
    assert "match: " in lines[1]
    assert set(seen.offered) == set(at(toy_graph, "i1", "i4"))


def test_search_size_has_a_default_and_a_cap(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(global_k=2, global_k_max=4))
    query = "a the of with in that"
    assert len(call(box, SEARCH, {"query": query}).offered) == 2
    assert len(call(box, SEARCH, {"query": query, "size": 3}).offered) == 3
    assert len(call(box, SEARCH, {"query": query, "size": 99}).offered) == 4
    assert len(call(box, SEARCH, {"query": query, "size": -5}).offered) == 1


def test_scores_are_rounded_to_two_decimals(box: Toolbox) -> None:
    score = call(box, SEARCH, {"query": "copper"}).text.split("score ")[1].split()[0]
    assert len(score.split(".")[1]) == 2


def test_neighbors_come_from_both_directions_with_their_edges(
    box: Toolbox, toy_graph: KnowledgeGraph
) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    seen = call(box, NEIGHBORS, {"node_index": toy_graph.index("i1")})
    assert list(seen.offered) == sorted(at(toy_graph, "p2", "p4", "h3", "i4"))
    rows = {line.split("]")[0]: line for line in seen.text.split("\n")[1:]}
    assert rows[f"[{toy_graph.index('p2')}"].endswith("| plant | out: visits")  # parallel: once
    assert rows[f"[{toy_graph.index('i4')}"].endswith("| in: same record as")
    assert ": 4, all shown." in seen.text.split("\n")[0]


def test_neighbor_filters_and_empty_result(box: Toolbox, toy_graph: KnowledgeGraph) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    i1 = toy_graph.index("i1")
    seen = call(box, NEIGHBORS, {"node_index": i1, "node_type": "plant"})
    assert list(seen.offered) == at(toy_graph, "p2", "p4")
    seen = call(box, NEIGHBORS, {"node_index": i1, "edge_type": "lives in"})
    assert list(seen.offered) == at(toy_graph, "h3")
    seen = call(box, NEIGHBORS, {"node_index": i1, "edge_type": "grows in"})
    assert seen.offered == ()
    assert "none. Drop a filter." in seen.text


def test_neighbor_query_ranks_and_shows_why(box: Toolbox, toy_graph: KnowledgeGraph) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    seen = call(
        box, NEIGHBORS, {"node_index": toy_graph.index("i1"), "query": "yellow water plant"}
    )
    assert seen.offered[0] == toy_graph.index("p4")
    assert "match: " in seen.text.split("\n")[1]
    assert len(seen.offered) == 4  # a query ranks, it does not filter (paper)


def test_a_list_that_is_cut_says_so(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, ToolOptions(neighbor_k=2))
    call(box, SEARCH, {"query": "copper moth"})
    seen = call(box, NEIGHBORS, {"node_index": toy_graph.index("i1")})
    assert len(seen.offered) == 2
    assert ": 4, showing 2 of them; narrow" in seen.text


def test_add_keeps_the_first_rank_and_reports_unknown_nodes(
    box: Toolbox, toy_graph: KnowledgeGraph
) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    i1, i4 = at(toy_graph, "i1", "i4")
    box.step = 1
    call(box, ADD, {"answer_nodes": [{"node_index": i4, "reasoning": "x"}]})
    box.step = 2
    seen = call(
        box,
        ADD,
        {"answer_nodes": [{"node_index": i1}, {"node_index": i4}, {"node_index": 999}]},
    )
    assert list(box.picks.items()) == [(i4, 1), (i1, 2)]
    assert not seen.valid
    assert "no tool has shown a node 999; the nearest shown are" in seen.text
    assert seen.selected == (i1,)


def test_finish_ends(box: Toolbox) -> None:
    assert call(box, FINISH, {"comment": "done"}).final
    assert call(box, FINISH, "").final


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("search_graph", {}, "did you mean search_in_graph"),
        (SEARCH, {}, "the field query is missing"),
        (SEARCH, {"query": None}, "the field query is missing"),
        (SEARCH, {"query": ["a"]}, "query must be a text, not a list"),
        (SEARCH, {"query": "x", "size": "many"}, "size must be a whole number"),
        (SEARCH, "{broken", "not valid JSON"),
        (SEARCH, "[1]", "must be a JSON object"),
        (NEIGHBORS, {"node_index": 1.5}, "node_index must be a whole number, not 1.5"),
        (NEIGHBORS, {"node_index": 10**30}, "no tool has shown"),
        (NEIGHBORS, {}, "the field node_index is missing"),
        (NEIGHBORS, {"node_index": 5, "node_type": "insects"}, "did you mean insect"),
        (NEIGHBORS, {"node_index": 5, "edge_type": "visit"}, "did you mean visits"),
        (ADD, {"answer_nodes": []}, "must be a non-empty list"),
        (ADD, {"answer_nodes": "all"}, "must be a non-empty list"),
        (ADD, {"answer_nodes": [None]}, "node_index must be a whole number"),
    ],
)
def test_bad_calls_are_observations_with_help(
    box: Toolbox, name: str, arguments: Any, wanted: str
) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    seen = call(box, name, arguments)
    assert not seen.valid
    assert wanted in seen.text
    assert "\n" not in seen.text or name == ADD


def test_tolerated_forms(box: Toolbox, toy_graph: KnowledgeGraph) -> None:
    call(box, SEARCH, {"query": "copper moth"})
    i1 = toy_graph.index("i1")
    for index in (str(i1), float(i1), f"[{i1}]"):
        seen = call(box, NEIGHBORS, {"node_index": index, "query": None, "node_type": ""})
        assert seen.valid
        assert len(seen.offered) == 4
    assert call(box, NEIGHBORS, {"node_index": i1, "node_type": "PLANT"}).valid
    seen = call(box, SEARCH, {"query": "moth", "limit": 3})
    assert "(ignored: search_in_graph has no argument limit)" in seen.text
    assert not seen.valid
    assert seen.offered


def test_ablations_take_tools_and_arguments_away(toy_graph: KnowledgeGraph, search: BM25) -> None:
    def properties(options: ToolOptions) -> dict[str, list[str]]:
        tools = [t["function"] for t in tool_schemas(options)]
        return {t["name"]: list(t["parameters"]["properties"]) for t in tools}

    full = properties(ToolOptions())
    assert full[NEIGHBORS] == ["node_index", "query", "node_type", "edge_type"]
    assert list(full) == [SEARCH, NEIGHBORS, ADD, FINISH]
    assert NEIGHBORS not in properties(ToolOptions(neighbors=False))
    assert properties(ToolOptions(neighbor_query=False))[NEIGHBORS] == [
        "node_index",
        "node_type",
        "edge_type",
    ]
    assert properties(ToolOptions(neighbor_filters=False))[NEIGHBORS] == ["node_index", "query"]

    box = Toolbox(toy_graph, search, ToolOptions(neighbor_query=False))
    call(box, SEARCH, {"query": "copper moth"})
    ranked = call(box, NEIGHBORS, {"node_index": toy_graph.index("i1"), "query": "yellow water"})
    plain = call(box, NEIGHBORS, {"node_index": toy_graph.index("i1")})
    assert ranked.offered == plain.offered
    box = Toolbox(toy_graph, search, ToolOptions(neighbors=False))
    assert "unknown tool" in call(box, NEIGHBORS, {"node_index": 1}).text


def test_observations_keep_to_their_budget(toy_graph: KnowledgeGraph, search: BM25) -> None:
    box = Toolbox(toy_graph, search, observation_tokens=60)
    seen = call(box, SEARCH, {"query": "a the of with in that", "size": 13})
    assert len(seen.text) <= 60 * CHARACTERS_PER_TOKEN + 40  # and the note on what is left out
    assert "left out: too long" in seen.text
    shown = [line for line in seen.text.split("\n") if line.startswith("[")]
    assert len(shown) == len(seen.offered)  # a row that was not shown does not exist
    unseen = set(range(13)) - set(seen.offered)
    assert not call(box, NEIGHBORS, {"node_index": min(unseen)}).valid


@given(st.sampled_from([SEARCH, NEIGHBORS, ADD, FINISH, "x"]), st.text(max_size=40))
def test_any_text_as_arguments_is_survived(
    toy_graph: KnowledgeGraph, search: BM25, name: str, text: str
) -> None:
    box = Toolbox(toy_graph, search)
    assert isinstance(call(box, name, text).text, str)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from([SEARCH, NEIGHBORS, ADD, FINISH]),
    st.dictionaries(
        st.sampled_from(["query", "size", "node_index", "node_type", "answer_nodes"]), _JSON
    ),
)
def test_any_json_as_arguments_is_survived(
    toy_graph: KnowledgeGraph, search: BM25, name: str, arguments: dict[str, Any]
) -> None:
    box = Toolbox(toy_graph, search)
    call(box, SEARCH, {"query": "copper moth"})
    assert isinstance(call(box, name, arguments).text, str)
    assert set(box.picks) <= set(box.seen)
