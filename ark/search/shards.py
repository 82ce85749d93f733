"""Counting words of documents in shards that are spilled to disk, so that memory stays bounded."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.protocols import Ints
from ark.search.vocabulary import mapped

TOKENS_A_SHARD = 2**23  # some 300 MB while they are sorted
_PARTS = ("starts", "documents", "pairs", "lengths", "counts")


class Words(dict[str, int]):
    """Numbers words from 0 in the order in which they are first asked for."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


@dataclass(frozen=True, eq=False)
class Shard:
    """Postings of some documents, by word and then document: word w has those from ``starts[w]``
    to ``starts[w + 1]``, later words none. ``pairs`` numbers what a score depends on besides the
    word: ``lengths[pair]`` of the document and ``counts[pair]`` of the word in it; lengths ascend.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    pairs: NDArray[np.int32]
    lengths: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def open(cls, folder: Path) -> Shard:
        """Maps what ``save`` wrote."""
        parts: dict[str, Any] = {name: mapped(folder / f"{name}.npy") for name in _PARTS}
        return cls(**parts)

    def save(self, folder: Path) -> None:
        """One file a part."""
        folder.mkdir()
        for name in _PARTS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)

    def between(self, first: int, last: int) -> Ints:
        """``starts`` of the words ``first`` to ``last``, both included."""
        known = len(self.starts) - 1
        return self.starts[np.minimum(np.arange(first, last + 1), known)]


class Spill:
    """Takes documents one at a time; ``shards`` are those that lie under ``folder``."""

    def __init__(self, folder: Path, tokens_a_shard: int | None = None) -> None:
        self.words = Words()
        self.documents = 0
        self.tokens = 0
        self.shards: list[Shard] = []
        self._folder = folder
        self._limit = TOKENS_A_SHARD if tokens_a_shard is None else tokens_a_shard
        self._tokens, self._lengths = array("i"), array("i")

    def add(self, words: Iterable[str]) -> None:
        """The words of the next document."""
        before = len(self._tokens)
        self._tokens.extend(map(self.words.__getitem__, words))
        self._lengths.append(len(self._tokens) - before)
        if max(len(self._tokens), len(self._lengths)) >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Spills what has come since the last time."""
        if self._tokens:
            shard = counted(
                np.frombuffer(self._tokens, dtype=np.int32),
                np.frombuffer(self._lengths, dtype=np.int32),
                self.documents,
                len(self.words),
            )
            folder = self._folder / str(len(self.shards))
            shard.save(folder)
            self.shards.append(Shard.open(folder))
        self.documents += len(self._lengths)
        self.tokens += len(self._tokens)
        self._tokens, self._lengths = array("i"), array("i")


def counted(tokens: NDArray[np.int32], lengths: NDArray[np.int32], first: int, words: int) -> Shard:
    """The postings of documents ``first`` and on, whose ``tokens`` follow one another."""
    documents = np.repeat(np.arange(first, first + len(lengths), dtype=np.int64), lengths)
    keys = tokens.astype(np.int64) << 32 | documents
    del documents
    keys.sort()
    at = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(at, append=len(keys))
    keys = keys[at]
    found = (keys & 0xFFFFFFFF).astype(np.int32)
    starts = np.zeros(words + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys >> 32, minlength=words), out=starts[1:])
    # m tokens have at most sqrt(2 m) different counts, and lengths: the table of both is small.
    every_length, length = _ranked(lengths)
    every_count, count = _ranked(counts)
    every_pair, pair = _ranked(length[found - first] * len(every_count) + count)
    length_of, count_of = np.divmod(every_pair, len(every_count))
    return Shard(
        starts, found, pair.astype(np.int32), every_length[length_of], every_count[count_of]
    )


def _ranked(values: NDArray[Any]) -> tuple[Ints, Ints]:
    """(the distinct values in order, the place there of each); none negative or large."""
    there = np.bincount(values) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[values]
