"""Words and their numbers, memory-mapped: opening reads no word, looking one up a few pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.protocols import Ints

_PARTS = {"hashes": np.uint64, "numbers": np.int32, "starts": np.int64, "letters": np.uint8}


def digest(word: bytes) -> int:
    """64 bits of a word, the same in every process."""
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def mapped(file: Path) -> NDArray[np.generic]:
    """The array of a ``.npy`` file, read-only. Raises OSError or ValueError.

    A plain view: slices of ``numpy.memmap`` itself cost a microsecond more each.
    """
    try:
        array: NDArray[np.generic] = np.load(file, mmap_mode="r", allow_pickle=False)
    except EOFError as error:  # an empty file
        raise ValueError(f"{file.name} is damaged: {error}") from error
    return array.view(np.ndarray)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """n words, numbered from 0. ``hashes`` uint64[n] ascending and ``numbers`` int32[n] beside it;
    word i is ``letters[starts[i]:starts[i + 1]]`` in UTF-8.
    """

    hashes: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    starts: NDArray[np.int64]
    letters: NDArray[np.uint8]

    @classmethod
    def open(cls, folder: Path) -> Vocabulary:
        """Maps what ``write`` wrote. Raises OSError, or ValueError where files do not agree."""
        found = {name: mapped(folder / f"words.{name}.npy") for name in _PARTS}
        for name, dtype in _PARTS.items():
            if found[name].dtype != dtype or found[name].ndim != 1:
                raise ValueError(f"words.{name}.npy is not a list of {np.dtype(dtype)}")
        out = cls(**found)  # type: ignore[arg-type]
        whole = len(out.numbers) == len(out.hashes) == len(out.starts) - 1
        if not whole or out.starts[-1] != len(out.letters):
            raise ValueError("the files of its words do not belong together")
        return out

    def __len__(self) -> int:
        return len(self.hashes)

    def __iter__(self) -> Iterator[str]:
        """The words in order of their numbers."""
        letters, starts = self.letters.tobytes(), self.starts.tolist()
        for start, end in pairwise(starts):
            yield letters[start:end].decode("utf-8", "surrogatepass")

    def find(self, words: Iterable[str]) -> Ints:
        """The numbers of those words that are in it, int64, in order and with repeats."""
        # surrogatepass, as where a broken file is indexed: a word may hold half a character.
        wanted = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = np.array([digest(word) for word in wanted], dtype=np.uint64)
        places = np.searchsorted(self.hashes, hashes).tolist()
        found = map(self._number, wanted, hashes, places)
        return np.array([number for number in found if number is not None], dtype=np.int64)

    def _number(self, word: bytes, hashed: np.uint64, at: int) -> int | None:
        """The word itself decides: two words may have one hash, a foreign word that of a known."""
        while at < len(self.hashes) and self.hashes[at] == hashed:
            number = int(self.numbers[at])
            if self.letters[self.starts[number] : self.starts[number + 1]].tobytes() == word:
                return number
            at += 1
        return None


def write(words: Iterable[str], folder: Path) -> None:
    """Stores distinct words, numbered in their order."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    hashes = np.fromiter(map(digest, encoded), dtype=np.uint64, count=len(encoded))
    order = np.argsort(hashes, kind="stable")
    parts: dict[str, NDArray[Any]] = {
        "hashes": hashes[order],
        "numbers": order.astype(np.int32),
        "starts": starts,
        "letters": np.frombuffer(b"".join(encoded), dtype=np.uint8),
    }
    for name, array in parts.items():
        np.save(folder / f"words.{name}.npy", array, allow_pickle=False)
