"""BM25 over texts of nodes: index by bm25s, memory-mapped; cut and ties by our own rule.

bm25s' ``retrieve`` is not used: its two selection backends order ties differently.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph
from ark.protocols import Ints
from ark.records import Hit, Json
from ark.search.documents import Documents, document
from ark.search.equal import Equal
from ark.search.kernel import (
    Scores,
    accumulate_numpy,
    best_numpy,
    compiled,
    compiled_best,
    numba_available,
)
from ark.search.settings import BM25Settings
from ark.search.stored import StoredIndex
from ark.search.tokenizers import tokenizer
from ark.search.topk import top_k

INDEX_VERSION = 1
LAST = "last.npy"  # for each document the last one that equals it
COMPILE_ABOVE = 300_000  # documents
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
        self._documents_n = index.documents
        self._cache: OrderedDict[str, Scores] = OrderedDict()
        self._cache_size = max(1, CACHE_BYTES // max(1, 4 * graph.n_nodes))
        large = self._documents_n > COMPILE_ABOVE and numba_available()
        self._accumulate = compiled() if large else accumulate_numpy
        self._best = compiled_best() if large else best_numpy

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {
            "relevance": "bm25",
            "index_version": INDEX_VERSION,
            **_key(self._settings, self._documents),
        }

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
        key = json.dumps({**_key(settings, documents), "version": INDEX_VERSION}, sort_keys=True)
        name = f"bm25-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        folder = root / "indexes" / graph.content_hash[:12] / name
        if not folder.is_dir():
            _build(_texts(graph, settings, documents), settings, folder)
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
        cached = self._cache.get(query)
        if cached is not None:
            self._cache.move_to_end(query)
            return cached
        out = np.zeros(self._documents_n, dtype=np.float32)
        vocabulary = self._index.vocabulary
        known = [vocabulary[t] for t in self._tokens(query) if t in vocabulary]
        if known:
            index = self._index
            ids = np.asarray(known, dtype=np.int64)
            self._accumulate(index.data, index.indices, index.indptr, ids, out)
            # bm25l and bm25+ give absent words a constant, left out here: it is the same for every
            # node, so the order stands, and a node without a matching word keeps score 0.
        if self._rows is not None:
            whole = np.zeros(self._graph.n_nodes, dtype=np.float32)
            whole[self._rows] = out
            out = whole
        out.setflags(write=False)
        self._cache[query] = out
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return out

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best matching nodes of the graph."""
        hits = self._best(self.scores(query), k)
        return hits if self._last is None or not hits else self._without_equals(hits, self._last)

    def _without_equals(self, hits: list[Hit], last: Ints) -> list[Hit]:
        """The last of each group of equal documents, with the score that all of them have."""
        nodes = np.array([hit.node for hit in hits], dtype=np.int64)
        documents = nodes if self._rows is None else np.searchsorted(self._rows, nodes)
        kept = last[documents] if self._rows is None else self._rows[last[documents]]
        kept, first = np.unique(kept, return_index=True)
        scores = np.array([hits[i].score for i in first], dtype=np.float32)
        return top_k(kept, scores, len(kept))

    def count(self, query: str) -> int:
        """How many nodes hold at least one word of the query."""
        return int(np.count_nonzero(self.scores(query) > 0))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes``; those without a matching word follow with score 0."""
        chosen = np.asarray(nodes, dtype=np.int64)
        return top_k(chosen, self.scores(query)[chosen], k)


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


def _build(documents: Iterable[str], settings: BM25Settings, folder: Path) -> None:
    import bm25s
    from bm25s.tokenization import Tokenized

    tokens = tokenizer(settings.tokenizer, settings.stopwords)
    equal = Equal() if settings.duplicates == "last" else None
    vocabulary: dict[str, int] = {}
    # Numbers in arrays, document by document: millions of texts or lists would not fit.
    numbered = [
        array("i", [vocabulary.setdefault(t, len(vocabulary)) for t in tokens(text)])
        for text in (documents if equal is None else equal.watch(documents))
    ]
    if not vocabulary:
        raise UserError(
            "no node of this graph has any text to search: check the name column, and "
            "search.documents and search.types where they are set"
        )
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy")
    index.index(Tokenized(ids=numbered, vocab=vocabulary), show_progress=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
    try:
        index.save(staging, show_progress=False)
        if equal is not None:
            np.save(staging / LAST, equal.last(), allow_pickle=False)
        staging.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process finished the same index first
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _load(folder: Path) -> StoredIndex:
    try:
        return StoredIndex.open(folder)
    except (OSError, ValueError, KeyError) as error:
        raise _damaged(folder, error) from error


def _load_last(folder: Path, settings: BM25Settings) -> Ints | None:
    if settings.duplicates != "last":
        return None
    try:
        last: Ints = np.load(folder / LAST, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error
    return last


def _damaged(folder: Path, error: Exception) -> UserError:
    return UserError(
        f"the search index in {folder} cannot be read ({error}); delete that folder, it is built "
        "again"
    )
