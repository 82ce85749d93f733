"""What a call has cost is counted whichever way it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.backbone.cache import Cache
from ark.backbone.limiter import Limiter
from ark.backbone.reliable import BEFORE_REQUEST, Reliable
from ark.errors import (
    ArkError,
    BudgetReachedError,
    FatalBackboneError,
    QueryFailedError,
    RetryableError,
    UserError,
)
from ark.records import Completion, Message, Usage
from ark.run.budget import Purse
from ark.run.meter import Meter
from ark.run.spec import Limits

ASK = [Message("user", "Which lamp?")]
PAID = Usage(1, 10, 5, 0.5)
GOOD = Completion(Message("assistant", "this"), PAID, "stop", "m")


@dataclass
class Played:
    """Plays its ends in turn: errors are raised."""

    ends: list[ArkError | Completion]
    asked: int = 0
    identity: ClassVar[dict[str, str]] = {"backbone": "played"}
    label: str = "played"
    booked: list[Usage] = field(default_factory=list)

    async def complete(self, messages: Sequence[Message], **_how: Any) -> Completion:
        end = self.ends[self.asked]
        self.asked += 1
        if isinstance(end, Completion):
            return end
        raise end

    def metered(self, cache: Cache | None = None, limits: Limits | None = None) -> Meter:
        async def at_once(_seconds: float) -> None:
            for _ in range(3):  # others have their turn
                await asyncio.sleep(0)

        reliable = Reliable(self, Limiter(4), cache=cache, sleep=at_once)
        purse = Purse(limits or Limits())
        return Meter(reliable, lambda _tag, usage: self.booked.append(usage), [purse])


def wasted() -> RetryableError:
    return RetryableError("no message", usage=PAID)


@pytest.mark.parametrize(
    ("ends", "error", "requests"),
    [
        ([QueryFailedError("refused")], QueryFailedError, 1),
        ([wasted(), wasted(), QueryFailedError("refused")], QueryFailedError, 3),
        ([wasted(), FatalBackboneError("no credit")], FatalBackboneError, 2),
        ([wasted(), RetryableError("later", retry_after=999.0)], FatalBackboneError, 2),
        ([wasted()] * 6, RetryableError, 6),
    ],
)
def test_a_call_that_comes_to_nothing_is_counted(
    ends: list[ArkError | Completion], error: type[ArkError], requests: int
) -> None:
    played = Played(ends)
    with pytest.raises(error):
        asyncio.run(played.metered().complete(ASK, tag="t"))
    (usage,) = played.booked
    told = sum(1 for end in ends if isinstance(end, RetryableError) and end.usage)
    assert played.asked == requests == usage.calls + usage.retries
    assert (usage.prompt_tokens, usage.completion_tokens) == (10 * told, 5 * told)
    assert usage.cost == 0.5 * told


def test_an_answer_that_the_cache_cannot_keep_is_counted(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.sqlite")
    assert cache._base is not None
    cache._base.execute("PRAGMA query_only = ON")
    played = Played([GOOD])
    with pytest.raises(UserError, match="cannot be used"):
        asyncio.run(played.metered(cache).complete(ASK, tag="t"))
    assert played.booked == [PAID]
    cache.close()


def test_the_budget_is_asked_again_before_a_retry() -> None:
    played = Played([wasted(), GOOD])
    meter = played.metered(limits=Limits(calls=1))
    purse = meter._purses[0]

    async def spend_meanwhile() -> None:
        call = asyncio.create_task(meter.complete(ASK, tag="t"))
        while played.asked == 0:
            await asyncio.sleep(0)
        purse.add(PAID)  # another agent's
        await call

    with pytest.raises(BudgetReachedError):
        asyncio.run(spend_meanwhile())
    assert played.asked == 1
    (usage,) = played.booked
    assert (usage.calls, usage.retries, usage.prompt_tokens) == (1, 0, 10)
    assert meter.refused is not None
    assert BEFORE_REQUEST.get() is None
