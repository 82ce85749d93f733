"""Reads anybody's run file: TREC lines, a JSON object, JSON lines, or CSV.

A file is data from strangers: it is parsed (a Python list by ``ast.literal_eval``), never run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ark.errors import UserError
from ark.records import Json

QUERY_COLUMNS = ("query_id", "query")  # the second is that of our own per_query.csv
LIST_COLUMNS = ("pred_rank", "ranked", "scores")
_SHOWN = 60  # characters of a value that is wrong
_HUGE = 2**63


@dataclass(frozen=True)
class Listed:
    """One question's list as the file has it: ids in the order written, maybe with scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...] | None = None

    def ranked(self, order: Callable[[str], Any]) -> list[str]:
        """Ids best first, repeats kept: as written, or score descending and then ``order(id)``.

        A rank that a file gives beside its scores is not trusted, nor is the order of its lines.
        """
        if self.scores is None:
            return list(self.ids)
        pairs = zip(self.ids, self.scores, strict=True)
        return [i for i, _ in sorted(pairs, key=lambda pair: (-pair[1], order(pair[0])))]

    @property
    def tied(self) -> bool:
        """Whether two different ids share a score."""
        if self.scores is None:
            return False
        best: dict[str, float] = {}
        for node, score in zip(self.ids, self.scores, strict=True):
            best[node] = max(score, best.get(node, score))
        return len(set(best.values())) < len(best)


@dataclass(frozen=True)
class RunFile:
    """A run file. ``repeated`` are questions with a second list: the first was kept."""

    path: Path
    form: str
    sha256: str
    lists: Mapping[str, Listed]
    repeated: tuple[str, ...] = ()


def read_run_file(path: Path) -> RunFile:
    """Read a run file; its form is told by its content, not by its name.

    ``trec``   ``question Q0 node rank score tag``, a line a node
    ``json``   one object: question id to a list of node ids, or to an object of node id to score
    ``jsonl``  rows ``{"query_id": ..., "pred_rank": ...}`` with either of these, one a line (or
               one JSON list of such rows)
    ``csv``    the columns query_id and pred_rank, each cell a JSON or Python literal of either

    Ids are text; whole numbers become text. Raises UserError, naming file and place, for a file
    that is none of these, and for NaN, which has no place in any order.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"run file {path}: cannot be read ({error})") from None
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    form, pairs = _parse(path, text)
    lists: dict[str, Listed] = {}
    repeated = []
    for query, listed in pairs:
        if query in lists:
            repeated.append(query)
        else:
            lists[query] = listed
    return RunFile(path, form, digest, lists, tuple(dict.fromkeys(repeated)))


def _parse(path: Path, text: str) -> tuple[str, Iterable[tuple[str, Listed]]]:
    start = text.lstrip()
    if start[:1] in ("{", "["):
        return _from_json(path, start)
    header = start.split("\n", 1)[0]
    columns = [c.strip().strip('"') for c in header.split(",")]
    if len(columns) > 1 and set(columns) & {*QUERY_COLUMNS, *LIST_COLUMNS}:
        return "csv", _from_csv(path)
    return "trec", _from_trec(path, text).items()


# -- JSON --------------------------------------------------------------------------------------


class _Object(list[tuple[str, Json]]):
    """A JSON object with the keys that occur twice: a plain dict would hide them."""


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_Object)


def _from_json(path: Path, text: str) -> tuple[str, Iterable[tuple[str, Listed]]]:
    try:
        value, end = _decoder().raw_decode(text)
        if text[end:].strip():
            # More than one value: lines. Not splitlines, which cuts inside strings too.
            rows = [_decoder().decode(line) for line in text.split("\n") if line.strip()]
        else:
            rows = [value] if isinstance(value, _Object) else value
    except (ValueError, RecursionError) as error:
        raise UserError(f"run file {path}: not valid JSON ({error})") from None
    if len(rows) == 1 and isinstance(rows[0], _Object) and not _is_row(rows[0]):
        lists = ((q, _listed(path, f"question {q!r}", v)) for q, v in rows[0])
        return "json", list(lists)
    return "jsonl", [_from_row(path, n, row) for n, row in enumerate(rows, start=1)]


def _is_row(value: _Object) -> bool:
    names = {name for name, _ in value}
    return bool(names & set(QUERY_COLUMNS)) and bool(names & set(LIST_COLUMNS))


def _from_row(path: Path, number: int, row: Json) -> tuple[str, Listed]:
    where = f"row {number}"
    if not isinstance(row, _Object) or not _is_row(row):
        wanted = '{"query_id": ..., "pred_rank": [...]}'
        raise UserError(f"run file {path}, {where}: expected {wanted}")
    values = dict(row)
    query = next(values[name] for name in QUERY_COLUMNS if name in values)
    found = next(values[name] for name in LIST_COLUMNS if name in values)
    return _id(path, where, query), _listed(path, where, found)


def _listed(path: Path, where: str, value: Json) -> Listed:
    if isinstance(value, dict):
        value = _Object(value.items())
    if isinstance(value, _Object):
        ids = tuple(_id(path, where, node) for node, _ in value)
        return Listed(ids, tuple(_score(path, where, score) for _, score in value))
    if not isinstance(value, list | tuple):
        raise UserError(
            f"run file {path}: {where} must have a list of node ids, or an object of node id to "
            f"score, and has {_shown(value)}"
        )
    return Listed(tuple(_id(path, where, node) for node in value))


def _id(path: Path, where: str, value: Json) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _HUGE:
        return str(value)
    raise UserError(
        f"run file {path}: {where} has the id {_shown(value)}: ids are text or whole numbers"
    )


def _score(path: Path, where: str, value: Json) -> float:
    number = isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < _HUGE
    )
    if not number or math.isnan(value):
        raise UserError(f"run file {path}: {where} has the score {_shown(value)}: no number")
    return float(value)


def _shown(value: Json) -> str:
    huge = isinstance(value, int) and abs(value) >= _HUGE  # such a number refuses to be printed
    return "a huge number" if huge else repr(str(value)[:_SHOWN])


# -- CSV and TREC ------------------------------------------------------------------------------


def _from_csv(path: Path) -> Iterator[tuple[str, Listed]]:
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(
            path,
            # One block: a row may be longer than a default block, and cells may hold newlines.
            read_options=csv.ReadOptions(block_size=path.stat().st_size + 1),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys((*QUERY_COLUMNS, *LIST_COLUMNS), pa.string()),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"run file {path}: no readable CSV ({reason})") from None
    names: list[str] = table.column_names
    columns = []
    for wanted in (QUERY_COLUMNS, LIST_COLUMNS):
        found = [name for name in wanted if name in names]
        if not found or names.count(found[0]) > 1:
            what = "has twice" if found else "lacks"
            raise UserError(
                f"run file {path}: {what} the column {wanted[0]}; it has {', '.join(names)[:200]}"
            )
        columns.append(table.column(found[0]).to_pylist())
    for number, (query, cell) in enumerate(zip(*columns, strict=True), start=1):
        where = f"row {number}"
        yield _id(path, where, query), _listed(path, where, _literal(path, where, cell))


def _literal(path: Path, where: str, cell: str) -> Json:
    if not cell.strip():
        return []
    try:
        return _decoder().decode(cell.strip())
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise UserError(
            f"run file {path}, {where}: {cell.strip()[:_SHOWN]!r} is no JSON and no Python list"
        ) from None


def _from_trec(path: Path, text: str) -> dict[str, Listed]:
    rows: dict[str, list[tuple[str, float]]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        parts = line.split()
        if not parts:
            continue
        try:
            query, _, node, _, score, *_ = parts
            value = float(score)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise UserError(
                f"run file {path}, line {number}: expected 'question Q0 node rank score tag'"
            )
        rows.setdefault(query, []).append((node, value))
    return {
        query: Listed(tuple(node for node, _ in pairs), tuple(score for _, score in pairs))
        for query, pairs in rows.items()
    }
