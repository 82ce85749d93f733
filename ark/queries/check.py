"""Recomputes the gold of composed questions by brute force, to check composer and executor.

Only the parser and its syntax tree are shared with ``ark.program``'s executor. Sets are Python
sets, edges a dictionary of lists, and texts are cut into words here once more, by the definition:
a word is a maximal run of characters for which ``str.isalnum`` holds, of the lower-cased text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from ark.program import Argument, Call, Constant, Name, ProgramError, parse
from ark.protocols import Graph
from ark.records import Query, Scalar


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A question whose stored gold is not what its program says. ``reason`` if it cannot run."""

    query: str
    missing: tuple[str, ...] = ()  # answers of the program that the gold lacks
    surplus: tuple[str, ...] = ()  # gold that the program does not give
    wrong_type: tuple[str, ...] = ()  # gold that is not of the stored answer type
    reason: str = ""


def check(queries: Sequence[Query], graph: Graph) -> list[Mismatch]:
    """The mismatches among the questions that carry a program, in their order."""
    brute = _Brute(graph)
    found = []
    for query in queries:
        if query.program is not None:
            mismatch = _check_one(query, query.program, brute, graph)
            if mismatch is not None:
                found.append(mismatch)
    return found


def _check_one(query: Query, program: str, brute: _Brute, graph: Graph) -> Mismatch | None:
    try:
        answer = brute.answer(program)
    except (ProgramError, KeyError, TypeError) as error:
        return Mismatch(query.id, reason=f"{type(error).__name__}: {error}")
    if not isinstance(answer, set):
        return Mismatch(query.id, reason="the program gives a number")
    ids = {graph.id(i) for i in answer}
    gold = set(query.answer_ids)
    kind = query.answer_type
    strange = [i for i in sorted(gold) if kind is not None and graph.type(graph.index(i)) != kind]
    if ids == gold and not strange:
        return None
    return Mismatch(query.id, tuple(sorted(ids - gold)), tuple(sorted(gold - ids)), tuple(strange))


Nodes = set[int]
Thing = Nodes | int | float | str | bool


class _Brute:
    """An interpreter that takes no short cut."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._words: dict[int, frozenset[str]] = {}

    def answer(self, text: str) -> Thing:
        program = parse(text)
        bound: dict[str, Thing] = {}
        for assignment in program.assignments:
            bound[assignment.name] = self._value(assignment.value, bound)
        return self._value(program.end.value, bound)

    def _value(self, argument: Argument, bound: dict[str, Thing]) -> Thing:
        if isinstance(argument, Constant):
            return argument.value
        if isinstance(argument, Name):
            return bound[argument.id]
        return self._call(argument, [self._value(a, bound) for a in argument.arguments])

    def _call(self, call: Call, values: list[Thing]) -> Thing:
        match call.function, values:
            case "type", [str(name)]:
                return {i for i in range(self._graph.n_nodes) if self._types[i] == name}
            case "node", ids:
                return {self._graph.index(str(i)) for i in ids}
            case "forward", [set(nodes), str(relation)]:
                return {t for s in nodes for t in self._links[relation, "out"].get(s, ())}
            case "backward", [set(nodes), str(relation)]:
                return {s for t in nodes for s in self._links[relation, "in"].get(t, ())}
            case "minus", [set(left), set(right)]:
                return {i for i in left if i not in right}
            case "count", [set(nodes)]:
                return len(nodes)
            case (("intersect" | "union" | "text" | "where" | "argmax" | "argmin"), [set(), *_]):
                return self._filter(call.function, values)
        raise TypeError(f"{call.function} does not take {[type(v).__name__ for v in values]}")

    def _filter(self, function: str, values: list[Thing]) -> Thing:
        match function, values:
            case (("intersect" | "union"), sets):
                plain = [s for s in sets if isinstance(s, set)]
                every = {i for s in plain for i in s}
                return {i for i in every if function == "union" or all(i in s for s in plain)}
            case "text", [set(nodes), *words]:
                wanted = {w for word in words for w in cut(str(word))}
                return {i for i in nodes if wanted <= self._words_of(i)}
            case "where", [set(nodes), str(name), str(op), (str() | int() | float()) as value]:
                return {i for i in nodes if any(compare(v, op, value) for v in self._of(i, name))}
            case (("argmax" | "argmin"), [set(nodes), str(name)]):
                return self._best(nodes, name, top=function == "argmax")
        raise TypeError(f"{function} does not take {[type(v).__name__ for v in values]}")

    def _best(self, nodes: Nodes, name: str, *, top: bool) -> Nodes:
        pairs = [(v, i) for i in nodes for v in self._of(i, name) if not isinstance(v, bool)]
        numbers = [(float(v), i) for v, i in pairs if not isinstance(v, str)]
        strings = [(v, i) for v, i in pairs if isinstance(v, str)]
        if numbers:
            best = sorted(v for v, _ in numbers)[-1 if top else 0]
            return {i for v, i in numbers if v == best}
        if strings:
            first = sorted(v for v, _ in strings)[-1 if top else 0]
            return {i for v, i in strings if v == first}
        return set()

    def _of(self, i: int, name: str) -> Iterable[Scalar]:
        value = self._graph.node(i).attrs.get(name)
        if value is None:
            return ()
        return value if isinstance(value, tuple) else (value,)

    def _words_of(self, i: int) -> frozenset[str]:
        if i not in self._words:
            self._words[i] = frozenset(cut(self._graph.text(i)))
        return self._words[i]

    @cached_property
    def _types(self) -> list[str]:
        return [self._graph.type(i) for i in range(self._graph.n_nodes)]

    @cached_property
    def _links(self) -> dict[tuple[str, str], dict[int, list[int]]]:
        """(relation, "out") -> source -> targets, and (relation, "in") -> target -> sources."""
        names = self._graph.relations
        links: dict[tuple[str, str], dict[int, list[int]]] = {
            (name, way): {} for name in names for way in ("out", "in")
        }
        for source in range(self._graph.n_nodes):
            targets, relations, _ = self._graph.out_edges(source)
            for target, relation in zip(targets.tolist(), relations.tolist(), strict=True):
                links[names[relation], "out"].setdefault(source, []).append(target)
                links[names[relation], "in"].setdefault(target, []).append(source)
        return links


def cut(text: str) -> list[str]:
    """The words of a text."""
    runs = groupby(text.lower(), key=str.isalnum)
    return ["".join(run) for is_word, run in runs if is_word]


def compare(value: Scalar, op: str, wanted: Scalar) -> bool:
    """Whether ``value op wanted``; values of different kinds are unequal and in no order."""
    if op == "has":
        words = cut(str(wanted))
        return bool(words) and all(w in cut(str(value)) for w in words)
    same = {isinstance(v, bool) + 2 * isinstance(v, str) for v in (value, wanted)}
    if len(same) == 2:
        return op == "!="
    if op in ("=", "!="):
        return (value == wanted) == (op == "=")
    if isinstance(value, bool) or isinstance(wanted, bool):
        return False
    if value == wanted:
        return op in ("<=", ">=")
    first = sorted([value, wanted])[0] == value
    return first == (op in ("<", "<="))
