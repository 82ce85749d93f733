"""One list out of several agents' lists (paper, section 3.4 and its aggregation ablation)."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ark.errors import UserError, unknown

T = TypeVar("T", bound=Hashable)
KINDS = ("voting", "ordering", "random", "rrf")
TIES = ("earliest_position", "concatenation")
RRF_CONSTANT = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)


@dataclass(frozen=True)
class Fusion:
    """How lists are fused. ``ties`` matters for voting and rrf only."""

    kind: str = "voting"
    ties: str = "earliest_position"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(unknown("fusion.kind", self.kind, KINDS))
        if self.ties not in TIES:
            raise UserError(unknown("fusion.ties", self.ties, TIES))


def fuse(lists: Sequence[Sequence[T]], fusion: Fusion, rng: random.Random) -> list[T]:
    """All distinct nodes of ``lists`` in fused order.

    voting    more agents first; ties by the earliest position in any list (paper) or by the
              first place in the concatenation (the authors' code)
    ordering  the concatenation in agent order, first occurrence kept
    random    the distinct nodes shuffled by ``rng``
    rrf       sum over agents of 1 / (60 + rank), not in the paper

    A single list has nothing to be fused with and comes back as it is, under every kind.
    """
    unique = list(dict.fromkeys(node for one in lists for node in one))
    if len(lists) <= 1 or fusion.kind == "ordering":
        return unique
    if fusion.kind == "random":
        rng.shuffle(unique)
        return unique
    ranks = [{node: rank for rank, node in reversed(list(enumerate(one)))} for one in lists]
    return sorted(unique, key=_key(ranks, fusion))  # stable: what still ties keeps its place


def _key(ranks: Sequence[dict[T, int]], fusion: Fusion) -> Callable[[T], tuple[float, int]]:
    def key(node: T) -> tuple[float, int]:
        places = [r[node] for r in ranks if node in r]
        earliest = min(places) if fusion.ties == "earliest_position" else 0
        if fusion.kind == "voting":
            return -float(len(places)), earliest
        # Summed in sorted order, so that the order of agents cannot move the last digit.
        return -sum(sorted(1.0 / (RRF_CONSTANT + 1 + p) for p in places)), earliest

    return key
