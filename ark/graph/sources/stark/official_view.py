"""The graph as stark-qa sees it, for comparison only: ``view=official``.

When the package loads a graph whose edges are not there in both directions, it makes it
undirected: every edge is taken both ways, and all edges from one node to another become one whose
relation number is the mean of theirs, rounded down. So a pair of products that is both also_buy
(0) and also_view (1) keeps only also_buy, and relations 2 and 5 between two nodes become 3.
A graph that is there in both directions already (PRIME) is left as it is, parallel edges
included. Neighbours are then those that a node's own edges lead to, itself included if it has a
loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError, unknown
from ark.graph.store import KnowledgeGraph
from ark.protocols import Ints

Edges = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]
VIEWS = ("stored", "official")
ANY = "*"


def is_symmetric(source: NDArray[np.integer], target: NDArray[np.integer], n_nodes: int) -> bool:
    """Whether as many edges lead from ``a`` to ``b`` as back, for all pairs; relations aside."""
    out, back = (np.bincount(ends, minlength=n_nodes) for ends in (source, target))
    if not np.array_equal(out, back):
        return False
    there = _pairs(source, target, n_nodes)
    there.sort()
    back = _pairs(target, source, n_nodes)
    back.sort()
    return np.array_equal(there, back)


def loaded_edges(
    source: NDArray[np.integer],
    relation: NDArray[np.integer],
    target: NDArray[np.integer],
    n_nodes: int,
    n_relations: int,
) -> Edges:
    """(source, relation, target) as stark-qa has them after loading.

    Edges in and out are numbers in columns of one length. Made undirected, they come sorted by
    (source, target); a graph with both directions comes back as it is.
    """
    if n_relations * n_nodes**2 >= 2**63:
        raise ValueError(f"{n_nodes} nodes with {n_relations} relations: too many to be numbered")
    if is_symmetric(source, target, n_nodes):
        return source, relation, target
    m = len(source)
    keys = np.empty(2 * m, np.int64)
    keys[:m], keys[m:] = _pairs(source, target, n_nodes), _pairs(target, source, n_nodes)
    keys *= n_relations
    keys[:m] += relation
    keys[m:] += relation
    keys.sort()
    # In place from here on: MAG has 40 million of these, and each new column costs 320 MB.
    pairs = np.empty_like(keys)
    np.divmod(keys, n_relations, out=(pairs, keys))  # the keys are now the relations
    new = np.ones(2 * m, np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    first = np.flatnonzero(new)
    mean = np.add.reduceat(keys, first)
    del keys
    mean //= np.diff(first, append=2 * m)
    pairs = pairs[first]
    del first
    ends = np.empty_like(pairs)
    np.divmod(pairs, n_nodes, out=(ends, pairs))
    return ends, mean, pairs


def _pairs(
    source: NDArray[np.integer], target: NDArray[np.integer], n_nodes: int
) -> NDArray[np.int64]:
    pairs = source.astype(np.int64)
    pairs *= n_nodes
    pairs += target
    return pairs


class OfficialView:
    """A stored STaRK graph through the eyes of the package. The graph's relations are in its order.

    Making one looks at all edges once; then a node's neighbours cost what its degree costs.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        source, _, target = graph.edges()
        self.symmetric = is_symmetric(source, target, graph.n_nodes)

    def edges(self, i: int) -> tuple[Ints, Ints]:
        """(targets, relation numbers) of the edges of node ``i``, ascending."""
        targets, relations, _ = self._graph.out_edges(i)
        if self.symmetric:
            return targets, relations
        sources, back, _ = self._graph.in_edges(i)
        near, of_relation = np.concatenate([targets, sources]), np.concatenate([relations, back])
        found, place, counts = np.unique(near, return_inverse=True, return_counts=True)
        total = np.zeros(len(found), np.int64)
        np.add.at(total, place, of_relation)
        return found, total // counts

    def neighbors(self, i: int, relation: str = ANY) -> Ints:
        """What ``get_neighbor_nodes(i, relation)`` returns: distinct nodes, ascending.

        Raises UserError for an unknown relation.
        """
        near, relations = self.edges(i)
        if relation != ANY:
            if relation not in self._graph.relations:
                raise UserError(unknown("relation", relation, self._graph.relations))
            near = near[relations == self._graph.relations.index(relation)]
        return np.unique(near)


def official_counts(graph: KnowledgeGraph) -> dict[str, Any]:
    """Counts of a stored graph after loading it as the package does.

    ``nodes``, ``edges``, ``per_type`` and ``per_relation`` (both by name; averaged relations).
    """
    per_type = {name: len(graph.of_type(name)) for name in graph.node_types}
    source, relation, target = graph.edges()
    return counted(graph.n_nodes, per_type, graph.relations, (source, relation, target))


def counted(
    n_nodes: int, per_type: Mapping[str, int], relations: tuple[str, ...], edges: Edges
) -> dict[str, Any]:
    """``official_counts`` of columns of stored edges."""
    _, relation, _ = loaded_edges(*edges, n_nodes, len(relations))
    numbers = np.bincount(relation, minlength=len(relations)).tolist()
    return {
        "nodes": n_nodes,
        "edges": len(relation),
        "per_type": dict(per_type),
        "per_relation": dict(zip(relations, numbers, strict=True)),
    }
