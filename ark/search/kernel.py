"""Adding up scores and picking the best: by numpy, or compiled where there is much to do.

A compiled kernel is several times faster on a million documents, but importing numba and loading
its code takes as long as a dozen questions do without. bm25s has kernels of its own; they compile
in every process.
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from ark.protocols import Ints
from ark.records import Hit
from ark.search.stored import StoredIndex
from ark.search.topk import top_k

Scores = NDArray[np.float32]
COMPILE_ABOVE = 300_000  # documents
PLAIN_FIRST = 12  # questions that numpy answers before: as long as loading the compiled kernel
_FEW = 1_000  # hits; more are sorted


def numba_available() -> bool:
    """Whether the ``fast`` extra is installed."""
    return importlib.util.find_spec("numba") is not None


class Plain:
    """Scores by numpy."""

    def fill(self, index: StoredIndex, words: Ints, out: Scores) -> None:
        """Sets ``out``, a slot a document, to the sums of the words' scores in query order."""
        out[:] = 0
        for word in words:
            start, end = index.indptr[word], index.indptr[word + 1]
            # add.at has a fast path for numbers of this type, with fewer passes than out[i] += x.
            np.add.at(out, index.indices[start:end].astype(np.intp), index.data[start:end])

    def best(self, scores: Scores, k: int) -> list[Hit]:
        """The ``k`` best scores above 0 with their documents, by the ranking rule."""
        matching = np.flatnonzero(scores > 0)
        return top_k(matching.astype(np.int64), scores[matching], k)

    def fill_best(self, index: StoredIndex, words: Ints, out: Scores, k: int) -> list[Hit]:
        """Both."""
        self.fill(index, words, out)
        return self.best(out, k)


class Compiled(Plain):
    """The same floats and hits, by numba. Making one imports it."""

    def __init__(self) -> None:
        from ark.search import kernel_numba

        self._kernel = kernel_numba

    def fill(self, index: StoredIndex, words: Ints, out: Scores) -> None:
        """See ``Plain``."""
        self._kernel.fill(index.data, index.indices, index.indptr, words, out)

    def best(self, scores: Scores, k: int) -> list[Hit]:
        """In one pass, which spares sorting a million matches."""
        if not 0 < k <= _FEW:
            return super().best(scores, k)
        nodes, found = self._kernel.best(scores, k)
        return top_k(nodes, found, k)

    def fill_best(self, index: StoredIndex, words: Ints, out: Scores, k: int) -> list[Hit]:
        """In one pass."""
        if not 0 < k <= _FEW:
            return super().fill_best(index, words, out, k)
        i = index
        nodes, found = self._kernel.fill_best(i.data, i.indices, i.indptr, words, out, k)
        return top_k(nodes, found, k)


class Kernel:
    """Chooses for one index: the compiled one from question ``PLAIN_FIRST`` on, if it pays."""

    def __init__(self, documents: int) -> None:
        self._now: Plain = Plain()
        self._left = PLAIN_FIRST
        self._switches = documents > COMPILE_ABOVE and numba_available()

    def next(self) -> Plain:
        """The kernel for the next question."""
        if self._switches:
            if self._left <= 0:
                self._now, self._switches = Compiled(), False
            self._left -= 1
        return self._now

    @property
    def now(self) -> Plain:
        """The kernel of the last question."""
        return self._now
