"""Content hash: one sha256 over what a graph says, whatever wrote it.

The stream is a list of parts, each ``label NUL count NUL`` and then plain bytes: numbers as
little-endian int64, a text column as the byte length of every cell followed by all UTF-8 bytes, a
list or map column as the number of entries of every cell followed by the columns of the entries.
So it does not depend on the versions of Python and Arrow or on the machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_BLOCK = 1 << 20  # numbers converted at a time: 40 million edges need no second copy


class ContentHash:
    """Collects the parts of a graph in a fixed order."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256(b"ark graph content 1\0")

    def hexdigest(self) -> str:
        """Hash of all that was added."""
        return self._sha.hexdigest()

    def part(self, label: str, count: int) -> None:
        """Head of a part."""
        self._sha.update(f"{label}\0{count}\0".encode())

    def numbers(self, label: str, values: NDArray[np.integer]) -> None:
        """An integer array."""
        self.part(label, len(values))
        for start in range(0, len(values), _BLOCK):
            self._sha.update(values[start : start + _BLOCK].astype("<i8").tobytes())

    def words(self, label: str, values: Iterable[str]) -> None:
        """A few strings, such as the relation names."""
        self.texts(label, pa.array(list(values), pa.string()))

    def texts(self, label: str, column: pa.Array) -> None:
        """A string or large_string column without nulls."""
        self.numbers(label, pc.binary_length(column).to_numpy(zero_copy_only=False))
        if len(column) == 0:
            return
        width = "<i8" if pa.types.is_large_string(column.type) else "<i4"
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, dtype=width)[column.offset : column.offset + len(column) + 1]
        if data is not None:
            self._sha.update(memoryview(data)[int(ends[0]) : int(ends[-1])])

    def lists(self, label: str, column: pa.ListArray) -> None:
        """A list<string> column without nulls."""
        self.numbers(label, pc.list_value_length(column).to_numpy(zero_copy_only=False))
        self.texts(f"{label}.item", column.flatten())

    def maps(self, label: str, column: pa.MapArray) -> None:
        """A map column without nulls whose keys are sorted in each row."""
        ends = column.offsets.to_numpy()
        self.numbers(label, np.diff(ends))
        start, stop = (int(ends[0]), int(ends[-1])) if len(ends) else (0, 0)
        self.texts(f"{label}.key", column.keys.slice(start, stop - start))
        self.texts(f"{label}.value", column.items.slice(start, stop - start))


def content_hash(
    *,
    nodes: pa.RecordBatch,
    relations: Iterable[str],
    edges: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
    edge_attrs: pa.RecordBatch | None,
    same_as: str | None,
    negatives: pa.RecordBatch | None,
    synonyms: pa.RecordBatch | None,
) -> str:
    """Hash of a graph: every node field in row order, relations, edges, and what else it has."""
    out = ContentHash()
    for name in ("id", "type", "name", "text"):
        out.texts(f"node.{name}", nodes.column(name))
    out.lists("node.aliases", nodes.column("aliases"))
    out.maps("node.attrs", nodes.column("attrs"))
    out.words("relations", relations)
    for name, values in zip(("source", "relation", "target"), edges, strict=True):
        out.numbers(f"edge.{name}", values)
    if edge_attrs is not None:
        out.maps("edge.attrs", edge_attrs.column("attrs"))
    out.words("same_as", [same_as] if same_as is not None else [])
    if negatives is not None:
        for name in ("source", "relation", "target"):
            out.texts(f"negative.{name}", negatives.column(name))
    if synonyms is not None:
        for name in ("id", "synonym"):
            out.texts(f"synonym.{name}", synonyms.column(name))
        held = synonyms.column("held_out").to_numpy(zero_copy_only=False).astype(np.int64)
        out.numbers("synonym.held_out", held)
    return out.hexdigest()
