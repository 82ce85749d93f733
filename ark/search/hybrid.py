"""Hybrid retrieval: reciprocal rank fusion of BM25 and dense.

Cormack, Clarke and Buettcher 2009, "Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods", section 2: the sum of 1 / (k + rank), k = 60.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Ints
from ark.records import Hit, Json
from ark.search.bm25 import BM25, CACHE_BYTES, INDEX_VERSION
from ark.search.dense import Dense, DenseSettings
from ark.search.encoder import Encoder
from ark.search.recent import Recent
from ark.search.settings import BM25Settings
from ark.search.topk import top_k

Scores = NDArray[np.float32]
LEXICAL = ("k1", "b", "method", "tokenizer", "stopwords")


@dataclass(frozen=True)
class HybridSettings(DenseSettings):
    """Settings of the fusion, of BM25 and of the vectors; both read the same documents."""

    relevance: ClassVar[str] = "hybrid"

    k: int = 60
    """What is added to a rank; larger values make the first ranks count less."""
    k1: float = 1.2
    """As in ``search=bm25``, like the four below."""
    b: float = 0.75
    """See ``k1``."""
    method: str = "lucene"
    """See ``k1``."""
    tokenizer: str = "words"
    """See ``k1``."""
    stopwords: str | None = None
    """See ``k1``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 0:
            raise UserError(f"k={self.k} must be a whole number >= 0")
        _ = self.lexical  # reports its own mistakes

    @property
    def lexical(self) -> BM25Settings:
        """The BM25 that is fused, and that backfill asks."""
        own = {name: getattr(self, name) for name in LEXICAL}
        return BM25Settings(documents=self.documents, types=self.types, **own)

    @property
    def dense(self) -> DenseSettings:
        """The dense side alone."""
        return DenseSettings(**{f.name: getattr(self, f.name) for f in fields(DenseSettings)})


class Hybrid:
    """``Relevance`` by the sum of 1 / (k + rank) over BM25 and dense.

    Ranks are those among all documents, to the last that matches: the score of a node is the same
    inside a neighbourhood as in a search. Ties have the ranks of their node numbers.
    """

    def __init__(self, lexical: BM25, dense: Dense, settings: HybridSettings) -> None:
        self.lexical, self.dense, self.settings = lexical, dense, settings
        self.graph, self.root = dense.graph, dense.root
        self._kept: Recent[Scores] = Recent(CACHE_BYTES // max(1, 4 * self.graph.n_nodes))

    @classmethod
    def open_or_build(
        cls,
        graph: KnowledgeGraph,
        root: Path,
        settings: HybridSettings | None = None,
        encoder: Encoder | None = None,
    ) -> Hybrid:
        """Open both sides, building what is missing."""
        settings = settings or HybridSettings()
        # Every rank is needed, so approximate neighbours would be built and never asked.
        every = replace(settings.dense, exact_up_to=max(settings.exact_up_to, graph.n_nodes))
        dense = Dense.open_or_build(graph, root, every, encoder)
        return cls(BM25.open_or_build(graph, root, settings.lexical), dense, settings)

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {
            **self.dense.identity,
            **self.settings.key,
            "relevance": self.settings.relevance,
            "index_version": INDEX_VERSION,
        }

    def scores(self, query: str) -> Scores:
        """Of every node, shape (n_nodes,), float32; 0 for one that neither side finds."""
        known = self._kept.get(query)
        if known is None:
            both = _reciprocal(self.lexical.scores(query), self.settings.k)
            both += _reciprocal(self.dense.scores(query), self.settings.k)
            known = both.astype(np.float32)
            known.setflags(write=False)
            self._kept.keep(query, known)
        return known

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best of the nodes that a side finds."""
        found = self.scores(query)
        nodes = np.flatnonzero(found > 0)
        return top_k(nodes, found[nodes], k)

    def count(self, query: str) -> int:
        """How many nodes a side finds: mostly those with a cosine above 0."""
        return int(np.count_nonzero(self.scores(query) > 0))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes``; those that no side finds follow with score 0."""
        chosen = np.asarray(nodes, dtype=np.int64)
        return top_k(chosen, self.scores(query)[chosen], k)


def _reciprocal(scores: Scores, k: int) -> NDArray[np.float64]:
    """1 / (k + rank) of each node with a score above 0, else 0; ranks from 1."""
    found = np.flatnonzero(scores > 0)
    order = found[np.argsort(-scores[found], kind="stable")]  # stable: ties by node number
    out = np.zeros(len(scores))
    out[order] = 1.0 / (k + np.arange(1, len(order) + 1))
    return out
