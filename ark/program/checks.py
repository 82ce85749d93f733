"""Checks a program against a graph before anything runs: functions, kinds, and names.

Everything that can be wrong about a program without looking at its sets is found here, so a
planner's mistake costs nothing and is answered with the nearest right spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ark.errors import nearest, unknown
from ark.program.errors import Position, ProgramError
from ark.program.functions import OPERATORS, SIGNATURES, Kind, ParameterKind, Signature
from ark.program.syntax import Argument, Call, Constant, Name, Program, Statement
from ark.program.words import split_words
from ark.protocols import Graph

_ID_POOL = 5_000  # how many like ids are compared in full for near matches


def check_program(program: Program, graph: Graph) -> Kind:
    """The kind of the program's answer. Raises ProgramError."""
    kinds: dict[str, Kind] = {}
    for assignment in program.assignments:
        kinds[assignment.name] = check_statement(assignment, kinds, graph)
    return check_statement(program.end, kinds, graph)


def check_statement(statement: Statement, kinds: Mapping[str, Kind], graph: Graph) -> Kind:
    """The kind of a statement's value, given the kinds of earlier names. Raises ProgramError."""
    return _Checker(kinds, graph).kind_of(statement.value)


class _Checker:
    """One statement's check."""

    def __init__(self, kinds: Mapping[str, Kind], graph: Graph) -> None:
        self._kinds = kinds
        self._graph = graph

    def kind_of(self, value: Argument) -> Kind:
        if isinstance(value, Call):
            return self._call(value)
        if isinstance(value, Name):
            if value.id not in self._kinds:
                raise ProgramError(unknown("name", value.id, self._kinds), value.at)
            return self._kinds[value.id]
        raise ProgramError("expected a set or a number, found a constant", value.at)

    def _call(self, call: Call) -> Kind:
        signature = SIGNATURES.get(call.function)
        if signature is None:
            raise ProgramError(unknown("function", call.function, SIGNATURES), call.at)
        if not signature.takes(len(call.arguments)):
            count = len(call.arguments)
            raise ProgramError(f"wrong number of arguments ({count}): {signature.usage}", call.at)
        for place, argument in enumerate(call.arguments):
            self._argument(argument, signature.kind_at(place), signature)
        return signature.returns

    def _argument(self, argument: Argument, wanted: ParameterKind, signature: Signature) -> None:
        if wanted == "set":
            if isinstance(argument, Constant):
                raise ProgramError(
                    f"expected a set, found {argument}: {signature.usage}", argument.at
                )
            if self.kind_of(argument) != "set":
                raise ProgramError(
                    f"expected a set, found a number: {signature.usage}", argument.at
                )
        elif wanted == "value":
            if not isinstance(argument, Constant) and self.kind_of(argument) != "number":
                raise ProgramError(f"expected a value, found a set: {signature.usage}", argument.at)
        else:
            self._string(argument, wanted, signature)

    def _string(self, argument: Argument, wanted: ParameterKind, signature: Signature) -> None:
        if not isinstance(argument, Constant) or not isinstance(argument.value, str):
            raise ProgramError(
                f"expected a string in double quotes: {signature.usage}", argument.at
            )
        looks: dict[ParameterKind, Callable[[str, Position], None]] = {
            "type": self._type,
            "relation": self._relation,
            "id": self._id,
            "operator": self._operator,
            "word": self._word,
        }
        if wanted in looks:
            looks[wanted](argument.value, argument.at)

    def _type(self, word: str, at: Position) -> None:
        if word not in self._graph.node_types:
            raise ProgramError(unknown("type", word, self._graph.node_types), at)

    def _relation(self, word: str, at: Position) -> None:
        if word not in self._graph.relations:
            raise ProgramError(unknown("relation", word, self._graph.relations), at)

    def _id(self, word: str, at: Position) -> None:
        try:
            self._graph.index(word)
        except KeyError:
            close = nearest(word, like_ids(word, self._graph))
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ProgramError(f"no node has the id {word!r}{hint}", at) from None

    def _operator(self, word: str, at: Position) -> None:
        if word not in OPERATORS:
            raise ProgramError(unknown("operator", word, OPERATORS), at)

    def _word(self, word: str, at: Position) -> None:
        if not split_words(word):
            raise ProgramError(f"{word!r} holds no word (letters or digits)", at)


def like_ids(word: str, graph: Graph) -> list[str]:
    """Ids that share the first or last three characters with ``word``, at most some thousands.

    Comparing a word with every id of a large graph would take seconds.
    """
    key = word.strip().casefold()
    found: list[str] = []
    for i in range(graph.n_nodes):
        candidate = graph.id(i).casefold()
        near = abs(len(candidate) - len(key)) <= 2
        if near and (candidate[:3] == key[:3] or candidate[-3:] == key[-3:]):
            found.append(graph.id(i))
            if len(found) == _ID_POOL:
                break
    return found
