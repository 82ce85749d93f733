"""``bm25_rel``: which text a node gets, and one index of it for all processes."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context
from ark.search import BM25, BM25Settings, document
from baselines.bm25_rel import BM25Relations, RelationText, even_shares

# If one of these changes, raise DOCUMENTS_VERSION: stored indexes hold the old text.
LINES = {
    "p1": ["grows in North dunes; Mercury", "Ribbon fly visits"],
    "p5": ["grows in Mercury"],
    "i1": ["visits Night bell; Marsh candle", "lives in Mercury", "Copper Moth same record as"],
    "i2": ["visits Sand thistle", "lives in North dunes"],  # its loop is not told
    "h1": ["Silverleaf; Sand thistle grows in", "Dune beetle lives in"],
    "h4": [],
}


def texts(graph: KnowledgeGraph, most: int) -> dict[str, str]:
    return {graph.id(i): text for i, text in enumerate(RelationText(most).of(graph))}


def test_texts_name_relations_and_neighbours_of_both_directions(
    toy_graph: KnowledgeGraph,
) -> None:
    found = texts(toy_graph, 100)
    assert list(found) == [toy_graph.id(i) for i in range(toy_graph.n_nodes)]
    for node_id, lines in LINES.items():
        own = document(toy_graph, toy_graph.index(node_id))
        assert found[node_id] == "\n".join([own, *lines])


def test_a_hub_names_some_neighbours_of_every_relation(tmp_path: Path) -> None:
    graph = open_or_build(Star(), tmp_path)
    own = document(graph, 0)
    assert texts(graph, 5)["hub"] == f"{own}\nlinks to leaf 1; leaf 2\nleaf 3; leaf 4; leaf 5 is a"
    assert texts(graph, 1)["hub"] == f"{own}\nleaf 3 is a"
    assert texts(graph, 5)["n1"] == "leaf 1\n\nHub links to"


class Star:
    """A hub with edges to two leaves, and edges from six."""

    name = "star"

    def key(self) -> str:
        return "2" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        n = 9
        ids = ["hub", *(f"n{i}" for i in range(1, n))]
        names = ["Hub", *(f"leaf {i}" for i in range(1, n))]
        source, target = [0, 0, *range(3, n)], [1, 2, *([0] * 6)]
        relation = [0, 0, *([1] * 6)]
        return GraphData(
            ids, ["t"] * n, names, [""] * n, source, relation, target, ("links_to", "is_a")
        )


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 60))
def test_shares_are_even_and_use_the_whole_allowance(sizes: list[int], most: int) -> None:
    shares = even_shares(sizes, most)
    assert sum(shares) == min(most, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    cut = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not cut or max(shares) - min(cut) <= 1


def ask(graph: KnowledgeGraph, search: Any, question: str, **settings: Any) -> list[str]:
    context = Context(graph, search, LexicalBackbone(), random.Random(0))
    attempt = asyncio.run(BM25Relations(**settings).attempt(question, context, 0))
    return [graph.id(i) for i in attempt.ranking.nodes]


def test_a_node_is_found_by_a_neighbours_name_and_by_a_relation(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path)
    assert [toy_graph.id(h.node) for h in search.search("silverleaf", 9)] == ["p1"]
    assert set(ask(toy_graph, search, "silverleaf")) == {"p1", "h1", "h3", "i3"}
    assert search.count("visits") == 0
    assert set(ask(toy_graph, search, "visits")) == {"p1", "p2", "p3", "p4", "i1", "i2", "i3", "i4"}


def test_it_searches_with_the_settings_of_the_cell(
    toy_graph: KnowledgeGraph, tmp_path: Path
) -> None:
    search = BM25.open_or_build(toy_graph, tmp_path, BM25Settings(k1=0.3, b=0.1))
    sibling = search.sibling(RelationText(256))
    assert {k: v for k, v in sibling.identity.items() if k != "documents"} == search.identity
    assert sibling.identity["documents"] == RelationText(256).key
    assert search.sibling(RelationText(256)) is sibling
    assert search.sibling(RelationText(7)) is not sibling
    assert len(list(tmp_path.glob("indexes/*/bm25-*"))) == 3


def test_the_index_is_built_once_and_then_opened(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    class Counted(RelationText):
        def of(self, graph: KnowledgeGraph) -> Any:
            built.append(1)
            return super().of(graph)

    built: list[int] = []
    for _ in range(2):
        sibling = BM25.open_or_build(toy_graph, tmp_path).sibling(Counted(256))
        assert sibling.count("silverleaf") == 4
    assert len(built) == 1


def test_processes_that_build_at_once_share_one_index(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from ark.graph import open_or_build, source_for\n"
        "from ark.search import BM25\n"
        "from baselines.bm25_rel import RelationText\n"
        f"root = Path({str(tmp_path)!r})\n"
        "search = BM25.open_or_build(open_or_build(source_for('toy'), root), root)\n"
        "print(search.sibling(RelationText(256)).search('silverleaf', 9))\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ)
        for _ in range(3)
    ]
    outputs = {process.communicate(timeout=60)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(outputs) == 1
    assert len(list(tmp_path.glob("indexes/*/*"))) == 2  # no half-built folder either


def test_another_kind_of_search_is_refused_with_the_fix(toy_graph: KnowledgeGraph) -> None:
    with pytest.raises(UserError, match="search=bm25"):
        ask(toy_graph, object(), "moth")


def test_settings_are_checked() -> None:
    for wrong in (0, True, 2.5, "many"):
        with pytest.raises(UserError, match=r"method\.max_neighbors"):
            BM25Relations(max_neighbors=wrong)  # type: ignore[arg-type]
