"""Runs a cell's pending work in this process: a few items at a time, with a clean Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
GRACE = 5.0  # seconds that calls in flight get to be answered, and counted, after an error


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, also where a loop is running already (a notebook): then in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


class InterruptedRunError(Exception):
    """Ctrl-C: all that ended is in the journal, the rest was not done."""


class LocalExecutor:
    """``concurrency`` items in flight. The first Ctrl-C lets them end, the second stops them.

    After an error nothing new is begun, and what is in flight has ``GRACE`` seconds to end.
    """

    def __init__(self, concurrency: int, notify: Callable[[str], None] = lambda _: None) -> None:
        self._concurrency = concurrency
        self._notify = notify

    def map(self, work: Callable[[T], Awaitable[None]], items: Sequence[T]) -> None:
        """Run ``work`` on every item; an error stops the rest. Raises InterruptedRunError."""
        run_coroutine(self._map(work, items))

    async def _map(self, work: Callable[[T], Awaitable[None]], items: Sequence[T]) -> None:
        pending = iter(items)
        stop, broken = asyncio.Event(), asyncio.Event()
        tasks: list[asyncio.Task[None]] = []

        def interrupt() -> None:
            if stop.is_set():
                for task in tasks:
                    task.cancel()
                return
            stop.set()
            self._notify("stopping: agents in flight may end; Ctrl-C again to stop them now")

        async def worker() -> None:
            for item in pending:
                if stop.is_set() or broken.is_set():
                    return
                await work(item)
                await asyncio.sleep(0)

        loop = asyncio.get_running_loop()
        # Not on every system or thread; there Ctrl-C stops at once, and the journal still holds.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGINT, interrupt)
        tasks += [asyncio.create_task(worker()) for _ in range(self._concurrency)]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            if not stop.is_set():
                raise
        except Exception:
            broken.set()
            await asyncio.wait(tasks, timeout=GRACE)
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if stop.is_set():
            raise InterruptedRunError
