"""Reads questions from a user's ``queries.csv`` or from our own ``questions.jsonl``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from ark.errors import UserError, unknown
from ark.queries.forms import from_json, id_list
from ark.records import Json, Query

REQUIRED = ("id", "query", "answer_ids")
OPTIONAL = (
    "split",
    "hops",
    "answer_type",
    "anchor_ids",
    "program",
    "cluster",
    "textual",
)
_Row = TypeVar("_Row")

FILE_NAMES = ("queries.csv", "questions.jsonl")


class Ids(Protocol):
    """The part of a ``Graph`` that loading looks at."""

    @property
    def node_types(self) -> tuple[str, ...]:
        """All type names."""
        ...

    def index(self, node_id: str) -> int:
        """Row of an id. Raises KeyError."""
        ...


def load_queries(path: Path, graph: Ids) -> list[Query]:
    """The questions of a file, or of the folder that holds one, in stored order.

    ``queries.csv`` has the columns id, query, answer_ids (a JSON list) and may have split, hops,
    answer_type, anchor_ids (a JSON list), program, cluster and textual; other columns are left
    alone. Without a split a question is ``test``; without a cluster it is its own, or its first
    anchor's. Ids are strings, and whole numbers in JSON lists become strings. Every mistake is
    one UserError that names file and row.
    """
    file = _find(Path(path))
    queries = _read_csv(file) if file.suffix.lower() == ".csv" else _read_jsonl(file)
    if not queries:
        raise UserError(f"{file} holds no question")
    _check_unique(file, queries)
    _check_ids(file, "answer", ((q.id, q.answer_ids) for q in queries), graph)
    _check_ids(file, "anchor", ((q.id, q.anchor_ids) for q in queries), graph)
    _check_types(file, queries, graph)
    return [replace(q, cluster=q.cluster or next(iter(q.anchor_ids), q.id)) for q in queries]


def _find(path: Path) -> Path:
    if path.is_dir():
        for name in FILE_NAMES:
            if (path / name).is_file():
                return path / name
        raise UserError(f"no {' or '.join(FILE_NAMES)} in {path}")
    if not path.is_file():
        raise UserError(f"no question file {path}: give queries=FILE (csv or jsonl)")
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UserError(f"{path}: a question file ends in .csv or .jsonl")
    return path


def _read_csv(file: Path) -> list[Query]:
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(
            file,
            # One block: a row may be longer than a default block, and cells may hold newlines.
            read_options=csv.ReadOptions(block_size=file.stat().st_size + 1),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys((*REQUIRED, *OPTIONAL), pa.string())
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file} is no readable CSV: {_one_line(error)}") from error
    names: list[str] = table.column_names
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        wanted = f"lacks the column(s) {', '.join(missing)}; it has {', '.join(names)}"
        raise UserError(f"{file} {wanted}")
    used = [name for name in (*REQUIRED, *OPTIONAL) if name in names]
    twice = [name for name in used if names.count(name) > 1]
    if twice:
        raise UserError(f"{file} has the column {twice[0]!r} twice")
    columns: list[list[str]] = [table.column(name).to_pylist() for name in used]
    rows = (dict(zip(used, row, strict=True)) for row in zip(*columns, strict=True))
    return _convert(file, rows, "row", _from_csv_row)


def _from_csv_row(row: Mapping[str, str]) -> Query:
    whole: dict[str, Json] = {k: v for k, v in row.items() if v.strip()}
    whole["id"], whole["text"] = row["id"].strip(), row["query"]
    whole["answer_ids"] = _list_of("answer_ids", row["answer_ids"])
    whole["anchor_ids"] = _list_of("anchor_ids", row.get("anchor_ids") or "[]")
    if "hops" in whole:
        try:
            whole["hops"] = int(row["hops"])
        except ValueError as error:
            raise ValueError(f"hops is {row['hops']!r}, not a whole number") from error
    if "textual" in whole:
        truth = {"true": True, "1": True, "false": False, "0": False}
        if row["textual"].strip().lower() not in truth:
            raise ValueError(f"textual is {row['textual']!r}, not true or false")
        whole["textual"] = truth[row["textual"].strip().lower()]
    return from_json(whole)


def _list_of(column: str, cell: str) -> tuple[str, ...]:
    try:
        return id_list(json.loads(cell))
    except ValueError as error:
        raise ValueError(f"{column} is no JSON list of ids: {_one_line(error)}") from error


def _read_jsonl(file: Path) -> list[Query]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} is not readable: {_one_line(error)}") from error
    return _convert(file, (line for line in lines if line.strip()), "line", _from_line)


def _from_line(line: str) -> Query:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")  # one kind of error for the caller
    return from_json(row)


def _convert(
    file: Path, rows: Iterable[_Row], unit: str, convert: Callable[[_Row], Query]
) -> list[Query]:
    queries = []
    for number, row in enumerate(rows, start=1):
        try:
            query = convert(row)
        except KeyError as error:
            raise UserError(f"{file}, {unit} {number}: no field {error}") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise UserError(f"{file}, {unit} {number}: {_one_line(error)}") from error
        for what, value in (("id", query.id), ("question", query.text.strip())):
            if not value:
                raise UserError(f"{file}, {unit} {number}: empty {what}")
        if not query.answer_ids:
            raise UserError(f"{file}, {unit} {number} (id {query.id!r}): no answers")
        queries.append(query)
    return queries


def _check_unique(file: Path, queries: list[Query]) -> None:
    twice = [i for i, n in Counter(q.id for q in queries).items() if n > 1]
    if twice:
        raise UserError(f"{file}: {len(twice)} id(s) occur more than once: {_first(twice)}")


def _check_ids(
    file: Path, what: str, lists: Iterable[tuple[str, tuple[str, ...]]], graph: Ids
) -> None:
    missing: dict[str, str] = {}  # id -> the first question that uses it
    known: set[str] = set()
    for query_id, ids in lists:
        for node_id in ids:
            if node_id in known or node_id in missing:
                continue
            try:
                graph.index(node_id)
                known.add(node_id)
            except KeyError:
                missing[node_id] = query_id
    if missing:
        shown = _first(f"{node_id} (question {q})" for node_id, q in missing.items())
        raise UserError(f"{file}: {len(missing)} {what} id(s) are no node of the graph: {shown}")


def _check_types(file: Path, queries: list[Query], graph: Ids) -> None:
    for query in queries:
        if query.answer_type is not None and query.answer_type not in graph.node_types:
            problem = unknown("answer type", query.answer_type, graph.node_types)
            raise UserError(f"{file}, question {query.id!r}: {problem}")


def _first(items: Iterable[str]) -> str:
    listed = list(items)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
