"""An index as bm25s saved it, opened without bm25s, whose import takes longer than that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class StoredIndex:
    """Postings by token number, memory-mapped: ``data`` and ``indices`` (documents, ascending)
    from ``indptr[token]`` to ``indptr[token + 1]``.
    """

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    documents: int
    vocabulary: dict[str, int]

    @classmethod
    def open(cls, folder: Path) -> StoredIndex:
        """Reads what ``bm25s.BM25.save`` wrote. Raises OSError, ValueError or KeyError."""
        params = json.loads((folder / "params.index.json").read_text(encoding="utf-8"))
        vocabulary = json.loads((folder / "vocab.index.json").read_text(encoding="utf-8"))
        # Plain views: slices of numpy.memmap itself cost a microsecond more each.
        data, indices, indptr = (
            np.load(folder / f"{name}.csc.index.npy", mmap_mode="r").view(np.ndarray)
            for name in ("data", "indices", "indptr")
        )
        return cls(data, indices, indptr, int(params["num_docs"]), vocabulary)
