"""Messages as chat servers take them, and their answers as our records.

Answers are data from strangers: ids may be missing or doubled, names and arguments may be anything.
What the model wrote is kept as it is; only what is sent back to a server is made well-formed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ark.backbone.prices import Price
from ark.records import Json, Message, ToolCall, Usage

CHOICES = ("auto", "none", "required")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# What litellm puts in for a missing id: random, so no two runs would leave the same trajectory.
_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def forced_only(
    tools: Sequence[Mapping[str, Json]], tool_choice: str | None
) -> Sequence[Mapping[str, Json]]:
    """The one tool that ``tool_choice`` names, else all."""
    return [t for t in tools if t["function"]["name"] == tool_choice] or tools


def part(value: Any, name: str) -> Any:
    """A field of an answer: JSON, or an object with attributes as the SDKs make them."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


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


def choice_to_wire(choice: str) -> Json:
    """``required``, ``auto`` or ``none`` as they are; the name of a tool as a forced call of it."""
    return choice if choice in CHOICES else {"type": "function", "function": {"name": choice}}


def from_wire(message: Any, earlier: Sequence[Message]) -> Message:
    """An answer's message (JSON, or attributes as in OpenAI's SDK) as a record.

    ``content`` may be None. Arguments become JSON text where they are an object. Ids that are
    missing, made up by the client or used before become ``call_<answer>_<position>``.
    """
    found = []
    calls = part(message, "tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        function = part(call, "function")
        if function is not None:
            name, arguments = part(function, "name"), part(function, "arguments")
            found.append(ToolCall(_text(part(call, "id")), _text(name), _text(arguments)))
    content = part(message, "content")
    if content is None:
        content = part(message, "refusal")
    text = None if content is None else _text(content)
    return Message("assistant", text, numbered(found, earlier))


def numbered(calls: Sequence[ToolCall], earlier: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls with ids that no other call of the conversation has."""
    number = sum(m.role == "assistant" for m in earlier)
    taken = {call.id for m in earlier for call in m.tool_calls}
    out = []
    for position, call in enumerate(calls):
        name = call.id
        if not name or name in taken or _RANDOM_ID.fullmatch(name):
            name = f"call_{number}_{position}"
        taken.add(name)
        out.append(ToolCall(name, call.name, call.arguments))
    return tuple(out)


def says_nothing(message: Any, finish: str) -> bool:
    """Whether an answer that claims to be whole holds neither text nor calls nor thoughts.

    A model that was cut off or stopped by a filter has answered, if with nothing.
    """
    spoken = ("content", "refusal", "tool_calls", "reasoning_content", "reasoning")
    if any(part(message, name) is not None and part(message, name) != [] for name in spoken):
        return False
    return finish in ("stop", "tool_calls")


def usage_of(answer: Any, price: Price | None) -> Usage:
    """Tokens and money of one answer.

    Tokens that the server did not count are 0 and their money is unknown (None), unless tokens
    cost nothing. A prompt of 0 tokens is one that was not counted: no prompt is empty.
    """
    told = part(answer, "usage")
    prompt, completion = part(told, "prompt_tokens"), part(told, "completion_tokens")
    sent, written = part(told, "prompt_tokens_details"), part(told, "completion_tokens_details")
    tokens = count(prompt), count(completion)
    cached = min(count(part(sent, "cached_tokens")), tokens[0])
    cost = None
    if price is not None and price.prompt == price.completion == 0:
        cost = 0.0
    elif price is not None and count(prompt) and completion is not None:
        fresh = count(part(sent, "cache_creation_tokens"))
        cost = price.cost_of_call(*tokens, cached=cached, written=fresh)
    return Usage(
        calls=1,
        prompt_tokens=tokens[0],
        completion_tokens=tokens[1],
        cost=cost,
        cached_tokens=cached,
        reasoning_tokens=min(count(part(written, "reasoning_tokens")), tokens[1]),
    )


def response_format(schema: Json, tag: str) -> dict[str, Json]:
    """``response_format`` that asks for an answer of this JSON schema."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", tag)[:64] or "answer"
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def count(value: Any) -> int:
    """A number of tokens; 0 for anything else."""
    good = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(value) if good else 0


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Half a surrogate pair is legal in JSON and cannot be written to a file.
    return text.encode("utf-8", "replace").decode("utf-8")
