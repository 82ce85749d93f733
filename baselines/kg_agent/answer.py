"""From the variables of a program to a ranked list."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import numpy as np

from ark.protocols import Context
from ark.records import MAX_RANKED, Ranking
from baselines.kg_agent.sets import NodeSet, Value, of_rows
from baselines.tiers import Found, tiered

ORDERS = ("bm25", "random")


def without(nodes: NodeSet, used: Iterable[int]) -> NodeSet:
    """A set without the entities that the program started from, unless nothing else is in it."""
    rows = np.setdiff1d(nodes.rows, np.array(sorted(used), dtype=np.int64), assume_unique=True)
    return of_rows(rows, nodes.origin, nodes.scores) if len(rows) else nodes


def last_set(bound: Sequence[Value]) -> NodeSet | None:
    """The set that was bound last, among those that a call gave and that are not empty."""
    return next((value for value in reversed(bound) if _is_result(value)), None)


def ranked(
    ctx: Context,
    question: str,
    answer: NodeSet | None,
    bound: Sequence[Value],
    linked: Sequence[int],
    used: Iterable[int],
    order: str,
) -> Ranking:
    """Tier A: the answer. B: other sets without what was ``used``, the newest first. C: what
    linking found.

    A set is in the order of its ``search_in`` scores, then of BM25 for the question; with ``order``
    random, in a drawn one. Of a set, the first ``MAX_RANKED`` are kept.
    """
    others = [without(v, used) for v in reversed(bound) if _is_result(v) and v is not answer]
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
        best = sorted(nodes.scores, key=lambda row: (-nodes.scores[row], row))[:MAX_RANKED]
        return [Found(row, nodes.scores[row]) for row in best]
    if order == "random":
        return _drawn(ctx.rng, nodes)
    return [Found(h.node, h.score) for h in ctx.search.rank(question, nodes.rows, MAX_RANKED)]


def _drawn(rng: random.Random, nodes: NodeSet) -> list[Found]:
    rows = nodes.rows.tolist()
    return [Found(row, -float(i)) for i, row in enumerate(rng.sample(rows, min(100, len(rows))))]
