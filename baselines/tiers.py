"""One ranked list from what a prompted method found: answers, then the frontier, then the rest.

The tiers are A what the method declares as its answer, B its last frontier, C other nodes that it
scored. D, what BM25 finds for the question, is a reading (``backfill=bm25``) of every method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ark.protocols import Context
from ark.records import MAX_RANKED, Ranking


@dataclass(frozen=True)
class Found:
    """A node that a method has scored: higher is better; ``step`` is when it was first seen."""

    node: int
    score: float
    step: int = 0


def tiered(ctx: Context, question: str, *tiers: Sequence[Found]) -> Ranking:
    """Tiers one after the other, each node where it comes first; the first tier is the answer.

    Inside a tier: score descending, BM25 of the question descending, first seen, row.
    """
    nodes = sorted({found.node for tier in tiers for found in tier})
    hits = ctx.search.rank(question, np.array(nodes, dtype=np.int64), len(nodes)) if nodes else []
    words = {hit.node: hit.score for hit in hits}
    order: dict[int, None] = {}
    sizes = []
    for tier in tiers:
        best: dict[int, Found] = {}
        for found in tier:
            known = best.get(found.node)
            if known is None or found.score > known.score:
                best[found.node] = found
        ranked = sorted(best.values(), key=lambda f: (-f.score, -words[f.node], f.step, f.node))
        order.update(dict.fromkeys(found.node for found in ranked))
        sizes.append(len(order))
    kept = tuple(order)[:MAX_RANKED]
    return Ranking(kept, answers=min(sizes[0], len(kept)) if sizes else None)
