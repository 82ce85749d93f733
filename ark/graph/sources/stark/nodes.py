"""Columns of the node table, filled one record at a time, so that no second copy builds up."""

from __future__ import annotations

import math
import mmap
import re
import tempfile
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ark.graph import layout
from ark.records import Attr

_BUFFER = 1 << 20
_CHUNK = 1 << 16  # rows of attributes that are encoded together
_LONGEST = 200  # characters of an attribute; longer ones are text, not values to filter by
_PRICE = re.compile(r"\$(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?")  # one price; "$5 - $9" is none
_MAG = {
    "Year": "year",
    "Date": "date",
    "DocType": "document_type",
    "Level": "level",
    "PaperCount": "paper_count",
    "CitationCount": "citation_count",
}
_NONE = ("", "-1", "nan")  # how the released files write that a value is missing


class TextColumn:
    """A growing column of strings. Its bytes go to a nameless file in ``folder``, not to memory:
    AMAZON's texts have gigabytes, and come while the records still fill the memory.
    """

    def __init__(self, folder: Path) -> None:
        self._data = tempfile.TemporaryFile(dir=folder, buffering=_BUFFER)  # noqa: SIM115
        self._ends = array("q", [0])

    def append(self, text: str) -> None:
        """One more row. Half a surrogate pair, which UTF-8 cannot hold, becomes ``?``."""
        raw = text.encode("utf-8", "replace")
        self._data.write(raw)
        self._ends.append(self._ends[-1] + len(raw))

    def finish(self) -> pa.Array:
        """All rows as large_string, mapped from the file; the column takes no more."""
        data: Any = b""
        with self._data:  # the map keeps the file
            self._data.flush()
            if self._ends[-1]:
                data = mmap.mmap(self._data.fileno(), self._ends[-1], access=mmap.ACCESS_READ)
        buffers = pa.py_buffer(self._ends), pa.py_buffer(data)
        return pa.LargeStringArray.from_buffers(len(self._ends) - 1, *buffers)


class AttrColumn:
    """A growing column of attributes."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self._rows: list[Mapping[str, Attr]] = []

    def append(self, row: Mapping[str, Attr]) -> None:
        """One more row."""
        self._rows.append(row)
        if len(self._rows) == _CHUNK:
            self._encode()

    def finish(self) -> pa.ChunkedArray:
        """All rows as maps of the stored type."""
        self._encode()
        return pa.chunked_array(self._chunks, layout.ATTRS)

    def _encode(self) -> None:
        self._chunks.append(layout.encode_attrs(self._rows))
        self._rows = []


def node_name(label: str, i: int) -> str:
    """The label of a node, or its id where the files have none."""
    return str(i) if label.strip() in _NONE else label


def node_attrs(graph: str, info: Mapping[str, Any]) -> dict[str, Attr]:
    """The few values of a record that a question may compare; a missing value is no attribute.

    PRIME: source. MAG: year, date, document_type, level, paper_count, citation_count. AMAZON:
    price (US dollars), brand.
    """
    if graph == "mag":
        found = {ours: _value(info.get(theirs)) for theirs, ours in _MAG.items()}
    elif graph == "amazon":
        found = {"price": _price(info.get("price")), "brand": _value(info.get("brand"))}
    else:
        found = {"source": _value(info.get("source"))}
    return {name: value for name, value in found.items() if value is not None}


def _value(given: Any) -> Attr | None:
    if isinstance(given, bool) or given is None or str(given).strip() in _NONE:
        return None
    if isinstance(given, float):
        if not math.isfinite(given) or given == -1:
            return None
        # A column with missing values was read as floats: 2012.0 is the year 2012.
        return int(given) if given.is_integer() else given
    if isinstance(given, int):
        return given
    if isinstance(given, str) and len(given) <= _LONGEST:
        return given.encode("utf-8", "replace").decode()
    return None


def _price(given: Any) -> float | None:
    found = _PRICE.fullmatch(given.strip()) if isinstance(given, str) else None
    return float(found.group(1).replace(",", "") + (found.group(2) or "")) if found else None
