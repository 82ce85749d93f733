"""What schema mode adds to the system message: the tools in short form and one worked example.

It depends on the tools alone, so the beginning of the prompt is the same at every step and for
every question of a graph, and servers find it in their prefix cache.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ark.backbone.ark_rules import ADD, FINISH, NEIGHBORS, SEARCH
from ark.records import Json

RULES = (
    "Reply with one JSON object and nothing else: "
    '{"name": TOOL, "arguments": {...}}. The next message brings the result.'
)
_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true|false"}


@dataclass(frozen=True)
class Shown:
    """One step of the example: a call, and what came back."""

    tool: str
    arguments: Mapping[str, Json]
    result: str


ASKED = "Which stone bridges did Ilse Varnholt build?"
STEPS = (
    Shown(
        SEARCH,
        {"query": "Ilse Varnholt"},
        "2 nodes match, the best 2:\n"
        '[8041] "Ilse Varnholt" | engineer | score 9.10\n'
        '[8300] "Varnholt Prize" | award | score 4.27',
    ),
    Shown(
        NEIGHBORS,
        {"node_index": 8041, "query": "stone", "node_type": "bridge"},
        'Neighbors of [8041] "Ilse Varnholt" | engineer: 3, all shown.\n'
        '[8077] "Old Weir Bridge" | bridge | in: builder of | match: "five arches of stone"\n'
        '[8052] "Lamm Viaduct" | bridge | in: builder of | match: "grey stone"\n'
        '[8060] "Ferry Crossing" | bridge | in: builder of',
    ),
    Shown(
        ADD,
        {
            "answer_nodes": [
                {"node_index": 8077, "reasoning": "she built it, stone arches"},
                {"node_index": 8052, "reasoning": "she built it, grey stone"},
            ]
        },
        "Added 2; the answer list has 2 nodes.",
    ),
    Shown(FINISH, {}, ""),
)
"""On a graph unlike any that is tested on: engineers and bridges, all invented."""


def call_text(name: str, arguments: str) -> str:
    """One call as schema mode writes it; ``arguments`` is JSON text, or any text."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = arguments
    return json.dumps({"name": name, "arguments": value}, ensure_ascii=False)


def instructions(
    tools: Sequence[Mapping[str, Json]], system: str = "", *, example: bool = True
) -> str:
    """The text for the end of the system message. Nothing that ``system`` has is said again."""
    lines = [RULES, "Arguments of the tools (? may be left out):"]
    lines += [_tool_line(tool["function"], system) for tool in tools]
    worked = _example(tools) if example else []
    return "\n".join([*lines, *worked])


def _tool_line(function: Mapping[str, Json], system: str) -> str:
    parameters = function.get("parameters") or {}
    required = set(parameters.get("required", ()))
    arguments = [
        f"{name}{'' if name in required else '?'}: {_kind(schema)}"
        for name, schema in parameters.get("properties", {}).items()
    ]
    said = str(function.get("description", ""))
    what = f" {said}" if said and said not in system else ""
    return f"- {function['name']}:{what} {'; '.join(arguments) or 'no arguments'}"


def _kind(schema: Mapping[str, Json]) -> str:
    """Type and description of an argument in a few words."""
    kind = str(schema.get("type", ""))
    words = _KINDS.get(kind, kind or "value")
    if "enum" in schema:
        words = "one of " + json.dumps(schema["enum"], ensure_ascii=False)
    elif "anyOf" in schema:
        words = " or ".join(_kind(s) for s in schema["anyOf"])
    elif kind == "array":
        words = f"list of {_kind(schema.get('items', {}))}"
    elif kind == "object":
        inner = schema.get("properties", {}).items()
        words = "{" + "; ".join(f"{name}: {_kind(value)}" for name, value in inner) + "}"
    said = str(schema.get("description", "")).strip().rstrip(".")
    return f"{words} ({said})" if said else words


def _example(tools: Sequence[Mapping[str, Json]]) -> list[str]:
    """The steps that these tools allow; none unless one can search and add with them."""
    known = {
        tool["function"]["name"]: set(
            (tool["function"].get("parameters") or {}).get("properties", {})
        )
        for tool in tools
    }
    if not {SEARCH, ADD} <= set(known):
        return []
    lines = ["", "An example on another graph.", f"Question: {ASKED}"]
    for step in STEPS:
        if step.tool in known:
            kept = {k: v for k, v in step.arguments.items() if k in known[step.tool]}
            lines.append(f"Reply: {call_text(step.tool, json.dumps(kept))}")
            if step.result:
                lines.append(f"Result: {step.result}")
    return lines
