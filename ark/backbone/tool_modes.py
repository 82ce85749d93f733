"""How a remote model is told of tools: natively, or by a JSON contract in the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ark.backbone.schema_mode import VERSION, answer, contract
from ark.backbone.wire import forced_only, from_wire
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

    @property
    def identity(self) -> Mapping[str, Json]:
        """The mode."""
        return {"tool_mode": "native"}

    def prepare(
        self,
        messages: Sequence[Message],
        tools: Tools,
        tool_choice: str | None,  # noqa: ARG002
    ) -> Request:
        """As they are."""
        return Request(messages, tools)

    def read(self, said: Any, earlier: Sequence[Message], tools: Tools) -> Message:  # noqa: ARG002
        """The answer as it is."""
        return from_wire(said, earlier)


class Contract:
    """Calls as JSON text, asked for in the prompt: the trajectory is that of native calls.

    ``formatted``: the schema is sent as ``response_format`` too, for servers that have it.
    """

    def __init__(self, *, formatted: bool) -> None:
        self._formatted = formatted

    @property
    def identity(self) -> Mapping[str, Json]:
        """The mode and the version of the contract."""
        return {"tool_mode": "schema" if self._formatted else "prompt", "contract": VERSION}

    def prepare(
        self, messages: Sequence[Message], tools: Tools, tool_choice: str | None
    ) -> Request:
        """Tools and earlier calls as text; without a schema only what is shown can be forced."""
        if not self._formatted:
            tools = forced_only(tools, tool_choice)
        plain, schema = contract(messages, tools, tool_choice=tool_choice)
        return Request(plain, (), schema if self._formatted else None)

    def read(self, said: Any, earlier: Sequence[Message], tools: Tools) -> Message:
        """The text as calls, or as it is where it holds none."""
        found = from_wire(said, earlier)
        # Some servers make calls of such text themselves.
        return found if found.tool_calls else answer(found.content, tools, earlier)


def tool_mode_of(name: str) -> Native | Contract:
    """The mode of ``backbone.tool_mode``."""
    return Native() if name == "native" else Contract(formatted=name == "schema")
