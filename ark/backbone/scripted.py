"""``backbone=scripted``: plays a list of answers. For tests, demonstrations and fingerprints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ark.errors import QueryFailedError, UserError
from ark.records import Completion, Json, Message, ToolCall, Usage


def scripted_message(entry: Mapping[str, Any], number: int) -> Message:
    """``{"content": ...}`` and/or ``{"calls": [{"name": ..., "arguments": ...}]}`` as a message.

    ``arguments`` may be an object, or a text that is passed on as it is (to play broken JSON).
    """
    calls = []
    for position, call in enumerate(entry.get("calls", ())):
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls.append(ToolCall(f"call_{number}_{position}", str(call["name"]), text))
    return Message("assistant", entry.get("content"), tuple(calls))


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("content"), str | None):
        return False
    calls = entry.get("calls", [])
    return isinstance(calls, list | tuple) and all(
        isinstance(call, Mapping) and "name" in call for call in calls
    )


def _read(path: str | Path) -> list[Mapping[str, Any]]:
    try:
        script = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"backbone.script={path}: not a readable JSON list ({error})") from None
    if not isinstance(script, list) or not all(isinstance(e, dict) for e in script):
        raise UserError(f"backbone.script={path}: must be a JSON list of objects")
    return script


class ScriptedBackbone:
    """Answers the n-th step of a conversation with the n-th entry, whoever asks.

    The place in the list is the number of assistant messages so far, so that the backbone needs
    no state and parallel agents play the same script. When the list is over, the question fails.
    """

    is_llm = False

    def __init__(self, script: Sequence[Mapping[str, Any]] | str | Path | None) -> None:
        """``script`` is the list itself or the path of a JSON file that holds it."""
        self._script = _read(script) if isinstance(script, str | Path) else script or []
        if not isinstance(self._script, list) or not all(map(_is_entry, self._script)):
            raise UserError(
                'backbone.script: a list of {"content": text} and/or '
                '{"calls": [{"name": text, "arguments": object}]}'
            )
        if not self._script:
            raise UserError("backbone=scripted needs answers to play: backbone.script=FILE.json")

    @property
    def identity(self) -> Mapping[str, Json]:
        """The script itself."""
        return {"backbone": "scripted", "script": self._script}

    @property
    def label(self) -> str:
        """What tables print."""
        return "scripted answers (no LLM)"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,  # noqa: ARG002
        tool_choice: str | None = None,  # noqa: ARG002
        schema: Mapping[str, Json] | None = None,  # noqa: ARG002
        draw: int = 0,  # noqa: ARG002
        max_tokens: int | None = None,  # noqa: ARG002
        temperature: float | None = None,  # noqa: ARG002
    ) -> Completion:
        """The entry whose number is that of the assistant messages so far."""
        number = sum(m.role == "assistant" for m in messages)
        if number >= len(self._script):
            raise QueryFailedError(f"the script has {len(self._script)} answers, {tag} wants more")
        return Completion(
            scripted_message(self._script[number], number), Usage(calls=1), "stop", "scripted"
        )
