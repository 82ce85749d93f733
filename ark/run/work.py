"""One agent on one question, and the closing of a question when its last agent has ended."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ark.backbone.keys import one_line, secrets
from ark.errors import (
    BudgetReachedError,
    FatalBackboneError,
    QueryFailedError,
    QueryLimitError,
    RetryableError,
    UserError,
)
from ark.protocols import Context
from ark.records import (
    AgentLine,
    Attempt,
    Call,
    Outcome,
    Query,
    Ranking,
    Status,
    Trajectory,
    Usage,
)
from ark.run.budget import Brake, Purse
from ark.run.checks import checked
from ark.run.identity import agent_rng
from ark.run.journal import Entries, JournalWriter, summed
from ark.run.meter import Ledger, Meter, Watch
from ark.run.progress import Progress
from ark.run.readings import Scored, read
from ark.run.session import Session
from ark.search.choose import lexical

DRAWS = 1_000  # between the draws of one repeat and the next: more than any agents


class Work:
    """One agent on one question, and the closing of a question when its last agent has ended."""

    def __init__(
        self,
        session: Session,
        writer: JournalWriter,
        entries: Entries,
        progress: Progress,
        purses: Sequence[Purse] = (),
        watch: Watch | None = None,
    ) -> None:
        self._watch = watch
        self._session = session
        self._writer = writer
        self._entries = entries
        self._progress = progress
        self._brake = Brake()
        self._purses = [*purses, self._brake]
        self.stopped: BudgetReachedError | None = None
        self.made = Usage()
        asks_model = bool(getattr(session.backbone, "is_llm", True))
        self._ledger = Ledger(session.folder, everything=asks_model)
        self._left: Counter[str] = Counter()
        self._reported: set[type[BaseException]] = set()

    def close_ended(self, pending: Sequence[tuple[Query, int]]) -> None:
        """Count what is open; close questions whose agents ended but whose line was lost."""
        self._left.update(query.id for query, _ in pending)
        for query in self._session.queries:
            if self._left[query.id]:
                continue
            outcome = self._entries.outcomes.get(query.id)
            # A line of fewer agents is of an earlier reading: the question has grown since.
            if outcome is None or len(outcome.lists) < self._session.reading.lists:
                self._close(query, new=False)
            else:
                self._show(query, new=False)

    def open_questions(self) -> list[str]:
        """Ids of questions with agents still to run."""
        return [query for query, left in self._left.items() if left]

    async def one(self, item: tuple[Query, int]) -> None:
        """Run one agent and write its lines. An agent that the budget ends leaves no line.

        After an error no agent makes another call; the calls in flight are counted still.
        """
        if self.stopped is not None:
            return
        try:
            await self._one(item)
        except Exception:
            self._brake.pulled = True
            raise

    async def _one(self, item: tuple[Query, int]) -> None:
        query, agent = item
        started = time.monotonic()
        draws = self._session.spec.repeat * DRAWS
        paid = lambda tag, usage: self._paid(item, tag, usage)  # noqa: E731
        limits = self._session.spec.agent_limits
        meter = Meter(self._session.backbone, paid, self._purses, draws, limits, self._watch)
        try:
            attempt, error = await self._attempt(query, agent, meter)
            if meter.refused is not None:  # also where a plug-in caught it
                raise meter.refused
        except BudgetReachedError as reached:
            self.stopped = reached
            return
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
            system_fingerprint=meter.system_fingerprint,
            trajectory=offset,
            error=error,
            calls=_calls(meter, attempt.trajectory),
        )
        self._writer.agent(line)
        self._entries.agents[query.id, agent] = line
        self._left[query.id] -= 1
        if self._left[query.id] == 0:
            self._close(query, new=True)

    async def _attempt(self, query: Query, agent: int, meter: Meter) -> tuple[Attempt, str | None]:
        spec = self._session.spec
        rng = agent_rng(spec.seed, spec.repeat, query.id, agent)
        graph, seeds = self._session.graph, None
        if spec.seeds == "oracle":
            seeds = tuple(graph.index(node_id) for node_id in query.anchor_ids)
        context = Context(graph, self._session.search, meter, rng, query, seeds)
        method = self._session.method
        try:
            attempt = await method.attempt(query.text, context, agent)
            return checked(attempt, self._session.graph.n_nodes), None
        except (UserError, FatalBackboneError, BudgetReachedError):
            raise
        except QueryLimitError:  # the method did not see to it itself: it has nothing
            return Attempt(Ranking(()), "limit"), None
        except (QueryFailedError, RetryableError) as error:
            return _failed(), f"{type(error).__name__}: {error}"
        except (Exception, SystemExit) as error:  # a plug-in's bug loses its question, not the run
            if method.probe is None:  # the caller's own function: the error is theirs to see
                raise
            self._report(query, agent, error)
            return _failed(), _in_words(error, 300)

    def _report(self, query: Query, agent: int, error: BaseException) -> None:
        """The traceback into ``errors.log``; the first of its kind also as a line for the user."""
        path = self._session.folder / "errors.log"
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"question {query.id}, agent {agent}\n")
            file.write(_without_keys("".join(traceback.format_exception(error))) + "\n")
        if type(error) not in self._reported:
            self._reported.add(type(error))
            what = _in_words(error, 200)
            self._progress.note(f"a question failed: {what} (tracebacks in {path})")

    def _paid(self, item: tuple[Query, int], tag: str, usage: Usage) -> None:
        self.made = self.made + usage
        self._ledger.paid(item[0].id, item[1], tag, usage)
        self._progress.spent(usage)

    def _close(self, query: Query, *, new: bool) -> None:
        lines = [
            self._entries.agents[query.id, agent] for agent in range(self._session.reading.lists)
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
        if new:  # the journal has it: a run of any length takes the same memory
            del self._entries.outcomes[query.id]
            for agent in range(self._session.reading.lists):
                del self._entries.agents[query.id, agent]

    def _show(self, query: Query, *, new: bool) -> None:
        (row,) = scored(self._session, self._entries, [query])
        hit = row.values["hit@1"] or 0.0
        self._progress.scored(hit, failed=row.status == "failed", new=new)


def scored(session: Session, entries: Entries, queries: Sequence[Query]) -> list[Scored]:
    """Questions under the reading of a session."""
    return read(
        entries,
        queries,
        session.graph,
        session.reading,
        session.spec.graph.candidate_types,
        session.spec.seed,
        lexical(session.search) if session.reading.backfill == "bm25" else None,
    )


def _in_words(error: BaseException, longest: int) -> str:
    """What a stranger's exception says; plug-ins' clients like to repeat keys."""
    return f"{type(error).__name__}: {one_line(str(error), secrets(), longest)}"


def _without_keys(text: str) -> str:
    for value in secrets():
        text = text.replace(value, "[hidden]")
    return text


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


def _calls(meter: Meter, trajectory: Trajectory) -> tuple[Call, ...]:
    """Single calls; with what each step says of itself where a step is a call.

    Steps that made none (a fallback whose budget was spent, a retrieval) say ``called: false``.
    """
    steps = [step for step in trajectory.steps if step.state.get("called", True)]
    if len(steps) != len(meter.calls):
        return tuple(meter.calls)  # a method whose steps are no calls
    return tuple(
        replace(call, invalid=step.invalid, fallbacks=step.fallbacks)
        for call, step in zip(meter.calls, steps, strict=True)
    )
