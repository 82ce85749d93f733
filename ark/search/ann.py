"""Approximate nearest neighbours beyond what is scanned in good time: usearch (extra ``ann``).

HNSW (arXiv 1603.09320). It only chooses nodes; their scores come from the exact vectors.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph import staging
from ark.protocols import Ints
from ark.records import Json

PACKAGE = "usearch"
INSTALL = "pip install 'ark-harness[ann]'"
FOUND = 1000  # nodes that one search chooses from
VERSION = 1
_LINKS, _BUILD, _LOOK = 16, 128, 1000  # edges a node; candidates while building, and asking
_FILE = "neighbours.usearch"
_BATCH = 8192


class Neighbours:
    """A stored index over the rows of a grid of vectors, memory-mapped."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes which nodes are found."""
        return {
            "ann": PACKAGE,
            "version": VERSION,
            "links": _LINKS,
            "build": _BUILD,
            "look": _LOOK,
            "found": FOUND,
        }

    @classmethod
    def open_or_build(cls, grid: NDArray[np.int16], vectors: Path, mark: str = "") -> Neighbours:
        """The index of the vectors in the folder ``vectors``, which lies beside it.

        One thread builds it, so that the same vectors give the same index. ``mark`` is of these
        vectors: where they were made anew and are others, the old index is not theirs.
        """
        if importlib.util.find_spec(PACKAGE) is None:
            raise UserError(
                f"{len(grid):,} documents are more than exact_up_to, and approximate "
                f"neighbours need the package {PACKAGE}: {INSTALL}; or set exact_up_to={len(grid)} "
                "beside it to compare the query with every document"
            )
        index = importlib.import_module(f"{PACKAGE}.index").Index(
            ndim=grid.shape[1],
            metric="ip",
            dtype="f16",
            connectivity=_LINKS,
            expansion_add=_BUILD,
            expansion_search=_LOOK,
        )
        own = f"-{mark[:12]}" if mark else ""
        folder = vectors.with_name(f"{vectors.name}-ann{VERSION}{own}")
        if not folder.is_dir():
            sys.stderr.write(f"building an index of neighbours of {len(grid):,} vectors (once)\n")
            with staging.folder(folder) as new:
                for start in range(0, len(grid), _BATCH):
                    part = grid[start : start + _BATCH].astype(np.float32) / 32767
                    keys = np.arange(start, start + len(part), dtype=np.uint64)
                    index.add(keys, part, threads=1)
                index.save(str(new / _FILE))
            index.reset()
        try:
            index.view(str(folder / _FILE))
            if (len(index), index.ndim) != grid.shape:
                raise ValueError(f"{len(index)} x {index.ndim} numbers for {grid.shape}")
        except (OSError, RuntimeError, ValueError) as error:
            raise UserError(
                f"the index in {folder} cannot be read ({' '.join(str(error).split())[:200]}); "
                "delete that folder, it is built again"
            ) from error
        return cls(index)

    def near(self, query: NDArray[np.float64], most: int) -> Ints:
        """At most ``most`` rows near ``query``, ascending."""
        if not query.any():
            return np.empty(0, dtype=np.int64)
        vector = (query / 2.0**30).astype(np.float32)
        found = self._index.search(vector, min(most, len(self._index)), threads=1)
        rows: Ints = np.unique(np.asarray(found.keys, dtype=np.int64))
        return rows
