"""How many calls of one model are in flight: one more after each round of answers, half on a 429.

Additive increase, multiplicative decrease, as TCP does (Chiu and Jain 1989); ``Retry-After`` holds
every call of the model back, not only the one that was refused.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType


class Limiter:
    """``async with limiter:`` around each request; ``answered`` or ``refused`` afterwards."""

    def __init__(self, most: int, start: int = 8) -> None:
        self.limit = float(min(start, most))
        self.path: list[tuple[float, int]] = []  # seconds since the start, limit: for the log
        self._most = most
        self._flying = 0
        self._until = 0.0  # of the pause that a server asked for
        self._halved = 0.0
        self._started = time.monotonic()
        self._free = asyncio.Condition()
        self._note()

    async def __aenter__(self) -> None:
        async with self._free:
            while True:
                pause = self._until - time.monotonic()
                if pause <= 0 and self._flying < int(self.limit):
                    break
                if pause > 0:
                    self._free.release()
                    try:
                        await asyncio.sleep(pause)
                    finally:
                        await self._free.acquire()
                else:
                    await self._free.wait()
            self._flying += 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with self._free:
            self._flying -= 1
            self._free.notify_all()

    def answered(self) -> None:
        """The server took a call: a full round of these makes room for one more."""
        before = int(self.limit)
        self.limit = min(float(self._most), self.limit + 1.0 / max(self.limit, 1.0))
        if int(self.limit) != before:
            self._note()

    def refused(self, retry_after: float | None, asked_at: float) -> None:
        """A 429 for a call that went out at ``asked_at`` (monotonic seconds).

        Calls that were in flight together halve the limit once, not each.
        """
        now = time.monotonic()
        if asked_at >= self._halved:
            self.limit = max(1.0, self.limit / 2)
            self._halved = now
            self._note()
        if retry_after is not None:
            self._until = max(self._until, now + retry_after)

    def _note(self) -> None:
        self.path.append((round(time.monotonic() - self._started, 3), int(self.limit)))
