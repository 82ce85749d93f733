"""The compiled kernel; imported only above the size where it pays (``fast`` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_BLOCK = 64  # scores that one vectorised look can rule out


@njit(cache=True, nogil=True)
def accumulate(data: Any, indices: Any, indptr: Any, token_ids: Any, out: Any) -> None:
    """Add each query token's postings to ``out``; same order and sums as the numpy kernel."""
    for t in range(token_ids.shape[0]):
        token = token_ids[t]
        for p in range(indptr[token], indptr[token + 1]):
            out[indices[p]] += data[p]


@njit(cache=True, nogil=True)
def best(scores: Any, k: int) -> Any:
    """(nodes, scores) of the ``k`` best above 0, ties to the smaller node, in no order. k > 0.

    A heap with the worst on top. Nodes come in ascending order, so that of equal scores a later
    one never enters, and the largest node is the first to leave.
    """
    kept = np.zeros(k, dtype=np.float32)
    nodes = np.full(k, scores.shape[0], dtype=np.int64)
    for start in range(0, scores.shape[0], _BLOCK):
        end = min(start + _BLOCK, scores.shape[0])
        least, found = kept[0], False
        for i in range(start, end):
            found |= scores[i] > least
        if not found:
            continue
        for i in range(start, end):
            score = scores[i]
            if score > kept[0]:
                at = 0
                while 2 * at + 1 < k:
                    child = 2 * at + 1
                    other = child + 1
                    if other < k and (
                        kept[other] < kept[child]
                        or (kept[other] == kept[child] and nodes[other] > nodes[child])
                    ):
                        child = other
                    if kept[child] > score or (kept[child] == score and nodes[child] < i):
                        break
                    kept[at], nodes[at] = kept[child], nodes[child]
                    at = child
                kept[at], nodes[at] = score, i
    there = kept > 0
    return nodes[there], kept[there]
