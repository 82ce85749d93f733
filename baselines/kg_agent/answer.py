"""From the variables of a program to a ranked list."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from ark.protocols import Context
from ark.records import MAX_RANKED, Ranking
from baselines.kg_agent.sets import NodeSet, Value, of_rows
from baselines.tiers import Found, tiered

ORDERS = ("bm25", "random")
DROPS = ("used", "all")


@dataclass(frozen=True)
class Dropped:
    """Entities that a program started from, and that are no answer.

    ``always``: as in the authors' code, also where nothing else is in a set.
    """

    rows: frozenset[int] = frozenset()
    always: bool = False

    @classmethod
    def by(cls, rule: str, used: Iterable[int], topics: Iterable[int]) -> Dropped:
        """By one of ``DROPS``: what calls ``used``, or that and ``all`` topics."""
        if rule == "all":
            return cls(frozenset(used) | frozenset(topics), always=True)
        return cls(frozenset(used))

    def of(self, nodes: NodeSet) -> NodeSet:
        """A set without them; as it is where nothing would be left, unless ``always``."""
        taken = np.array(sorted(self.rows), dtype=np.int64)
        rows = np.setdiff1d(nodes.rows, taken, assume_unique=True)
        if len(rows) == len(nodes) or not (len(rows) or self.always):
            return nodes
        kept = set(rows.tolist()) if nodes.scores else set()
        scores = {row: score for row, score in nodes.scores.items() if row in kept}
        return of_rows(rows, nodes.origin, scores)


def last_set(bound: Sequence[Value]) -> NodeSet | None:
    """The set that was bound last, among those that a call gave and that are not empty."""
    return next((value for value in reversed(bound) if _is_result(value)), None)


def ranked(
    ctx: Context,
    question: str,
    answer: NodeSet | None,
    bound: Sequence[Value],
    linked: Sequence[int],
    dropped: Dropped,
    order: str,
) -> Ranking:
    """Tier A: the answer. B: other sets without what is ``dropped``, the newest first. C: what
    linking found.

    A set is in the order of its ``search_in`` scores, then of BM25 for the question; with ``order``
    random, in a drawn one. Of a set, the first ``MAX_RANKED`` are kept.
    """
    others = [dropped.of(v) for v in reversed(bound) if _is_result(v) and v is not answer]
    candidates = [v for v in bound if isinstance(v, NodeSet) and v.origin == "candidates"]
    tiers = [[] if answer is None else _tier(ctx, question, answer, order)]
    tiers += [_tier(ctx, question, value, order) for value in others]
    tiers += [_tier(ctx, question, value, "bm25") for value in candidates]
    tiers.append([Found(row, -float(place)) for place, row in enumerate(linked)])
    return tiered(ctx, question, *tiers)


def _is_result(value: Value) -> TypeGuard[NodeSet]:
    return isinstance(value, NodeSet) and value.origin == "" and len(value) > 0


def _tier(ctx: Context, question: str, nodes: NodeSet, order: str) -> list[Found]:
    if nodes.scores:
        # The rows say what is in a set; scores may speak of more, or not of all.
        scores = {row: nodes.scores.get(row, 0.0) for row in nodes.rows.tolist()}
        words: dict[int, float] = {}
        if len(scores) > MAX_RANKED:  # of equal scores the text says which are kept
            hits = ctx.search.rank(question, nodes.rows, len(nodes))
            words = {hit.node: hit.score for hit in hits}
        best = sorted(scores, key=lambda row: (-scores[row], -words.get(row, 0.0), row))
        return [Found(row, scores[row]) for row in best[:MAX_RANKED]]
    if order == "random":
        return _drawn(ctx.rng, nodes)
    return [Found(h.node, h.score) for h in ctx.search.rank(question, nodes.rows, MAX_RANKED)]


def _drawn(rng: random.Random, nodes: NodeSet) -> list[Found]:
    rows = nodes.rows.tolist()
    return [Found(row, -float(i)) for i, row in enumerate(rng.sample(rows, min(100, len(rows))))]
