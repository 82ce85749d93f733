"""The compiled kernel; imported only above the size where it pays (``fast`` extra)."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True, nogil=True)
def accumulate(data: Any, indices: Any, indptr: Any, token_ids: Any, out: Any) -> None:
    """Add each query token's postings to ``out``; same order and sums as the numpy kernel."""
    for t in range(token_ids.shape[0]):
        token = token_ids[t]
        for p in range(indptr[token], indptr[token + 1]):
            out[indices[p]] += data[p]
