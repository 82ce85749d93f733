"""An index on disk, opened without reading it and without bm25s, whose import takes longer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.search.vocabulary import Vocabulary, mapped

STORAGE_VERSION = 2  # of the files, not of the scores: part of a folder's name, of no identity
FACTS = "index.json"
LAST = "last.npy"  # for each document the last one that equals it
POSTINGS = {name: f"postings.{name}.npy" for name in ("data", "indices", "indptr")}


@dataclass(frozen=True, eq=False)
class StoredIndex:
    """Postings by number of the word, memory-mapped: scores ``data`` and documents ``indices``,
    ascending, from ``indptr[word]`` to ``indptr[word + 1]``.
    """

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    documents: int
    vocabulary: Vocabulary

    @classmethod
    def open(cls, folder: Path) -> StoredIndex:
        """Maps a built index. Raises OSError, ValueError, LookupError, TypeError."""
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        arrays: dict[str, Any] = {name: mapped(folder / file) for name, file in POSTINGS.items()}
        out = cls(**arrays, documents=int(facts["documents"]), vocabulary=Vocabulary.open(folder))
        whole = len(out.data) == len(out.indices) == out.indptr[-1]
        if not whole or len(out.indptr) != len(out.vocabulary) + 1:
            raise ValueError("the files of its postings do not belong together")
        return out
