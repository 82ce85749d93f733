"""``per_query.csv``: a value for each question and measure, held against its result.json."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.records import Json
from ark.report.result_check import STATUSES, close
from ark.text import clip

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FILE = "per_query.csv"
_BESIDE = ("query", "status", "ranked")
_Row = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class PerQuery:
    """By question in stored order. ``values`` float64[n] by measure; 0 where it failed."""

    ids: tuple[str, ...]
    failed: Bools
    values: Mapping[str, Floats]


def read_per_query(result: Path, data: Mapping[str, Json]) -> PerQuery | None:
    """The questions beside a result.json with this content; None where the file is missing.

    Raises UserError where it is damaged, and where its questions, their fates or the mean of a
    measure are not those of the result.
    """
    path = result.with_name(FILE)
    if not path.is_file():
        return None
    try:
        rows = _rows(path)
        table = PerQuery(
            tuple(row["query"] for row in rows),
            np.array([row["status"] in ("failed", "missing") for row in rows], dtype=bool),
            {n: c for n in _measures(rows) if (c := _column(rows, n)) is not None},
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        raise UserError(
            f"{path} is damaged ({clip(str(error), 200)}): run the cell again"
        ) from None
    unlike = _unlike(table, rows, data)
    if unlike:
        raise UserError(f"{path} does not belong to its result.json ({unlike}): run the cell again")
    return table


def _rows(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        rows = list(reader)
    missing = [name for name in _BESIDE if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"no column {missing[0]}")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has too few or too many cells")
        if row["status"] not in STATUSES:
            raise ValueError(f"question {row['query']}, status: {row['status']!r}")
        ranked = json.loads(row["ranked"])
        if not isinstance(ranked, list) or not all(isinstance(each, str) for each in ranked):
            raise ValueError(f"question {row['query']}, ranked: no list of ids")
    return rows


def _measures(rows: Sequence[_Row]) -> list[str]:
    return [name for name in (rows[0] if rows else ()) if name not in _BESIDE]


def _column(rows: Sequence[_Row], name: str) -> Floats | None:
    """None where no question has a value; else one without counts as 0, as in the means."""
    if all(row[name] == "" for row in rows):
        return None
    out = np.array([_value(row, name) for row in rows])
    wrong = ~((out >= 0) & (out <= 1))  # true for NaN too
    if wrong.any():
        row = rows[int(np.argmax(wrong))]
        raise ValueError(f"question {row['query']}, {name}: {row[name]} is not from 0 to 1")
    return out


def _value(row: _Row, name: str) -> float:
    try:
        return float(row[name] or 0.0)
    except ValueError:
        raise ValueError(f"question {row['query']}, {name}: {row[name]!r} is no number") from None


def _unlike(table: PerQuery, rows: Sequence[_Row], data: Mapping[str, Json]) -> str:
    """The first thing that the result says otherwise; empty for none."""
    n = data["counts"]["queries"]
    if len(table.ids) != n:
        return f"counts.queries: {n} there, {len(table.ids)} rows here"
    if len(set(table.ids)) != n:
        return "a question stands twice"
    found = Counter(row["status"] for row in rows)
    for status in STATUSES:
        if found[status] != data["counts"][status]:
            return f"counts.{status}: {data['counts'][status]} there, {found[status]} here"
    for name, estimate in data["measures"].items():
        mean, column = estimate["mean"], table.values.get(name)
        if mean is None and column is None:
            continue
        here = None if column is None else float(column.mean())
        if mean is None or here is None or not close(mean, here):
            shown = "no value" if here is None else f"{here:.10g}"
            return f"measures.{name}.mean: {mean} there, {shown} over the questions here"
    return ""
