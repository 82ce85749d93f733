"""Vectors of documents on disk: whole numbers on a grid, so that every sum of products is exact.

A component is stored as int16, in steps of 1/32767; a query's is a whole number of steps of
2**-30. Products of vectors of length 1 then stay below 2**53, and their sums in double precision
are exact in any order: a score is the same to the bit whether one node is scored or all, on any
number of threads. The grid moves a cosine by about 5e-6 (standard deviation, 384 dimensions).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
import time
import tokenize
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph import staging
from ark.protocols import Ints
from ark.search.encoder import Encoder

SHARD = 512  # documents that are encoded, and written, at a time
BLOCK = 512  # documents that are scored at a time: their doubles fit into a core's cache
FILE, FACTS = "vectors.npy", "vectors.json"
_STEPS, _QUERY_STEPS = 32767, 2**30
_EVERY = 10.0  # seconds between two lines of progress
_HASHED = 64 * 2**20  # bytes of a file that opening reads whole: about 0.2 s

Grid = NDArray[np.int16]
Query = NDArray[np.float64]
Texts = Callable[[int], str]


class Vectors:
    """int16[documents, dimensions], memory-mapped."""

    def __init__(self, grid: Grid, mark: str = "") -> None:
        self.grid, self.mark = grid, mark
        """``mark`` tells these vectors from others: the sha256 of their file, where it is known."""

    def __len__(self) -> int:
        return len(self.grid)

    @classmethod
    def open(cls, folder: Path, documents: int) -> Vectors:
        """Maps what ``build`` wrote. Raises UserError where it cannot be what it should be."""
        try:
            grid = _mapped(folder / FILE)
            if len(grid) != documents:
                raise ValueError(f"{len(grid)} vectors for {documents} documents")
            mark = _agree(folder, grid)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"the vectors in {folder} cannot be read ({reason}); delete that folder, they are "
                "made again"
            ) from error
        return cls(grid, mark)

    def fit(self, query: Query) -> None:
        """Raises UserError where a query has another length than the vectors."""
        if len(query) != self.grid.shape[1]:
            raise UserError(
                f"the encoder makes {len(query)} numbers now, its stored vectors have "
                f"{self.grid.shape[1]}: name another model, or delete the folder of the old ones"
            )

    def scores(self, query: Query, rows: Ints | None = None) -> NDArray[np.float32]:
        """Cosine with every document, or with those of ``rows``, in order; float32."""
        count = len(self.grid) if rows is None else len(rows)
        self.fit(query)
        sums = np.empty(count)
        block = np.empty((min(BLOCK, count), len(query)))
        for start in range(0, count, BLOCK):
            end = min(start + BLOCK, count)
            part = block[: end - start]
            part[...] = self.grid[start:end] if rows is None else self.grid[rows[start:end]]
            np.dot(part, query, out=sums[start:end])
        sums /= _STEPS * _QUERY_STEPS
        np.minimum(sums, 1.0, out=sums)
        return sums.astype(np.float32)


def _mapped(file: Path) -> Grid:
    """The vectors of a file, read-only. Raises OSError, or ValueError for any other content.

    Not ``numpy.load``, which takes what is no such file for a pickle or an archive.
    """
    try:
        found: Any = np.lib.format.open_memmap(file, mode="r").view(np.ndarray)
    except (SyntaxError, tokenize.TokenError, TypeError, OverflowError) as error:  # of its header
        raise ValueError(f"{file.name} is damaged: {error}") from error
    if found.dtype != np.int16 or found.ndim != 2 or found.shape[1] == 0:
        raise ValueError(f"{file.name} holds {found.shape} of {found.dtype}")
    grid: Grid = found
    return grid


def _agree(folder: Path, grid: Grid) -> str:
    """The sha256 that is on record, or nothing: folders of before have none.

    Raises OSError or ValueError where the facts beside the vectors say otherwise. A large file is
    not read whole only to open it.
    """
    facts: Any = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    wanted = {"documents": len(grid), "dimensions": grid.shape[1], "steps": _STEPS}
    if not isinstance(facts, dict) or {name: facts.get(name) for name in wanted} != wanted:
        raise ValueError(f"{FACTS} is not about these {grid.shape} numbers")
    file = folder / FILE
    small = file.stat().st_size <= _HASHED
    if small and "sha256" in facts and facts["sha256"] != _sha256(file):
        raise ValueError(f"{FILE} is not what was written: its sha256 is another")
    return str(facts.get("sha256", ""))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_grid(vectors: NDArray[Any]) -> Grid:
    """int16 of the same shape: each vector at length 1, a vector of zeros as it is."""
    grid: Grid = np.rint(_unit(vectors) * _STEPS).astype(np.int16)
    return grid


def to_query(vector: NDArray[Any]) -> Query:
    """float64 of the same shape: whole numbers."""
    query: Query = np.rint(_unit(vector[None])[0] * _QUERY_STEPS)
    return query


def _unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    wide = np.asarray(vectors, dtype=np.float64)
    _finite(wide)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(wide, length, out=np.zeros_like(wide), where=length > 0)
    return unit


def wordless(text: str) -> bool:
    """Whether a text has no letter or digit: it fits nothing."""
    return not any(map(str.isalnum, text))


def encoded(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Shape (texts, dimensions); zeros for a text without a letter or digit."""
    said = [i for i, text in enumerate(texts) if not wordless(text)]
    asked = [texts[i] for i in said] or ["nothing"]
    found = _numbers(encoder.encode(asked), len(asked))
    out = np.zeros((len(texts), found.shape[1]), dtype=np.float32)
    if said:
        out[said] = found
    return out


def _numbers(found: Any, count: int) -> NDArray[np.float32]:
    """What an encoder returned, which may be a class of the user's: float32, finite."""
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        kind = f"an array of {found.dtype}" if isinstance(found, np.ndarray) else type(found)
        raise UserError(
            f"the encoder returned {kind}: its encode must return a numpy array of numbers, shape "
            "(texts, dimensions)"
        )
    if found.ndim != 2 or len(found) != count or found.shape[1] == 0:
        raise UserError(
            f"the encoder returned numbers of shape {found.shape} for {count} texts: its encode "
            "must return shape (texts, dimensions); mend it or choose another model"
        )
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        narrow: NDArray[np.float32] = found.astype(np.float32)
    _finite(narrow)
    return narrow


def _finite(numbers: NDArray[Any]) -> None:
    if not np.isfinite(numbers).all():
        raise UserError("the encoder returned numbers that are not finite; choose another model")


def same_length(*lengths: int) -> None:
    """Raises UserError where an encoder's vectors are of more than one length."""
    if len(set(lengths)) > 1:
        raise UserError(
            f"the encoder makes vectors of {' and of '.join(map(str, sorted(set(lengths))))} "
            "numbers: it must make one length for all texts; mend it or choose another model, "
            "then run again"
        )


def build(text_of: Texts, documents: int, encoder: Encoder, folder: Path) -> None:
    """Writes the vectors of documents 0 to ``documents`` - 1 as ``folder``, whole or not at all.

    Shards that are done stay in a folder beside it, and a build that was broken off goes on from
    there. Processes that build the same take the shards in an order of their own each, so they
    share the work; where another one finished first, its folder stays. Where shards are there,
    the encoder is asked for one text first: only shards of its length are kept. Raises UserError
    where its vectors are not all of one length.
    """
    staging.sweep(folder.parent)
    parts = folder.with_name(f"{folder.name}.parts")
    _make(parts)
    todo = list(range(0, documents, SHARD))
    random.Random(uuid.uuid4().int).shuffle(todo)
    width = encoded(encoder, [text_of(0)]).shape[1] if any(parts.glob("*.npy")) else None
    progress = _Progress(documents)
    for start in todo:
        if folder.is_dir():
            shutil.rmtree(parts, ignore_errors=True)  # this process may have made it anew
            return
        file, size = parts / f"{start}.npy", min(SHARD, documents - start)
        if not _whole(file, size, width):
            grid = to_grid(encoded(encoder, [text_of(i) for i in range(start, start + size)]))
            width = width or grid.shape[1]
            same_length(width, grid.shape[1])
            _write(file, grid, folder)
            progress.made += size
        progress.done += size
        progress.show()
    _join(parts, documents, folder)
    shutil.rmtree(parts, ignore_errors=True)


def _make(parts: Path) -> None:
    try:
        parts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(parts.parent, error) from error


def _whole(file: Path, size: int, width: int | None) -> bool:
    """Whether a shard is there; one that is damaged, or of another length, is made again."""
    try:
        found = _mapped(file)
    except (OSError, ValueError):
        return False
    return len(found) == size and width in (None, found.shape[1])


def _write(file: Path, grid: Grid, folder: Path) -> None:
    new = file.with_name(f".{file.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        with new.open("wb") as out:
            np.save(out, grid, allow_pickle=False)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except OSError as error:
        if not folder.is_dir():  # else another process has finished, and taken the shards away
            new.unlink(missing_ok=True)
            raise _cannot_write(folder.parent, error) from error


def _join(parts: Path, documents: int, folder: Path) -> None:
    """One file of all shards, a shard in memory at a time.

    Written, not mapped: a full disk is an error then, and not the end of the process.
    """
    with staging.folder(folder) as new:
        try:
            shape = (documents, _mapped(parts / "0.npy").shape[1])
            form = {"descr": "<i2", "fortran_order": False, "shape": shape}
            with (new / FILE).open("wb") as out:
                np.lib.format.write_array_header_1_0(out, form)
                for start in range(0, documents, SHARD):
                    shard = _mapped(parts / f"{start}.npy")
                    same_length(shape[1], shard.shape[1])  # another process may have made it
                    out.write(shard.astype("<i2", copy=False).tobytes())
            facts = {
                "documents": documents,
                "dimensions": shape[1],
                "steps": _STEPS,
                "sha256": _sha256(new / FILE),
            }
            (new / FACTS).write_text(json.dumps(facts), encoding="utf-8")
        except OSError as error:
            if not folder.is_dir():  # else another process was first, and took the shards away
                raise _cannot_write(folder.parent, error) from error


def _cannot_write(folder: Path, error: OSError) -> UserError:
    return UserError(
        f"cannot write to {folder} ({error.strerror or error}): make room there, or set ARK_DATA "
        "to another folder; what is done is kept"
    )


class _Progress:
    """A line on standard error every few seconds, none for what takes less."""

    def __init__(self, documents: int) -> None:
        self.documents, self.done, self.made = documents, 0, 0
        self._began = self._said = time.monotonic()

    def show(self) -> None:
        now = time.monotonic()
        if now - self._said < _EVERY or not self.made:
            return
        self._said, speed = now, self.made / (now - self._began)
        left = (self.documents - self.done) / speed / 60
        sys.stderr.write(
            f"encoding texts: {self.done:,} of {self.documents:,}, {speed:.0f} a second, "
            f"about {left:.0f} min left\n"
        )
        sys.stderr.flush()
