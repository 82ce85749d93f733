"""``dense`` and ``hybrid`` by their rules, with an encoder that needs no model."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tiny_encoder import TinyEncoder

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.records import Hit
from ark.search import (
    BM25,
    BM25Settings,
    Dense,
    DenseSettings,
    Hybrid,
    HybridSettings,
    document,
    open_search,
    related,
)
from ark.search.ann import PACKAGE, Neighbours
from ark.search.choose import changed, kind_of
from ark.search.dense import DenseTexts
from ark.search.encoder import encoder_of
from ark.search.vectors import Vectors, to_grid, to_query

TINY = "tiny_encoder:TinyEncoder"
QUERIES = ("copper moth", "Which plant do moths visit after sunset?", "Mercury", "walled garden")


@pytest.fixture(params=["dense", "hybrid"])
def search(
    request: pytest.FixtureRequest, toy_graph: KnowledgeGraph, data_root_path: Path
) -> Dense | Hybrid:
    if request.param == "dense":
        return Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY))
    return Hybrid.open_or_build(toy_graph, data_root_path, HybridSettings(TINY))


def every(graph: KnowledgeGraph) -> np.ndarray:
    return np.arange(graph.n_nodes, dtype=np.int64)


def test_dense_scores_are_cosines_of_texts(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    search = Dense.open_or_build(toy_graph, tmp_path, encoder=TinyEncoder())
    texts = [document(toy_graph, i) for i in range(toy_graph.n_nodes)]
    raw = TinyEncoder().encode([*texts, QUERIES[0]]).astype(np.float64)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    assert search.scores(QUERIES[0]) == pytest.approx(raw[:-1] @ raw[-1], abs=1e-4)


@pytest.mark.parametrize("query", QUERIES)
def test_one_score_a_node_in_search_and_in_any_neighbourhood(
    search: Dense | Hybrid, toy_graph: KnowledgeGraph, query: str
) -> None:
    nodes = every(toy_graph)
    fresh = type(search).open_or_build(toy_graph, search.root, search.settings)  # type: ignore[arg-type]
    some = np.random.default_rng(1).permutation(nodes)[:5]
    inside = {hit.node: hit.score for hit in fresh.rank(query, some, 99)}
    found = {hit.node: hit.score for hit in search.search(query, 99)}
    ranked = {hit.node: hit.score for hit in search.rank(query, nodes, 99)}
    assert set(ranked) == set(nodes.tolist())
    assert set(inside) == set(some.tolist())
    assert all(ranked[node] == score for node, score in (inside | found).items())
    assert all((ranked[node] > 0) == (node in found) for node in ranked)
    assert search.count(query) == len(found) > 0
    assert [ranked[i] for i in nodes] == search.scores(query).tolist()


@pytest.mark.parametrize("query", QUERIES)
def test_order_is_score_then_node_number(
    search: Dense | Hybrid, toy_graph: KnowledgeGraph, query: str
) -> None:
    hits = search.rank(query, every(toy_graph)[::-1], 99)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.node))
    assert search.search(query, 3) == search.search(query, 99)[:3]
    assert search.rank(query, every(toy_graph), 4) == hits[:4]
    assert search.search(query, 0) == []
    assert search.rank(query, every(toy_graph)[:0], 5) == []


@pytest.mark.parametrize("query", ["", " \n\t ", "?!… — «»"])
def test_a_query_without_words_finds_nothing(
    search: Dense | Hybrid, toy_graph: KnowledgeGraph, query: str
) -> None:
    assert search.search(query, 5) == []
    assert search.count(query) == 0
    assert search.rank(query, np.array([7, 2]), 5) == [Hit(2, 0.0), Hit(7, 0.0)]


def test_equal_texts_tie_by_node_number(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    class Same(TinyEncoder):
        def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
            return np.ones((len(texts), 7), dtype=np.float32)

    search = Dense.open_or_build(toy_graph, tmp_path, encoder=Same("same"))
    assert [hit.node for hit in search.search("x", 99)] == [
        i for i in range(toy_graph.n_nodes) if document(toy_graph, i).strip()
    ]


def test_vectors_are_made_once_for_each_key(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    def made(settings: DenseSettings, name: str = "tiny") -> int:
        encoder = TinyEncoder(name)
        Dense.open_or_build(toy_graph, tmp_path, settings, encoder)
        return encoder.asked

    usual = DenseSettings()
    assert made(usual) == toy_graph.n_nodes
    assert made(usual) == 0
    assert made(replace(usual, exact_up_to=13)) == 0  # how they are asked is no part of the key
    assert made(usual, "another model") == toy_graph.n_nodes
    assert made(replace(usual, types=("plant",))) == len(toy_graph.of_type("plant"))
    with_text = sum(bool(toy_graph.text(i)) for i in range(toy_graph.n_nodes))
    assert made(replace(usual, documents="text")) == with_text
    assert len(list((tmp_path / "indexes").glob("*/dense-*"))) == 4


def test_only_nodes_of_the_types_are_documents(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    settings = DenseSettings(TINY, types=("plant", "insect"))
    plants = {int(i) for t in ("plant", "insect") for i in toy_graph.of_type(t)}
    usual = Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY))
    hybrid = Hybrid.open_or_build(
        toy_graph, data_root_path, HybridSettings(TINY, types=("plant", "insect"))
    )
    for query in QUERIES:
        search = Dense.open_or_build(toy_graph, data_root_path, settings)
        found = search.search(query, 99)
        assert found == [hit for hit in usual.search(query, 99) if hit.node in plants]
        ranked = search.rank(query, every(toy_graph), 99)
        outside = [hit for hit in ranked if hit.node not in plants]
        assert all(hit.score == 0 for hit in outside)
        assert [hit for hit in ranked if hit.score > 0] == found
        assert {hit.node for hit in hybrid.search(query, 99)} <= plants
    with pytest.raises(UserError, match=r"search\.types"):
        Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY, types=("plannt",)))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("k", [60, 0, 3])
def test_hybrid_is_the_sum_of_reciprocal_ranks(
    toy_graph: KnowledgeGraph, data_root_path: Path, query: str, k: int
) -> None:
    search = Hybrid.open_or_build(
        toy_graph, data_root_path, HybridSettings(TINY, k=k, k1=0.9, stopwords="english")
    )
    wanted: dict[int, float] = {}
    bm25 = BM25.open_or_build(toy_graph, data_root_path, BM25Settings(k1=0.9, stopwords="english"))
    dense = Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY))
    for side in (bm25, dense):
        for rank, hit in enumerate(side.search(query, 99), 1):
            wanted[hit.node] = wanted.get(hit.node, 0.0) + 1 / (k + rank)
    found = {hit.node: hit.score for hit in search.search(query, 99)}
    assert found == {node: float(np.float32(score)) for node, score in wanted.items()}


def test_backfill_asks_bm25_over_the_same_documents(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    dense = DenseSettings(TINY, types=("plant",))
    hybrid = HybridSettings(TINY, types=("plant",), k1=0.4, tokenizer="bm25s")
    bm25 = BM25Settings(k1=2.0)
    wanted = {
        dense: BM25Settings(types=("plant",)),
        hybrid: BM25Settings(k1=0.4, tokenizer="bm25s", types=("plant",)),
        bm25: bm25,
    }
    for settings, lexical in wanted.items():
        search = open_search(toy_graph, data_root_path, settings)
        assert isinstance(search.lexical, BM25)
        assert search.lexical.settings == lexical
        # Stored runs rebuild it from the identity alone.
        known = {field.name for field in fields(BM25Settings)}
        stored = {k: v for k, v in search.identity.items() if k in known}
        assert BM25Settings(**stored) == lexical  # type: ignore[arg-type]


def test_related_searches_keep_documents_types_and_bm25(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    own = BM25Settings(k1=0.4, documents="text", types=("plant",), stopwords="english")
    search = open_search(toy_graph, data_root_path, own)
    dense = related(search, DenseSettings(TINY))
    hybrid = related(search, HybridSettings(TINY, k1=2.0))
    assert isinstance(dense, Dense)
    assert isinstance(hybrid, Hybrid)
    assert dense.settings == DenseSettings(TINY, documents="text", types=("plant",))
    assert hybrid.settings.lexical == own
    assert related(dense, DenseSettings(TINY)) is dense
    assert related(search, DenseSettings(TINY)) is dense  # kept
    assert related(dense, BM25Settings()).identity["types"] == ["plant"]
    with pytest.raises(UserError, match="search=bm25"):
        related(object(), DenseSettings(TINY))  # type: ignore[arg-type]


def test_identity_names_what_changes_scores(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    usual = HybridSettings(TINY)
    changes: list[dict[str, object]] = [
        {"k": 1},
        {"k1": 1.0},
        {"b": 0.1},
        {"method": "atire"},
        {"tokenizer": "bm25s"},
        {"stopwords": "english"},
        {"documents": "text"},
        {"types": ("plant",)},
        {"exact_up_to": 14},
        {"max_tokens": 99},
    ]
    searches = [
        open_search(toy_graph, data_root_path, settings)
        for settings in (
            BM25Settings(),
            DenseSettings(TINY),
            usual,
            *(replace(usual, **change) for change in changes),  # type: ignore[arg-type]
        )
    ]
    seen = [repr(sorted(search.identity.items())) for search in searches]
    assert len(set(seen)) == len(seen)
    other = Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY), TinyEncoder("b"))
    assert repr(sorted(other.identity.items())) not in seen


def test_changed_settings_are_read_from_an_identity(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    def of(settings: BM25Settings | DenseSettings) -> object:
        return changed(open_search(toy_graph, data_root_path, settings).identity)

    assert of(BM25Settings()) == {}
    assert of(BM25Settings(k1=0.5)) == {"k1": 0.5}
    assert of(DenseSettings(TINY)) == {"relevance": "dense", "encoder": TINY}
    assert of(HybridSettings(TINY, b=0.5, types=("plant",))) == {
        "relevance": "hybrid",
        "encoder": TINY,
        "b": 0.5,
        "types": ["plant"],
    }
    assert kind_of({}) is BM25Settings
    with pytest.raises(UserError, match=r"search\.relevance"):
        kind_of({"relevance": "dens"})


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"max_tokens": 4}, "max_tokens"),
        ({"max_tokens": 1000}, "max_tokens"),
        ({"exact_up_to": -1}, "exact_up_to"),
        ({"documents": "nod"}, "documents"),
        ({"types": "plant"}, "types"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], match: str) -> None:
    for cls in (DenseSettings, HybridSettings):
        with pytest.raises(UserError, match=match):
            cls(**settings)
    with pytest.raises(UserError, match=r"^k=-1 must be a whole number"):
        HybridSettings(k=-1)
    for name, value in (("k1", -1), ("method", "lucen"), ("tokenizer", "x")):
        with pytest.raises(UserError, match=rf"search\.{name}"):
            HybridSettings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "model", "match"),
    [
        ("minilmm", None, "did you mean minilm"),
        ("minilm", "x/y", "leave it out"),
        ("litellm", None, "needs a model"),
        ("no_such_module:Class", None, "cannot be imported"),
        ("tiny_encoder:Missing", None, "cannot be imported"),
        (TINY, "x/y", "leave it out"),
    ],
)
def test_wrong_encoders_are_one_line(kind: str, model: str | None, match: str) -> None:
    with pytest.raises(UserError, match=match):
        encoder_of(kind, model, 256)


def test_beyond_the_exact_limit_a_missing_package_is_named(
    toy_graph: KnowledgeGraph, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"'ark-harness\[ann\]'.*set exact_up_to=13 "):
        Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY, exact_up_to=12))


def test_hybrid_needs_no_neighbours(
    toy_graph: KnowledgeGraph, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Hybrid.open_or_build(toy_graph, data_root_path, HybridSettings(TINY))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    few = Hybrid.open_or_build(toy_graph, data_root_path, HybridSettings(TINY, exact_up_to=0))
    assert few.search(QUERIES[0], 99) == usual.search(QUERIES[0], 99)
    assert "ann" not in few.identity
    assert few.identity["exact_up_to"] == 0


def test_an_index_of_neighbours_is_of_its_vectors(tmp_path: Path) -> None:
    pytest.importorskip(PACKAGE, reason="pip install -e '.[ann]'")
    rng = np.random.default_rng(0)
    query = to_query(rng.standard_normal(32))
    for mark in ("a", "b"):  # as where the folder of the vectors was deleted, and they made anew
        grid = to_grid(rng.standard_normal((3000, 32)))
        near = Neighbours.open_or_build(grid, tmp_path / "v", mark).near(query, 1000)
        assert set(np.argsort(-Vectors(grid).scores(query))[:10]) <= set(near)
    for shape in ((3000, 16), (2999, 32)):
        with pytest.raises(UserError, match="delete that folder"):
            Neighbours.open_or_build(np.ones(shape, np.int16), tmp_path / "v", "a")


@pytest.mark.parametrize("query", QUERIES)
def test_neighbours_are_scored_exactly(
    toy_graph: KnowledgeGraph, data_root_path: Path, query: str
) -> None:
    pytest.importorskip(PACKAGE, reason="pip install -e '.[ann]'")
    exact = Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY))
    near = Dense.open_or_build(toy_graph, data_root_path, DenseSettings(TINY, exact_up_to=1))
    assert near.identity["ann"]
    assert near.search(query, 5) == exact.search(query, 5)
    assert near.count(query) == exact.count(query)  # of 13 nodes all are offered
    assert near.rank(query, every(toy_graph), 99) == exact.rank(query, every(toy_graph), 99)
    assert near.search("", 5) == []


def test_texts_are_scored_as_documents_are() -> None:
    encoder = TinyEncoder()
    ranker = DenseTexts(encoder)
    texts = ["a copper moth", "night", "", "a copper moth", "the walled garden of moths"]
    scores = ranker.score("copper moth", texts)
    grid, query = to_grid(encoder.encode(texts)), to_query(encoder.encode(["copper moth"])[0])
    assert scores == [max(0.0, float(x)) for x in Vectors(grid).scores(query)]
    assert scores[0] == scores[3] == max(scores)
    assert scores[2] == 0
    assert min(scores) >= 0
    asked = encoder.asked
    assert ranker.score("copper moth", texts[::-1]) == scores[::-1]
    assert encoder.asked == asked  # remembered
    assert ranker.score("x", []) == []
    assert ranker.score("", ["a", "b"]) == [0, 0]
    assert ranker.identity["ranker"] == "dense"
