"""The call that a planner's reply holds: a JSON object, or the line itself as in the original."""

from __future__ import annotations

import itertools

from ark.backbone.schema_mode_parse import json_objects, without_thoughts
from ark.records import Json
from baselines.ask import object_schema
from baselines.kg_agent.calls import MAX_LINE
from baselines.kg_agent.errors import CallError

SCHEMA: dict[str, Json] = object_schema({"call": {"type": "string"}})
READ = 20_000  # characters of a reply that are looked at
_MARKS = "`*> \t-"


def line_of(reply: str | None) -> str:
    """One line, not parsed yet. Raises CallError where there is none.

    Of several lines the first counts: a step is one call.
    """
    text = (reply or "")[:READ]
    for value in itertools.islice(json_objects(text), 1):
        call = value.get("call") if isinstance(value, dict) else None
        if isinstance(call, str) and call.strip():
            return _first(call)
        raise CallError("syntax", 'the JSON object needs a text "call" with the next call')
    line = _first(without_thoughts(text))
    if not line:
        raise CallError("syntax", "the answer holds no call")
    return line


def _first(text: str) -> str:
    lines = (line.strip(_MARKS) for line in text.splitlines())
    return (
        next((line[: MAX_LINE + 1] for line in lines if "(" in line or "=" in line), "")
        or (text.strip()[: MAX_LINE + 1])
    )
