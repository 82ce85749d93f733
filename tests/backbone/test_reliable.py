"""One layer retries, waits as it is told, and halves what is in flight when it is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from ark.backbone.limiter import Limiter
from ark.backbone.reliable import Reliable, Retries
from ark.errors import FatalBackboneError, QueryFailedError, RetryableError, UserError
from ark.records import Completion, Message, Usage

GOOD = Completion(Message("assistant", "yes"), Usage(1, 10, 2, 0.5), "stop", "m")


class Plan:
    """Answers or raises, one entry a request."""

    identity = {"model": "m"}  # noqa: RUF012
    label = "plan"

    def __init__(self, *plan: Completion | Exception) -> None:
        self.plan = list(plan)
        self.asked = 0

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        self.asked += 1
        entry = self.plan.pop(0)
        if isinstance(entry, Exception):
            raise entry
        return entry


def tried(plan: Plan, **retries: Any) -> tuple[Completion | Exception, list[float]]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    backbone = Reliable(plan, Limiter(4), Retries(**retries), sleep=sleep)
    try:
        return asyncio.run(backbone.complete([Message("user", "?")], tag="t")), waits
    except Exception as error:  # noqa: BLE001 (what came of it is the result)
        return error, waits


def test_a_retryable_error_is_tried_again_and_counted() -> None:
    plan = Plan(RetryableError("503"), RetryableError("reset", usage=Usage(1, 7, 1, 0.1)), GOOD)
    found, waits = tried(plan)
    assert isinstance(found, Completion)
    assert found.usage.retries == 2
    assert found.usage.calls == 1
    assert found.usage.prompt_tokens == 17  # the unusable answer was paid too
    assert found.usage.cost == pytest.approx(0.6)
    assert len(waits) == 2
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0


def test_it_gives_up_after_so_many_requests_with_what_was_paid() -> None:
    plan = Plan(*(RetryableError("503", usage=Usage(1, 5, 0, 0.2)) for _ in range(9)))
    found, waits = tried(plan, attempts=3)
    assert isinstance(found, RetryableError)
    assert plan.asked == 3
    assert len(waits) == 2
    assert found.usage == Usage(1, 15, 0, pytest.approx(0.6), retries=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [FatalBackboneError("key"), QueryFailedError("filter")])
def test_other_errors_are_not_tried_again(error: Exception) -> None:
    plan = Plan(error, GOOD)
    found, waits = tried(plan)
    assert found is error
    assert (plan.asked, waits) == (1, [])


def test_retry_after_is_honoured_and_a_long_one_ends_the_run() -> None:
    found, waits = tried(Plan(RetryableError("429", retry_after=0.05, limited=True), GOOD))
    assert isinstance(found, Completion)
    assert waits == [0.05]
    paid = RetryableError("429", retry_after=3600, limited=True, usage=Usage(1, 3, 0, 0.1))
    found, waits = tried(Plan(paid, GOOD))
    assert isinstance(found, FatalBackboneError)
    assert "3600 s, more than retry.longest_wait=60" in str(found)
    assert found.usage is not None
    assert found.usage.prompt_tokens == 3
    assert waits == []


def test_wrong_settings_are_one_line() -> None:
    with pytest.raises(UserError, match=r"retry.attempts=0"):
        Retries(attempts=0)
    with pytest.raises(UserError, match=r"retry.longest_wait=-1"):
        Retries(longest_wait=-1)


def test_the_limit_grows_by_rounds_and_halves_once_for_calls_in_flight() -> None:
    async def play() -> Limiter:
        limiter = Limiter(64, start=8)
        for _ in range(8):
            limiter.answered()
        assert 8 < limiter.limit < 9.001
        for _ in range(2_000):
            limiter.answered()
        assert limiter.limit > 60
        asked = 0.0
        for _ in range(10):
            limiter.refused(None, asked)  # all went out before the first refusal
        assert 30 < limiter.limit <= 32
        return limiter

    limiter = asyncio.run(play())
    assert limiter.path[0] == (pytest.approx(0.0, abs=60), 8)
    assert [limit for _, limit in limiter.path][-1] <= 32


def test_no_more_calls_are_in_flight_than_the_limit() -> None:
    flying, most = 0, 0

    async def call(limiter: Limiter) -> None:
        nonlocal flying, most
        async with limiter:
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            flying -= 1

    async def play() -> None:
        limiter = Limiter(3, start=8)
        await asyncio.gather(*(call(limiter) for _ in range(40)))

    asyncio.run(play())
    assert most == 3
