"""``method=propagate``: BM25 hits pass their scores on to their neighbours, one hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ark.protocols import Context
from ark.records import MAX_RANKED, Attempt, Json
from ark.search.topk import top_k
from baselines.common import evidence, ids, number, ranking, settings, whole_number

TAG = "propagate"


@dataclass(frozen=True)
class Propagate:
    """Score of a node = its own as a seed + weight x sum over its neighbours that are seeds.

    Seeds are the best hits of one BM25 search; a node that is neither seed nor a seed's neighbour
    is not ranked. Neighbours are distinct nodes in either direction: parallel edges count once.
    """

    label: ClassVar[str] = "BM25 + one hop"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    seeds: int = 30
    """Hits of the search that pass scores on; as many as ARK's widest global search shows."""
    weight: float = 1.0
    """Share of a seed's score that each of its neighbours gets."""
    degree_power: float = 0.0
    """A seed of d neighbours passes on score / d**degree_power: 0 undivided, so that hubs give
    as much to each neighbour as others; 1 splits the score among them."""

    def __post_init__(self) -> None:
        whole_number("seeds", self.seeds, 1)
        number("weight", self.weight, 0, 1000)
        number("degree_power", self.degree_power, 0, 10)

    @property
    def agents(self) -> int:
        """One: nothing is drawn."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings."""
        return settings(self)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """Time grows with the edges of the seeds, not with the graph."""
        seeds = ctx.search.search(question, self.seeds)
        nodes = [np.array([hit.node for hit in seeds], dtype=np.int64)]
        given = [np.array([hit.score for hit in seeds], dtype=np.float64)]
        for hit in seeds:
            near = ctx.graph.neighbors(hit.node)
            passed = self.weight * hit.score / max(1, len(near)) ** self.degree_power
            nodes.append(near)
            given.append(np.full(len(near), passed))
        reached, place = np.unique(np.concatenate(nodes), return_inverse=True)
        scores = np.bincount(place, weights=np.concatenate(given), minlength=len(reached))
        # Single precision: sums that differ by the order of their terms only are ties.
        found = ranking(top_k(reached, scores.astype(np.float32), MAX_RANKED))
        shown = ids(ctx.graph, (hit.node for hit in seeds))
        return Attempt(found, trajectory=evidence(TAG, ctx.graph, found, seeds=shown))
