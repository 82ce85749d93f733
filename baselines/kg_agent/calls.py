"""Reads one line of a planner. Nothing is evaluated: a line is a tool's name and its arguments.

    vK = tool(a1, a2, ...)  |  tool(a1, ...)  |  ans = end(vK)  |  vA = vB

Arguments are split at commas, but a relation, a type or a mention is all that is left of the line,
and the value of a constraint is everything after its operator, so that all may hold commas. An id
that holds commas stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ark.errors import unknown
from ark.text import one_line
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.literals import OPERATORS
from baselines.kg_agent.tools import TOOLS, Tool

MAX_LINE = 1_000  # characters
MAX_SETS = 20  # arguments of intersect and union
_NAME = r"[A-Za-z_]\w{0,39}"
_CALL = re.compile(rf"(?:({_NAME})\s*=(?!=)\s*)?({_NAME})\s*\((.*)\)[\s.;]*")
_REBIND = re.compile(rf"({_NAME})\s*=\s*({_NAME})[\s.;]*")
_INNER = re.compile(rf"\s*({_NAME})\s*\(")
_SIZE = re.compile(r"k\s*=\s*(.*)")
_ANOTHER = re.compile(rf"\)[\s;,/&.]*(?:{_NAME}\s*=\s*)?({_NAME})\s*\(")
_QUOTED = re.compile(r"""\s*("[^"]*"|'[^']*')\s*(?:,|$)""")
_SIGNS = "+-\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool with its arguments, as texts; ``target`` is what the result is bound to, or empty."""

    tool: str
    arguments: tuple[str, ...]
    target: str = ""

    def __str__(self) -> str:
        body = self.arguments[0] if self.tool == "=" else f"{self.tool}({self._inside})"
        return f"{self.target} = {body}" if self.target else body

    @property
    def _inside(self) -> str:
        form = TOOLS[self.tool].form if self.tool in TOOLS else "rest"
        own = {"sets": len(self.arguments), "rest": 0}.get(form, 1)  # ids and variables
        parts = (f'"{a}"' if i < own and "," in a else a for i, a in enumerate(self.arguments))
        return ", ".join(parts)


def parse(line: str, tools: Mapping[str, Tool] = TOOLS) -> Call:
    """The call of one of ``tools`` that a line spells. Raises CallError (syntax, tool, arity)."""
    if len(line) > MAX_LINE:
        raise CallError("syntax", f"the line is longer than {MAX_LINE} characters")
    text = one_line(line)
    rebind = _REBIND.fullmatch(text)
    if rebind:
        return Call("=", (rebind[2],), rebind[1])
    found = _CALL.fullmatch(text)
    if not found:
        raise CallError("syntax", f"expected one call like v1 = get_relation(v0), found {text!r}")
    target, name, inside = found[1] or "", found[2], found[3].strip()
    tool = tools.get(name)
    if tool is None:
        raise CallError("tool", unknown("tool", name, tools))
    return Call(name, tuple(_arguments(tool, inside)), target)


def _arguments(tool: Tool, inside: str) -> list[str]:
    if _goes_on(inside):
        raise CallError("syntax", "one call a line: leave out what follows the first")
    parts = [_unquoted(part) for part in _split(tool, inside)]
    if tool.form == "text" and parts[1:2] == [""]:
        raise CallError("arity", f"the text of {tool.name} is empty: {tool.usage}")
    if not tool.least <= len(parts) <= tool.most or "" in parts:
        raise CallError("arity", f"{tool.name} takes other arguments: {tool.usage}")
    for part in parts if tool.form == "sets" else parts[:1]:
        inner = _INNER.match(part)
        if inner and inner[1] in TOOLS:
            raise CallError("syntax", f"one call a line: bind {inner[1]}(...) to a variable first")
    return parts


def _goes_on(inside: str) -> bool:
    """Whether the first call is closed inside, and another of a tool follows."""
    closed = (m for m in _ANOTHER.finditer(inside) if m[1] in TOOLS)
    return any(inside.count("(", 0, m.start()) <= inside.count(")", 0, m.start()) for m in closed)


def _split(tool: Tool, inside: str) -> list[str]:
    if not inside:
        return []
    if tool.form == "rest":
        return [inside]
    if tool.form == "sets":
        parts = _commas(inside.removeprefix("[").removesuffix("]"))
        if len(parts) > MAX_SETS:
            raise CallError("arity", f"{tool.name} takes at most {MAX_SETS} sets")
        return parts
    if tool.form == "text":
        return _search(inside)
    first, rest = _first(inside)
    if rest is None:
        return [first]
    parts = [part.strip() for part in rest.split(",", tool.most - 2)]
    if tool.most == 4:
        parts = _compared(rest) or parts
    return [first, *(parts[:-1] if len(parts) == tool.most - 1 > 2 and not parts[-1] else parts)]


def _compared(rest: str) -> list[str]:
    """Relation, operator and value by the first operator; nothing where there is none."""
    parts = rest.split(",")
    for place, part in enumerate(parts[1:], start=1):
        if _unquoted(part.strip()) in OPERATORS:
            value = [",".join(parts[place + 1 :]).strip()] if parts[place + 1 :] else []
            return [",".join(parts[:place]).strip(), part.strip(), *value]
    return []


def _first(text: str) -> tuple[str, str | None]:
    """What stands before the first comma outside of quotes, and the rest; None without a comma."""
    quoted = _QUOTED.match(text)
    at = quoted.end() - 1 if quoted and quoted[0].endswith(",") else text.find(",")
    if (quoted and at == quoted.end(1) - 1) or at < 0:
        return text.strip(), None
    return text[:at].strip(), text[at + 1 :].strip()


def _commas(text: str) -> list[str]:
    """Parts between commas outside of quotes; at most one more than ``MAX_SETS``."""
    parts: list[str] = []
    rest: str | None = text
    while rest is not None and len(parts) <= MAX_SETS:
        part, rest = _first(rest)
        parts.append(part)
    return parts


def _search(inside: str) -> list[str]:
    """Set, text and perhaps k. The text may hold commas: the last part is k if it looks like one,
    right or wrong, since a wrong k must not become a word of the text.
    """
    first, rest = _first(inside)
    if rest is None:
        return [first]
    text, more, last = (part.strip() for part in rest.rpartition(","))
    size = _size(_unquoted(last)) if more else None
    return [first, rest] if size is None else [first, text, size]


def _size(part: str) -> str | None:
    """What stands for k: ``k=...``, or a number with or without sign; None if it is text."""
    if named := _SIZE.fullmatch(part):
        return named[1]
    number = part.lstrip(_SIGNS).strip().replace(".", "", 1)
    return part if number.isdigit() else None


def _unquoted(part: str) -> str:
    quoted = len(part) >= 2 and part[0] == part[-1] and part[0] in "\"'"
    return part[1:-1].strip() if quoted and part[0] not in part[1:-1] else part
