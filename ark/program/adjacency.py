"""Follows a relation from a whole set of nodes at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import cast

import numpy as np

from ark.protocols import Graph, Ints

FEW = 48  # up to so many nodes, one look-up a node is faster than a pass over a relation's edges

Edges = tuple[Ints, Ints, Ints]  # sources, relation numbers, targets; all of one length


class Adjacency:
    """One step along a relation, forward or backward, over sets."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._pairs: dict[int, tuple[Ints, Ints]] = {}

    def follow(self, nodes: Ints, relation: int, *, backward: bool) -> Ints:
        """Distinct targets (or sources) of a relation's edges at ``nodes``, ascending."""
        if len(nodes) <= FEW:
            return self._node_by_node(nodes, relation, backward)
        start, stop = self._edges_of(relation)
        if backward:
            start, stop = stop, start
        chosen = np.zeros(self._graph.n_nodes, dtype=bool)
        chosen[nodes] = True
        reached = np.zeros(self._graph.n_nodes, dtype=bool)
        reached[stop[chosen[start]]] = True
        return np.flatnonzero(reached).astype(np.int64)

    def _node_by_node(self, nodes: Ints, relation: int, backward: bool) -> Ints:
        look_up = self._graph.in_edges if backward else self._graph.out_edges
        found = [np.empty(0, dtype=np.int64)]
        for i in nodes.tolist():
            others, relations, _ = look_up(i)
            found.append(others[relations == relation])
        return np.unique(np.concatenate(found)).astype(np.int64)

    def _edges_of(self, relation: int) -> tuple[Ints, Ints]:
        if relation not in self._pairs:
            sources, relations, targets = self._edges
            rows = np.flatnonzero(relations == relation)
            self._pairs[relation] = (sources[rows], targets[rows])
        return self._pairs[relation]

    @cached_property
    def _edges(self) -> Edges:
        """All edges, from the graph's own arrays where it offers them."""
        offered = getattr(self._graph, "edges", None)
        if callable(offered):
            return cast("Callable[[], Edges]", offered)()
        sources, relations, targets = [], [], []
        for i in range(self._graph.n_nodes):
            others, numbers, _ = self._graph.out_edges(i)
            sources.append(np.full(len(others), i, dtype=np.int64))
            relations.append(np.asarray(numbers, dtype=np.int64))
            targets.append(np.asarray(others, dtype=np.int64))
        if not sources:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing
        return np.concatenate(sources), np.concatenate(relations), np.concatenate(targets)
