"""Reading a conversation back: what rule-based controllers know, they know from here.

They see messages, tools and schema only, as a model does; this module turns the text of
observations into rows again.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ark.records import Json, Message

_ROW = re.compile(r'\[(\d+)\] ("(?:[^"\\]|\\.)*")((?: \| .*)?)')
_MATCH = re.compile(r' \| match: ("(?:[^"\\]|\\.)*")$')
_ALSO = re.compile(r' \| also: ("(?:[^"\\]|\\.)*")')
_TOTAL = re.compile(r": (\d+), ")
_ARRAY = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"(?:, )?)*\]')


@dataclass(frozen=True)
class Row:
    """One node as an observation showed it."""

    index: int
    name: str
    type: str
    match: str = ""
    alias: str = ""


@dataclass(frozen=True)
class Seen:
    """One tool call with what it showed. ``total`` is how many there were, shown or not."""

    tool: str
    arguments: Mapping[str, Json]
    rows: tuple[Row, ...]
    total: int
    center: Row | None = None


@dataclass
class Conversation:
    """The question, the type lists of the system message, and all calls so far."""

    system: str
    question: str
    calls: list[Seen] = field(default_factory=list)

    @classmethod
    def read(cls, messages: Sequence[Message]) -> Conversation:
        """Never raises: what cannot be read is left out."""
        system = next((m.content or "" for m in messages if m.role == "system"), "")
        question = next((m.content or "" for m in messages if m.role == "user"), "")
        answers = {m.tool_call_id: m.content or "" for m in messages if m.role == "tool"}
        out = cls(system, question)
        for message in messages:
            for call in message.tool_calls:
                out.calls.append(_seen(call.name, call.arguments, answers.get(call.id, "")))
        return out

    def type_lists(self) -> tuple[list[str], list[str]]:
        """Node types and edge types: the first two JSON arrays of texts in the system message."""
        arrays = [json.loads(m.group()) for m in _ARRAY.finditer(self.system)]
        arrays = [a for a in arrays if a]
        return (arrays[0] if arrays else []), (arrays[1] if len(arrays) > 1 else [])

    def rows(self) -> Iterator[Row]:
        """Every row shown so far, in order."""
        for call in self.calls:
            yield from call.rows


def _seen(tool: str, arguments: str, observation: str) -> Seen:
    try:
        parsed = json.loads(arguments)
    except ValueError:
        parsed = {}
    lines = observation.split("\n")
    head, body = lines[0], lines[1:]
    center = _row(head.partition(" of ")[2]) if head.startswith("Neighbors of [") else None
    rows = tuple(row for line in body if (row := _row(line)))
    total = _TOTAL.search(head)
    count = int(total.group(1)) if total else len(rows)
    return Seen(tool, parsed if isinstance(parsed, dict) else {}, rows, count, center)


@functools.lru_cache(maxsize=8_192)  # each step reads the whole conversation again
def _row(line: str) -> Row | None:
    found = _ROW.match(line)
    if not found:
        return None
    match = _MATCH.search(line)
    node_type = found.group(3).split(" | ")[1] if found.group(3) else ""
    also = _ALSO.search(found.group(3))
    shown, alias = (json.loads(m.group(1)) if m else "" for m in (match, also))
    return Row(int(found.group(1)), json.loads(found.group(2)), node_type, shown, alias)
