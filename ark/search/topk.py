"""The ranking rule: score descending, then node number ascending (design, rule 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ark.records import Hit


def top_k(nodes: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> list[Hit]:
    """The ``k`` best of ``nodes`` (scores alike in length), ties to the smaller node number."""
    if k <= 0 or len(nodes) == 0:
        return []
    if len(nodes) > k:
        # Everything that ties with the k-th best stays in: the cut is made after the full sort.
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = scores >= threshold
        nodes, scores = nodes[keep], scores[keep]
    order = np.lexsort((nodes, -scores))[:k]
    return [Hit(int(nodes[i]), float(scores[i])) for i in order]
