"""``method=dense`` and ``method=hybrid``: their own search, whatever the cell's is."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from tiny_encoder import TinyEncoder

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context, Relevance
from ark.records import MAX_RANKED, Attempt
from ark.search import (
    BM25Settings,
    DenseSettings,
    HybridSettings,
    SearchSettings,
    open_search,
)
from ark.search.keyword import Keyword
from baselines.dense import DenseBaseline, HybridBaseline

TINY = "tiny_encoder:TinyEncoder"
QUESTION = "Which plant in the walled garden do copper moths visit after sunset?"
CELLS: list[SearchSettings] = [
    BM25Settings(),
    BM25Settings(k1=0.4, b=0.2, stopwords="english"),
    DenseSettings(TINY),
    HybridSettings(TINY, k=3),
]


def attempt(
    method: DenseBaseline, graph: KnowledgeGraph, search: Relevance, question: str = QUESTION
) -> Attempt:
    context = Context(graph, search, LexicalBackbone(), random.Random(0))
    return asyncio.run(method.attempt(question, context, 0))


@pytest.mark.parametrize("cell", CELLS)
def test_dense_ranks_by_dense_and_hybrid_by_hybrid(
    toy_graph: KnowledgeGraph, data_root_path: Path, cell: SearchSettings
) -> None:
    search = open_search(toy_graph, data_root_path, cell)
    lexical = search.lexical.settings
    wanted = {
        DenseBaseline(TINY): DenseSettings(TINY),
        HybridBaseline(TINY): HybridSettings(
            TINY, k1=lexical.k1, b=lexical.b, stopwords=lexical.stopwords
        ),
    }
    for method, settings in wanted.items():
        found = attempt(method, toy_graph, search)
        hits = open_search(toy_graph, data_root_path, settings).search(QUESTION, MAX_RANKED)
        assert found.ranking.nodes == tuple(hit.node for hit in hits)
        assert found.status == "ok"
        (step,) = found.trajectory.steps
        assert step.state["kind"] == "evidence"
        assert step.tag == settings.relevance


def test_they_read_the_documents_of_the_cell(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = open_search(toy_graph, data_root_path, BM25Settings(types=("plant",)))
    plants = set(toy_graph.of_type("plant").tolist())
    for method in (DenseBaseline(TINY), HybridBaseline(TINY)):
        nodes = attempt(method, toy_graph, search).ranking.nodes
        assert nodes
        assert set(nodes) <= plants


def test_a_question_without_words_ranks_nothing(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = open_search(toy_graph, data_root_path, BM25Settings())
    for method in (DenseBaseline(TINY), HybridBaseline(TINY)):
        assert attempt(method, toy_graph, search, "?!").ranking.nodes == ()


def test_a_search_without_a_folder_is_refused(toy_graph: KnowledgeGraph) -> None:
    with pytest.raises(UserError, match="search=bm25"):
        attempt(DenseBaseline(TINY), toy_graph, Keyword(toy_graph))


def test_identity_has_every_field_and_the_encoder() -> None:
    assert DenseBaseline(TINY).identity == {
        "encoder": TINY,
        "model": None,
        "max_tokens": 256,
        "exact_up_to": 500_000,
        "vectors": TinyEncoder().identity,
    }
    assert HybridBaseline(TINY, k=9).identity["k"] == 9
    assert DenseBaseline().identity["vectors"] != DenseBaseline(max_tokens=64).identity["vectors"]


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 1}, {"exact_up_to": -1}, {"k": -1}, {"encoder": "minilmm"}]
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError) as raised:
        _ = HybridBaseline(**wrong).identity  # type: ignore[arg-type]
    assert "search." not in str(raised.value)  # these are the method's fields
