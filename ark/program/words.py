"""Words of node texts, for the language's ``text`` function and for composing questions.

A word is a maximal run of letters and digits (``str.isalnum``) of the lower-cased text; everything
else separates. Words compare whole, without stemming.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ark.protocols import Graph, Ints

INDEX_LIMIT = 300_000  # nodes; above it texts are scanned, as an index would not fit in memory

_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> list[str]:
    """The words of a text in order."""
    return _WORD.findall(text.lower())


class WordIndex:
    """Which nodes' texts hold a word. Built from all texts at the first look-up."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def postings(self) -> dict[str, Ints]:
        """For every word the nodes whose text holds it, ascending."""
        found: dict[str, list[int]] = {}
        for i in range(self._graph.n_nodes):
            text = self._graph.text(i)
            if text:
                for word in set(split_words(text)):
                    found.setdefault(word, []).append(i)
        return {word: np.array(nodes, dtype=np.int64) for word, nodes in found.items()}

    def frequency(self, word: str) -> int:
        """In how many nodes' texts a (lower-cased) word occurs."""
        nodes = self.postings.get(word)
        return 0 if nodes is None else len(nodes)

    def holding(self, nodes: Ints, words: Sequence[str]) -> Ints:
        """Those of ``nodes`` (ascending) whose text holds every one of the lower-cased words."""
        if self._graph.n_nodes > INDEX_LIMIT:
            return self._scan(nodes, frozenset(words))
        found = nodes
        for word in words:
            having = self.postings.get(word)
            if having is None:
                return np.empty(0, dtype=np.int64)
            found = np.intersect1d(found, having, assume_unique=True)
        return found

    def _scan(self, nodes: Ints, words: frozenset[str]) -> Ints:
        kept = [i for i in nodes.tolist() if words <= set(split_words(self._graph.text(i)))]
        return np.array(kept, dtype=np.int64)
