"""What a program passes on its way to the answers: the nodes that a walk has to come by."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ark.program import Argument, Call, Constant, End, Executor, Expression, Name, Program, parse
from ark.program.checks import check_program
from ark.protocols import Graph, Ints

_HOPS = {"forward": "backward", "backward": "forward"}
_NARROW = ("text", "where", "argmax", "argmin", "minus")  # what they give is of their first set


@lru_cache(maxsize=2)
def executor(graph: Any) -> Executor:
    """Kept, as its index of words takes seconds to build."""
    return Executor(graph)


def expression(program: str, graph: Graph) -> Expression:
    """The answer of a program with earlier names written out.

    Raises ProgramError, also for types, relations and ids that the graph does not have.
    """
    read = parse(program)
    check_program(read, graph)
    known: dict[str, Expression] = {}
    for assignment in read.assignments:
        known[assignment.name] = cast("Expression", _written_out(assignment.value, known))
    return cast("Expression", _written_out(read.end.value, known))


def _written_out(value: Argument, known: Mapping[str, Expression]) -> Argument:
    if isinstance(value, Name):
        return known.get(value.id, value)
    if isinstance(value, Call):
        return replace(value, arguments=tuple(_written_out(a, known) for a in value.arguments))
    return value


def levels(graph: Graph, end: Expression, golds: Iterable[int]) -> list[list[int]]:
    """``levels[d]`` are the nodes from which a program leads to some answer in d + 1 hops.

    Ascending rows; a node stands where it is nearest. Raises ProgramError.
    """
    found: list[set[int]] = []
    wanted = np.unique(np.array(list(golds), dtype=np.int64))
    _Support(executor(cast("Hashable", graph)), graph, found).walk(end, wanted, 0)
    nearer: set[int] = set()
    out = []
    for level in found:
        out.append(sorted(level - nearer))
        nearer |= level
    return out


class _Support:
    """Goes from the answers back through the steps of a program."""

    def __init__(self, run: Executor, graph: Graph, found: list[set[int]]) -> None:
        self._run = run
        self._graph = graph
        self._found = found

    def walk(self, value: Argument, wanted: Ints, depth: int) -> None:
        if not isinstance(value, Call) or not len(wanted):
            return
        if value.function in _HOPS:
            self._hop(value, wanted, depth)
        elif value.function in ("intersect", "union"):
            for part in value.arguments:
                self.walk(part, np.intersect1d(wanted, self._set(part)), depth)
        elif value.function in _NARROW:
            self.walk(value.arguments[0], wanted, depth)

    def _hop(self, call: Call, wanted: Ints, depth: int) -> None:
        inner, relation = call.arguments
        ids = tuple(Constant(self._graph.id(i)) for i in wanted.tolist())
        before = self._set(Call(_HOPS[call.function], (Call("node", ids), relation)))
        reached = np.intersect1d(before, self._set(inner))
        while len(self._found) <= depth:
            self._found.append(set())
        self._found[depth].update(reached.tolist())
        self.walk(inner, reached, depth + 1)

    def _set(self, value: Argument) -> Ints:
        found = self._run.run(Program((), End(cast("Expression", value))))
        return found if isinstance(found, np.ndarray) else np.empty(0, dtype=np.int64)
