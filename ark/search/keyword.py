"""Keyword relevance: how the ARK authors' code ranks neighbours, where the paper says BM25.

Nodes whose name holds the whole query come first, then nodes by the number of distinct query words
that occur in their name or text; nodes without any are dropped, so a query filters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ark.protocols import Graph, Ints
from ark.records import Hit, Json
from ark.search.topk import top_k
from ark.text import tokens

NAME_MATCH = 1000.0  # more than a query has words, and exact in float32


class Keyword:
    """``Relevance`` by substring and word count. ``rank`` leaves out nodes that do not match."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {"relevance": "keyword", "version": 1}

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` best matching nodes of the whole graph: a scan, meant for small graphs."""
        return self.rank(query, np.arange(self._graph.n_nodes, dtype=np.int64), k)

    def count(self, query: str) -> int:
        """How many nodes of the graph match."""
        return len(self.search(query, self._graph.n_nodes))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes`` that match at all."""
        phrase = " ".join(query.casefold().split())
        words = set(tokens(query))
        scores = np.array([self._score(int(i), phrase, words) for i in nodes], dtype=np.float32)
        matching = scores > 0
        return top_k(np.asarray(nodes, dtype=np.int64)[matching], scores[matching], k)

    def _score(self, i: int, phrase: str, words: set[str]) -> float:
        name = self._graph.name(i)
        found = words & set(tokens(f"{name}\n{self._graph.text(i)}"))
        whole = bool(phrase) and phrase in " ".join(name.casefold().split())
        return NAME_MATCH * whole + len(found)
