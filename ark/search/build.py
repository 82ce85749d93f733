"""Building a stored index: words are counted in shards, then scored and merged by ranges of words.

Memory holds the words, one shard and one range at a time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph import staging
from ark.protocols import Ints
from ark.search import shards, vocabulary
from ark.search.equal import Equal
from ark.search.settings import BM25Settings
from ark.search.shards import Shard, Spill
from ark.search.stored import FACTS, LAST, POSTINGS
from ark.search.tokenizers import tokenizer
from ark.search.weights import Weights

_SPILLED = "shards"


def build(documents: Iterable[str], settings: BM25Settings, folder: Path) -> None:
    """Writes the index of ``documents`` as ``folder``, whole or not at all.

    Where another process finished the same index first, its folder stays.
    """
    staging.sweep(folder.parent)
    with staging.folder(folder) as new:
        spilled = new / _SPILLED
        spilled.mkdir()
        _fill(documents, settings, new, Spill(spilled))
        shutil.rmtree(spilled)


def _fill(documents: Iterable[str], settings: BM25Settings, new: Path, spill: Spill) -> None:
    tokens = tokenizer(settings.tokenizer, settings.stopwords)
    equal = Equal() if settings.duplicates == "last" else None
    for text in documents if equal is None else equal.watch(documents):
        spill.add(tokens(text))
    spill.flush()
    if not spill.words:
        raise UserError(
            "no node of this graph has any text to search: check the name column, and "
            "search.documents and search.types where they are set"
        )
    vocabulary.write(spill.words, new)
    if equal is not None:
        np.save(new / LAST, equal.last(), allow_pickle=False)
    _merge(spill, settings, new)
    facts = {"documents": spill.documents}
    (new / FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _merge(spill: Spill, settings: BM25Settings, new: Path) -> None:
    """The postings of all shards: by word, documents ascending."""
    frequencies = np.zeros(len(spill.words), dtype=np.int64)
    for shard in spill.shards:
        own = np.diff(shard.starts)
        frequencies[: len(own)] += own
    indptr = np.concatenate(([0], np.cumsum(frequencies)))
    np.save(new / POSTINGS["indptr"], indptr, allow_pickle=False)
    weights = Weights(settings, spill.documents, spill.tokens, frequencies)
    parts = [weights.parts(shard) for shard in spill.shards]
    with (new / POSTINGS["data"]).open("wb") as data, (new / POSTINGS["indices"]).open("wb") as to:
        _header(data, np.float32, int(indptr[-1]))
        _header(to, np.int32, int(indptr[-1]))
        for first, last in _ranges(indptr):
            scores, documents = _range(
                spill.shards, parts, weights, indptr[first : last + 1], first
            )
            scores.tofile(data)
            documents.tofile(to)


def _ranges(indptr: Ints) -> Iterator[tuple[int, int]]:
    """Words in runs of at most so many postings as a shard has tokens, or of one word."""
    first = 0
    while first < len(indptr) - 1:
        full = np.searchsorted(indptr, indptr[first] + shards.TOKENS_A_SHARD, side="right")
        last = max(first + 1, int(full) - 1)
        yield first, last
        first = last


def _range(
    spilled: list[Shard], parts: list[NDArray[Any]], weights: Weights, indptr: Ints, first: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """(scores, documents) of the words from ``first`` on that ``indptr`` spans."""
    heads = indptr[:-1] - indptr[0]  # where the next posting of each word goes
    scores = np.empty(indptr[-1] - indptr[0], dtype=np.float32)
    documents = np.empty(len(scores), dtype=np.int32)
    for shard, part in zip(spilled, parts, strict=True):
        starts = shard.between(first, first + len(heads))
        counts, taken = np.diff(starts), slice(starts[0], starts[-1])
        words = np.repeat(np.arange(first, first + len(heads)), counts)
        places = np.repeat(heads - starts[:-1], counts) + np.arange(starts[0], starts[-1])
        documents[places] = shard.documents[taken]
        scores[places] = weights.scores(words, part[shard.pairs[taken]])
        heads += counts
    return scores, documents


def _header(file: IO[bytes], dtype: type[np.generic], count: int) -> None:
    """The start of a ``.npy`` file whose numbers follow, part by part."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    facts = {"descr": descr, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, facts)
