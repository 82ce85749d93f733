"""BM25 over name, aliases and text: index by bm25s, memory-mapped; cut and ties by our own rule.

bm25s' ``retrieve`` is not used: its two selection backends order ties differently.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph
from ark.protocols import Ints
from ark.records import Hit, Json
from ark.search.documents import Documents, document
from ark.search.kernel import Scores, accumulate_numpy, compiled, numba_available
from ark.search.topk import top_k
from ark.text import tokens

INDEX_VERSION = 1
COMPILE_ABOVE = 300_000  # documents
CACHE_BYTES = 64 * 2**20  # score vectors of recent queries
METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")


@dataclass(frozen=True)
class BM25Settings:
    """Parameters of the score; the defaults are those of the ARK authors' index."""

    k1: float = 1.2
    b: float = 0.75
    method: str = "lucene"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(unknown("search.method", self.method, METHODS))
        if not self.k1 >= 0 or not 0 <= self.b <= 1:
            raise UserError(f"search.k1={self.k1} must be >= 0 and search.b={self.b} in 0..1")


class BM25:
    """``Relevance`` by BM25. Open with ``BM25.open_or_build``; safe to share between tasks."""

    def __init__(
        self,
        index: Any,
        graph: KnowledgeGraph,
        root: Path,
        settings: BM25Settings,
        documents: Documents | None,
    ) -> None:
        self._index = index
        self._graph = graph
        self._root = root
        self._settings = settings
        self._documents = documents
        self._siblings: dict[Documents, BM25] = {}
        self._n = int(index.scores["num_docs"])
        self._everything: Ints = np.arange(self._n, dtype=np.int64)
        self._cache: OrderedDict[str, Scores] = OrderedDict()
        self._cache_size = max(1, CACHE_BYTES // max(1, 4 * self._n))
        large = self._n > COMPILE_ABOVE and numba_available()
        self._accumulate = compiled() if large else accumulate_numpy

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        own = {} if self._documents is None else {"documents": dict(self._documents.key)}
        return {
            "relevance": "bm25",
            "index_version": INDEX_VERSION,
            **asdict(self._settings),
            **own,
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
        what = {**asdict(settings), "version": INDEX_VERSION}
        if documents is not None:
            what["documents"] = dict(documents.key)
        key = json.dumps(what, sort_keys=True)
        name = f"bm25-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        folder = root / "indexes" / graph.content_hash[:12] / name
        if not folder.is_dir():
            own = (document(graph, i) for i in range(graph.n_nodes))
            _build(own if documents is None else documents.of(graph), settings, folder)
        return cls(_load(folder), graph, root, settings, documents)

    def sibling(self, documents: Documents) -> BM25:
        """The same graph and settings over other documents; its index lies beside this one."""
        if documents not in self._siblings:
            self._siblings[documents] = BM25.open_or_build(
                self._graph, self._root, self._settings, documents
            )
        return self._siblings[documents]

    def scores(self, query: str) -> Scores:
        """Score of every node, shape (n_nodes,), float32; equal words in the query add up."""
        cached = self._cache.get(query)
        if cached is not None:
            self._cache.move_to_end(query)
            return cached
        out = np.zeros(self._n, dtype=np.float32)
        vocabulary = self._index.vocab_dict
        known = [vocabulary[t] for t in tokens(query) if t in vocabulary]
        if known:
            parts = self._index.scores
            ids = np.asarray(known, dtype=np.int64)
            self._accumulate(parts["data"], parts["indices"], parts["indptr"], ids, out)
            # bm25l and bm25+ give absent words a constant, left out here: it is the same for every
            # node, so the order stands, and a node without a matching word keeps score 0.
        out.setflags(write=False)
        self._cache[query] = out
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return out

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best matching nodes of the graph."""
        scores = self.scores(query)
        matching = np.flatnonzero(scores > 0)
        return top_k(matching.astype(np.int64), scores[matching], k)

    def count(self, query: str) -> int:
        """How many nodes hold at least one word of the query."""
        return int(np.count_nonzero(self.scores(query) > 0))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes``; those without a matching word follow with score 0."""
        chosen = np.asarray(nodes, dtype=np.int64)
        return top_k(chosen, self.scores(query)[chosen], k)


def _build(documents: Iterable[str], settings: BM25Settings, folder: Path) -> None:
    import bm25s
    from bm25s.tokenization import Tokenized

    vocabulary: dict[str, int] = {}
    # Numbers in arrays, document by document: millions of texts or lists would not fit.
    numbered = [
        array("i", [vocabulary.setdefault(t, len(vocabulary)) for t in tokens(text)])
        for text in documents
    ]
    if not vocabulary:
        raise UserError("no node of this graph has any text to search: check the name column")
    index = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy")
    index.index(Tokenized(ids=numbered, vocab=vocabulary), show_progress=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
    try:
        index.save(staging, show_progress=False)
        staging.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process finished the same index first
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _load(folder: Path) -> Any:
    import bm25s

    try:
        return bm25s.BM25.load(folder, mmap=True, show_progress=False, verbosity=0)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the search index in {folder} cannot be read ({error}); delete that folder, "
            "it is built again"
        ) from error
