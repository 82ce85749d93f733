"""How a remote model is told of tools: natively, or by a JSON contract in the prompt."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ark.backbone.wire import from_wire, numbered
from ark.records import Json, Message

MODES = ("native", "schema", "prompt")
Tools = Sequence[Mapping[str, Json]]


@dataclass(frozen=True)
class Request:
    """What is sent: ``tools`` natively, or ``schema`` as ``response_format``."""

    messages: Sequence[Message]
    tools: Tools = ()
    schema: Json = None


class Native:
    """The server's own tool calls."""

    identity: Mapping[str, Json] = {"tool_mode": "native"}

    def prepare(self, messages: Sequence[Message], tools: Tools) -> Request:
        """As they are."""
        return Request(messages, tools)

    def read(self, answer: Any, earlier: Sequence[Message], tools: Tools) -> Message:  # noqa: ARG002
        """The answer as it is."""
        return from_wire(answer, earlier)


class Contract:
    """One call as JSON, asked for in the prompt: the trajectory is that of native calls.

    ``formatted``: the schema is sent as ``response_format`` too, for servers that have it.
    """

    def __init__(self, *, formatted: bool) -> None:
        self._formatted = formatted
        self._rules: Any = importlib.import_module("ark.backbone.schema_mode")

    @property
    def identity(self) -> Mapping[str, Json]:
        """The mode, and the version of the contract where it has one."""
        mode = "schema" if self._formatted else "prompt"
        version = getattr(self._rules, "VERSION", None)
        return {"tool_mode": mode} | ({} if version is None else {"contract": version})

    def prepare(self, messages: Sequence[Message], tools: Tools) -> Request:
        """Tools and earlier calls as text."""
        rendered, schema = self._rules.contract(messages, tools)
        return Request(rendered, (), schema if self._formatted else None)

    def read(self, answer: Any, earlier: Sequence[Message], tools: Tools) -> Message:
        """The text as calls, or as it is where it holds none."""
        said = from_wire(answer, earlier)
        calls = self._rules.parse(said.content or "", tools)
        if not calls:
            return Message("assistant", said.content, said.tool_calls)
        return Message("assistant", None, numbered(calls, earlier))


def tool_mode_of(name: str) -> Native | Contract:
    """The mode of ``backbone.tool_mode``."""
    return Native() if name == "native" else Contract(formatted=name == "schema")
