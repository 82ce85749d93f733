"""Typed values of a relation or attribute, and the comparisons of ``get_entity_by_constraint``.

The values' type is what most of them are (int, float, date, string); values that cannot be read as
that type are left out. A node qualifies if any of its values does.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ark.program.words import split_words
from ark.records import Scalar
from baselines.kg_agent.dates import Date, is_more_than_a_year, read_date
from baselines.kg_agent.errors import CallError, quoted

ValueKind = Literal["int", "float", "date", "string"]
ORDER = ("=", ">", ">=", "<", "<=")
EXTREMES = ("argmax", "argmin")
MORE = ("contains", "!=")  # ours: gold programs of composed questions need them
SAME = {"==": "=", "≥": ">=", "≤": "<=", "=>": ">=", "=<": "<="}
OPERATORS = frozenset((*ORDER, *EXTREMES, *MORE, *SAME))
_KINDS: tuple[ValueKind, ...] = ("int", "float", "date", "string")  # of equal votes the first
_INT = re.compile(r"[+-]?\d{1,18}")
_FLOAT = re.compile(r"[+-]?(?:\d{1,18}\.\d{0,18}|\.\d{1,18}|\d{1,18})(?:[eE][+-]?\d{1,3})?")
_YEAR = re.compile(r"[+-]?\d{3,4}")
_TYPED = re.compile(r'^"(.*)"(?:\^\^\S+|@[A-Za-z-]+)?$', re.DOTALL)


def plain(value: Scalar | str) -> str:
    """A value's text without quotes and datatype: ``"1998"^^xsd:gYear`` is 1998."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value).strip()
    found = _TYPED.match(text)
    return found[1].strip() if found else text


def as_string(value: Scalar) -> str:
    """A string as strings are compared: lower case, underscores as spaces."""
    return " ".join(plain(value).lower().replace("_", " ").split())


def kind_of(value: Scalar) -> ValueKind:
    """What one value looks like. A bare year looks like an int."""
    if isinstance(value, bool):
        return "string"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    text = plain(value)
    if _INT.fullmatch(text):
        return "int"
    if is_more_than_a_year(text):
        return "date"
    return "float" if _FLOAT.fullmatch(text) else "string"


def majority(values: Iterable[Scalar]) -> ValueKind:
    """What most values are; ints that may be years count as dates where some are whole dates."""
    read_once = list(values)
    votes = Counter(kind_of(value) for value in read_once)
    if votes["date"]:
        years = sum(bool(_YEAR.fullmatch(plain(value))) for value in read_once)
        others = max(votes["float"], votes["string"], votes["int"] - years)
        if votes["date"] + years >= others:
            return "date"
    return max(_KINDS, key=lambda kind: votes[kind])


def read(value: Scalar, kind: ValueKind) -> float | int | Date | str | None:
    """A value as one of a type; None where it is none."""
    if kind == "string":
        return as_string(value)
    text = plain(value)
    if kind == "date":
        return read_date(text)
    if isinstance(value, bool):
        return None
    if _INT.fullmatch(text):
        return int(text)
    number = float(text) if _FLOAT.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def wanted(text: str, kind: ValueKind, op: str, *, strict: bool) -> float | int | Date | str:
    """The value of a constraint as the relation's type. Raises CallError."""
    if op not in ORDER and op not in MORE:
        raise CallError("operator", f"unknown operator {quoted(op)}; known: {' '.join(ORDER)}")
    if kind == "string" and strict and op in ORDER and op != "=":
        raise CallError("operator", f"these values are strings, which have no order: {op} needs =")
    value = plain(text) if op == "contains" else read(text, kind)
    if value is None or value == "":
        raise CallError("value", f"{quoted(text)} is no {kind}, and the values of the relation are")
    return value


def holds(value: Scalar, kind: ValueKind, op: str, target: float | Date | str) -> bool:
    """Whether one value stands in relation ``op`` to the wanted one; False for an unreadable."""
    if op == "contains":
        words = set(split_words(str(target)))
        return bool(words) and words <= set(split_words(plain(value)))
    mine = read(value, kind)
    if mine is None:
        return False
    if op == "!=":
        return not _compare(mine, "=", target)
    return _compare(mine, op, target)


def _compare(mine: Any, op: str, target: Any) -> bool:
    if isinstance(mine, Date):
        return _compare_dates(mine, op, target)
    if op == "=":
        return bool(mine == target)
    if op in (">", ">="):
        return bool(mine > target or (op == ">=" and mine == target))
    return bool(mine < target or (op == "<=" and mine == target))


def _compare_dates(mine: Date, op: str, target: Date) -> bool:
    """``= 1998`` means within that year; the others hold for every day that is meant."""
    if op == "=":
        return mine.within(target)
    if op == ">":
        return mine.first > target.last
    if op == ">=":
        return mine.first >= target.first
    return mine.last < target.first if op == "<" else mine.last <= target.last


def extreme(tails: Mapping[int, Sequence[Scalar]], *, largest: bool) -> list[int]:
    """All nodes that have the largest (smallest) value, in the order given; ties are kept."""
    kind = majority(value for values in tails.values() for value in values)
    pick = max if largest else min
    best: dict[int, Any] = {}
    for node, values in tails.items():
        keys = [_key(found) for value in values if (found := read(value, kind)) is not None]
        if keys:
            best[node] = pick(keys)
    if not best:
        return []
    top = pick(best.values())
    return [node for node, value in best.items() if value == top]


def _key(value: float | int | Date | str) -> Any:
    return (value.year, value.month, value.day) if isinstance(value, Date) else value
