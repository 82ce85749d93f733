"""Splits a program's text into tokens. No token of the language can hold code."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Literal

from ark.program.errors import Position, ProgramError

MAX_CHARACTERS = 20_000
MAX_DIGITS = 30  # of a number; also keeps int() and float() cheap

TokenKind = Literal["string", "number", "name", "(", ")", ",", "=", "break", "end of text"]

_PATTERN = re.compile(
    r"""(?P<space>[^\S\n]+)
      | (?P<line>\n)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>[(),=;])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. ``value`` is decoded for strings and numbers."""

    kind: TokenKind
    value: str | int | float
    at: Position


def tokenize(text: str) -> list[Token]:
    """All tokens; a line end counts as a ``break`` only outside parentheses, as ``;`` does.

    Raises ProgramError.
    """
    if len(text) > MAX_CHARACTERS:
        raise ProgramError(f"program is longer than {MAX_CHARACTERS} characters")
    tokens: list[Token] = []
    line, start, depth, place = 1, 0, 0, 0
    while place < len(text):
        at = (line, place - start + 1)
        match = _PATTERN.match(text, place)
        if match is None:
            raise ProgramError(_why(text[place]), at)
        place = match.end()
        kind, piece = match.lastgroup, match.group()
        if kind == "line":
            line, start = line + 1, place
            if depth == 0:
                tokens.append(Token("break", piece, at))
        elif kind == "mark":
            depth = depth + 1 if piece == "(" else max(0, depth - 1) if piece == ")" else depth
            tokens.append(_mark(piece, at))
        elif kind == "string":
            tokens.append(Token("string", _string(piece, at), at))
        elif kind == "number":
            tokens.append(Token("number", _number(piece, at), at))
        elif kind == "name":
            tokens.append(Token("name", piece, at))
    tokens.append(Token("end of text", "", (line, place - start + 1)))
    return tokens


def _mark(piece: str, at: Position) -> Token:
    kinds: dict[str, TokenKind] = {"(": "(", ")": ")", ",": ",", "=": "=", ";": "break"}
    return Token(kinds[piece], piece, at)


def _why(character: str) -> str:
    if character == '"':
        return "string is not closed on its line"
    if character in "'‘’“”":
        return 'strings are written in double quotes: "like this"'
    return f"unexpected character {character!r}"


def _string(piece: str, at: Position) -> str:
    try:
        value: str = json.loads(piece)
        value.encode()
    except ValueError as error:  # a bad escape, or half of a surrogate pair
        raise ProgramError("string has a wrong escape", at) from error
    return value


def _number(piece: str, at: Position) -> int | float:
    if len(piece) > MAX_DIGITS:
        raise ProgramError(f"number is longer than {MAX_DIGITS} characters", at)
    if piece.lstrip("-").isdigit():
        return int(piece)
    value = float(piece)
    if not math.isfinite(value):
        raise ProgramError("number is too large", at)
    return value
