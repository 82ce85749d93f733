"""From scores of passages to scores of entities (the paper's weighted sum over the top K)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def best_first(scores: Sequence[float]) -> list[int]:
    """Positions by score descending, ties as they stand."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def entity_scores(
    owners: Sequence[int], scores: Sequence[float], top: int, decay: float
) -> dict[int, float]:
    """S(c), the sum over the ``top`` best passages k = 1, 2, ... of s_k exp(-decay k) [k of c].

    Args:
        owners: the entity of each passage.
        scores: s of each passage, not below 0.
        top: K, passages of all entities together that count.
        decay: alpha.

    Returns:
        Every owner, also those with none of the best passages (0).

    """
    sums = dict.fromkeys(owners, 0.0)
    for k, i in enumerate(best_first(scores)[:top], start=1):
        sums[owners[i]] += scores[i] * math.exp(-decay * k)
    return sums


def best_passage(owners: Sequence[int], scores: Sequence[float]) -> dict[int, float]:
    """The highest score among the passages of each owner."""
    best: dict[int, float] = {}
    for owner, score in zip(owners, scores, strict=True):
        best[owner] = max(score, best.get(owner, 0.0))
    return best


def min_max(values: Mapping[int, float]) -> dict[int, float]:
    """Values of one depth brought to [0, 1]; equal ones are all 1, or all 0 where they are 0."""
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    if high > low:
        return {key: (value - low) / (high - low) for key, value in values.items()}
    return dict.fromkeys(values, 1.0 if high > 0 else 0.0)
