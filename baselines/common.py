"""What the methods without a model share: checks of settings, a trace, one cache a process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Generic, TypeVar

from ark.errors import UserError
from ark.protocols import Graph
from ark.records import Hit, Json, Ranking, Step, Trajectory

T = TypeVar("T")
SHOWN = 10  # nodes of each kind that a trace names
KEPT = 2  # graphs: the one at work and the toy graph of the fingerprint


class PerGraph(Generic[T]):
    """Something derived from a graph: made on first use, then kept by content hash.

    Only the ``KEPT`` graphs used last are remembered. Safe to call from several threads.
    """

    def __init__(self, make: Callable[[Graph], T]) -> None:
        self._make = make
        self._kept: OrderedDict[str, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, graph: Graph) -> T:
        """The one of ``graph``."""
        with self._lock:
            key = graph.content_hash
            if key not in self._kept:
                self._kept[key] = self._make(graph)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


def whole_number(name: str, value: object, least: int) -> None:
    """Raises UserError unless a setting is an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"method.{name}={value} must be a whole number >= {least}")


def number(name: str, value: object, low: float, high: float) -> None:
    """Raises UserError unless a setting is a number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"method.{name}={value} must be a number from {low:g} to {high:g}")


def settings(method: Any) -> dict[str, Json]:
    """All fields of a method; 1 and 1.0 are one value where the field is a float."""
    values = {f.name: getattr(method, f.name) for f in fields(method)}
    reals = {f.name for f in fields(method) if f.type == "float"}
    return {name: float(v) if name in reals else v for name, v in values.items()}


def ranking(hits: Iterable[Hit]) -> Ranking:
    """Nodes of hits that are in order already."""
    return Ranking(tuple(hit.node for hit in hits))


def evidence(
    tag: str, graph: Graph, top: Ranking, *, fallbacks: int = 0, **found: Json
) -> Trajectory:
    """One step that says what a ranking rests on: the first ids and what a method ``found``."""
    state = {"kind": "evidence", **found, "top": ids(graph, top.nodes)}
    return Trajectory(steps=(Step(1, tag, state, fallbacks=fallbacks),))


def ids(graph: Graph, nodes: Iterable[int]) -> list[str]:
    """Ids of the first ``SHOWN`` nodes."""
    return [graph.id(int(node)) for node, _ in zip(nodes, range(SHOWN), strict=False)]
