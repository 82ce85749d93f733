"""Counts what a method asks of a backbone, by tag, and keeps a ledger of money.

The ledger outlives killed agents: a call is in it as soon as it was paid, while the journal knows
only agents that ended. The difference is money lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ark.protocols import Backbone
from ark.records import Completion, Json, Message, Usage
from ark.run.checks import checked_completion
from ark.run.identity import canonical_json

LEDGER = "ledger.jsonl"


class Ledger:
    """One line for each call that may have cost something, as soon as it is answered."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LEDGER

    def paid(self, query: str, agent: int, tag: str, usage: Usage) -> None:
        """Record a call; those that surely cost nothing (no LLM) are not written."""
        if usage.prompt_tokens + usage.completion_tokens == 0 and usage.cost == 0.0:
            return
        line = {
            "query": query,
            "agent": agent,
            "tag": tag,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(canonical_json(line) + "\n")


def lost(folder: Path, kept: Usage) -> dict[str, Json] | None:
    """Tokens and dollars that were paid but belong to no agent line; None without a ledger."""
    path = folder / LEDGER
    if not path.is_file():
        return None
    paid = Usage()
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):  # a torn last line
            entry = json.loads(line)
            paid = paid + Usage(
                1, entry["prompt_tokens"], entry["completion_tokens"], entry["cost"]
            )
    known = paid.cost is not None and kept.cost is not None
    return {
        "calls": paid.calls - kept.calls,
        "tokens": paid.prompt_tokens
        + paid.completion_tokens
        - kept.prompt_tokens
        - kept.completion_tokens,
        "cost": round((paid.cost or 0.0) - (kept.cost or 0.0), 8) if known else None,
    }


class Meter:
    """A ``Backbone`` around a backbone, for one agent."""

    def __init__(
        self,
        inner: Backbone,
        paid: Callable[[str, Usage], None],
    ) -> None:
        self._inner = inner
        self._paid = paid
        self.by_tag: dict[str, Usage] = {}
        self.model = ""

    @property
    def identity(self) -> Mapping[str, Json]:
        """That of the backbone inside."""
        return self._inner.identity

    @property
    def label(self) -> str:
        """That of the backbone inside."""
        return self._inner.label

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,
        tool_choice: str | None = None,
        schema: Mapping[str, Json] | None = None,
        draw: int = 0,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """Ask, and count the answer."""
        await asyncio.sleep(0)  # rule-based backbones never wait: let signals and progress in
        completion = await self._inner.complete(
            messages,
            tag=tag,
            tools=tools,
            tool_choice=tool_choice,
            schema=schema,
            draw=draw,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        checked_completion(completion)
        self.by_tag[tag] = self.by_tag.get(tag, Usage()) + completion.usage
        self.model = completion.model
        self._paid(tag, completion.usage)
        return completion
