"""Reads the tables of a graph in plain files, ours or those of others. Imported only to build."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph.export import unescaped
from ark.graph.sources.columns import Columns
from ark.graph.sources.stark.nodes import AttrColumn, TextColumn

_BLOCK = 32 << 20  # bytes of a table that are parsed at a time; a row must fit in them
_LINE = 80  # characters of a strange value that an error shows


@dataclass(frozen=True)
class Nodes:
    """Columns of the node table, as ``GraphData`` takes them."""

    ids: pa.Array
    types: Any
    names: Any
    texts: pa.Array
    aliases: Any
    attrs: Any


@dataclass(frozen=True)
class Edges:
    """Columns of the edge table: rows of nodes, positions in ``relations``."""

    source: NDArray[np.integer]
    relation: NDArray[np.integer]
    target: NDArray[np.integer]
    relations: tuple[str, ...]
    attrs: Any


@dataclass(frozen=True)
class Reader:
    """How files are read: names of columns by our names, and whether cells are escaped (ours)."""

    columns: Mapping[str, str]
    ours: bool
    scratch: Path

    def nodes(self, file: Path) -> Nodes:
        """The node table. Raises UserError, with the line of what is wrong."""
        if file.suffix == ".jsonl":
            return self._json_nodes(file)
        (table,) = self._tables(file, ("id", "type"), whole=True)
        empty = pa.array([""] * table.num_rows, pa.large_string())
        for name in ("name", "text"):
            if name not in table.column_names:
                table = table.append_column(name, empty)
        cells = Columns(file, table)
        ids, names = cells.required("id"), cells.text("name")
        return Nodes(
            ids,
            cells.required("type"),
            pc.if_else(pc.equal(names, ""), ids, names),
            cells.text("text"),
            cells.aliases("aliases"),
            cells.attrs("attrs"),
        )

    def _json_nodes(self, file: Path) -> Nodes:
        ids: list[str] = []
        types: list[str] = []
        names: list[str] = []
        aliases: list[Sequence[str]] = []
        try:
            self.scratch.mkdir(parents=True, exist_ok=True)
            texts, attrs = TextColumn(self.scratch), AttrColumn()
        except OSError as error:
            raise UserError(
                f"cannot write to {self.scratch} ({error.strerror}): set ARK_DATA elsewhere"
            ) from error
        known = self._names(("id", "type", "name", "text", "aliases", "attrs"))

        def add(row: Mapping[str, Any]) -> None:
            node_id, node_type = (_word(row, known[name]) for name in ("id", "type"))
            name, text = (row.get(known[key]) for key in ("name", "text"))
            for value in (name, text):
                if value is not None and not isinstance(value, str):
                    raise TypeError(f"name or text is {str(value)[:_LINE]!r}, not a string")
            other = row.get(known["aliases"]) or ()
            if not isinstance(other, list | tuple) or not all(isinstance(a, str) for a in other):
                raise TypeError("aliases are no list of strings")
            given = row.get(known["attrs"]) or {}
            if not isinstance(given, dict):
                raise TypeError("attrs are no object")
            kept = {key: value for key, value in given.items() if value is not None}
            for part in (node_id, node_type, name or "", text or "", *other):
                part.encode()  # half a surrogate pair is no text
            _check_attrs(kept)
            ids.append(node_id)
            types.append(node_type)
            names.append(name or node_id)
            aliases.append(other)
            texts.append(text or "")
            attrs.append(kept)

        try:
            _each_line(file, add)
        except UserError:
            texts.finish()  # closes its file
            raise
        if not ids:
            texts.finish()
            raise UserError(f"{file} has no line: a graph has at least one node")
        return Nodes(
            pa.array(ids, pa.large_string()), types, names, texts.finish(), aliases, attrs.finish()
        )

    def edges(self, file: Path, ids: pa.Array, relations: Sequence[str] | None) -> Edges:
        """The edge table, block by block. ``relations``: all names in order, None if not known."""
        number = {name: i for i, name in enumerate(relations or ())}
        parts: list[tuple[NDArray[np.integer], ...]] = []
        attrs: list[pa.Array] = []
        first = 1 if file.suffix == ".jsonl" else 2  # the line of the first row
        for table in self._tables(file, ("source", "relation", "target")):
            cells = Columns(file, table)
            columns = {
                name: self._plain(cells.text(name)) for name in ("source", "relation", "target")
            }
            ends = [_rows(file, first, ids, name, columns[name]) for name in ("source", "target")]
            relation = columns["relation"].dictionary_encode()
            for name in relation.dictionary.to_pylist():
                if name not in number and (relations is not None or not name):
                    at = first + columns["relation"].index(name).as_py()
                    raise UserError(
                        f"{file}, line {at}: unknown relation {name[:_LINE]!r}: mend the line, "
                        "or add the relation to schema.json"
                    )
                number.setdefault(name, len(number))
            local = np.array([number[n] for n in relation.dictionary.to_pylist()], np.int32)
            parts.append((ends[0], local[relation.indices.to_numpy()], ends[1]))
            if "attrs" in table.column_names:
                plain = self._plain(cells.text("attrs"))
                found = Columns(file, pa.table({"attrs": plain})).attrs("attrs")
                attrs.append(found)
            first += table.num_rows
        none = [np.array([], np.int32)]
        source, relation_, target = (
            np.concatenate([part[i] for part in parts] or none) for i in range(3)
        )
        names = tuple(number)
        if relations is None:
            names = tuple(sorted(number))
            place = np.array([names.index(name) for name in number], np.int32)
            relation_ = place[relation_] if len(place) else relation_
        return Edges(source, relation_, target, names, pa.chunked_array(attrs) if attrs else None)

    def cells(self, file: Path, wanted: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The rows of a small table of ours."""
        out: list[tuple[str, ...]] = []
        for table in self._tables(file, wanted):
            cells = Columns(file, table)
            out += zip(*(self._plain(cells.text(n)).to_pylist() for n in wanted), strict=True)
        return out

    def _names(self, ours: Sequence[str]) -> dict[str, str]:
        return {name: self.columns.get(name, name) for name in ours}

    def _plain(self, column: pa.Array) -> pa.Array:
        if not self.ours or not pc.any(pc.match_substring(column, "\\")).as_py():
            return column
        return pa.array([unescaped(cell) for cell in column.to_pylist()], pa.large_string())

    def _tables(
        self, file: Path, wanted: tuple[str, ...], *, whole: bool = False
    ) -> Iterator[pa.Table]:
        """Pieces of a table with our names for its columns; at least one piece if ``whole``."""
        optional = ("attrs",) if "source" in wanted else ("name", "text", "aliases", "attrs")
        names = self._names((*wanted, *optional))
        if "source" in wanted:
            names["attrs"] = self.columns.get("edge_attrs", "attrs")
        try:
            pieces = self._pieces(file, list(names.values()))
            for table in [_whole(pieces)] if whole else pieces:
                found = table.column_names
                lost = [names[name] for name in wanted if names[name] not in found]
                if lost:
                    raise UserError(
                        f"{file} lacks {', '.join(lost)}; it has {', '.join(found)[:200]}: name "
                        "its columns as graph.columns={id: THEIRS, ...}"
                    )
                kept = {ours: table.column(t) for ours, t in names.items() if t in found}
                yield pa.table(kept)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200]
            line = _ragged(file) if self.ours else None
            where = f", line {line}" if line else ""
            raise UserError(f"{file}{where} is not readable ({reason}): mend it") from error

    def _pieces(self, file: Path, names: list[str]) -> Iterator[pa.Table]:
        if file.suffix == ".parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(file) as reader:
                yield reader.read()
        elif file.suffix == ".jsonl":
            rows: list[dict[str, Any]] = []
            _each_line(file, lambda row: rows.append({n: _cell(row, n) for n in names}))
            found = [n for n in names if any(row[n] is not None for row in rows)]
            yield pa.table({n: pa.array([r[n] for r in rows], pa.large_string()) for n in found})
        else:
            yield from self._lines(file)

    def _lines(self, file: Path) -> Iterator[pa.Table]:
        from pyarrow import csv

        quote = False if self.ours else '"'
        parse = csv.ParseOptions(
            delimiter="\t" if file.suffix == ".tsv" else ",",
            quote_char=quote,
            double_quote=not self.ours,
            newlines_in_values=not self.ours,
        )
        # Looked at once for its header: typed as strings, nothing is guessed to be a number.
        with csv.open_csv(file, parse_options=parse) as reader:
            names = reader.schema.names
        convert = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string()))
        read = csv.ReadOptions(block_size=_BLOCK, use_threads=False)  # errors then have a row
        with csv.open_csv(
            file, read_options=read, parse_options=parse, convert_options=convert
        ) as reader:
            empty = True
            for batch in reader:
                empty = False
                yield pa.Table.from_batches([batch])
            if empty:
                yield reader.schema.empty_table()


def _ragged(file: Path) -> int | None:
    """The first line whose number of cells is not that of the first line."""
    with file.open("rb") as lines:
        tabs = next(lines, b"").count(b"\t")
        return next((n for n, x in enumerate(lines, 2) if x.count(b"\t") != tabs), None)


def _whole(pieces: Iterator[pa.Table]) -> pa.Table:
    return pa.concat_tables(list(pieces)).combine_chunks()


def _each_line(file: Path, take: Callable[[Mapping[str, Any]], None]) -> None:
    """Gives every line of a JSON Lines file, an object each, to ``take``."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise TypeError("no JSON object")
                    take(row)
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    reason = " ".join(str(error).split())[:120]
                    raise UserError(f"{file}, line {number}: {reason}: mend that line") from error
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): mend it") from error


def _word(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise TypeError(f"{name} is {str(value)[:_LINE]!r}, not a string or a whole number")
    return str(value)


def _cell(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _check_attrs(given: Mapping[str, Any]) -> None:
    from ark.graph.layout import encode_attr

    for key, value in given.items():
        try:
            (key + encode_attr(value)).encode()
        except TypeError:
            raise TypeError(f"attribute {key[:_LINE]!r} is no scalar or list of them") from None


def _rows(
    file: Path, first: int, ids: pa.Array, name: str, column: pa.Array
) -> NDArray[np.integer]:
    rows = pc.index_in(column, value_set=ids)
    if rows.null_count:
        at = int(np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))[0])
        raise UserError(
            f"{file}, line {first + at}: {name} {column[at].as_py()[:_LINE]!r} is no id of the "
            "node table: add the node or drop the edge"
        )
    numbers: NDArray[np.integer] = rows.to_numpy().astype(np.int32)
    return numbers
