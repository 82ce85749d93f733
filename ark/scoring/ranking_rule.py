"""The ranking rule: how scores become a list, and what of a list counts (design rule 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

Id = TypeVar("Id", bound=Hashable)


def rank_scores(scores: Mapping[Id, float], order: Callable[[Id], Any] | None = None) -> list[Id]:
    """Ids by score descending, then by ``order(id)`` ascending (the ids themselves by default).

    Scores are compared as they are, without rounding to float32. Raises ValueError for NaN, which
    has no place in any order.
    """
    bad = [i for i, score in scores.items() if math.isnan(score)]
    if bad:
        raise ValueError(f"{len(bad)} of {len(scores)} scores are NaN, the first for {bad[0]!r}")
    tie: Callable[[Id], Any] = order or (lambda i: i)
    return sorted(scores, key=lambda i: (-scores[i], tie(i)))


def countable(
    ranked: Iterable[Id],
    *,
    keep: Callable[[Id], bool] | None = None,
    same: Callable[[Id], Id] | None = None,
) -> list[Id]:
    """The part of a list that is scored, best first, before any cut.

    Drops what ``keep`` refuses (asked about the id as given), writes ``same(id)`` for each id that
    is left and keeps the first of every group. Idempotent where ``same`` is and ``keep`` treats
    the ids of a group alike.
    """
    kept = ranked if keep is None else (i for i in ranked if keep(i))
    return list(dict.fromkeys(kept if same is None else map(same, kept)))
