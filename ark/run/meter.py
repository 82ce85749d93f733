"""Counts what a method asks of a backbone, by tag, and keeps a ledger of money.

The ledger outlives killed agents: a call is in it as soon as it was paid, while the journal knows
only agents that ended. The difference is money lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ark.errors import BudgetReachedError
from ark.protocols import Backbone
from ark.records import Call, Completion, Json, Message, Usage
from ark.run.budget import Purse
from ark.run.checks import checked_completion
from ark.run.identity import canonical_json
from ark.run.journal import Entries, summed

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


def paid_before(folder: Path) -> Usage:
    """All that the ledger of a run folder says was paid; nothing without a ledger."""
    path = folder / LEDGER
    paid = Usage()
    if not path.is_file():
        return paid
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):  # a torn last line
            entry = json.loads(line)
            paid = paid + Usage(
                1, entry["prompt_tokens"], entry["completion_tokens"], entry["cost"]
            )
    return paid


def spent_before(folder: Path, entries: Entries) -> Usage:
    """What earlier processes spent on a run. Calls that cost nothing stand in the journal only,
    calls of agents that never ended in the ledger only: the larger of both.
    """
    kept = summed([u for line in entries.agents.values() for u in line.usage.values()])
    paid = paid_before(folder)
    return paid if paid.calls >= kept.calls else kept


def lost(folder: Path, kept: Usage) -> dict[str, Json] | None:
    """Tokens and dollars that were paid but belong to no agent line; None without a ledger."""
    if not (folder / LEDGER).is_file():
        return None
    paid = paid_before(folder)
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
    """A ``Backbone`` around a backbone, for one agent.

    ``purses`` are asked before each call. ``draws`` is added to the number of each draw, so that
    repeats of a run draw anew.
    """

    def __init__(
        self,
        inner: Backbone,
        paid: Callable[[str, Usage], None],
        purses: Sequence[Purse] = (),
        draws: int = 0,
    ) -> None:
        self._inner = inner
        self._paid = paid
        self._purses = purses
        self._draws = draws
        self.calls: list[Call] = []
        self.refused: BudgetReachedError | None = None
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
        try:
            for purse in self._purses:
                purse.check()
        except BudgetReachedError as error:
            self.refused = error
            raise
        started = time.monotonic()
        completion = await self._inner.complete(
            messages,
            tag=tag,
            tools=tools,
            tool_choice=tool_choice,
            schema=schema,
            draw=draw + self._draws,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        checked_completion(completion)
        used = completion.usage
        self.calls.append(
            Call(
                tag,
                used.prompt_tokens,
                used.completion_tokens,
                used.cost,
                round(time.monotonic() - started, 6),
                cached_tokens=used.cached_tokens,
                reasoning_tokens=used.reasoning_tokens,
                retries=used.retries,
                replayed=used.replayed,
            )
        )
        self.by_tag[tag] = self.by_tag.get(tag, Usage()) + used
        self.model = completion.model
        self._paid(tag, used)
        for purse in self._purses:
            purse.add(used)
        return completion
