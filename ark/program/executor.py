"""Runs programs over a graph: whole ones, or one statement at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np

from ark.errors import unknown
from ark.program.adjacency import Adjacency
from ark.program.attributes import extreme, satisfies
from ark.program.checks import check_program, check_statement
from ark.program.errors import ProgramError
from ark.program.functions import Kind
from ark.program.parser import parse
from ark.program.syntax import Argument, Assign, Call, Constant, Name, Program, Statement
from ark.program.words import WordIndex, split_words
from ark.protocols import Graph, Ints
from ark.records import Attr, Scalar

Value = Ints | int
"""A set of nodes (distinct row numbers, ascending) or a number."""


class Executor:
    """Executes the set language on one graph; indexes are built when first needed and kept.

    ``max_nodes``: a set with more nodes than this, at any point, is a ProgramError.
    """

    def __init__(self, graph: Graph, *, max_nodes: int | None = None) -> None:
        self._graph = graph
        self._max_nodes = max_nodes
        self._relations = {name: number for number, name in enumerate(graph.relations)}
        self._adjacency = Adjacency(graph)
        self._attribute_names: frozenset[str] | None = None
        self.words = WordIndex(graph)
        self._functions: dict[str, Callable[[Call, dict[str, Value]], Value]] = {
            "type": self._type,
            "node": self._node,
            "forward": self._step_along,
            "backward": self._step_along,
            "intersect": self._combine,
            "union": self._combine,
            "minus": self._combine,
            "text": self._text,
            "where": self._where,
            "count": self._count,
            "argmax": self._extreme,
            "argmin": self._extreme,
        }

    def run(self, program: Program | str) -> Value:
        """The program's answer. Raises ProgramError, before anything runs where possible."""
        if isinstance(program, str):
            program = parse(program)
        check_program(program, self._graph)
        env: dict[str, Value] = {}
        for assignment in program.assignments:
            env[assignment.name] = self._evaluate(assignment.value, env)
        return self._evaluate(program.end.value, env)

    def step(self, statement: Statement, env: dict[str, Value]) -> Value:
        """Checks and runs one statement. An assignment is also bound in ``env``.

        ``env`` is left as it was if a ProgramError is raised.
        """
        kinds: dict[str, Kind] = {
            name: "set" if isinstance(value, np.ndarray) else "number"
            for name, value in env.items()
        }
        check_statement(statement, kinds, self._graph)
        value = self._evaluate(statement.value, env)
        if isinstance(statement, Assign):
            env[statement.name] = value
        return value

    def _evaluate(self, value: Argument, env: dict[str, Value]) -> Value:
        if isinstance(value, Name):
            return env[value.id]
        if isinstance(value, Constant):
            raise ProgramError("expected a set or a number, found a constant", value.at)
        result = self._functions[value.function](value, env)
        if self._max_nodes is not None and isinstance(result, np.ndarray):
            size = len(result)
            if size > self._max_nodes:
                what = f"{value.function}(...) gives {size} nodes, more than {self._max_nodes}"
                raise ProgramError(f"{what}: narrow the set first", value.at)
        return result

    def _set(self, value: Argument, env: dict[str, Value]) -> Ints:
        found = self._evaluate(value, env)
        if not isinstance(found, np.ndarray):
            raise ProgramError("expected a set, found a number", value.at)
        return found

    def _type(self, call: Call, env: dict[str, Value]) -> Value:  # noqa: ARG002
        return self._graph.of_type(_string(call.arguments[0]))

    def _node(self, call: Call, env: dict[str, Value]) -> Value:  # noqa: ARG002
        rows = [self._graph.index(_string(argument)) for argument in call.arguments]
        return np.unique(np.array(rows, dtype=np.int64))

    def _step_along(self, call: Call, env: dict[str, Value]) -> Value:
        nodes = self._set(call.arguments[0], env)
        relation = self._relations[_string(call.arguments[1])]
        return self._adjacency.follow(nodes, relation, backward=call.function == "backward")

    def _combine(self, call: Call, env: dict[str, Value]) -> Value:
        sets = [self._set(argument, env) for argument in call.arguments]
        if call.function == "minus":
            return np.setdiff1d(sets[0], sets[1], assume_unique=True)
        if call.function == "union":
            return reduce(np.union1d, sets)
        return reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), sets)

    def _text(self, call: Call, env: dict[str, Value]) -> Value:
        nodes = self._set(call.arguments[0], env)
        words = [w for argument in call.arguments[1:] for w in split_words(_string(argument))]
        return self.words.holding(nodes, words)

    def _where(self, call: Call, env: dict[str, Value]) -> Value:
        nodes = self._set(call.arguments[0], env)
        attribute, op = _string(call.arguments[1]), _string(call.arguments[2])
        wanted = self._scalar(call.arguments[3], env)
        kept = [i for i, v in self._values(call, nodes, attribute) if satisfies(v, op, wanted)]
        return np.array(kept, dtype=np.int64)

    def _count(self, call: Call, env: dict[str, Value]) -> Value:
        return len(self._set(call.arguments[0], env))

    def _extreme(self, call: Call, env: dict[str, Value]) -> Value:
        nodes = self._set(call.arguments[0], env)
        values = list(self._values(call, nodes, _string(call.arguments[1])))
        best = extreme(values, largest=call.function == "argmax")
        return np.array(best, dtype=np.int64)

    def _scalar(self, value: Argument, env: dict[str, Value]) -> Scalar:
        if isinstance(value, Constant):
            return value.value
        number = self._evaluate(value, env)
        if isinstance(number, np.ndarray):
            raise ProgramError("expected a value, found a set", value.at)
        return number

    def _values(self, call: Call, nodes: Ints, attribute: str) -> Iterator[tuple[int, Attr | None]]:
        """Each node with its attribute. ProgramError if no node of the graph has that attribute.

        An empty result would hide the misspelling; a set that merely lacks it is no mistake.
        """
        attrs = [(i, self._graph.node(i).attrs) for i in nodes.tolist()]
        if attrs and not any(attribute in a for _, a in attrs):
            if self._attribute_names is None:
                graph = self._graph
                every = (graph.node(i).attrs for i in range(graph.n_nodes))
                self._attribute_names = frozenset(name for a in every for name in a)
            if attribute not in self._attribute_names:
                at = call.arguments[1].at
                raise ProgramError(unknown("attribute", attribute, self._attribute_names), at)
        return ((i, a.get(attribute)) for i, a in attrs)


def _string(argument: Argument) -> str:
    """The string of an argument that the checks have found to be one."""
    if isinstance(argument, Constant) and isinstance(argument.value, str):
        return argument.value
    raise ProgramError("expected a string in double quotes", argument.at)
