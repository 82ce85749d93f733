"""Jobs of a sweep in processes of their own: one for each run, so many at a time.

A process that is killed loses its own jobs only; when the main process dies, the others let their
agents end and stop.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ark.records import Usage
from ark.run.budget import Purse
from ark.run.jobs import Job, JobEnd, run_job
from ark.run.spec import Limits

DIED = "its process ended without a word (killed, or out of memory)"


def side_by_side(
    jobs: Sequence[Job],
    bundles: Sequence[Sequence[int]],
    n_jobs: int,
    limits: Limits,
    before: Usage,
    group: str | None,
    tell: Callable[[int, str], None],
) -> list[JobEnd | None]:
    """Run bundles of job numbers, each in one process, ``n_jobs`` at a time.

    The first Ctrl-C starts no more and waits for agents in flight, the second ends all processes.
    """
    context = multiprocessing.get_context("spawn")
    paid = context.Array("d", 3)
    Purse(limits, "sweep_budget", paid.get_obj(), paid.get_lock()).add(before)  # type: ignore[arg-type]
    ends: list[JobEnd | None] = [None] * len(jobs)
    waiting = list(bundles)
    running: dict[Connection, tuple[Any, Sequence[int]]] = {}
    stopping = False
    while waiting or running:
        try:
            while waiting and not stopping and len(running) < n_jobs:
                bundle = waiting.pop(0)
                listen, speak = context.Pipe(duplex=False)
                quiet = [_quiet(jobs[number]) for number in bundle]
                # Not tied to any terminal size or state of this process: plain records only.
                process = context.Process(
                    target=_work, args=(speak, quiet, group, limits, paid), daemon=True
                )
                process.start()
                speak.close()
                running[listen] = (process, bundle)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                if _heard(ready, running[ready][1], ends, jobs, tell, stopping=stopping):
                    process, _ = running.pop(ready)
                    ready.close()
                    process.join()
        except KeyboardInterrupt:
            if stopping:
                for process, _ in running.values():
                    process.terminate()
            stopping, waiting = True, []
    if stopping:
        first = next((i for i, end in enumerate(ends) if end is None), None)
        if first is not None:
            ends[first] = JobEnd("interrupted")
    return ends


def _quiet(job: Job) -> Job:
    """Bars of several processes would overwrite each other."""
    return replace(job, transport=replace(job.transport, progress=False))


def _heard(
    ready: Connection,
    bundle: Sequence[int],
    ends: list[JobEnd | None],
    jobs: Sequence[Job],
    tell: Callable[[int, str], None],
    *,
    stopping: bool,
) -> bool:
    """Take one message of a process; True when it was the last."""
    open_ = [number for number in bundle if ends[number] is None]
    try:
        end = ready.recv()
    except (EOFError, OSError):
        end = JobEnd("interrupted") if stopping else JobEnd("failed", reason=DIED)
        for number in open_:
            ends[number] = end
            tell(number, f"{jobs[number].name}: {end.state}")
        return True
    if not open_ or end is None:
        return True
    number = open_[0]
    ends[number] = end
    tell(number, f"{jobs[number].name}: {end.state}")
    return False


def _work(
    speak: Connection, jobs: Sequence[Job], group: str | None, limits: Limits, paid: Any
) -> None:
    threading.Thread(target=_follow_parent, daemon=True).start()
    purse = Purse(limits, "sweep_budget", paid.get_obj(), paid.get_lock())
    settled: set[Path] = set()
    for job in jobs:
        end = run_job(job, purse, group, settled)
        speak.send(end)
        if end.state == "interrupted":
            break
    speak.send(None)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)  # agents in flight may end, then the run stops
