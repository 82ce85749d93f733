"""Exact names in a question: an index of all names and aliases of a graph, by their words."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ark.protocols import Graph, Ints
from ark.text import tokens


@dataclass(frozen=True, eq=False)
class Named:
    """A name that stands in a text, and all nodes that have it, ascending."""

    words: tuple[str, ...]
    nodes: Ints


class NameIndex:
    """Which nodes have a name, as a run of whole lower-case words.

    12 bytes a name: two arrays sorted by a 64-bit digest of the name, the digest and the node. Of
    four million names one is taken for another with probability 2e-13 a look-up. Words are kept
    only where they begin a name, with the length of the longest such name.
    """

    def __init__(self, graph: Graph) -> None:
        self._longest: dict[str, int] = {}
        digests, nodes = bytearray(), array("i")
        for i in range(graph.n_nodes):
            for words in _names(graph, i):
                digests += _digest(words)
                nodes.append(i)
                self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))
        unsorted = np.frombuffer(bytes(digests), dtype=np.int64)
        order = np.argsort(unsorted, kind="stable")  # equal names stay in node order
        self._digests = unsorted[order]
        self._nodes = np.array(nodes, dtype=np.int32)[order]

    def find(self, words: Sequence[str]) -> list[Named]:
        """Names in a text given by its words, longest first, then as they stand in it.

        A stretch inside a longer one that was found is dropped; a repeated name is one.
        """
        spans = [
            (start, stop)
            for start, word in enumerate(words)
            for stop in range(start + 1, 1 + min(len(words), start + self._longest.get(word, 0)))
            if len(self.nodes(words[start:stop]))
        ]
        kept: dict[tuple[str, ...], Named] = {}
        covered = -1  # spans are looked at from the left, the longer first: one inside is no news
        for start, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
            if stop <= covered:
                continue
            covered = stop
            name = tuple(words[start:stop])
            kept.setdefault(name, Named(name, self.nodes(name)))
        return sorted(kept.values(), key=lambda named: -len(named.words))

    def nodes(self, words: Sequence[str]) -> Ints:
        """Nodes of exactly this name, ascending."""
        digest = np.frombuffer(_digest(words), dtype=np.int64)[0]
        start = np.searchsorted(self._digests, digest, side="left")
        stop = np.searchsorted(self._digests, digest, side="right")
        return self._nodes[start:stop].astype(np.int64)


def _digest(words: Sequence[str]) -> bytes:
    # surrogatepass: half a character from a broken file must not end a run.
    return hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _names(graph: Graph, i: int) -> set[tuple[str, ...]]:
    node = graph.node(i)
    return {tuple(tokens(text)) for text in (node.name, *node.aliases)} - {()}
