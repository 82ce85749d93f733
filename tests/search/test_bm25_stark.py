"""``search=stark``: the tokens, documents and scores of STaRK's own BM25 baseline."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.search import BM25, BM25Settings
from ark.search.tokenizers import tokenizer

CONFIGS = Path(__file__).resolve().parents[2] / "configs/search"
QUERIES = (
    "Which book is about the quiet sea?",
    "sea sea sea and a book in X",
    "THE of and",
    "quiet",
    "unheard-of words",
    "naïve café",
    "",
)


def stark(**changes: object) -> BM25Settings:
    values = {
        "k1": 1.5,
        "tokenizer": "bm25s",
        "stopwords": "english",
        "documents": "text",
        "types": ("book",),
    }
    return BM25Settings(**{**values, **changes})  # type: ignore[arg-type]


class Library:
    """Books and authors. Two books have the same text, one has none; authors share words."""

    name = "library"
    texts = (
        ("book", "The quiet sea", "A book about the sea, and about a quiet man."),
        ("author", "Sea Quiet", "Writes about the sea. Sea, sea, sea."),
        ("book", "Loud land", "A loud book: land, land and no sea in it."),
        ("book", "Copy one", "Same words of a book"),
        ("author", "Café Naïve", "naïve café"),
        ("book", "Empty", ""),
        ("book", "Copy two", "Same words of a book"),
        ("book", "Of naïve things", "Naïve café, x y z 10"),
    )

    def key(self) -> str:
        return "6" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        types, names, texts = (list(column) for column in zip(*self.texts, strict=True))
        ids = [f"n{i}" for i in range(len(types))]
        return GraphData(ids, types, names, texts, [1], [0], [0], ("wrote",))


@pytest.fixture(scope="module")
def library(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Library(), data_root_path)


@pytest.fixture(scope="module")
def search(library: KnowledgeGraph, data_root_path: Path) -> BM25:
    return BM25.open_or_build(library, data_root_path, stark())


def official(texts: list[str]) -> bm25s.BM25:
    """As stark_qa.models.bm25 makes it, with the defaults of bm25s."""
    peer = bm25s.BM25()
    peer.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    return peer


def official_scores(peer: bm25s.BM25, query: str) -> np.ndarray:
    (tokens,) = bm25s.tokenize(query, return_ids=False, show_progress=False)
    known = [t for t in tokens if t in peer.vocab_dict]
    return peer.get_scores(known) if known else np.zeros(peer.scores["num_docs"], np.float32)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_the_official_ones_to_the_bit(
    search: BM25, library: KnowledgeGraph, query: str
) -> None:
    books = library.of_type("book")
    wanted = official_scores(official([library.text(i) for i in books]), query)
    np.testing.assert_array_equal(search.scores(query)[books], wanted)
    assert not search.scores(query)[library.of_type("author")].any()


@given(st.lists(st.text(alphabet="abé  .-_1T", max_size=30), min_size=1, max_size=12))
def test_tokens_are_those_of_bm25s(texts: list[str]) -> None:
    cut = tokenizer("bm25s", "english")
    words = bm25s.tokenize(texts, return_ids=False, show_progress=False)
    assert [cut(text) for text in texts] == words


def test_only_candidates_count(library: KnowledgeGraph, data_root_path: Path) -> None:
    """With authors in the index another number of documents, and so other scores."""
    every = BM25.open_or_build(library, data_root_path, stark(types=None))
    books = BM25.open_or_build(library, data_root_path, stark())
    query = "the sea"
    assert [library.type(h.node) for h in every.search(query, 9)].count("author") == 1
    assert {library.type(h.node) for h in books.search(query, 9)} == {"book"}
    assert books.count(query) == 2
    row = library.index("n0")
    assert every.scores(query)[row] != books.scores(query)[row]
    ranked = books.rank(query, np.arange(library.n_nodes), 99)
    assert [h for h in ranked if h.score > 0] == books.search(query, 99)


def test_names_are_no_text(search: BM25) -> None:
    assert search.search("Copy", 9) == []


def test_equal_documents_collapse_onto_the_last(
    library: KnowledgeGraph, data_root_path: Path, search: BM25
) -> None:
    paper = BM25.open_or_build(library, data_root_path, stark(duplicates="last"))
    assert [library.id(h.node) for h in search.search("same words", 9)] == ["n3", "n6"]
    assert [library.id(h.node) for h in paper.search("same words", 9)] == ["n6"]
    # The k best are found first, so a list may end up shorter than k, and one copy may stand.
    assert [library.id(h.node) for h in paper.search("same words", 1)] == ["n6"]
    assert len(paper.search("book", 3)) == 2
    np.testing.assert_array_equal(paper.scores("same words"), search.scores("same words"))


def test_the_configs_are_the_settings() -> None:
    chosen = {
        "graph": {"candidate_types": ["book"]},
        "search": OmegaConf.load(CONFIGS / "stark.yaml"),
    }
    values: Any = OmegaConf.to_container(OmegaConf.create(chosen), resolve=True)
    assert BM25Settings(**values["search"]) == stark()
    defaults: Any = OmegaConf.to_container(OmegaConf.load(CONFIGS / "bm25.yaml"))
    assert BM25Settings(**defaults) == BM25Settings()


def test_indexes_and_ids_stay_valid(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    """Both written out. How an index is stored is in its folder's name, and in no identity."""
    key = '{"b": 0.75, "k1": 1.2, "method": "lucene", "storage": 2, "version": 1}'
    name = f"bm25-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    search = BM25.open_or_build(toy_graph, data_root_path)
    assert (data_root_path / "indexes" / toy_graph.content_hash[:12] / name).is_dir()
    assert search.identity == {
        "relevance": "bm25",
        "index_version": 1,
        "k1": 1.2,
        "b": 0.75,
        "method": "lucene",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenizer": "words"},
        {"stopwords": None},
        {"documents": "node"},
        {"types": None},
        {"duplicates": "last"},
    ],
)
def test_every_setting_is_identity(
    library: KnowledgeGraph, data_root_path: Path, search: BM25, changes: dict[str, object]
) -> None:
    other = BM25.open_or_build(library, data_root_path, stark(**changes))
    assert other.identity != search.identity
    assert json.loads(json.dumps(other.identity)) == other.identity


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"tokenizer": "bm25"}, "did you mean bm25s"),
        ({"stopwords": "englsh"}, "did you mean english"),
        ({"documents": "texts"}, "did you mean text"),
        ({"duplicates": "first"}, "search.duplicates"),
        ({"method": "bm25+", "k1": 0}, "k1 above 0"),
        ({"types": "book"}, r"search.types=\[a,b\]"),
        ({"types": ()}, r"search.types=\[a,b\]"),
    ],
)
def test_wrong_settings_are_one_line(changes: dict[str, object], wanted: str) -> None:
    with pytest.raises(UserError, match=wanted):
        stark(**changes)


def test_an_unknown_type_is_named(library: KnowledgeGraph, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean book"):
        BM25.open_or_build(library, tmp_path, stark(types=("boook",)))


def test_the_order_of_types_makes_no_second_index() -> None:
    assert stark(types=["b", "a"]) == stark(types=("a", "b", "a"))
