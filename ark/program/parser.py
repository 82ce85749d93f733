"""Reads a program's text into its syntax tree, by recursive descent. Nothing is evaluated.

    program   = { break } statement { break { break } statement } { break }
    statement = NAME "=" expression | "end" "(" expression ")"
    expression = NAME | NAME "(" [ argument { "," argument } ] ")"
    argument  = expression | STRING | NUMBER | "true" | "false"

A break is a line end outside parentheses, or ``;``.
"""

from __future__ import annotations

from ark.program.errors import ProgramError
from ark.program.syntax import (
    Argument,
    Assign,
    Call,
    Constant,
    End,
    Expression,
    Name,
    Program,
    Statement,
)
from ark.program.tokens import Token, TokenKind, tokenize

MAX_STATEMENTS = 200
MAX_DEPTH = 40
MAX_ARGUMENTS = 500

_TRUTH = {"true": True, "false": False}
_RESERVED = frozenset({"end", *_TRUTH})


def parse(text: str) -> Program:
    """The program that a text spells. Raises ProgramError with line and column.

    Only the form is looked at; ``ark.program.checks`` looks at functions, kinds and names.
    """
    reader = _Reader(tokenize(text))
    statements: list[Statement] = []
    reader.skip_breaks()
    while reader.peek().kind != "end of text":
        if statements and isinstance(statements[-1], End):
            raise ProgramError("nothing may follow end(...)", reader.peek().at)
        if len(statements) == MAX_STATEMENTS:
            raise ProgramError(f"more than {MAX_STATEMENTS} statements", reader.peek().at)
        statements.append(reader.statement())
        if reader.peek().kind != "end of text":
            reader.take("break", "a new line or ';' between statements")
        reader.skip_breaks()
    if not statements or not isinstance(statements[-1], End):
        raise ProgramError("the last statement must be end(...)", reader.peek().at)
    assignments = tuple(s for s in statements if isinstance(s, Assign))
    return Program(assignments, statements[-1])


def parse_statement(text: str) -> Statement:
    """One statement by itself, as a planner writes it step by step. Raises ProgramError."""
    reader = _Reader(tokenize(text))
    reader.skip_breaks()
    statement = reader.statement()
    reader.skip_breaks()
    reader.take("end of text", "one statement only")
    return statement


class _Reader:
    """The tokens and a place among them."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0

    def peek(self) -> Token:
        return self._tokens[self._place]

    def take(self, kind: TokenKind, wanted: str) -> Token:
        token = self.peek()
        if token.kind != kind:
            found = token.kind if token.kind in ("break", "end of text") else repr(token.value)
            raise ProgramError(f"expected {wanted}, found {found}", token.at)
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def skip_breaks(self) -> None:
        while self.peek().kind == "break":
            self._place += 1

    def statement(self) -> Statement:
        first = self.take("name", "'name = ...' or 'end(...)'")
        word = str(first.value)
        if word == "end":
            self.take("(", "'(' after end")
            value = self._expression(1)
            self.take(")", "')' to close end(")
            return End(value, first.at)
        if word in _RESERVED:
            raise ProgramError(f"{word!r} cannot be a name", first.at)
        self.take("=", f"'=' after the name {word!r}")
        return Assign(word, self._expression(1), first.at)

    def _expression(self, depth: int) -> Expression:
        value = self._argument(depth)
        if isinstance(value, Constant):
            raise ProgramError("expected a function call or a name, found a constant", value.at)
        return value

    def _argument(self, depth: int) -> Argument:
        token = self.peek()
        if depth > MAX_DEPTH:
            raise ProgramError(f"calls are nested deeper than {MAX_DEPTH}", token.at)
        if token.kind in ("string", "number"):
            return Constant(self.take(token.kind, "").value, token.at)
        word = str(self.take("name", "a function call, a name or a constant").value)
        if self.peek().kind == "(":
            return self._call(word, token, depth)
        if word in _TRUTH:
            return Constant(_TRUTH[word], token.at)
        return Name(word, token.at)

    def _call(self, word: str, token: Token, depth: int) -> Call:
        if word in _RESERVED:
            raise ProgramError(f"{word!r} cannot stand inside an expression", token.at)
        self.take("(", "'('")
        arguments: list[Argument] = []
        while self.peek().kind != ")":
            if arguments:
                self.take(",", "',' or ')'")
            if len(arguments) == MAX_ARGUMENTS:
                raise ProgramError(f"more than {MAX_ARGUMENTS} arguments", self.peek().at)
            arguments.append(self._argument(depth + 1))
        self.take(")", "')'")
        return Call(word, tuple(arguments), token.at)
