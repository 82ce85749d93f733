"""Messages as chat servers take them, and their answers as our records.

Answers are data from strangers: ids may be missing or doubled, names and arguments may be anything.
What the model wrote is kept as it is; only what is sent back to a server is made well-formed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ark.records import Json, Message, ToolCall

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# What litellm puts in for a missing id: random, so no two runs would leave the same trajectory.
_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def to_wire(messages: Sequence[Message]) -> list[dict[str, Json]]:
    """The OpenAI chat form. Broken calls of earlier answers are sent in a form servers accept.

    Servers that read arguments themselves (Anthropic, vLLM's chat templates) refuse a whole
    request for one call that is no JSON object, or whose tool name holds a blank.
    """
    out = []
    for message in messages:
        entry = message.to_json()
        for call in entry.get("tool_calls", ()):
            function = call["function"]
            if not _NAME.fullmatch(function["name"]):
                function["name"] = "unknown_tool"
            if not _is_object(function["arguments"]):
                function["arguments"] = json.dumps({"malformed": function["arguments"]})
        out.append(entry)
    return out


def from_wire(message: Any, earlier: Sequence[Message]) -> Message:
    """An answer's message (attributes as in OpenAI's SDK) as a record.

    ``content`` may be None. Arguments become JSON text where they are an object. Ids that are
    missing, made up by the client or used before become ``call_<answer>_<position>``.
    """
    number = sum(m.role == "assistant" for m in earlier)
    taken = {call.id for m in earlier for call in m.tool_calls}
    calls = []
    for position, call in enumerate(getattr(message, "tool_calls", None) or ()):
        function = getattr(call, "function", None)
        if function is None:
            continue
        name = str(getattr(call, "id", None) or "")
        if not name or name in taken or _RANDOM_ID.fullmatch(name):
            name = f"call_{number}_{position}"
        taken.add(name)
        arguments = getattr(function, "arguments", None)
        calls.append(ToolCall(name, str(getattr(function, "name", None) or ""), _text(arguments)))
    content = getattr(message, "content", None)
    return Message("assistant", None if content is None else _text(content), tuple(calls))


def response_format(schema: Json, tag: str) -> dict[str, Json]:
    """``response_format`` that asks for an answer of this JSON schema."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", tag)[:64] or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
