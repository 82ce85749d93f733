"""The one layer that caches, limits and retries; a backbone inside makes one request a call."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

from ark.backbone.cache import Cache, key_of
from ark.backbone.limiter import Limiter
from ark.errors import (
    ArkError,
    BudgetReachedError,
    FatalBackboneError,
    QueryFailedError,
    RetryableError,
    UserError,
)
from ark.protocols import Backbone
from ark.records import Completion, Json, Message, Usage

BEFORE_REQUEST: ContextVar[Callable[[], None] | None] = ContextVar("before_request", default=None)
"""Asked when a request may go out at last; what it raises ends the call. A call may have waited
long for its turn or for another attempt, and the money may be spent by then.
"""

FIRST_WAIT = 0.5  # seconds before the first retry; doubles


@dataclass(frozen=True)
class Retries:
    """How long a failed call is tried again."""

    attempts: int = 6
    """Requests for one call at most."""
    longest_wait: float = 60.0
    """Seconds between two of them at most; a server that asks for more ends the run."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise UserError(f"retry.attempts={self.attempts} must be a whole number >= 1")
        if self.longest_wait < 0:
            raise UserError(f"retry.longest_wait={self.longest_wait} must be >= 0 seconds")


class Reliable:
    """A ``Backbone`` around one that may fail. ``salt`` keeps answers of other seeds apart."""

    def __init__(
        self,
        inner: Backbone,
        limiter: Limiter,
        retries: Retries | None = None,
        cache: Cache | None = None,
        salt: Mapping[str, Json] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._inner, self._limiter, self._cache = inner, limiter, cache
        self._retries = retries or Retries()
        self._salt = dict(salt or {})
        self._sleep = sleep
        self._random = random.Random()  # jitter only; answers do not depend on it
        self.is_llm = getattr(inner, "is_llm", True)

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
        """The cached answer, or the first usable one. Raises as the backbone inside does.

        ``usage`` holds what unusable answers cost too, and how many requests came before.
        """
        settings = {
            "tag": tag,
            "tools": tools,
            "tool_choice": tool_choice,
            "schema": schema,
            "draw": draw,
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        key = ""
        if self._cache is not None:
            said = [message.to_json() for message in messages]
            call = {"identity": dict(self.identity), "messages": said, "salt": self._salt}
            key = key_of({**call, **settings})
            if (found := self._cache.get(key)) is not None:
                return found

        async def ask() -> Completion:
            return await self._inner.complete(
                messages,
                tag=tag,
                tools=tools,
                tool_choice=tool_choice,
                schema=schema,
                draw=draw,
                max_tokens=max_tokens,
                temperature=temperature,
            )

        completion = await self._insist(ask)
        if self._cache is not None:
            try:
                self._cache.put(key, completion)
            except UserError as error:
                error.usage = completion.usage  # paid, though it could not be kept
                raise
        return completion

    async def _insist(self, ask: Callable[[], Awaitable[Completion]]) -> Completion:
        wasted = Usage()
        for attempt in range(1, self._retries.attempts + 1):
            try:
                completion = await self._request(ask)
            except RetryableError as error:
                if error.usage is not None:
                    wasted = wasted + replace(error.usage, calls=0)
                if attempt == self._retries.attempts:
                    error.usage = replace(wasted, calls=1, retries=attempt - 1)
                    raise
                await self._sleep(self._wait(attempt, error, wasted))
            except BudgetReachedError as error:
                if attempt > 1:  # this attempt was not made
                    error.usage = replace(wasted, calls=1, retries=attempt - 2)
                raise
            except ArkError as error:
                # A question that was refused was asked; what is fatal may have been found before.
                if attempt > 1 or isinstance(error, QueryFailedError):
                    paid = (error.usage or Usage()) + wasted
                    error.usage = replace(paid, calls=1, retries=attempt - 1)
                raise
            else:
                usage = completion.usage + wasted
                return replace(completion, usage=replace(usage, retries=attempt - 1))
        raise AssertionError("attempts >= 1")

    async def _request(self, ask: Callable[[], Awaitable[Completion]]) -> Completion:
        async with self._limiter:
            if (check := BEFORE_REQUEST.get()) is not None:
                check()
            asked_at = time.monotonic()
            try:
                completion = await ask()
            except RetryableError as error:
                if error.limited:
                    self._limiter.refused(error.retry_after, asked_at)
                raise
            self._limiter.answered()
            return completion

    def _wait(self, attempt: int, error: RetryableError, wasted: Usage) -> float:
        """Seconds: what the server asks for, else exponential with full jitter."""
        longest = self._retries.longest_wait
        if error.retry_after is not None:
            if error.retry_after > longest:
                fatal = FatalBackboneError(
                    f"the server asks to wait {error.retry_after:.0f} s, more than "
                    f"retry.longest_wait={longest:g}: run the same command again then ({error})"
                )
                fatal.usage = replace(wasted, calls=1, retries=attempt - 1)
                raise fatal
            return error.retry_after
        wait = min(longest, FIRST_WAIT * 2.0 ** (attempt - 1))
        return wait * self._random.uniform(0.5, 1.0)
