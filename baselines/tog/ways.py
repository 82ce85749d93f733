"""The relations of an entity, each in one direction with its tails: what a walk chooses among."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ark.protocols import Context, Graph, Ints
from baselines.ask import plain

NAME_WIDTH = 80  # characters of a name
SHOWN_TYPES = 3  # types of tails that an option names


@dataclass(frozen=True, eq=False)
class Way:
    """One relation of ``node`` in one direction. ``tails``: distinct, ascending, not ``node``."""

    node: int
    relation: str
    forward: bool
    tails: Ints

    @property
    def key(self) -> tuple[str, bool]:
        """Relation and direction."""
        return self.relation, self.forward

    @property
    def back(self) -> tuple[str, bool]:
        """Relation and direction that lead from a tail back to ``node``."""
        return self.relation, not self.forward


def ways_of(graph: Graph, node: int) -> list[Way]:
    """All ways from ``node``, by relation name and then outgoing first.

    Neighbours are grouped by relation once, in arrays: parallel edges are one tail, and a loop
    leads nowhere.
    """
    ways = _grouped(graph, node, True) + _grouped(graph, node, False)
    return sorted(ways, key=lambda way: (way.relation, not way.forward))


def _grouped(graph: Graph, node: int, forward: bool) -> list[Way]:
    near, relations, _ = graph.out_edges(node) if forward else graph.in_edges(node)
    others = near != node
    keys = np.sort(relations[others] * graph.n_nodes + near[others])
    keys = keys[_firsts(keys)]  # np.unique takes many times as long for a hub
    kinds = keys // graph.n_nodes
    starts = np.flatnonzero(_firsts(kinds))
    parts = np.split(keys % graph.n_nodes, starts[1:]) if len(starts) else []
    names = graph.relations
    return [
        Way(node, names[int(kinds[start])], forward, tails)
        for start, tails in zip(starts, parts, strict=True)
    ]


def _firsts(ordered: Ints) -> NDArray[np.bool_]:
    """Where a run of equal numbers begins."""
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def cut(ctx: Context, question: str, way: Way, rule: str, large: int, keep: int) -> list[int]:
    """The tails of a way; ``keep`` of them where there are ``large`` or more.

    ``rule`` bm25: the best for the question, best first; random: drawn by ``ctx.rng``.
    """
    tails = way.tails
    if len(tails) < large:
        return [int(tail) for tail in tails]
    if rule == "random":
        places = sorted(ctx.rng.sample(range(len(tails)), min(keep, len(tails))))
        return [int(tails[place]) for place in places]
    return [hit.node for hit in ctx.search.rank(question, tails, keep)]


def name_of(graph: Graph, node: int) -> str:
    """A name on one line; a node may have none."""
    return plain(graph.name(node), NAME_WIDTH).strip() or "(no name)"


def triple(head: str, relation: str, tail: str) -> str:
    """An edge in its own direction."""
    return f"{head} -[{plain(relation, NAME_WIDTH)}]-> {tail}"


def step(graph: Graph, way: Way, tail: str) -> str:
    """The edges of a way as a triple in their own direction, with ``tail`` for the other end."""
    here = name_of(graph, way.node)
    ends = (here, tail) if way.forward else (tail, here)
    return triple(ends[0], way.relation, ends[1])


def option(graph: Graph, way: Way, *, types: bool) -> str:
    """A way as an option; ``types``: with the types that it can lead to, and how many tails."""
    if not types:
        return step(graph, way, "?")
    here = graph.type(way.node)
    ends = [(s, t) if way.forward else (t, s) for s, r, t in graph.signatures if r == way.relation]
    kinds = sorted({there for start, there in ends if start == here})
    more = ", …" if len(kinds) > SHOWN_TYPES else ""
    kinds = [plain(kind, NAME_WIDTH) for kind in kinds[:SHOWN_TYPES]]
    text = step(graph, way, ", ".join(kinds) + more)
    return f"{text} ({len(way.tails)})"
