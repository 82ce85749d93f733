"""Several cells at once: which of them are readings of one run, and running them."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ark.errors import ArkError, BudgetReachedError, UserError
from ark.records import Json, Usage
from ark.run.budget import Purse
from ark.run.executors import InterruptedRunError
from ark.run.identity import canonical_json, digest
from ark.run.journal import read_journal, summed
from ark.run.locate import build
from ark.run.meter import spent_before
from ark.run.runner import Done, run_cell
from ark.run.session import open_session
from ark.run.spec import CellSpec, Limits, Transport
from ark.run.trackers import Careful

_ABANDONED = threading.Event()  # of this process: a tracker hung
UNSAID = ("results_dir", "dry_run", "progress", "n_jobs", "concurrency")  # of no interest in names
State = Literal["done", "failed", "stopped", "interrupted"]


@dataclass(frozen=True)
class Job:
    """One composed cell, and the overrides that made it."""

    overrides: tuple[str, ...]
    spec: CellSpec
    transport: Transport
    tracker: Mapping[str, Any]
    official: Path | None = None

    @property
    def name(self) -> str:
        """As it stands in tables of failed jobs."""
        repeat = [f"repeat {self.spec.repeat}"] if self.spec.repeat else []
        said = [text for text in self.overrides if text.partition("=")[0] not in UNSAID]
        return " ".join([*said, *repeat]) or "(defaults)"


@dataclass(frozen=True)
class JobEnd:
    """How a job ended: ``done`` with its result, else with the reason."""

    state: State
    done: Done | None = None
    reason: str = ""
    trace: str = ""


def plan(jobs: Sequence[Job]) -> list[Job]:
    """The same jobs, those that differ only in a reading made readings of one run.

    Of jobs that differ only in ``method.agents`` all take the largest number as their pool; of
    those that differ only in ``method.max_steps``, where lists after fewer steps can be read, all
    take the longest run and count its first steps (design, rule 8).
    """
    methods = [_method(job) for job in jobs]
    specs = [job.spec for job in jobs]
    specs = _shared_steps(specs, methods)
    specs = _shared_pool(specs, methods)
    return [replace(job, spec=spec) for job, spec in zip(jobs, specs, strict=True)]


def _method(job: Job) -> Any:
    try:
        return build(job.spec.method.target, "method", job.spec.method.settings)
    except ArkError:
        return None  # the job itself will say so


def _shared_steps(specs: list[CellSpec], methods: Sequence[Any]) -> list[CellSpec]:
    def key(spec: CellSpec, method: Any) -> str | None:
        if spec.rerank is not None or spec.steps is not None:
            return None  # a reranked list is of whole runs of all agents
        if not getattr(method, "readable_steps", False):
            return None
        return _key(spec, "max_steps", "agents")

    longest: dict[str, int] = {}
    keys = [key(spec, method) for spec, method in zip(specs, methods, strict=True)]
    for name, method in zip(keys, methods, strict=True):
        if name is not None:
            longest[name] = max(longest.get(name, 0), method.max_steps)
    out = []
    for spec, name, method in zip(specs, keys, methods, strict=True):
        if name is not None and method.max_steps < longest[name]:
            spec = replace(_with(spec, max_steps=longest[name]), steps=method.max_steps)  # noqa: PLW2901
        out.append(spec)
    return out


def _shared_pool(specs: list[CellSpec], methods: Sequence[Any]) -> list[CellSpec]:
    keys = [
        _key(spec, "agents")
        if spec.rerank is None
        and spec.pool is None
        and "agents" in getattr(method, "reading_fields", ())
        else None
        for spec, method in zip(specs, methods, strict=True)
    ]
    most: dict[str, int] = {}
    for name, method in zip(keys, methods, strict=True):
        if name is not None:
            most[name] = max(most.get(name, 0), method.agents)
    return [
        replace(spec, pool=most[name]) if name is not None and most[name] > method.agents else spec
        for spec, name, method in zip(specs, keys, methods, strict=True)
    ]


READING = ("fusion", "pool", "steps", "over_budget", "backfill", "cut", "candidates")


def _key(spec: CellSpec, *without: str) -> str:
    """Equal for cells that share their run but for these settings of the method."""
    plain = dataclasses.asdict(spec)
    for name in READING:
        del plain[name]
    for name in without:
        plain["method"]["settings"].pop(name, None)
    return canonical_json({**plain, "queries": str(spec.queries)})


def _with(spec: CellSpec, **settings: Json) -> CellSpec:
    method = replace(spec.method, settings={**spec.method.settings, **settings})
    return replace(spec, method=method)


def sweep_id(jobs: Sequence[Job]) -> str:
    """Names the jobs of a sweep, in whatever order they came."""
    return digest(sorted(_key(job.spec) + canonical_json(_reading(job.spec)) for job in jobs))[:12]


def _reading(spec: CellSpec) -> Json:
    plain = dataclasses.asdict(spec)
    return {name: plain[name] for name in READING}


def run_jobs(
    jobs: Sequence[Job],
    *,
    n_jobs: int = 1,
    limits: Limits | None = None,
    tell: Callable[[int, str], None] = lambda _number, _text: None,
) -> list[JobEnd | None]:
    """Run every job; one that fails does not stop the others. In the order of ``jobs``.

    ``limits`` are of all jobs together. After an interruption the jobs that were not run are None.
    ``tell(number, text)`` hears of each. Failed agents of a run are done again once, by its first
    job; its other readings are of what that left. Raises UserError where the limit in money cannot
    be kept.
    """
    limits = limits or Limits()
    before = spent(jobs) if limits != Limits() else Usage()
    group = sweep_id(jobs) if len(jobs) > 1 else None
    if n_jobs > 1 and len(bundles := _bundles(jobs)) > 1:
        from ark.run.side_by_side import side_by_side

        return side_by_side(jobs, bundles, n_jobs, limits, before, group, tell)
    purse = Purse(limits, "sweep_budget")
    purse.add(before)
    ends: list[JobEnd | None] = [None] * len(jobs)
    settled: set[Path] = set()
    for number, job in enumerate(jobs):
        tell(number, job.name)
        end = ends[number] = run_job(job, purse, group, settled)
        if end.state == "interrupted":
            break
    return ends


def run_job(
    job: Job,
    purse: Purse | None = None,
    group: str | None = None,
    settled: set[Path] | None = None,
) -> JobEnd:
    """Run one cell with its tracker; whatever stops it is told, not raised."""
    try:
        settings = dict(job.tracker)
        # One service for all jobs: once it hangs, no later job waits for it.
        tracker = Careful(build(str(settings.pop("target")), "tracker", settings), _ABANDONED)
        done = run_cell(job.spec, job.transport, tracker, purse=purse, group=group, settled=settled)
    except (InterruptedRunError, KeyboardInterrupt):
        return JobEnd("interrupted")
    except BudgetReachedError as error:
        return JobEnd("stopped", reason=str(error))
    except Exception as error:  # noqa: BLE001 (whatever it is: a row, and its traceback)
        import traceback

        trace = "" if isinstance(error, ArkError) else "".join(traceback.format_exception(error))
        return JobEnd("failed", reason=f"{type(error).__name__}: {error}", trace=trace)
    return JobEnd("done", done)


def _bundles(jobs: Sequence[Job]) -> list[list[int]]:
    """Numbers of jobs that share a run folder, where only one process at a time may write."""
    found: dict[str, list[int]] = {}
    for number, job in enumerate(jobs):
        folder = _folder(job)
        found.setdefault(str(number) if folder is None else str(folder), []).append(number)
    return list(found.values())


def _folder(job: Job) -> Path | None:
    try:
        return open_session(job.spec, job.transport.results_dir, describe=False).folder
    except ArkError:
        return None  # the job itself will say so


def spent(jobs: Sequence[Job]) -> Usage:
    """What the runs of these jobs cost so far, each once."""
    folders = dict.fromkeys(folder for job in jobs if (folder := _folder(job)) is not None)
    return summed([spent_before(f, read_journal(f)) for f in folders if f.is_dir()])


def check_n_jobs(n_jobs: object) -> int:
    """UserError unless it is a whole number >= 1."""
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise UserError(f"n_jobs={n_jobs} must be a whole number >= 1")
    return n_jobs
