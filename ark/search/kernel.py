"""Score accumulation for large indexes, compiled once and cached on disk.

``np.add.at`` pays per posting; a compiled loop is several times faster on the long posting lists
of a million documents. bm25s has kernels of its own, but they compile in every process.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.records import Hit
from ark.search.topk import top_k

Scores = NDArray[np.float32]
Kernel = Callable[
    [NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.int64], Scores],
    None,
]
Best = Callable[[Scores, int], list[Hit]]
_FEW = 1_000  # hits; more are sorted


def numba_available() -> bool:
    """Whether the ``fast`` extra is installed."""
    return importlib.util.find_spec("numba") is not None


def accumulate_numpy(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    token_ids: NDArray[np.int64],
    out: Scores,
) -> None:
    """Add each query token's postings to ``out`` (one slot per document), in query order."""
    for token in token_ids:
        start, end = indptr[token], indptr[token + 1]
        # Within one token each document occurs once, so plain fancy addition loses nothing.
        out[indices[start:end]] += data[start:end]


def compiled() -> Kernel:
    """The same as ``accumulate_numpy``, compiled by numba with an on-disk cache."""
    from ark.search.kernel_numba import accumulate

    return accumulate


def best_numpy(scores: Scores, k: int) -> list[Hit]:
    """The ``k`` best scores above 0 with their nodes, by the ranking rule."""
    matching = np.flatnonzero(scores > 0)
    return top_k(matching.astype(np.int64), scores[matching], k)


def compiled_best() -> Best:
    """The same in one pass, which spares sorting a million matches."""
    from ark.search.kernel_numba import best

    def compiled(scores: Scores, k: int) -> list[Hit]:
        if not 0 < k <= _FEW:
            return best_numpy(scores, k)
        nodes, found = best(scores, k)
        return top_k(nodes, found, k)

    return compiled
