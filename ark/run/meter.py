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

from ark.backbone.reliable import BEFORE_REQUEST
from ark.errors import ArkError, BudgetReachedError, FatalBackboneError, QueryLimitError
from ark.protocols import Backbone
from ark.records import AgentLine, Call, Completion, Json, Message, Usage
from ark.run.budget import Purse
from ark.run.checks import checked_completion
from ark.run.identity import canonical_bytes
from ark.run.journal import Entries, cannot_write, open_whole, summed
from ark.run.spec import AgentLimits

LEDGER = "ledger.jsonl"


class Ledger:
    """One line for each call that may have cost something, as soon as it is answered.

    ``everything``: refused calls too, which cost nothing but were made.
    """

    def __init__(self, folder: Path, *, everything: bool = False) -> None:
        self._path = folder / LEDGER
        self._everything = everything
        if self._path.is_file():
            open_whole(self._path).close()

    def paid(self, query: str, agent: int, tag: str, usage: Usage) -> None:
        """Record a call; those that surely cost nothing (no LLM) are not written."""
        free = usage.prompt_tokens + usage.completion_tokens == 0 and usage.cost == 0.0
        if free and not self._everything:
            return
        line = {
            "query": query,
            "agent": agent,
            "tag": tag,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost,
            "calls": usage.calls,
            "cached_tokens": usage.cached_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "retries": usage.retries,
        }
        try:
            with self._path.open("ab") as file:
                file.write(canonical_bytes(line) + b"\n")
        except OSError as error:
            raise cannot_write(self._path, error) from None


def paid_by_agent(folder: Path) -> dict[tuple[str, int], Usage]:
    """All that the ledger of a run folder says was paid; empty without a ledger."""
    path = folder / LEDGER
    out: dict[tuple[str, int], Usage] = {}
    if not path.is_file():
        return out
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):  # a torn last line
            entry = json.loads(line)
            key = (entry.pop("query"), entry.pop("agent"))
            entry.pop("tag")
            out[key] = out.get(key, Usage()) + Usage(**{"calls": 1, **entry})
    return out


def spent_before(folder: Path, entries: Entries) -> Usage:
    """What earlier processes spent on a run. Calls that cost nothing stand in the journal only,
    calls of agents that never ended in the ledger only, and replayed ones were not spent here.
    """
    paid = summed(list(paid_by_agent(folder).values()))
    kept = summed([spent for line in entries.agents.values() for spent in _spent(line)])
    return paid if paid.calls >= kept.calls else kept


def _spent(line: AgentLine) -> list[Usage]:
    if line.calls:
        return [call.usage for call in line.calls if not call.replayed]
    return list(line.usage.values())


def lost(folder: Path, entries: Entries) -> dict[str, Json] | None:
    """What was paid for agents beyond what their lines hold: of those that were killed or failed
    and were done again. None without a ledger.
    """
    if not (folder / LEDGER).is_file():
        return None
    calls = tokens = 0
    cost: float | None = 0.0
    for key, paid in paid_by_agent(folder).items():
        line = entries.agents.get(key)
        kept = summed(list(line.usage.values())) if line is not None else Usage()
        if paid.calls <= kept.calls:
            continue
        calls += paid.calls - kept.calls
        tokens += _tokens(paid) - _tokens(kept)
        known = None not in (paid.cost, kept.cost, cost)
        cost = (cost or 0.0) + (paid.cost or 0.0) - (kept.cost or 0.0) if known else None
    return {"calls": calls, "tokens": tokens, "cost": None if cost is None else round(cost, 8)}


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


class Watch:
    """Which model the server says it is: a change in the middle of a run is no small thing."""

    def __init__(self, entries: Entries, stop: bool, note: Callable[[str], None]) -> None:
        self._stop, self._note = stop, note
        said = [(x.model, x.system_fingerprint) for x in entries.agents.values() if x.model]
        self._known = set(said)

    def saw(self, completion: Completion) -> None:
        """Raises FatalBackboneError, or notes it once, where the server has become another."""
        said = (completion.model, completion.system_fingerprint)
        if not completion.model or said in self._known:
            return
        if self._known:
            before = " or ".join(" ".join(filter(None, one)) for one in sorted(self._known))
            text = (
                f"the server answers as {' '.join(filter(None, said))}, earlier in this run as "
                f"{before}: on_model_change=note goes on with both, a new results_dir starts anew"
            )
            if self._stop:
                raise FatalBackboneError(text)
            self._note(text)
        self._known.add(said)


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
        limits: AgentLimits | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._inner = inner
        self._paid = paid
        self._purses = purses
        self._draws = draws
        self._limits = limits or AgentLimits()
        self._watch = watch
        self._started = time.monotonic()
        self._used = Usage()
        self.calls: list[Call] = []
        self.refused: BudgetReachedError | None = None
        self.by_tag: dict[str, Usage] = {}
        self.model = ""
        self.system_fingerprint = ""

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
        self._check()
        started = time.monotonic()
        before = BEFORE_REQUEST.set(self._check_purses)
        try:
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
        except ArkError as error:
            if error.usage is not None:  # paid, though nothing came of it
                self._count(tag, error.usage, time.monotonic() - started)
            raise
        finally:
            BEFORE_REQUEST.reset(before)
        checked_completion(completion)
        self._count(tag, completion.usage, time.monotonic() - started)
        if self._watch is not None:
            self._watch.saw(completion)
        self.model = completion.model
        self.system_fingerprint = completion.system_fingerprint
        return completion

    def _check_purses(self) -> None:
        try:
            for purse in self._purses:
                purse.check()
        except BudgetReachedError as error:
            self.refused = error
            raise

    def _check(self) -> None:
        self._check_purses()
        limits, used = self._limits, self._used
        for name, spent, most in (
            ("calls", used.calls, limits.calls),
            ("tokens", _tokens(used), limits.tokens),
            ("seconds", time.monotonic() - self._started, limits.seconds),
            ("cost", used.cost, limits.cost),
        ):
            if most is not None and spent is not None and spent >= most:
                raise QueryLimitError(f"agent_limits.{name}={most} is reached")

    def _count(self, tag: str, used: Usage, seconds: float) -> None:
        self.calls.append(
            Call(
                tag,
                used.prompt_tokens,
                used.completion_tokens,
                used.cost,
                round(seconds, 6),
                cached_tokens=used.cached_tokens,
                reasoning_tokens=used.reasoning_tokens,
                retries=used.retries,
                replayed=used.replayed,
            )
        )
        self._used = self._used + used
        self.by_tag[tag] = self.by_tag.get(tag, Usage()) + used
        if used.replayed:  # paid by an earlier run
            return
        self._paid(tag, used)
        for purse in self._purses:
            purse.add(used)
