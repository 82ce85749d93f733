"""Backbones that answer as badly as a model may: for the contract of methods."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ark.records import Completion, Json, Message, ToolCall, Usage


class Talking:
    """Answers by ``answer`` and counts its calls."""

    label = "test"
    identity: ClassVar[Mapping[str, Json]] = {"backbone": "test"}

    def __init__(self) -> None:
        self.calls = 0
        self.schema: Mapping[str, Json] | None = None

    def answer(self, tools: Sequence[Mapping[str, Json]]) -> Message:
        raise NotImplementedError

    async def complete(
        self, messages: Sequence[Message], *, tools: Any = None, **how: Any
    ) -> Completion:
        self.calls += 1
        self.schema = how.get("schema")
        assert self.calls < 5000, "the method does not stop asking"
        return Completion(self.answer(tools or ()), Usage(calls=1), "stop", "test")


class Refusing(Talking):
    def answer(self, tools: Sequence[Mapping[str, Json]]) -> Message:
        return Message("assistant", "I am sorry, but I cannot help with that.")


class Silent(Talking):
    def answer(self, tools: Sequence[Mapping[str, Json]]) -> Message:
        return Message("assistant", None)


class Garbage(Talking):
    """Any characters as text, as tool names and as arguments; half the tools exist."""

    def answer(self, tools: Sequence[Mapping[str, Json]]) -> Message:
        rng = random.Random(self.calls)

        def noise() -> str:
            points = (rng.choice((rng.randrange(1, 0xD800), rng.randrange(128))) for _ in range(20))
            return "".join(map(chr, points))

        names = [t["function"]["name"] for t in tools] + [noise() for _ in range(3)]
        arguments = [noise(), "{", "[]", "null", '{"query": 7}', '{"node_index": {}}', "1e999"]
        calls = [
            ToolCall(noise(), rng.choice(names), rng.choice(arguments))
            for _ in range(rng.randrange(3))
        ]
        return Message("assistant", noise(), tuple(calls))


class Inventing(Talking):
    """Calls that fit the schema, about nodes, types and relations that do not exist."""

    def answer(self, tools: Sequence[Mapping[str, Json]]) -> Message:
        numbers = itertools.cycle((10**12, -1, 13, 99))

        def value(schema: Mapping[str, Json]) -> Json:
            kind = schema.get("type")
            if kind == "object":
                return {k: value(v) for k, v in schema.get("properties", {}).items()}
            if kind == "array":
                return [value(schema.get("items", {})) for _ in range(4)]
            if kind in ("integer", "number"):
                return next(numbers)
            return True if kind == "boolean" else "no such thing"

        calls = [
            ToolCall(
                f"c{i}", tool["function"]["name"], json.dumps(value(tool["function"]["parameters"]))
            )
            for i, tool in enumerate(tools)
        ]
        text = None if tools else json.dumps(value(self.schema or {"type": "object"}))
        return Message("assistant", text, tuple(calls))
