"""Where two things that must be equal first are not."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from ark.errors import ArkError
from ark.records import Json
from ark.text import clip

MOST_SHOWN = 120  # characters of a value


class DifferenceError(ArkError):
    """``FILE, PLACE: expected X, found Y``: X follows from the other members, Y stands there."""

    def __init__(self, file: str, place: str, expected: object, found: object) -> None:
        where = clip(f"{file}, {place}" if place else file, 3 * MOST_SHOWN)
        super().__init__(f"{where}: expected {_shown(expected)}, found {_shown(found)}")
        self.file, self.place = file, place


def _shown(value: object) -> str:
    return clip(value if isinstance(value, str) else repr(value), MOST_SHOWN)


def same(file: str, place: str, expected: object, found: object) -> None:
    """Raises DifferenceError unless both are equal; True is not 1."""
    if expected != found or isinstance(expected, bool) is not isinstance(found, bool):
        raise DifferenceError(file, place, expected, found)


def same_json(file: str, expected: Json, found: Json, place: str = "") -> None:
    """Raises DifferenceError at the first unequal field, in the order of ``expected``."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            where = f"{place}.{key}" if place else key
            if key not in found or key not in expected:
                raise DifferenceError(
                    file, where, expected.get(key, "nothing"), found.get(key, "nothing")
                )
            same_json(file, expected[key], found[key], where)
    elif isinstance(expected, list) and isinstance(found, list):
        same(file, f"length of {place}", len(expected), len(found))
        for i, (one, other) in enumerate(zip(expected, found, strict=True)):
            same_json(file, one, other, f"{place}[{i}]")
    else:
        same(file, place, expected, found)


def same_lines(file: str, expected: bytes, found: bytes) -> None:
    """Raises DifferenceError at the first line that is not equal."""
    if expected == found:
        return
    left, right = (data.decode("utf-8", "replace").split("\n") for data in (expected, found))
    for number, (one, other) in enumerate(_pairs(left, right), start=1):
        same(file, f"line {number}", one, other)
    raise DifferenceError(file, "bytes", "UTF-8 text", "other bytes")


def same_table(file: str, expected: bytes, found: bytes) -> None:
    """``same_lines`` for per_query.csv, with question, column and rank in place of a line."""
    if expected == found:
        return
    left, right = (
        list(csv.reader(io.StringIO(data.decode("utf-8", "replace")))) for data in (expected, found)
    )
    head = left[0]
    for number, (one, other) in enumerate(_pairs(left, right)):
        if one is None or other is None or len(other) != len(one):
            same(file, f"row {number}", one or "no row", other or "no row")
            continue
        for column, (value, stored) in enumerate(zip(one, other, strict=True)):
            place = f"query {one[0]}, {head[column]}" if number else f"column {column + 1}"
            if head[column] == "ranked" and number:
                place = f"{place}{_rank(value, stored)}"
            same(file, place, value, stored)
    raise DifferenceError(file, "bytes", "the CSV of the runner", "the same, spelled otherwise")


def _rank(one: str, other: str) -> str:
    try:
        left, right = json.loads(one), json.loads(other)
        return next(
            (f", rank {i}" for i, (a, b) in enumerate(_pairs(left, right), 1) if a != b), ""
        )
    except (ValueError, TypeError, RecursionError):
        return ""


def _pairs(left: list[Json], right: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Both side by side, None past the end of one."""
    for i in range(max(len(left), len(right))):
        yield (left[i] if i < len(left) else None), (right[i] if i < len(right) else None)
