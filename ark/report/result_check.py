"""What a result.json must look like before a number of it is printed: types, ranges, sums.

Files are copied, edited and cut. Each mistake is one line that names the file and the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ark.errors import UserError
from ark.records import Json
from ark.text import clip

SLACK = 1e-9  # between a mean and its limits: results keep 10 decimals
LARGEST = 10**18  # of a count, token or second; beyond, formatting fails
STATUSES = ("ok", "limit", "failed", "missing")

Check = Callable[[Json], bool]


class _WrongError(Exception):
    """What is wrong with which field."""


def _wrong(field: str, wanted: str, found: Json) -> _WrongError:
    return _WrongError(f"{clip(field, 80)} must be {wanted}, not {clip(repr(found), 60)}")


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_count(value: Json) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_number(value: Json) -> bool:
    """Finite and at least 0."""
    return type(value) in (int, float) and bool(0 <= value <= LARGEST)  # false for NaN


def _is_fraction(value: Json) -> bool:
    return _is_number(value) and value <= 1


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


_TEXT = _is_text, "text"
_TEXT_OR_NULL = _or_null(_is_text), "text or null"
_COUNT = _is_count, "a whole number >= 0"
_COUNT_OR_NULL = _or_null(_is_count), "a whole number >= 0 or null"
_NUMBER_OR_NULL = _or_null(_is_number), "a number >= 0 or null"
_FRACTION_OR_NULL = _or_null(_is_fraction), "a number from 0 to 1 or null"
_OBJECT = (lambda value: isinstance(value, dict)), "an object"
_OBJECT_OR_NULL = _or_null(_OBJECT[0]), "an object or null"
_SOME = (lambda value: isinstance(value, dict) and bool(value)), "an object with measures"
_SIZE = (lambda value: _is_count(value) and value >= 1), "a whole number >= 1"
_SIZE_OR_NULL = _or_null(_SIZE[0]), "a whole number >= 1 or null"
_TRUTH = (lambda value: isinstance(value, bool)), "true or false"
_TEXTS_OR_NULL = (
    _or_null(lambda value: isinstance(value, list) and all(map(_is_text, value))),
    "a list of texts or null",
)
_FRACTIONS = (
    (lambda value: isinstance(value, list) and all(map(_is_fraction, value))),
    "a list of numbers from 0 to 1",
)

Rule = tuple[Check, str]
_CELL: Mapping[str, Rule] = {
    **dict.fromkeys(("run_id", "cell_id", "graph", "split", "method"), _TEXT),
    "reading": _OBJECT,
}
_CELL_IF_THERE: Mapping[str, Rule] = {
    **dict.fromkeys(("backbone", "backbone_model", "graph_version", "ablation"), _TEXT_OR_NULL),
    **dict.fromkeys(("preset", "gold", "tuned", "credit", "candidates"), _TEXT),
    **dict.fromkeys(("changed", "forced", "treatment", "identity"), _OBJECT),
    "is_llm": _TRUTH,
    "seed": ((lambda value: type(value) is int), "a whole number"),
    "repeat": _COUNT,
}
_IDENTITY: Mapping[str, Rule] = {
    **dict.fromkeys(("graph", "questions"), _OBJECT),
    **dict.fromkeys(("search", "method", "backbone"), _OBJECT_OR_NULL),
}
_READING: Mapping[str, Rule] = {"agents": _SIZE}
_READING_IF_THERE: Mapping[str, Rule] = {
    "cut": _SIZE,
    "candidates": _TEXT,
    "fusion": _OBJECT_OR_NULL,
    "pool": _SIZE_OR_NULL,
    "steps": _SIZE_OR_NULL,
    "over_budget": _TEXT_OR_NULL,
    "backfill": _TEXT,
    "candidate_types": _TEXTS_OR_NULL,
}
_COUNTS: Mapping[str, Rule] = dict.fromkeys(("queries", *STATUSES), _COUNT)
_COUNTS_IF_THERE: Mapping[str, Rule] = {
    "agents_differ": _COUNT_OR_NULL,
    "orders": _SIZE,
    "partly_failed": _COUNT,
}
_ESTIMATE: Mapping[str, Rule] = {
    **dict.fromkeys(("mean", "low", "high"), _FRACTION_OR_NULL),
    "n": _COUNT,
}
_ESTIMATE_IF_THERE: Mapping[str, Rule] = {
    "clusters": _COUNT_OR_NULL,
    "design_effect": _NUMBER_OR_NULL,
    "answered_only": _OBJECT,
}
_BESIDE: Mapping[str, Rule] = dict.fromkeys(
    ("usage", "timings", "environment", "strata", "single_agents"), _OBJECT
)


def read_result(file: Path, needs: tuple[str, ...] = ()) -> dict[str, Json]:
    """The content of a result.json, checked; ``needs`` are fields that the caller cannot miss.

    Raises UserError, one line with file and field, where it is no result or says what none says.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{file} is no result.json ({reason}); give one that run.py wrote"
        ) from None
    try:
        _check(data, needs)
    except (_WrongError, RecursionError) as wrong:
        raise UserError(
            f"{file} is no result.json as run.py writes it: {wrong}; run its command again"
        ) from None
    checked: dict[str, Json] = data
    return checked


def _check(data: Json, needs: tuple[str, ...]) -> None:
    if not isinstance(data, dict):
        raise _wrong("the file", "an object", data)
    _fields(data, {"cell": _OBJECT, "counts": _OBJECT, "measures": _OBJECT}, _BESIDE)
    cell = data["cell"]
    _fields(cell, _CELL, _CELL_IF_THERE, "cell.")
    _fields(cell["reading"], _READING, _READING_IF_THERE, "cell.reading.")
    fusion = cell["reading"].get("fusion")
    if fusion is not None:
        _fields(fusion, {"kind": _TEXT}, {"ties": _TEXT}, "cell.reading.fusion.")
    _fields(cell.get("identity", {}), {}, _IDENTITY, "cell.identity.")
    for field in needs:
        place: Json = data
        for name in field.split("."):
            if not isinstance(place, dict) or name not in place:
                raise _WrongError(f"{field} is missing")
            place = place[name]
    _check_numbers(data)
    _check_finite("", data)


def _check_finite(place: str, value: Json) -> None:
    """Labels too: identities with NaN in them cannot be compared."""
    inside: Iterable[tuple[Json, Json]] = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _wrong(place, "a finite number", value)
    for name, each in inside:
        _check_finite(f"{place}.{name}" if place else str(name), each)


def _check_numbers(data: Mapping[str, Json]) -> None:
    counts = data["counts"]
    _fields(counts, _COUNTS, _COUNTS_IF_THERE, "counts.")
    n = counts["queries"]
    if sum(counts[status] for status in STATUSES) != n:
        raise _wrong("counts.queries", f"the sum of {', '.join(STATUSES)}", n)
    for name, estimate in data["measures"].items():
        _estimate(f"measures.{name}", estimate, n, whole=True)
    for kind, groups in data.get("strata", {}).items():
        _need(f"strata.{kind}", groups, _OBJECT)
        for value, measures in groups.items():
            _need(f"strata.{kind}.{value}", measures, _SOME)
            for name, estimate in measures.items():
                _estimate(f"strata.{kind}.{value}.{name}", estimate, n)
    for name, values in data.get("single_agents", {}).items():
        _need(f"single_agents.{name}", values, _FRACTIONS)
    _numbers("usage", data.get("usage", {}))
    for tag, used in data.get("usage", {}).get("by_tag", {}).items():
        _need(f"usage.by_tag.{tag}", used, _OBJECT)
        _numbers(f"usage.by_tag.{tag}", used)
    _numbers("timings", data.get("timings", {}))
    _need("environment.commit", data.get("environment", {}).get("commit"), _TEXT_OR_NULL)


def _numbers(place: str, values: Mapping[str, Json]) -> None:
    for name, value in values.items():
        _need(f"{place}.{name}", value, _OBJECT if name == "by_tag" else _NUMBER_OR_NULL)


def _estimate(place: str, found: Json, most: int, *, whole: bool = False) -> None:
    """Mean within its limits, over no more questions than there are (``whole``: over all)."""
    _need(place, found, _OBJECT)
    _fields(found, _ESTIMATE, _ESTIMATE_IF_THERE, f"{place}.")
    mean, low, high, n = (found[name] for name in ("mean", "low", "high", "n"))
    if n > most or (whole and n not in (0, most)):
        raise _wrong(f"{place}.n", f"{most}, the number of questions", n)
    if (low is None) is not (high is None) or (mean is None and low is not None):
        raise _wrong(f"{place}.low", "there where mean and high are", low)
    if low is not None and not low - SLACK <= mean <= high + SLACK:
        raise _wrong(f"{place}.mean", f"within its interval [{low}, {high}]", mean)
    if "answered_only" in found:
        _estimate(f"{place}.answered_only", found["answered_only"], most)


def _fields(
    data: Mapping[str, Json],
    needed: Mapping[str, Rule],
    if_there: Mapping[str, Rule],
    prefix: str = "",
) -> None:
    for name, rule in needed.items():
        if name not in data:
            raise _WrongError(f"{prefix}{name} is missing")
        _need(prefix + name, data[name], rule)
    for name, rule in if_there.items():
        if name in data:
            _need(prefix + name, data[name], rule)


def _need(place: str, value: Json, rule: Rule) -> None:
    if not rule[0](value):
        raise _wrong(place, rule[1], value)


def close(a: float, b: float) -> bool:
    """Whether a stored mean is that of its questions: results keep 10 decimals."""
    return math.isclose(a, b, rel_tol=0.0, abs_tol=1e-6)
