"""Runs a cell: pending agents in, journal lines out, then the result from the journal alone."""

from __future__ import annotations

import json
import random
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ark.errors import FatalBackboneError, QueryFailedError, RetryableError, UserError
from ark.protocols import Context, Method, Tracker
from ark.records import AgentLine, Attempt, Json, Outcome, Query, Ranking, Status, Trajectory, Usage
from ark.run.checks import checked
from ark.run.environment import environment
from ark.run.executors import LocalExecutor
from ark.run.identity import digest
from ark.run.journal import Entries, JournalWriter, read_journal, summed
from ark.run.meter import Ledger, Meter, lost
from ark.run.progress import Progress
from ark.run.readings import Scored, read
from ark.run.result import per_query_csv, result, timings, write_atomic
from ark.run.session import Session, open_session
from ark.run.spec import CellSpec, Transport
from ark.run.trackers import Careful, NoTracker
from ark.text import clip


@dataclass(frozen=True)
class Done:
    """A cell that was run to its end. ``failed`` counts questions of this reading."""

    path: Path
    data: dict[str, Json]
    failed: int
    reason: str = ""  # the commonest error of failed questions

    def __repr__(self) -> str:
        """Short: the data are long."""
        cell = self.data["cell"]
        return f"Done({cell['graph']} {cell['split']}, {cell['method']}, {self.path})"


def run_cell(
    spec: CellSpec,
    transport: Transport,
    tracker: Tracker | None = None,
    method: Method | None = None,
) -> Done:
    """Run what is missing of a cell and write its result.

    ``method`` stands in for building the one that ``spec`` names (the Python entry point).
    Raises UserError, FatalBackboneError, or InterruptedRunError after Ctrl-C; in each case the
    journal keeps all that ended, and the same call goes on from there.
    """
    started = time.monotonic()
    session = open_session(spec, transport.results_dir, method)
    tracker = Careful(tracker or NoTracker())
    tracker.start(
        {
            **session.labels(),
            "cell_id": session.identity.cell_id,
            "folder": str(session.folder),
        }
    )
    with JournalWriter(session.folder) as writer:
        entries = read_journal(session.folder)
        _run_pending(session, transport, writer, entries)
        done = _finish(session, entries, time.monotonic() - started)
    tracker.finish(done.data)
    return done


def _run_pending(
    session: Session, transport: Transport, writer: JournalWriter, entries: Entries
) -> None:
    agents = range(session.method.agents)
    pending = [
        (query, agent)
        for query in session.queries
        for agent in agents
        if not entries.ended(query.id, agent)
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
        work = _Work(session, writer, entries, progress)
        work.close_ended(pending)
        if pending:
            executor = LocalExecutor(transport.concurrency, progress.note)
            executor.map(work.one, pending)


def _resuming(session: Session, entries: Entries, pending: int) -> str:
    statuses = Counter(o.status for o in entries.outcomes.values())
    counts = ", ".join(f"{statuses[s]} {s}" for s in ("ok", "limit", "failed"))
    return f"resuming {session.folder.name}: {counts}; {pending} agents to run"


class _Work:
    """One agent on one question, and the closing of a question when its last agent has ended."""

    def __init__(
        self, session: Session, writer: JournalWriter, entries: Entries, progress: Progress
    ) -> None:
        self._session = session
        self._writer = writer
        self._entries = entries
        self._progress = progress
        self._ledger = Ledger(session.folder)
        self._left: Counter[str] = Counter()
        self._reported: set[type[Exception]] = set()

    def close_ended(self, pending: Sequence[tuple[Query, int]]) -> None:
        """Count what is open; close questions whose agents ended but whose line was lost."""
        self._left.update(query.id for query, _ in pending)
        for query in self._session.queries:
            if self._left[query.id]:
                continue
            outcome = self._entries.outcomes.get(query.id)
            # A line of fewer agents is of an earlier reading: the question has grown since.
            if outcome is None or len(outcome.lists) < self._session.method.agents:
                self._close(query, new=False)
            else:
                self._show(query, new=False)

    async def one(self, item: tuple[Query, int]) -> None:
        """Run one agent and write its lines."""
        query, agent = item
        started = time.monotonic()
        meter = Meter(self._session.backbone, lambda tag, usage: self._paid(item, tag, usage))
        attempt, error = await self._attempt(query, agent, meter)
        offset = None
        if attempt.trajectory.messages or attempt.trajectory.steps:
            offset = self._writer.trajectory(query.id, agent, attempt.trajectory)
        graph = self._session.graph
        line = AgentLine(
            query=query.id,
            agent=agent,
            status=attempt.status,
            nodes=tuple(graph.id(i) for i in attempt.ranking.nodes),
            answers=attempt.ranking.answers,
            picked_at=attempt.ranking.picked_at,
            steps=len(attempt.trajectory.steps),
            usage=_usage(meter, attempt.trajectory),
            seconds=round(time.monotonic() - started, 6),
            model=meter.model,
            trajectory=offset,
            error=error,
        )
        self._writer.agent(line)
        self._entries.agents[query.id, agent] = line
        self._left[query.id] -= 1
        if self._left[query.id] == 0:
            self._close(query, new=True)

    async def _attempt(self, query: Query, agent: int, meter: Meter) -> tuple[Attempt, str | None]:
        spec = self._session.spec
        rng = random.Random(digest({"seed": spec.seed, "query": query.id, "agent": agent}))
        context = Context(self._session.graph, self._session.search, meter, rng, query)
        method = self._session.method
        try:
            attempt = await method.attempt(query.text, context, agent)
            return checked(attempt, self._session.graph.n_nodes), None
        except (UserError, FatalBackboneError):
            raise
        except (QueryFailedError, RetryableError) as error:
            return _failed(), f"{type(error).__name__}: {error}"
        except Exception as error:  # a plug-in's bug loses its question, not the run
            if method.probe is None:  # the caller's own function: the error is theirs to see
                raise
            self._report(query, agent, error)
            return _failed(), f"{type(error).__name__}: {clip(str(error), 300)}"

    def _report(self, query: Query, agent: int, error: Exception) -> None:
        """The traceback into ``errors.log``; the first of its kind also as a line for the user."""
        path = self._session.folder / "errors.log"
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"question {query.id}, agent {agent}\n")
            file.write("".join(traceback.format_exception(error)) + "\n")
        if type(error) not in self._reported:
            self._reported.add(type(error))
            what = f"{type(error).__name__}: {clip(str(error), 200)}"
            self._progress.note(f"a question failed: {what} (tracebacks in {path})")

    def _paid(self, item: tuple[Query, int], tag: str, usage: Usage) -> None:
        self._ledger.paid(item[0].id, item[1], tag, usage)
        self._progress.spent(usage)

    def _close(self, query: Query, *, new: bool) -> None:
        lines = [
            self._entries.agents[query.id, agent] for agent in range(self._session.method.agents)
        ]
        outcome = Outcome(
            query=query.id,
            status=_worst([line.status for line in lines]),
            lists=tuple(line.nodes for line in lines),
            usage=summed([usage for line in lines for usage in line.usage.values()]),
            seconds=round(sum(line.seconds for line in lines), 6),
            error=next((line.error for line in lines if line.error), None),
        )
        self._writer.query(outcome)
        self._entries.outcomes[query.id] = outcome
        self._show(query, new=new)

    def _show(self, query: Query, *, new: bool) -> None:
        (scored,) = _read(self._session, self._entries, [query])
        hit = scored.values["hit@1"] or 0.0
        self._progress.scored(hit, failed=scored.status == "failed", new=new)


def _read(session: Session, entries: Entries, queries: Sequence[Query]) -> list[Scored]:
    return read(
        entries,
        queries,
        session.graph,
        session.reading,
        session.spec.graph.candidate_types,
        session.spec.seed,
    )


def _finish(session: Session, entries: Entries, seconds: float) -> Done:
    scored = _read(session, entries, session.queries)
    data = result(session.identity, session.labels(), scored)
    data["timings"] = timings(entries, scored, seconds)
    data["environment"] = environment(session.graph.path)
    kept = [u for line in entries.agents.values() for u in line.usage.values()]
    data["lost"] = lost(session.folder, summed(kept))
    path = session.reading_folder / "result.json"
    write_atomic(session.reading_folder / "per_query.csv", per_query_csv(scored))
    write_atomic(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    counts = data["counts"]
    errors = Counter(o.error for o in entries.outcomes.values() if o.error)
    reason = f"{errors.most_common(1)[0][0]} (all in {session.folder})" if errors else ""
    return Done(path, data, counts["failed"] + counts["missing"], reason)


def _failed() -> Attempt:
    return Attempt(Ranking(()), "failed")


def _worst(statuses: Sequence[Status]) -> Status:
    for status in ("failed", "limit"):
        if status in statuses:
            return status
    return "ok"


def _usage(meter: Meter, trajectory: Trajectory) -> dict[str, Usage]:
    """Calls as metered, with what the steps say of invalid answers and fallbacks."""
    out = dict(meter.by_tag)
    for step in trajectory.steps:
        extra = Usage(invalid=step.invalid, fallbacks=step.fallbacks)
        out[step.tag] = out.get(step.tag, Usage()) + extra
    return out
