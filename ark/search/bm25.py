"""BM25 over texts of nodes: scores of bm25s, memory-mapped; cut and ties by our own rule.

bm25s' ``retrieve`` is not used: its two selection backends order ties differently.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph
from ark.protocols import Ints
from ark.records import Hit, Json
from ark.search.documents import Documents, document
from ark.search.kernel import Kernel, Scores
from ark.search.settings import BM25Settings
from ark.search.stored import LAST, STORAGE_VERSION, StoredIndex
from ark.search.tokenizers import tokenizer
from ark.search.topk import top_k
from ark.search.vocabulary import mapped

INDEX_VERSION = 1  # of the scores: part of every identity
CACHE_BYTES = 64 * 2**20  # score vectors of recent queries


class BM25:
    """``Relevance`` by BM25. Open with ``BM25.open_or_build``; safe to share between tasks."""

    def __init__(
        self,
        index: StoredIndex,
        graph: KnowledgeGraph,
        root: Path,
        settings: BM25Settings,
        documents: Documents | None,
        last: Ints | None,
    ) -> None:
        self._index = index
        self._graph = graph
        self._root = root
        self._settings = settings
        self._documents = documents
        self._last = last
        self._siblings: dict[Documents, BM25] = {}
        self._tokens = tokenizer(settings.tokenizer, settings.stopwords)
        self._rows = _rows(graph, settings)
        self._cache: OrderedDict[str, Scores] = OrderedDict()
        self._cache_size = max(1, CACHE_BYTES // max(1, 4 * index.documents))
        self._kernel = Kernel(index.documents)

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {
            "relevance": "bm25",
            "index_version": INDEX_VERSION,
            **_key(self._settings, self._documents),
        }

    @property
    def graph(self) -> KnowledgeGraph:
        """What is searched."""
        return self._graph

    @property
    def root(self) -> Path:
        """Where indexes lie."""
        return self._root

    @property
    def settings(self) -> BM25Settings:
        """What it was opened with."""
        return self._settings

    @property
    def lexical(self) -> BM25:
        """Itself: what backfill asks."""
        return self

    @classmethod
    def open_or_build(
        cls,
        graph: KnowledgeGraph,
        root: Path,
        settings: BM25Settings | None = None,
        documents: Documents | None = None,
    ) -> BM25:
        """Open the index of ``graph`` under ``root``, building it once (atomically).

        ``documents`` are texts to index in place of each node's own name, aliases and text.
        """
        settings = settings or BM25Settings()
        versions = {"version": INDEX_VERSION, "storage": STORAGE_VERSION}
        key = json.dumps({**_key(settings, documents), **versions}, sort_keys=True)
        name = f"bm25-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        folder = root / "indexes" / graph.content_hash[:12] / name
        if not folder.is_dir():
            from ark.search.build import build

            build(_texts(graph, settings, documents), settings, folder)
        return cls(_load(folder), graph, root, settings, documents, _load_last(folder, settings))

    def sibling(self, documents: Documents) -> BM25:
        """The same graph and settings over other documents; its index lies beside this one."""
        if documents not in self._siblings:
            self._siblings[documents] = BM25.open_or_build(
                self._graph, self._root, self._settings, documents
            )
        return self._siblings[documents]

    def scores(self, query: str) -> Scores:
        """Score of every node, shape (n_nodes,), float32; equal words in the query add up.

        A node that is no document of the index (``types``) scores 0.
        """
        found = self._scores(query)
        if self._rows is None:
            return found
        whole = np.zeros(self._graph.n_nodes, dtype=np.float32)
        whole[self._rows] = found
        whole.setflags(write=False)
        return whole

    def _scores(self, query: str) -> Scores:
        """The same for every document of the index, shape (documents,)."""
        found = self._cached(query)
        if found is None:
            found = np.empty(self._index.documents, dtype=np.float32)
            self._kernel.next().fill(self._index, self._words(query), found)
            self._keep(query, found)
        return found

    def _words(self, query: str) -> Ints:
        # bm25l and bm25+ give absent words a constant, left out here: it is the same for every
        # node, so the order stands, and a node without a matching word keeps score 0.
        return self._index.vocabulary.find(self._tokens(query))

    def _cached(self, query: str) -> Scores | None:
        found = self._cache.get(query)
        if found is not None:
            self._cache.move_to_end(query)
        return found

    def _keep(self, query: str, scores: Scores) -> None:
        scores.setflags(write=False)
        self._cache[query] = scores
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best matching nodes of the graph."""
        known = self._cached(query)
        if known is not None:
            hits = self._kernel.now.best(known, k)
        else:
            known = np.empty(self._index.documents, dtype=np.float32)
            hits = self._kernel.next().fill_best(self._index, self._words(query), known, k)
            self._keep(query, known)
        if self._last is not None and hits:
            hits = _last_of_equals(hits, self._last)
        rows = self._rows  # documents ascend with their nodes, so the order stands
        return hits if rows is None else [Hit(int(rows[hit.node]), hit.score) for hit in hits]

    def count(self, query: str) -> int:
        """How many nodes hold at least one word of the query."""
        return int(np.count_nonzero(self._scores(query) > 0))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes``; those without a matching word follow with score 0."""
        chosen, found = np.asarray(nodes, dtype=np.int64), self._scores(query)
        if self._rows is None:
            return top_k(chosen, found[chosen], k)
        documents = np.minimum(np.searchsorted(self._rows, chosen), len(self._rows) - 1)
        there = self._rows[documents] == chosen
        return top_k(chosen, np.where(there, found[documents], np.float32(0)), k)


def _last_of_equals(hits: list[Hit], last: Ints) -> list[Hit]:
    """The last of each group of equal documents, with the score that all of them have."""
    kept, first = np.unique(last[[hit.node for hit in hits]], return_index=True)
    scores = np.array([hits[i].score for i in first], dtype=np.float32)
    return top_k(kept, scores, len(kept))


def _key(settings: BM25Settings, documents: Documents | None) -> dict[str, Json]:
    own = {} if documents is None else {"documents": dict(documents.key)}
    return {**settings.key, **own}


def _rows(graph: KnowledgeGraph, settings: BM25Settings) -> Ints | None:
    """The node of each document, ascending; None where every node is one."""
    if settings.types is None:
        return None
    for node_type in settings.types:
        if node_type not in graph.node_types:
            raise UserError(unknown("search.types", node_type, graph.node_types))
    return np.sort(np.concatenate([graph.of_type(t) for t in settings.types]))


def _texts(
    graph: KnowledgeGraph, settings: BM25Settings, documents: Documents | None
) -> Iterator[str]:
    rows = _rows(graph, settings)
    if documents is not None:
        wanted = None if rows is None else set(rows.tolist())
        every = enumerate(documents.of(graph))
        return (text for i, text in every if wanted is None or i in wanted)
    text_of = graph.text if settings.documents == "text" else partial(document, graph)
    return map(text_of, range(graph.n_nodes) if rows is None else rows.tolist())


def _load(folder: Path) -> StoredIndex:
    try:
        return StoredIndex.open(folder)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise _damaged(folder, error) from error


def _load_last(folder: Path, settings: BM25Settings) -> Ints | None:
    if settings.duplicates != "last":
        return None
    try:
        last: Ints = mapped(folder / LAST)  # type: ignore[assignment]
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error
    return last


def _damaged(folder: Path, error: Exception) -> UserError:
    return UserError(
        f"the search index in {folder} cannot be read ({error}); delete that folder, it is built "
        "again"
    )
