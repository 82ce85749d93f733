"""The syntax tree of a program, and its canonical text.

A program is a list of statements, each ``name = expression``, closed by ``end(expression)``. An
expression is a function call or an earlier name; an argument may also be a string, a number,
``true`` or ``false``. Positions are kept for error messages and take no part in equality.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from ark.program.errors import NOWHERE, Position


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, number or truth value written in the program."""

    value: str | int | float | bool
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        # JSON's spelling is the language's spelling: one set of escapes, finite numbers only.
        return json.dumps(self.value, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Name:
    """What an earlier statement bound."""

    id: str
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language with its arguments."""

    function: str
    arguments: tuple[Argument, ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Expression = Name | Call
Argument = Name | Call | Constant


@dataclass(frozen=True, slots=True)
class Assign:
    """``name = value``."""

    name: str
    value: Expression
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


@dataclass(frozen=True, slots=True)
class End:
    """``end(value)``: the program's answer."""

    value: Expression
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"end({self.value})"


Statement = Assign | End


@dataclass(frozen=True, slots=True)
class Program:
    """Assignments in order and the answer. ``str`` gives the canonical text."""

    assignments: tuple[Assign, ...]
    end: End

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements in the order in which they run."""
        return (*self.assignments, self.end)

    def __str__(self) -> str:
        return "\n".join(map(str, self.statements))


def calls(value: Argument) -> Iterator[Call]:
    """Every call inside an argument, outermost first."""
    if isinstance(value, Call):
        yield value
        for argument in value.arguments:
            yield from calls(argument)
