"""``method=bm25_rel``: BM25 over text that also names each node's relations and neighbours.

The same search as ``bm25`` with the same settings: what differs is the text it is given. STaRK's
documents with relations (arXiv 2404.13207, ``add_rel``) list neighbours by relation in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context, Ints, Relevance
from ark.records import MAX_RANKED, Attempt, Json
from ark.search import Siblings, document
from ark.search.choose import lexical
from baselines.common import evidence, ranking, settings, whole_number

TAG = "bm25_rel"
DOCUMENTS_VERSION = 1  # raise it when the texts below change: stored indexes are then built anew


@dataclass(frozen=True)
class RelationText:
    """A node's own text, then a line a relation and direction with the neighbours' names.

    ``grows in North dunes; Mercury`` for edges that leave the node, ``Copper moth; Ribbon fly
    visits`` for edges that enter it. A neighbour is named once a line, whatever the number of
    parallel edges; the node itself (loops) is not.
    """

    max_neighbors: int

    @property
    def key(self) -> Mapping[str, Json]:
        """Kind, settings and version."""
        return {"kind": "relations", "version": DOCUMENTS_VERSION, **asdict(self)}

    def of(self, graph: KnowledgeGraph) -> Iterator[str]:
        """Texts in node order. Time grows with nodes and named neighbours, not with their square.

        A neighbour's name is read from the graph each time: no table of names in memory.
        """
        words = [relation.replace("_", " ") for relation in graph.relations]
        for i in range(graph.n_nodes):
            yield "\n".join((document(graph, i), *self._lines(graph, i, words)))

    def _lines(self, graph: KnowledgeGraph, i: int, words: Sequence[str]) -> Iterator[str]:
        groups = [(r, near, True) for r, near in _by_relation(i, *graph.out_edges(i))]
        groups += [(r, near, False) for r, near in _by_relation(i, *graph.in_edges(i))]
        shares = even_shares([len(near) for _, near, _ in groups], self.max_neighbors)
        for (relation, near, leaves), share in zip(groups, shares, strict=True):
            if share:
                names = "; ".join(graph.name(j) for j in near[:share].tolist())
                yield f"{words[relation]} {names}" if leaves else f"{names} {words[relation]}"


def _by_relation(i: int, near: Ints, relations: Ints, _edges: Ints) -> list[tuple[int, Ints]]:
    """Distinct neighbours of each relation, ascending, without ``i``; by relation number."""
    if not len(near):
        return []
    other = near != i
    near, relations = near[other], relations[other]
    return [
        (int(relation), np.unique(near[relations == relation])) for relation in np.unique(relations)
    ]


def even_shares(sizes: Sequence[int], most: int) -> list[int]:
    """How many of each group to take, ``most`` in all: small groups whole, large ones alike."""
    shares = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=lambda group: sizes[group])
    for done, group in enumerate(smallest_first):
        shares[group] = min(sizes[group], most // (len(sizes) - done))
        most -= shares[group]
    return shares


@dataclass(frozen=True)
class BM25Relations:
    """Nodes by BM25 of the question against own text and neighbours' names; asks no backbone."""

    label: ClassVar[str] = "BM25 + relations"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    max_neighbors: int = 256
    """Most neighbours named in a node's text, shared evenly among its relations and directions,
    within each the first by node number. Bounds the texts of hubs: on ``hpo`` 174 of 36,853
    nodes have more edges, and no disease or gene."""

    def __post_init__(self) -> None:
        whole_number("max_neighbors", self.max_neighbors, 1)

    @property
    def agents(self) -> int:
        """One: a search has nothing to repeat."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings; k1, b and variant are those of the cell's search."""
        return {**settings(self), "documents_version": DOCUMENTS_VERSION}

    def prepare(self, search: Relevance) -> None:
        """Builds the index of a graph that has none."""
        self._index(search)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The 100 best nodes of one search."""
        found = ranking(self._index(ctx.search).search(question, MAX_RANKED))
        return Attempt(found, trajectory=evidence(TAG, ctx.graph, found))

    def _index(self, search: Relevance) -> Relevance:
        bm25 = lexical(search)  # also where the cell's search is another
        if not isinstance(bm25, Siblings):
            raise UserError("method=bm25_rel needs a search over other texts: add search=bm25")
        return bm25.sibling(RelationText(self.max_neighbors))
