"""Which ranker scores passages: one place to look a name up in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ark.errors import UserError, unknown
from ark.search.dense import dense_texts
from ark.search.texts import BM25Texts, TextRanker

RANKERS: Mapping[str, Callable[[], TextRanker]] = MappingProxyType(
    {"bm25": BM25Texts, "dense": dense_texts}
)
"""Name -> what makes the ranker. It is made once an attempt: a heavy one keeps its model itself."""


def ranker(name: str) -> TextRanker:
    """The ranker called ``name``. Raises UserError with the known names."""
    if name not in RANKERS:
        raise UserError(unknown("method.ranker", name, RANKERS))
    return RANKERS[name]()


def not_negative(scores: Sequence[float]) -> list[float]:
    """Scores as they are where none is below 0, else min-max to [0, 1]; all equal: all 1.

    The weighted sum over passages needs values of at least 0, and logits of a reranker or cosines
    may be below. What is no number counts as 0.
    """
    scores = [float(s) if math.isfinite(s) else 0.0 for s in scores]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if low >= 0:
        return scores
    return [(s - low) / (high - low) if high > low else 1.0 for s in scores]
