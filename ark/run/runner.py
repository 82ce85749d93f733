"""Runs a cell: pending agents in, journal lines out, then the result from the journal alone."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ark.backbone.cache import Cache
from ark.backbone.limiter import Limiter
from ark.backbone.reliable import Reliable
from ark.errors import BudgetReachedError
from ark.protocols import Method, Tracker
from ark.records import Json, Usage
from ark.run.budget import Purse
from ark.run.environment import environment
from ark.run.executors import LocalExecutor
from ark.run.identity import asks_backbone
from ark.run.journal import Entries, JournalWriter, cannot_write, read_journal
from ark.run.meter import Watch, lost, spent_before
from ark.run.progress import Progress
from ark.run.result import per_query_csv, requests, result, timings, write_atomic
from ark.run.session import Session, open_session
from ark.run.spec import CellSpec, Transport
from ark.run.trackers import Careful, NoTracker
from ark.run.work import Work, scored
from ark.search.sent import sent, since

PLAN = "plan.json"  # how many agents the last command wanted; for scripts/status.py


@dataclass(frozen=True)
class Done:
    """A cell that was run to its end. ``failed`` counts questions of this reading."""

    path: Path
    data: dict[str, Json]
    failed: int
    reason: str = ""  # the commonest error of failed questions
    made: Usage = Usage()  # what this call of ``run_cell`` itself asked of the backbone

    def __repr__(self) -> str:
        """Short: the data are long."""
        cell = self.data["cell"]
        return f"Done({cell['graph']} {cell['split']}, {cell['method']}, {self.path})"


def run_cell(
    spec: CellSpec,
    transport: Transport,
    tracker: Tracker | None = None,
    method: Method | None = None,
    *,
    purse: Purse | None = None,
    group: str | None = None,
    settled: set[Path] | None = None,
) -> Done:
    """Run what is missing of a cell and write its result.

    ``method`` stands in for building the one that ``spec`` names (the Python entry point).
    ``purse`` is what the whole sweep may spend (it knows what was spent before), ``group`` the
    sweep's id for trackers. ``settled`` are run folders whose failed agents were done again by
    this command already; this run is added.

    Raises UserError, FatalBackboneError, BudgetReachedError, or InterruptedRunError after Ctrl-C;
    in each case the journal keeps all that ended, and the same call goes on from there.
    """
    started, encoded = time.monotonic(), sent()
    session = open_session(spec, transport.results_dir, method)
    if not isinstance(tracker, Careful):
        tracker = Careful(tracker or NoTracker())
    tracker.start(
        {
            **session.labels(),
            "cell_id": session.identity.cell_id,
            "run_id": session.identity.run_id,
            "identity": dict(session.identity.run),
            "reading": dict(session.identity.reading),
            "folder": str(session.folder),
            "results": str(session.reading_folder),
            "group": group,
        }
    )
    cache = _cache(session, transport)
    session = _reliable(session, transport, cache)
    with contextlib.closing(cache), JournalWriter(session.folder) as writer:
        plan = {"agents": session.reading.lists}
        _save(session.folder / PLAN, json.dumps(plan) + "\n")
        entries = read_journal(session.folder)
        own = Purse(transport.budget)
        own.add(spent_before(session.folder, entries))
        purses = [own] if purse is None else [own, purse]
        redo = settled is None or session.folder not in settled
        made = _run_pending(session, transport, writer, entries, purses, redo=redo)
        if settled is not None:
            settled.add(session.folder)
        if len(entries.outcomes) < len(session.queries):  # written and not kept in memory
            entries = read_journal(session.folder)
        done = _finish(session, entries, cache, time.monotonic() - started, made, since(encoded))
    tracker.finish(done.data)
    return done


def _cache(session: Session, transport: Transport) -> Cache:
    """The cache of answers; off for methods that ask nobody and for backbones without a model."""
    asks = asks_backbone(session.method) and getattr(session.backbone, "is_llm", True)
    path = transport.cache_path or transport.results_dir / "cache.sqlite"
    return Cache(path, transport.cache if asks else "off")


def _reliable(session: Session, transport: Transport, cache: Cache) -> Session:
    """The session with retries, a limit on calls in flight and the cache around its model."""
    if not getattr(session.backbone, "is_llm", True):
        return session
    salt = {"seed": session.spec.seed}  # other draws of one seed have other numbers already
    limiter = Limiter(transport.concurrency)
    wrapped = Reliable(session.backbone, limiter, transport.retries, cache, salt)
    return replace(session, backbone=wrapped)


def _run_pending(
    session: Session,
    transport: Transport,
    writer: JournalWriter,
    entries: Entries,
    purses: Sequence[Purse],
    *,
    redo: bool,
) -> Usage:
    """Run missing agents, and failed ones if ``redo``. Returns what was asked of the backbone."""
    agents = range(session.reading.lists)
    pending = [
        (query, agent)
        for query in session.queries
        for agent in agents
        if not entries.ended(query.id, agent) and (redo or (query.id, agent) not in entries.agents)
    ]
    title = f"{session.spec.graph.source} {session.method.label}"
    open_queries = {query.id for query, _ in pending}
    with Progress(
        title,
        len(session.queries),
        len(session.queries) - len(open_queries),
        quiet=not transport.progress,
    ) as progress:
        if pending and len(open_queries) < len(session.queries):
            progress.note(_resuming(session, entries, len(pending)))
        watch = Watch(entries, transport.on_model_change == "stop", progress.note)
        work = Work(session, writer, entries, progress, purses, watch)
        work.close_ended(pending)
        if pending:
            # Here and not in an attempt: inside the executor Ctrl-C waits for the loop.
            if prepare := getattr(session.inner, "prepare", None):
                prepare(session.search)
            executor = LocalExecutor(transport.concurrency, progress.note)
            executor.map(work.one, pending)
        if work.stopped is not None:
            total = len(session.queries)
            done = total - len(work.open_questions())
            raise BudgetReachedError(f"{work.stopped} ({done} of {total} questions done)")
    return work.made


def _resuming(session: Session, entries: Entries, pending: int) -> str:
    statuses = Counter(o.status for o in entries.outcomes.values())
    counts = ", ".join(f"{statuses[s]} {s}" for s in ("ok", "limit", "failed"))
    return f"resuming {session.folder.name}: {counts}; {pending} agents to run"


def _save(path: Path, text: str) -> None:
    try:
        write_atomic(path, text)
    except OSError as error:
        raise cannot_write(path, error) from None


def _finish(
    session: Session,
    entries: Entries,
    cache: Cache,
    seconds: float,
    made: Usage,
    encoded: dict[str, Json],
) -> Done:
    rows = scored(session, entries, session.queries)
    data = result(session.identity, session.labels(), session.reading, rows)
    data["timings"] = timings(entries, rows, session.reading, seconds)
    data["environment"] = environment(session.graph.path)
    data["requests"] = requests(rows)
    data["lost"] = lost(session.folder, entries)
    if encoded:
        data["embeddings"] = encoded
    data["cache"] = {"mode": cache.mode, **asdict(cache.counters)}
    path = session.reading_folder / "result.json"
    _save(session.reading_folder / "per_query.csv", per_query_csv(rows))
    _save(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    counts = data["counts"]
    errors = Counter(o.error for o in entries.outcomes.values() if o.error)
    reason = f"{errors.most_common(1)[0][0]} (all in {session.folder})" if errors else ""
    return Done(path, data, counts["failed"] + counts["missing"], reason, made)
