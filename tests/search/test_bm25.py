"""BM25: bm25s' scores, our own order."""

from __future__ import annotations

from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.search import BM25, BM25Settings
from ark.search.documents import document
from ark.search.settings import METHODS
from ark.search.topk import top_k
from ark.text import TOKEN_PATTERN, tokens

QUERIES = ("copper moth", "dry dunes sand", "still water", "moth moth moth", "Mercury", "zzz")


@pytest.fixture(scope="module")
def search(toy_graph: KnowledgeGraph, data_root_path: Path) -> BM25:
    return BM25.open_or_build(toy_graph, data_root_path)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_bm25s(search: BM25, toy_graph: KnowledgeGraph, query: str) -> None:
    corpus = bm25s.tokenize(
        [document(toy_graph, i) for i in range(toy_graph.n_nodes)],
        token_pattern=TOKEN_PATTERN,
        stopwords=None,
        show_progress=False,
    )
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numpy")
    peer.index(corpus, show_progress=False)
    known = [t for t in tokens(query) if t in peer.vocab_dict]
    wanted = peer.get_scores(known) if known else np.zeros(toy_graph.n_nodes)
    np.testing.assert_allclose(search.scores(query), wanted, rtol=1e-6)


def test_search_finds_only_matching_nodes(search: BM25, toy_graph: KnowledgeGraph) -> None:
    hits = search.search("copper", 100)
    assert {toy_graph.id(h.node) for h in hits} == {"i1", "i4"}
    assert search.count("copper") == 2
    assert search.search("nothing-like-it", 5) == []
    assert search.search("", 5) == []


def test_aliases_are_indexed(search: BM25, toy_graph: KnowledgeGraph) -> None:
    assert toy_graph.id(search.search("moonbell", 1)[0].node) == "p2"


def test_rank_gives_the_scores_of_search_and_keeps_the_unmatched(search: BM25) -> None:
    everything = np.arange(13)
    ranked = search.rank("still water", everything, 100)
    assert len(ranked) == 13
    found = search.search("still water", 100)
    assert ranked[: len(found)] == found
    rest = [h.node for h in ranked[len(found) :]]
    assert rest == sorted(rest)
    assert all(h.score == 0 for h in ranked[len(found) :])


def test_equal_scores_go_to_the_smaller_node(search: BM25, toy_graph: KnowledgeGraph) -> None:
    ranked = search.rank("zzz", np.array([9, 3, 7]), 2)
    assert [h.node for h in ranked] == [3, 7]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_ranks_matches_only(
    toy_graph: KnowledgeGraph, data_root_path: Path, method: str
) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path, BM25Settings(method=method))
    assert {toy_graph.id(h.node) for h in search.search("copper wings", 50)} == {"i1", "i4"}


def test_settings_are_part_of_the_identity_and_checked(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    other = BM25.open_or_build(toy_graph, data_root_path, BM25Settings(k1=2.0))
    base = BM25.open_or_build(toy_graph, data_root_path)
    assert other.identity != base.identity
    assert not np.array_equal(other.scores("moth"), base.scores("moth"))
    with pytest.raises(UserError, match="did you mean lucene"):
        BM25Settings(method="lucen")
    with pytest.raises(UserError, match=r"search\.b=2"):
        BM25Settings(b=2)


def test_a_damaged_index_is_one_line_with_the_fix(
    toy_graph: KnowledgeGraph, tmp_path: Path
) -> None:
    BM25.open_or_build(toy_graph, tmp_path)
    (facts,) = tmp_path.glob("indexes/*/*/index.json")
    facts.write_text("{")
    with pytest.raises(UserError, match="delete that folder"):
        BM25.open_or_build(toy_graph, tmp_path)


def test_the_score_cache_does_not_change_results(search: BM25) -> None:
    first = search.search("dry dunes", 5)
    for i in range(50):
        search.search(f"filler {i}", 1)
    assert search.search("dry dunes", 5) == first
    with pytest.raises(ValueError, match="read-only"):
        search.scores("dry dunes")[0] = 1.0


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from([0.0, 0.5, 1.0, 2.0])), max_size=40),
    st.integers(0, 20),
)
def test_top_k_is_a_full_sort_that_is_cut(pairs: list[tuple[int, float]], k: int) -> None:
    nodes = dict(pairs)
    hits = top_k(
        np.array(list(nodes), dtype=np.int64), np.array(list(nodes.values()), dtype=np.float32), k
    )
    wanted = sorted(nodes.items(), key=lambda x: (-x[1], x[0]))[:k]
    assert [(h.node, h.score) for h in hits] == wanted
