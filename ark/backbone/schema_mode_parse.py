"""Tool calls in the text of a model: whatever form it chose, as long as it is JSON.

Read are: bare JSON, JSON inside prose or a fence, doubled braces (``{{...}}``, as some chat
templates show them), arguments that are a text, OpenAI's and other usual names of the fields,
``{"TOOL": {...}}``, arguments beside the name, and several calls in one reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ark.records import Json, ToolCall

LONGEST = 200_000  # characters of a reply that are read
MOST_FAILURES = 100  # braces that open no JSON before reading stops
MOST_MENDED = 4  # of those, how many are read again with all braces single
MOST_CALLS = 10  # of one reply; small models may repeat themselves to the end of their budget
_NAMES = ("name", "tool", "tool_name", "function_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
_LISTS = ("tool_calls", "calls", "actions")
_THOUGHT = re.compile(r"^.*</think>", re.DOTALL)  # what a reasoning model wrote before its answer
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|\{\{|\}\}', re.DOTALL)
_LONE = re.compile("[\ud800-\udfff]")  # half a character: no file can hold it

Known = Mapping[str, frozenset[str]]


def parse(text: str, tools: Sequence[Mapping[str, Json]]) -> list[ToolCall] | None:
    """The calls in ``text``, in order, with ids ``call_0``, ...; None if there is none.

    A call of a tool that does not exist is a call all the same: the toolbox answers it.
    """
    known = {
        str(tool["function"]["name"]): frozenset(
            (tool["function"].get("parameters") or {}).get("properties", {})
        )
        for tool in tools
    }
    found: list[tuple[str, str]] = []
    for value in json_objects(text):
        found += _calls(value, known)
        if len(found) >= MOST_CALLS:
            break
    calls = [ToolCall(f"call_{i}", *call) for i, call in enumerate(found[:MOST_CALLS])]
    return calls or None


def without_thoughts(text: str) -> str:
    """A reply without what a reasoning model thought before it."""
    return _THOUGHT.sub("", text)


def json_objects(text: str | None) -> Iterator[Json]:
    """JSON objects in a reply, outermost ones, from left to right; thoughts are left out."""
    return _values(without_thoughts((text or "")[:LONGEST]))


def _values(text: str) -> Iterator[Json]:
    decoder = json.JSONDecoder()
    failures, at = 0, text.find("{")
    while at >= 0 and failures < MOST_FAILURES:
        end = at + 1
        for start, candidate in _readings(text, at, mend=failures < MOST_MENDED):
            try:
                value, stop = decoder.raw_decode(candidate, start)
            except RecursionError:  # so would be the reading of the next brace
                return
            except ValueError:
                continue
            yield value
            text, end = candidate, stop  # a mended text is read on
            break
        else:
            failures += 1
        at = text.find("{", end)


def _readings(text: str, at: int, *, mend: bool) -> Iterator[tuple[int, str]]:
    """Ways to read the brace at ``at``: as it stands, doubled by mistake, all braces doubled."""
    yield at, text
    if text.startswith("{{", at):
        yield at + 1, text
    if mend and text.startswith("{{", at):
        yield 0, _PIECE.sub(_single, text[at:])


def _single(match: re.Match[str]) -> str:
    piece = match.group()
    return piece[0] if piece in ("{{", "}}") else piece


def _calls(value: Json, known: Known) -> Iterator[tuple[str, str]]:
    """(name, arguments) of each call that a JSON value holds."""
    if not isinstance(value, dict):
        return
    for key in _LISTS:
        if isinstance(value.get(key), list):
            for inner in value[key]:
                yield from _calls(inner, known)
            return
    name_key = next((k for k in _NAMES if isinstance(value.get(k), str | dict)), None)
    if name_key is not None and isinstance(value[name_key], dict):
        yield from _calls(value[name_key], known)  # {"type": "function", "function": {...}}
        return
    if name_key is not None:
        name = value[name_key].strip()
        given = [value[k] for k in _ARGUMENTS if k in value]
        if given:
            yield name, _text(given[0])
        elif name in known:
            beside = {k: v for k, v in value.items() if k in known[name] and k != name_key}
            yield name, _text(beside)
        return
    for name, arguments in value.items():
        if name in known and isinstance(arguments, dict):
            yield name, _text(arguments)


def _text(arguments: Json) -> str:
    """Arguments as OpenAI's form has them: JSON text. A text stays as it is."""
    if arguments is None:
        return "{}"
    if isinstance(arguments, str):
        return arguments
    text = json.dumps(arguments, ensure_ascii=False)
    return text if _LONE.search(text) is None else json.dumps(arguments)
