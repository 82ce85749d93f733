"""What one agent takes on one question: from finished runs, else from a rehearsal without a model.

Nothing here is guessed. Finished runs tell calls, tokens, money and seconds. A rehearsal plays the
method with the rule-based controller and counts calls and, at 4 characters a token, what would
have been sent; the speed of a model it cannot tell.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.protocols import Backbone, Context
from ark.records import AgentLine, Completion, Json, Message, Query, Usage
from ark.run.checks import checked, checked_completion
from ark.run.executors import run_coroutine
from ark.run.identity import canonical_json, digest
from ark.run.journal import read_journal, summed
from ark.run.session import Session
from ark.text import clip

CHARACTERS = 4  # a token, in estimates; the same as for observations
REHEARSED = 5  # questions
SETTINGS = ("method", "backbone", "search", "rerank")  # of a run's identity
LEAST = 5  # agents of finished runs that are worth a mean


@dataclass(frozen=True, slots=True)
class Asked:
    """Tokens of one call."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Most:
    """Tokens of one agent that takes all its steps. ``longest`` is its last prompt.

    ``bounded``: no answer can be longer, as the settings cut it; else as long as the longest seen.
    """

    calls: int
    prompt: int
    completion: int
    longest: int
    bounded: bool


@dataclass(frozen=True, slots=True)
class Effort:
    """Means of one agent on one question; ``source`` says where they come from.

    ``cost`` (US dollars) and ``seconds`` are None where nothing was measured.
    """

    source: str
    calls: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    cost: float | None = None
    seconds: float | None = None
    most: Most | None = None
    rehearsed: bool = False


class RehearsalError(Exception):
    """No question of the rehearsal ended; the message is the first error."""


def uses_model(session: Session) -> bool:
    """Whether the backbone is a model, whose calls may cost money; False for rules."""
    return bool(getattr(session.backbone, "is_llm", True))


def most_of(method: object, backbone: Backbone, agents: Sequence[Sequence[Asked]]) -> Most | None:
    """Bound of one agent from calls that were seen; None where the method names no ``max_steps``.

    The prompt of step t is taken as the largest first prompt plus t-1 times the largest growth
    from one call to the next.
    """
    steps = getattr(method, "max_steps", None)
    asked = [calls for calls in agents if calls]
    if not isinstance(steps, int) or not asked or max(map(len, asked)) > steps:
        return None
    first = max(calls[0].prompt for calls in asked)
    growth = max([0, *(b.prompt - a.prompt for calls in asked for a, b in pairwise(calls))])
    cut = getattr(method, "max_tokens", None) or backbone.identity.get("max_tokens")
    answer = int(cut) if cut else max(call.completion for calls in asked for call in calls)
    return Most(
        calls=steps,
        prompt=steps * first + growth * steps * (steps - 1) // 2,
        completion=steps * answer,
        longest=first + growth * (steps - 1),
        bounded=bool(cut),
    )


# -- finished runs -----------------------------------------------------------------------------


class Finished:
    """Runs in ``results_dir`` with what their agents took; each journal is read once."""

    def __init__(self, results_dir: Path) -> None:
        self._folder = results_dir / "runs"
        self._read: dict[Path, list[AgentLine]] = {}

    def effort(self, session: Session) -> Effort | None:
        """Means over agents of runs with the same method target and the same model.

        The nearest runs that have at least ``LEAST`` agents: same graph and settings, else same
        graph, else any. None without. Damaged runs of others are passed over.
        """
        run = dict(session.identity.run)
        settings, graph, every = [], [], []
        for path in sorted(self._folder.glob("*/run.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, UserError):
                other = json.loads(path.read_text(encoding="utf-8"))
                if _model(other["backbone"]) != _model(run["backbone"]):
                    continue
                if _agent(other) != _agent(run):
                    continue
                lines = self._lines(path.parent)
                every += lines
                if other["graph"]["source"] == run["graph"]["source"]:
                    graph += lines
                    if all(other.get(key) == run.get(key) for key in SETTINGS):
                        settings += lines
        for what, lines in (
            ("same graph and settings", settings),
            ("same graph", graph),
            ("other graphs", every),
        ):
            if len(lines) >= LEAST:
                return _mean(session, lines, f"finished runs ({len(lines)} agents, {what})")
        return None

    def _lines(self, folder: Path) -> list[AgentLine]:
        if folder not in self._read:
            ended = [a for a in read_journal(folder).agents.values() if a.status != "failed"]
            self._read[folder] = [replace(a, nodes=(), picked_at=()) for a in ended]  # small
        return self._read[folder]


def _agent(run: Mapping[str, Json]) -> list[Json]:
    """What makes the calls of one line of a journal; with a reranker all agents of the method."""
    around = run.get("rerank")
    return [run["method"]["target"], around and [around["target"], around["list"]["agents"]]]


def _model(backbone: Mapping[str, Json] | None) -> str:
    """What answered; ``null`` for methods that ask nobody."""
    return canonical_json(backbone and (backbone.get("model") or backbone))


def _mean(session: Session, lines: Sequence[AgentLine], source: str) -> Effort:
    total = summed([usage for line in lines for usage in line.usage.values()])
    seen = [[Asked(c.prompt_tokens, c.completion_tokens) for c in a.calls] for a in lines]
    n = len(lines)
    return Effort(
        source,
        total.calls / n,
        total.prompt_tokens / n,
        total.completion_tokens / n,
        None if total.cost is None else total.cost / n,
        sum(line.seconds for line in lines) / n,
        most_of(session.method, session.backbone, seen),
    )


# -- rehearsal ---------------------------------------------------------------------------------


def from_rehearsal(session: Session) -> Effort:
    """The first agent of the first questions. Raises RehearsalError if none of them ends.

    A model is never asked: the rule-based controller stands in for it. Seconds are of rule-based
    cells only, without the first question, which also loads.
    """
    model = uses_model(session)
    counter = _Counter(LexicalBackbone(session.spec.seed) if model else session.backbone, model)
    agents: list[list[Asked]] = []
    seconds: list[float] = []
    costs: list[float | None] = []
    errors: list[str] = []
    for query in session.queries[:REHEARSED]:
        counter.calls, counter.usage = [], Usage()
        started = time.perf_counter()
        try:
            run_coroutine(_attempt(session, query, counter))
        except Exception as error:  # noqa: BLE001 (a plug-in's bug: the line says unknown)
            errors.append(f"{type(error).__name__}: {clip(str(error), 200)}")
            continue
        seconds.append(time.perf_counter() - started)
        agents.append(counter.calls)
        costs.append(counter.usage.cost)
    if not agents:
        raise RehearsalError(errors[0] if errors else "there is no question")
    silent = not any(agents)
    effort = _rehearsed(agents, _mean_time(seconds) if silent or not model else None)
    known = [cost for cost in costs if cost is not None]
    return replace(
        effort,
        cost=sum(known) / len(known) if not model and known else (0.0 if silent else None),
        most=Most(0, 0, 0, 0, bounded=True)
        if silent
        else most_of(session.method, session.backbone, agents),
    )


def _rehearsed(agents: Sequence[Sequence[Asked]], seconds: float | None) -> Effort:
    n = len(agents)
    return Effort(
        f"rehearsal ({n} question{'s' * (n > 1)})",
        sum(map(len, agents)) / n,
        sum(call.prompt for calls in agents for call in calls) / n,
        sum(call.completion for calls in agents for call in calls) / n,
        seconds=seconds,
        rehearsed=True,
    )


def _mean_time(seconds: Sequence[float]) -> float:
    kept = seconds[1:] or seconds
    return sum(kept) / len(kept)


async def _attempt(session: Session, query: Query, backbone: Backbone) -> None:
    seed = digest({"seed": session.spec.seed, "query": query.id, "agent": 0})
    context = Context(session.graph, session.search, backbone, random.Random(seed), query)
    checked(await session.method.attempt(query.text, context, 0), session.graph.n_nodes)


class _Counter:
    """Passes calls on and counts them; where a model is meant, with tokens as it would have."""

    def __init__(self, inner: Backbone, estimate: bool) -> None:
        self._inner = inner
        self._estimate = estimate
        self.calls: list[Asked] = []
        self.usage = Usage()

    @property
    def identity(self) -> Mapping[str, Json]:
        return self._inner.identity

    @property
    def label(self) -> str:
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
        done = checked_completion(
            await self._inner.complete(
                messages,
                tag=tag,
                tools=tools,
                tool_choice=tool_choice,
                schema=schema,
                draw=draw,
                max_tokens=max_tokens,
                temperature=temperature,
            )
        )
        self.usage = self.usage + done.usage
        if self._estimate:
            sent = [m.to_json() for m in messages]
            asked = Asked(estimated(sent, tools, schema), estimated(done.message.to_json()))
        else:
            asked = Asked(done.usage.prompt_tokens, done.usage.completion_tokens)
        self.calls.append(asked)
        return done


def estimated(*parts: Json) -> int:
    """Tokens of JSON values, at 4 characters each, rounded up; None is nothing."""
    texts = (json.dumps(p, ensure_ascii=False, default=list) for p in parts if p is not None)
    return math.ceil(sum(map(len, texts)) / CHARACTERS)
