"""A method with a reranker around it: one attempt is all agents of the method, then the reranker.

Which nodes may be answers is known to the cell, not to the method, so the filter comes before the
reranker (it spends no option on what cannot count) and, as for every row, again after it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Protocol, cast

from ark.errors import QueryLimitError, UserError
from ark.protocols import Context, Graph, Method
from ark.records import MAX_RANKED, Attempt, Json, Message, Query, Ranking, Step, Trajectory
from ark.run.checks import checked
from ark.run.identity import agent_rng, digest
from ark.run.locate import build
from ark.run.spec import CellSpec, Reading
from ark.search.choose import lexical


class Reranker(Protocol):
    """Puts the first ``k`` nodes of a list in a new order. A frozen dataclass of its settings."""

    name: ClassVar[str]
    """Tables print ``METHOD + NAME rerank``."""
    probe: ClassVar[Sequence[Mapping[str, Any]]]
    """Scripted answers for the fingerprint."""

    @property
    def k(self) -> int:
        """How many nodes; shorter lists are filled up to as many where the cell has backfill."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """Its name and the settings that change its answers: tables name them."""
        ...

    async def reorder(
        self, question: str, nodes: Sequence[int], ctx: Context, draw: int
    ) -> Attempt:
        """A ranking of the same nodes. Model output never raises; a limit of the question ends it
        with status ``limit``.
        """
        ...


@dataclass(frozen=True)
class Reranked:
    """``method`` and then ``reranker``, as one method with one list a question."""

    reading_fields: ClassVar[frozenset[str]] = frozenset()
    agents: ClassVar[int] = 1
    asks: ClassVar[bool] = True

    method: Method
    """What makes the list. Its agents have the draws and the randomness that they have alone."""
    reranker: Reranker
    """What reorders it."""
    reading: Reading = Reading()
    """How the agents' lists become one: agents, fusion, candidates, and backfill up to ``k``."""
    candidate_types: tuple[str, ...] | None = None
    """Node types that may be answers; None: every one."""
    seed: int = 0
    """Of the run."""
    repeat: int = 0
    """Number of the repetition."""

    @classmethod
    def of(cls, method: Method, reranker: Reranker, spec: CellSpec) -> Reranked:
        """What a cell asks for; ``spec`` with the candidate types that its graph has."""
        types, reading = spec.graph.candidate_types, spec.reading(method.agents)
        return cls(method, reranker, reading, types, spec.seed, spec.repeat)

    @property
    def label(self) -> str:
        """``BM25 + listwise rerank``."""
        return f"{self.method.label} + {self.reranker.name} rerank"

    @property
    def label_without_model(self) -> str:
        """The same where no LLM reranks."""
        inner = getattr(self.method, "label_without_model", self.method.label)
        return f"{inner} + {self.reranker.name} rerank (lexical)"

    @property
    def links_seeds(self) -> bool:
        """Of the method."""
        return bool(getattr(self.method, "links_seeds", False))

    @property
    def probe(self) -> Sequence[Mapping[str, Any]] | None:
        """The method's script; the reranker's where it has none. None: the caller's function."""
        return None if self.method.probe is None else (self.method.probe or self.reranker.probe)

    @property
    def identity(self) -> Mapping[str, Json]:
        """All that changes attempts: the method and what stands around it."""
        return {
            "method": dict(self.method.identity),
            "reranker": dict(self.reranker.identity),
            "reading": self.before,
            "candidate_types": list(self.candidate_types or ()),
            "seed": self.seed,
            "repeat": self.repeat,
        }

    @property
    def changed(self) -> dict[str, Json]:
        """What a row says: the agents that a method alone has as its reading, settings that are
        no defaults.
        """
        out: dict[str, Json] = {}
        if self.reading.agents > 1:
            out = {"agents": self.reading.agents, "fusion": self.reading.fusion.kind}
            if self.reading.fusion.ties != Reading().fusion.ties:
                out["ties"] = self.reading.fusion.ties
        settings = self.reranker.identity.items()
        usual = {f.name: f.default for f in fields(cast(Any, self.reranker))}
        return out | {f"rerank.{k}": v for k, v in settings if k in usual and v != usual[k]}

    @property
    def before(self) -> dict[str, Json]:
        """How the list comes about that is reranked, as far as it has an effect."""
        many = self.reading.agents > 1
        return {
            "agents": self.reading.agents,
            "fusion": asdict(self.reading.fusion) if many else None,
            "backfill": self.reading.backfill,
            "candidates": self.reading.candidates,
            "candidate_types": sorted(set(self.candidate_types)) if self.candidate_types else None,
        }

    def rehearsed(self) -> Reranked:
        """The same around two fixed lists: what of the fingerprint is not the method's own."""
        reading = replace(self.reading, agents=2, pool=None, steps=None, backfill="none")
        fixed = cast(Method, _Fixed())
        return replace(self, method=fixed, reading=reading, candidate_types=None)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """All agents one after the other, so that calls, steps and limits have one order."""
        attempts: list[Attempt] = []
        for number in range(self.reading.agents):
            attempts.append(await self._inner(question, ctx, number))
            if attempts[-1].status == "failed":
                return Attempt(Ranking(()), "failed", _joined(attempts))
        nodes, answers = self._list(question, ctx, attempts)
        done = await self.reranker.reorder(question, nodes, ctx, agent)
        if sorted(done.ranking.nodes) != sorted(nodes):
            raise ValueError("the reranker returned other nodes than it was given")
        limited = any(one.status == "limit" for one in (*attempts, done))
        ranking = Ranking(done.ranking.nodes, answers)
        return Attempt(ranking, "limit" if limited else "ok", _joined([*attempts, done]))

    async def _inner(self, question: str, ctx: Context, number: int) -> Attempt:
        rng = ctx.rng
        if number:
            query = "" if ctx.query is None else ctx.query.id
            rng = agent_rng(self.seed, self.repeat, query, number)
        try:
            attempt = await self.method.attempt(question, replace(ctx, rng=rng), number)
        except QueryLimitError:  # the method did not see to it itself: it has nothing
            return Attempt(Ranking(()), "limit")
        return checked(attempt, ctx.graph.n_nodes)

    def _list(
        self, question: str, ctx: Context, attempts: Sequence[Attempt]
    ) -> tuple[tuple[int, ...], int | None]:
        """The list that is reranked, and how many of its nodes the method commits to.

        The new list commits to as many, its first ones; to none if an agent only ranked.
        """
        query = "" if ctx.query is None else ctx.query.id
        seeded: dict[str, Json] = {"seed": self.seed, "query": query}  # as without a reranker
        lists = [one.ranking.nodes for one in attempts]
        fused = self.reading.fuse(lists, random.Random(digest(seeded)))
        types = self._types(ctx.query)
        nodes = list(_countable(ctx.graph, fused, types))[:MAX_RANKED]
        answers = _committed(ctx.graph, attempts, nodes)
        if self.reading.backfill == "bm25" and len(nodes) < self.reranker.k:
            nodes = _filled(question, ctx, nodes, types, self.reranker.k)
        return tuple(nodes), answers

    def _types(self, query: Query | None) -> frozenset[str] | None:
        types = self.candidate_types
        if self.reading.candidates == "answer_type" and query is not None:
            if query.answer_type is None:
                raise UserError(
                    f"candidates=answer_type: question {query.id} has no answer_type; add that "
                    "column or use candidates=graph"
                )
            types = (query.answer_type,)
        return None if types is None else frozenset(types)


def reranker_of(spec: CellSpec) -> Reranker | None:
    """What reorders the lists of a cell, if anything.

    Raises UserError for settings that would be readings of fewer agents or steps.
    """
    if spec.rerank is None:
        return None
    made: Reranker = build(spec.rerank.target, "rerank", spec.rerank.settings)
    for name, instead in (("pool", "agents"), ("steps", "max_steps")):
        if (value := getattr(spec, name)) is not None:
            raise UserError(
                f"{name}={value}: with rerank={spec.rerank.name} a run has one list a question, "
                f"made of all agents and steps; set method.{instead} instead (a run of its own)"
            )
    return made


def _countable(graph: Graph, nodes: Iterable[int], types: frozenset[str] | None) -> Iterator[int]:
    """Nodes that may be answers; of those that are the same answer the first."""
    seen: set[int] = set()
    for node in nodes:
        if types is not None and graph.type(node) not in types:
            continue
        same = graph.canonical(node)
        if same not in seen:
            seen.add(same)
            yield node


def _committed(graph: Graph, attempts: Sequence[Attempt], nodes: Sequence[int]) -> int | None:
    """How many of ``nodes`` some agent committed to."""
    union: set[int] = set()
    for one in attempts:
        if one.ranking.answers is None:
            return None
        union.update(graph.canonical(n) for n in one.ranking.nodes[: one.ranking.answers])
    return sum(graph.canonical(node) in union for node in nodes)


def _filled(
    question: str, ctx: Context, nodes: list[int], types: frozenset[str] | None, most: int
) -> list[int]:
    """Nodes that the search finds for the question behind ``nodes``, up to ``most`` in all."""
    k = 4 * most
    while True:
        hits = lexical(ctx.search).search(question, k)
        found = list(_countable(ctx.graph, [*nodes, *(hit.node for hit in hits)], types))
        if len(found) >= most or len(hits) < k:
            return found[:most]
        k *= 8


def _joined(attempts: Sequence[Attempt]) -> Trajectory:
    """Messages and steps one after the other, steps numbered anew."""
    messages: list[Message] = []
    steps: list[Step] = []
    for one in attempts:
        messages += one.trajectory.messages
        steps += one.trajectory.steps
    steps = [replace(step, number=number) for number, step in enumerate(steps, 1)]
    return Trajectory(tuple(messages), tuple(steps))


@dataclass(frozen=True)
class _Fixed:
    """The first nodes of the graph; every second agent has them in reversed order."""

    label: ClassVar[str] = "first nodes"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 2
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        nodes = tuple(range(min(12, ctx.graph.n_nodes)))
        return Attempt(Ranking(nodes[::-1] if agent % 2 else nodes))
