"""The mechanism of backbones without an LLM: policies looked up by tag, ties drawn by seed."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence

from ark.backbone.wire import forced_only
from ark.errors import QueryFailedError
from ark.records import Completion, Json, Message, ToolCall, Usage

Calls = list[tuple[str, dict[str, Json]]]
"""What a policy answers: tool names with arguments."""

Policy = Callable[
    [Sequence[Message], Sequence[Mapping[str, Json]], Mapping[str, Json] | None, random.Random],
    Calls | str,
]
"""``policy(messages, tools, schema, rng)`` -> calls, or text where there are no tools."""


def draw_rng(seed: int, draw: int, tag: str, messages: Sequence[Message]) -> random.Random:
    """A generator that depends on the conversation, so that equal calls repeat exactly."""
    # Without the system message: the rules read nothing in it that could decide a tie, and another
    # wording of a prompt must not look like an effect.
    said = [m.to_json() for m in messages if m.role != "system"]
    text = json.dumps([seed, draw, tag, said], sort_keys=True)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


class PolicyBackbone:
    """A backbone whose answers come from policies. Subclasses name them."""

    name = "policy"
    version = 0
    is_llm = False
    label = "rule-based controller (no LLM)"

    def __init__(self, seed: int = 0, policies: Mapping[str, Policy] | None = None) -> None:
        self._seed = seed
        self._policies = {**self.defaults(), **(policies or {})}

    def defaults(self) -> dict[str, Policy]:
        """Policies by tag; the empty tag is for every other tag."""
        raise NotImplementedError

    @property
    def identity(self) -> Mapping[str, Json]:
        """Name and version of the rules. The seed stands in the cell."""
        return {"backbone": self.name, "rules": self.version}

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,
        tool_choice: str | None = None,
        schema: Mapping[str, Json] | None = None,
        draw: int = 0,
        max_tokens: int | None = None,  # noqa: ARG002
        temperature: float | None = None,  # noqa: ARG002
    ) -> Completion:
        """The policy's answer for ``tag``. No tokens and no money are spent."""
        policy = self._policies.get(tag) or self._policies.get("")
        if policy is None:
            raise QueryFailedError(f"backbone={self.name} has no rules for {tag}")
        rng = draw_rng(self._seed, draw, tag, messages)
        answer = policy(messages, forced_only(tools or (), tool_choice), schema, rng)
        number = sum(m.role == "assistant" for m in messages)
        if isinstance(answer, str):
            message = Message("assistant", answer)
        else:
            message = Message(
                "assistant",
                None,
                tuple(
                    ToolCall(f"call_{number}_{i}", name, json.dumps(arguments, ensure_ascii=False))
                    for i, (name, arguments) in enumerate(answer)
                ),
            )
        finish = "tool_calls" if message.tool_calls else "stop"
        return Completion(message, Usage(calls=1), finish, f"{self.name}-{self.version}")
