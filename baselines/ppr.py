"""``method=ppr``: personalised PageRank, a random walk that returns to the BM25 hits.

Page, Brin, Motwani and Winograd 1998, "The PageRank Citation Ranking", section 6; seeds by text
search as in HippoRAG (arXiv 2405.14831, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ark.protocols import Context, Graph
from ark.records import MAX_RANKED, Attempt, Hit, Json
from ark.search.topk import top_k
from baselines.common import PerGraph, evidence, ids, number, ranking, settings, whole_number

TAG = "ppr"
Floats = NDArray[np.float64]


class Walk:
    """One step of a random walk over the undirected multigraph.

    Each edge can be walked both ways; parallel edges are as many ways, a loop is two.
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.n_nodes
        targets = [graph.out_edges(i)[0].astype(np.int32) for i in range(n)]
        sources = np.repeat(np.arange(n, dtype=np.int32), [len(row) for row in targets])
        ends = sources, np.concatenate([*targets, np.empty(0, np.int32)])
        way = sparse.coo_array((np.ones(len(sources)), ends), shape=(n, n)).tocsr()
        self._adjacency = (way + way.T).tocsr()
        total = np.asarray(self._adjacency.sum(axis=1)).ravel()
        self._per_edge = np.divide(1.0, total, out=np.zeros(n), where=total > 0)

    def step(self, mass: Floats) -> Floats:
        """Where ``mass``, shape (n_nodes,), is one step later; that of isolated nodes is gone."""
        after: Floats = self._adjacency @ (mass * self._per_edge)
        return after


walk_of = PerGraph(Walk)


@dataclass(frozen=True)
class PersonalizedPageRank:
    """Nodes by how often a walker meets them who jumps back to a seed at times.

    Jumps lead to seeds in proportion to their BM25 scores, also from a node without edges. Only
    nodes in reach of a seed are ranked.
    """

    label: ClassVar[str] = "BM25 + PageRank"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    seeds: int = 30
    """Hits of the search that are jumped to; as many as ``propagate`` takes."""
    damping: float = 0.85
    """Probability of going on along an edge (0.85: Brin and Page 1998, section 2.1)."""
    tolerance: float = 1e-6
    """The iteration ends when all scores together (their sum is 1) change by less than this."""
    max_iterations: int = 100
    """And in any case after so many steps; damping 0.85 needs about 85 for the tolerance."""

    def __post_init__(self) -> None:
        whole_number("seeds", self.seeds, 1)
        number("damping", self.damping, 0, 1)
        number("tolerance", self.tolerance, 0, 1)
        whole_number("max_iterations", self.max_iterations, 1)

    @property
    def agents(self) -> int:
        """One: the walk is computed, not drawn."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings."""
        return settings(self)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """Each iteration passes once over the edges of the graph, in compiled code."""
        seeds = ctx.search.search(question, self.seeds)
        scores, iterations = self.scores(ctx.graph, seeds)
        reached = np.flatnonzero(scores > 0).astype(np.int64)
        # Single precision: sums that differ by the order of their terms only are ties.
        found = ranking(top_k(reached, scores[reached].astype(np.float32), MAX_RANKED))
        shown = ids(ctx.graph, (hit.node for hit in seeds))
        trace = evidence(TAG, ctx.graph, found, seeds=shown, iterations=iterations)
        return Attempt(found, trajectory=trace)

    def scores(self, graph: Graph, seeds: Sequence[Hit]) -> tuple[Floats, int]:
        """PageRank of every node, shape (n_nodes,), and the iterations made; 0 without seeds."""
        start = np.zeros(graph.n_nodes)
        if not seeds:
            return start, 0
        start[[hit.node for hit in seeds]] = [hit.score for hit in seeds]
        start /= start.sum()
        walk = walk_of(graph)
        scores, change, iterations = start, np.inf, 0
        while change >= self.tolerance and iterations < self.max_iterations:
            after = self.damping * walk.step(scores)
            after += (1.0 - after.sum()) * start  # jumps, and what isolated nodes lost
            change = float(np.abs(after - scores).sum())
            scores, iterations = after, iterations + 1
        return scores, iterations
