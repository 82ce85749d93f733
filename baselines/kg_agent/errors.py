"""What can be wrong with a planner's line: one typed error, which the planner reads."""

from __future__ import annotations

from typing import Literal

from ark.errors import ArkError
from ark.text import clip

ErrorKind = Literal[
    "syntax",  # not a line of the language
    "tool",  # no such tool
    "arity",  # wrong number of arguments
    "variable",  # a variable is due, or this one is not bound
    "entity",  # no node has this id
    "relation",  # no relation or attribute of the set has this name
    "type",  # no such node type
    "operator",  # no such operator, or none for these values
    "value",  # the value does not fit the values of the relation
    "kind",  # a set where a number is due, or the other way round
    "empty",  # the result is empty, or nothing satisfies the constraint
    "size",  # the set is too large for this tool
]
WIDTH = 240  # characters of a message
LITERAL = 60  # characters of a planner's text in a message, so that the reason keeps its place


def quoted(text: str) -> str:
    """A planner's text in a message: clipped, in quotes."""
    return repr(clip(text, LITERAL))


class CallError(ArkError):
    """A call that was not run, or gave nothing. It ends a non-strict program."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        self.kind = kind
        super().__init__(clip(message, WIDTH))

    @property
    def line(self) -> str:
        """As the planner sees it."""
        return f"error ({self.kind}): {self}"
