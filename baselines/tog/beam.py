"""Scores of a walk: what a step reaches, merged by node, and what all steps have seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from baselines.tiers import Found
from baselines.tog.ways import Way


@dataclass(frozen=True, eq=False)
class Kept:
    """A way that the relation prune kept, and its score."""

    way: Way
    score: float


@dataclass(frozen=True, eq=False)
class Reached:
    """A node that a step reaches by a way."""

    node: int
    score: float
    way: Way


def best_ways(kept: Iterable[Kept], width: int) -> list[Kept]:
    """The ``width`` best of all topic entities, ties as they came; a score of 0 is not kept.

    Per depth and not per entity: the paper's bound on calls counts one entity prune for each of N.
    """
    some = [k for k in kept if k.score > 0]
    return sorted(some, key=lambda k: -k.score)[:width]


def merged(reached: Sequence[Reached]) -> list[Reached]:
    """Each node once with its highest score, best first; ties as they came."""
    best: dict[int, Reached] = {}
    for one in reached:
        known = best.get(one.node)
        if known is None or one.score > known.score:
            best[one.node] = one
    order = {node: place for place, node in enumerate(dict.fromkeys(r.node for r in reached))}
    return sorted(best.values(), key=lambda r: (-r.score, order[r.node]))


@dataclass
class Seen:
    """All scored nodes. ``cumulative``: the highest score of all visits, else that of the last."""

    cumulative: bool
    _found: dict[int, Found] = field(default_factory=dict)

    def add(self, reached: Iterable[Reached], depth: int) -> None:
        """A depth's nodes, each once."""
        for one in reached:
            known = self._found.get(one.node)
            first = depth if known is None else known.step
            score = (
                one.score if known is None or not self.cumulative else max(one.score, known.score)
            )
            self._found[one.node] = Found(one.node, score, first)

    @property
    def nodes(self) -> list[int]:
        """In the order in which they were first seen."""
        return list(self._found)

    def of(self, nodes: Iterable[int]) -> list[Found]:
        """Those of some nodes."""
        return [self._found[node] for node in nodes]
