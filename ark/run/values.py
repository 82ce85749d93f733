"""Checks plain values against annotations: a wrong type is one line, not a surprise later."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable
from typing import Any

from ark.errors import UserError

NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def check_value(name: str, value: object, annotation: object) -> None:
    """UserError unless ``value`` fits; annotations other than scalars and None are not checked."""
    allowed = _scalars(annotation)
    if allowed is None or any(_fits(value, kind) for kind in allowed):
        return
    words = " or ".join(NAMES.get(kind, "null") for kind in allowed)
    raise UserError(f"{name}={_shown(value)} must be {words}")


def check_call(kind: str, call: Callable[..., Any], values: typing.Mapping[str, object]) -> None:
    """Check settings against the constructor that will take them."""
    target: Any = getattr(call, "__init__", call) if isinstance(call, type) else call
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):  # annotations that only a type checker can read
        return
    for name, value in values.items():
        if name in hints:
            check_value(f"{kind}.{name}", value, hints[name])


def _scalars(annotation: object) -> list[type] | None:
    parts = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    kinds = [part for part in parts if isinstance(part, type)]
    known = all(part in (*NAMES, types.NoneType) for part in kinds)
    return kinds if known and len(kinds) == len(parts) else None


def _is_union(annotation: object) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(typing.cast(float, value))
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _shown(value: object) -> str:
    text = " ".join(repr(value).split()) if isinstance(value, str) else " ".join(str(value).split())
    return "null" if value is None else text[:60]
