"""Columns of a user's CSV or Parquet file as Arrow strings, with one clear error each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ark.errors import UserError
from ark.graph import layout
from ark.records import Attr

_BLOCK = 64 << 20  # bytes; a CSV row must fit in it
_T = TypeVar("_T")


@dataclass(frozen=True)
class Columns:
    """A table and the file it came from."""

    file: Path
    table: pa.Table

    @classmethod
    def read(cls, file: Path, wanted: tuple[str, ...]) -> Columns:
        """Reads a file that must have the columns ``wanted`` and at least a header."""
        try:
            table = _csv(file) if file.suffix == ".csv" else _parquet(file)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200]
            kind = "CSV file in UTF-8" if file.suffix == ".csv" else "Parquet file"
            raise UserError(f"{file} is not a readable {kind} ({reason}): mend it") from error
        found = table.column_names
        lost = [name for name in wanted if name not in found]
        if lost:
            raise UserError(
                f"{file} lacks the columns {', '.join(lost)}; it has "
                f"{', '.join(found) or 'none'}: add or rename them"
            )
        twice = sorted({name for name in found if found.count(name) > 1})
        if twice:
            raise UserError(f"{file} has the column {twice[0]} more than once: keep one")
        return cls(file, table)

    def text(self, name: str) -> pa.Array:
        """The column as large_string, nulls as empty strings."""
        return pc.fill_null(self._strings(name), "")

    def required(self, name: str) -> pa.Array:
        """The column as large_string, without nulls and empty cells."""
        column = self.text(name)
        if len(column) == 0 and name == "id":
            raise UserError(f"{self.file} has no rows: a graph has at least one node")
        empty = pc.equal(column, "")
        count = pc.sum(empty).as_py() or 0
        if count:
            row = int(np.flatnonzero(empty.to_numpy(zero_copy_only=False))[0]) + 1
            raise UserError(
                f"{self.file}: {count} rows have an empty {name}, first row {row}: fill them in"
            )
        return column

    def attrs(self, name: str) -> pa.MapArray | None:
        """The column of JSON objects as a column of attributes, or None if there is none."""
        if name not in self.table.column_names:
            return None
        return layout.encode_attrs(self._parsed(name, "object", _attrs, {}))

    def aliases(self, name: str) -> list[list[str]] | None:
        """The column of lists of strings, or of their JSON texts, or None if there is none."""
        if name not in self.table.column_names:
            return None
        column = self.table.column(name)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            try:
                return [_aliases(cell or []) for cell in column.to_pylist()]
            except (TypeError, ValueError) as error:
                raise UserError(
                    f"{self.file}: {name} must be lists of texts ({error}): mend it"
                ) from None
        return self._parsed(name, "list of strings", _aliases, [])

    def _strings(self, name: str) -> pa.Array:
        column = self.table.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_floating(kind) and name not in ("name", "text"):
            raise UserError(
                f"{self.file}: column {name} holds floating-point numbers ({kind}), and 7.0 is "
                "not 7: store it as integers or strings"
            )
        if pa.types.is_nested(kind):
            raise UserError(f"{self.file}: column {name} holds {kind}: store it as strings")
        try:
            strings = column.cast(pa.large_string())
            strings.validate(full=True)
        except pa.ArrowException as error:
            raise UserError(
                f"{self.file}: column {name} ({kind}) is not text in UTF-8 ({error}): mend it"
            ) from error
        return pa.chunked_array(strings.chunks, pa.large_string()).combine_chunks()

    def _parsed(self, name: str, kind: str, check: Callable[[Any], _T], empty: _T) -> list[_T]:
        out = []
        for row, cell in enumerate(self.text(name).to_pylist(), start=1):
            if not cell.strip():
                out.append(empty)
                continue
            try:
                out.append(check(json.loads(cell, parse_constant=_refuse)))
            except (ValueError, TypeError, RecursionError) as error:
                raise UserError(
                    f"{self.file}: {name} of row {row} is not a JSON {kind} ({error}): mend it"
                ) from error
        return out


def _csv(file: Path) -> pa.Table:
    from pyarrow import csv

    read = csv.ReadOptions(block_size=_BLOCK)
    parse = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(file, read_options=read, parse_options=parse) as reader:
        names = reader.schema.names
    # Typed as strings before conversion: nothing is guessed to be a number, a date or a null.
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string()))
    return csv.read_csv(file, read_options=read, parse_options=parse, convert_options=convert)


def _parquet(file: Path) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as reader:
        return reader.read()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _attrs(value: Any) -> dict[str, Attr]:
    if not isinstance(value, dict):
        raise TypeError(f"found {type(value).__name__}")
    given = {key: part for key, part in value.items() if part is not None}
    for key, part in given.items():
        try:
            (key + layout.encode_attr(part)).encode()
        except TypeError:
            raise TypeError(f"{key!r} is neither a scalar nor a list of scalars") from None
    return given


def _aliases(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise TypeError(f"found {type(value).__name__}")
    for part in value:
        part.encode()
    return value
