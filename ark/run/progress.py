"""Progress of a cell on standard error: running Hit@1, calls, tokens, cost, time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from ark.records import Usage

EVERY = 15.0  # seconds between lines where there is no terminal


class Progress:
    """A live bar on a terminal, a line now and then elsewhere, nothing if ``quiet``."""

    def __init__(self, title: str, total: int, done: int, *, quiet: bool = False) -> None:
        self._title, self._total, self._done = title, total, done
        self._usage = Usage()
        self._hits = 0.0
        self._scored = 0
        self._failed = 0
        self._last = time.monotonic()
        self._told = False  # a line of progress was written
        self._quiet = quiet
        self._bar = None if quiet or not sys.stderr.isatty() else _bar(title, total, done)

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()
        elif self._told:  # the last word is about the end, not about some seconds before
            self.note(f"{self._title}: {self._done}/{self._total} {self.status()}")

    def spent(self, usage: Usage) -> None:
        """A call was made."""
        self._usage = self._usage + usage

    def scored(self, hit: float, *, failed: bool, new: bool = True) -> None:
        """A question has ended with this Hit@1. ``new`` is False for those of earlier runs."""
        self._hits += hit
        self._scored += 1
        self._failed += failed
        self._done += new
        now = time.monotonic()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self._done, status=self.status())
        elif new and not self._quiet and now - self._last > EVERY:
            self._last, self._told = now, True
            self.note(f"{self._title}: {self._done}/{self._total} {self.status()}")

    def status(self) -> str:
        """The running figures on one line."""
        hit = f"Hit@1 {100 * self._hits / self._scored:.1f}" if self._scored else "Hit@1 -"
        tokens = self._usage.prompt_tokens + self._usage.completion_tokens
        cost = "cost unknown" if self._usage.cost is None else f"${self._usage.cost:.2f}"
        failed = f" · {self._failed} failed" if self._failed else ""
        return f"{hit} · {self._usage.calls} calls · {tokens} tokens · {cost}{failed}"

    def note(self, text: str) -> None:
        """One line for the user, above the bar."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()


def _bar(title: str, total: int, done: int):  # type: ignore[no-untyped-def]
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    bar.add_task(title, total=total, completed=done, status="")
    return bar
