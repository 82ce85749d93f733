"""Schema mode: tool calls from models that cannot be relied on to make native ones.

The tools are rendered into the system message, the server or engine is sent the JSON schema of one
call, and the reply is read tolerantly. What is left behind is the same trajectory as in native
mode: assistant messages with ``tool_calls`` and tool messages that answer them.

Three functions, all pure; a backbone calls them around its request::

    plain, schema = contract(messages, tools)
    text = ...  # the server's answer to ``plain``, with ``schema`` as its response format
    message = answer(text, tools, messages)

Only the schema changes with the state (``schema_mode_state``); the prompt grows at its end and
nowhere else, so that a server's prefix cache is used again from step to step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ark.backbone.schema_mode_parse import parse, without_thoughts
from ark.backbone.schema_mode_prompt import call_text, instructions
from ark.backbone.schema_mode_state import State, call_schema
from ark.records import Json, Message

__all__ = ["VERSION", "State", "answer", "contract", "parse", "plain_messages"]

VERSION = 1  # of prompt, schema and reading: raise it with every change that can move an answer

_OPENING = re.compile(r"(?:```\w*|<\w+>)\s*$")  # a fence or tag that opens before the JSON


def contract(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Json]],
    state_hint: State | None = None,
    *,
    state_schema: bool = True,
    example: bool = True,
    tool_choice: str | None = None,
) -> tuple[list[Message], dict[str, Json]]:
    """The conversation for a plain chat model, and the JSON schema of the call it may make now.

    Args:
        messages: the conversation in OpenAI's roles, tool calls and tool messages included.
        tools: OpenAI function schemas.
        state_hint: the state, where the caller knows it; else it is read from ``messages``.
        state_schema: narrow the schema to what makes sense now; False: any call of any tool.
        example: show one worked example.
        tool_choice: the name of a tool that must be called; ``required`` and the like mean any.

    Returns messages of the roles system, user and assistant, without two user messages in a row.
    """  # noqa: D413
    state = (state_hint or State.read(messages)) if state_schema else None
    system = "\n\n".join(m.content or "" for m in messages if m.role == "system")
    added = instructions(tools, system, example=example)
    head = Message("system", f"{system}\n\n{added}" if system else added)
    rest = plain_messages([m for m in messages if m.role != "system"])
    return [head, *rest], call_schema(tools, state, tool_choice)


def answer(
    text: str | None, tools: Sequence[Mapping[str, Json]], earlier: Sequence[Message]
) -> Message:
    """A reply as the message that native mode would have left.

    Ids are ``call_<answer>_<position>``. A reply without a call stays text; of one with calls the
    words before the first are kept.
    """
    calls = parse(text or "", tools)
    if calls is None:
        return Message("assistant", text)
    number = sum(m.role == "assistant" for m in earlier)
    named = tuple(replace(c, id=f"call_{number}_{i}") for i, c in enumerate(calls))
    said = without_thoughts(text or "").partition("{")[0].strip()
    return Message("assistant", _OPENING.sub("", said).strip() or None, named)


def plain_messages(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for models without tool roles: calls and results become text."""
    names = {call.id: call.name for m in messages for call in m.tool_calls}
    out: list[Message] = []
    for message in messages:
        if message.role == "tool":
            name = names.get(message.tool_call_id or "", "a tool")
            _append(out, Message("user", f"Result of {name}:\n{message.content or ''}"))
        elif message.tool_calls:
            said = [message.content] if message.content else []
            said += [call_text(c.name, c.arguments) for c in message.tool_calls]
            out.append(Message("assistant", "\n".join(said)))
        else:
            _append(out, Message(message.role, message.content or ""))
    return out


def _append(out: list[Message], message: Message) -> None:
    """Many chat templates refuse two user messages in a row: they become one."""
    if out and out[-1].role == message.role == "user":
        out[-1] = Message("user", f"{out[-1].content}\n\n{message.content}")
    else:
        out.append(message)
