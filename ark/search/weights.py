"""Scores of postings by bm25s' own formulae, a shard at a time.

bm25s computes them document by document with a whole index in memory. The numbers are the same to
the bit: its functions are called with arguments of the same types.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.protocols import Ints
from ark.search.settings import BM25Settings
from ark.search.shards import Shard


class Weights:
    """What all documents together decide: ``frequencies`` int64[words] counts documents by word."""

    def __init__(
        self, settings: BM25Settings, documents: int, tokens: int, frequencies: Ints
    ) -> None:
        import bm25s
        from bm25s import scoring

        model = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method)
        # float64, as a mean is there, and no float: the type decides how precise a score is.
        mean = np.float64(tokens) / np.float64(documents)
        shared: dict[str, Any] = {
            "l_avg": mean,
            "k1": model.k1,
            "b": model.b,
            "delta": model.delta,
        }
        formula = scoring._select_tfc_scorer(model.method)
        idf = scoring._select_idf_scorer(model.idf_method)
        known = dict(enumerate(frequencies.tolist()))
        self._part = partial(formula, **shared)
        self._dtype = model.dtype
        self._idf: NDArray[Any] = scoring._build_idf_array(
            known, documents, compute_idf_fn=idf, dtype=model.dtype
        )
        self._absent: NDArray[Any] | None = None
        if model.method in model.methods_requiring_nonoccurrence:
            self._absent = scoring._build_nonoccurrence_array(
                known,
                documents,
                compute_idf_fn=idf,
                calculate_tfc_fn=formula,
                l_d=mean,
                dtype=model.dtype,
                **shared,
            )

    def parts(self, shard: Shard) -> NDArray[Any]:
        """For each pair of the shard the factor that word counts and lengths make."""
        lengths, starts = np.unique(shard.lengths, return_index=True)
        groups = np.split(shard.counts.astype(self._dtype), starts[1:])
        return np.concatenate(
            [
                self._part(tf_array=counts, l_d=length)
                for length, counts in zip(lengths.tolist(), groups, strict=True)
            ]
        )

    def scores(self, words: Ints, parts: NDArray[Any]) -> NDArray[np.float32]:
        """Of postings, from their words and their factors."""
        out = self._idf[words] * parts
        if self._absent is not None:
            out -= self._absent[words]
        scores: NDArray[np.float32] = out.astype(np.float32)
        return scores
