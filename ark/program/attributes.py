"""Comparisons of node attributes, for ``where``, ``argmax`` and ``argmin``.

* A list satisfies a comparison if any of its elements does.
* Numbers compare as numbers and strings by code point (ISO dates in time order). Values of
  different kinds are unequal and in no order. Truth values are their own kind.
* ``has``: every word of the wanted text is a word of the value (lower-cased, whole).
* A node without the attribute satisfies nothing, ``!=`` included.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ark.program.words import split_words
from ark.records import Attr, Scalar

_ORDER: dict[str, Callable[[float | str, float | str], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def satisfies(value: Attr | None, op: str, wanted: Scalar) -> bool:
    """Whether an attribute's value stands in relation ``op`` to ``wanted``."""
    return any(_holds(each, op, wanted) for each in elements(value))


def elements(value: Attr | None) -> tuple[Scalar, ...]:
    """The elements of a list, the scalar itself, or nothing."""
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _holds(value: Scalar, op: str, wanted: Scalar) -> bool:
    if op == "has":
        words = set(split_words(str(wanted)))
        return bool(words) and words <= set(split_words(str(value)))
    alike = _kind(value) == _kind(wanted)
    if op == "=":
        return alike and value == wanted
    if op == "!=":
        return not alike or value != wanted
    if not alike or isinstance(value, bool) or isinstance(wanted, bool):
        return False
    return _ORDER[op](value, wanted)


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def extreme(values: Sequence[tuple[int, Attr | None]], *, largest: bool) -> list[int]:
    """Nodes with the largest (or smallest) value, ties included, in the order given.

    Numbers count before strings: strings are compared only where no node has a number. Of a list
    the largest (smallest) element counts.
    """
    pick = max if largest else min
    for kind in ("number", "text"):
        best: dict[int, Scalar] = {}
        for node, value in values:
            of_kind = [e for e in elements(value) if _kind(e) == kind]
            if of_kind:
                best[node] = pick(of_kind)
        if best:
            top = pick(best.values())
            return [node for node, value in best.items() if value == top]
    return []
