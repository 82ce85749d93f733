"""The compiled kernel; imported only above the size where it pays (``fast`` extra).

Documents are taken in blocks that stay in a processor's own cache while every word of the query
adds its scores and the best are picked. A document's sum has the same order as in ``kernel``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_BLOCK = 2**17  # documents: half a megabyte of scores
_LOOK = 64  # scores that one vectorised look can rule out


@njit(cache=True, nogil=True)
def fill(data: Any, indices: Any, indptr: Any, token_ids: Any, out: Any) -> None:
    """Sets ``out`` to the sums of the words' postings; same sums as the numpy kernel."""
    at, ends = indptr[token_ids], indptr[token_ids + 1]
    for first in range(0, out.shape[0], _BLOCK):
        _fill_block(data, indices, at, ends, out, first)


@njit(cache=True, nogil=True)
def fill_best(data: Any, indices: Any, indptr: Any, token_ids: Any, out: Any, k: int) -> Any:
    """``fill`` and ``best`` in one pass."""
    at, ends = indptr[token_ids], indptr[token_ids + 1]
    kept, nodes = _heap(out, k)
    for first in range(0, out.shape[0], _BLOCK):
        last = _fill_block(data, indices, at, ends, out, first)
        _offer(out, first, last, kept, nodes)
    return _there(kept, nodes)


@njit(cache=True, nogil=True)
def best(scores: Any, k: int) -> Any:
    """(nodes, scores) of the ``k`` best above 0, ties to the smaller node, in no order. k > 0."""
    kept, nodes = _heap(scores, k)
    _offer(scores, 0, scores.shape[0], kept, nodes)
    return _there(kept, nodes)


@njit(cache=True, nogil=True)
def _fill_block(data: Any, indices: Any, at: Any, ends: Any, out: Any, first: int) -> Any:
    """Scores of the documents from ``first`` on; moves ``at`` to the first posting after them."""
    last = min(first + _BLOCK, out.shape[0])
    out[first:last] = 0
    for t in range(at.shape[0]):
        start, low, high = at[t], at[t], min(ends[t], at[t] + _BLOCK)
        while low < high:  # documents ascend and differ
            middle = (low + high) // 2
            if indices[middle] < last:
                low = middle + 1
            else:
                high = middle
        for p in range(start, low):
            # Unsigned: no look whether a number counts from the end. It halves the time.
            out[np.uint32(indices[np.uint64(p)])] += data[np.uint64(p)]
        at[t] = low
    return last


@njit(cache=True, nogil=True)
def _heap(scores: Any, k: int) -> Any:
    """Room for k hits with the worst on top."""
    return np.zeros(k, dtype=np.float32), np.full(k, scores.shape[0], dtype=np.int64)


@njit(cache=True, nogil=True)
def _there(kept: Any, nodes: Any) -> Any:
    there = kept > 0
    return nodes[there], kept[there]


@njit(cache=True, nogil=True)
def _offer(scores: Any, first: int, last: int, kept: Any, nodes: Any) -> None:
    """Nodes come in ascending order, so that of equal scores a later one never enters, and the
    largest node is the first to leave.
    """
    whole = first + (last - first) // _LOOK * _LOOK
    for start in range(first, whole, _LOOK):
        least, found = kept[0], np.int32(0)
        for i in range(_LOOK):  # a fixed number, and no bool: else it is not vectorised
            found |= np.int32(scores[np.uint64(start + i)] > least)
        if found:
            _offer_each(scores, start, start + _LOOK, kept, nodes)
    _offer_each(scores, whole, last, kept, nodes)


@njit(cache=True, nogil=True)
def _offer_each(scores: Any, first: int, last: int, kept: Any, nodes: Any) -> None:
    for i in range(first, last):
        if scores[i] > kept[0]:
            _replace(kept, nodes, scores[i], i)


@njit(cache=True, nogil=True)
def _replace(kept: Any, nodes: Any, score: Any, node: int) -> None:
    """Puts a hit in the place of the worst."""
    k, at = kept.shape[0], 0
    while 2 * at + 1 < k:
        child = 2 * at + 1
        other = child + 1
        if other < k and (
            kept[other] < kept[child]
            or (kept[other] == kept[child] and nodes[other] > nodes[child])
        ):
            child = other
        if kept[child] > score or (kept[child] == score and nodes[child] < node):
            break
        kept[at], nodes[at] = kept[child], nodes[child]
        at = child
    kept[at], nodes[at] = score, node
