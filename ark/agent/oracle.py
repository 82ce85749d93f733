"""``method=oracle``: what ARK's tools can show of the answers, for one who knows them.

It knows a question's program and gold, asks no backbone, and works through ARK's own toolbox with
the same limits: searches with words of the question only, filters from the schema, at most
``max_steps`` steps. It selects gold nodes that a tool has shown. So it is the ceiling of the tools
under a setting, as far as this policy goes: a better policy can only be higher. It is no system.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from ark.agent.observe import Handles
from ark.agent.oracle_moves import Planner
from ark.agent.oracle_program import expression, levels
from ark.agent.oracle_words import Words
from ark.agent.toolbox import Toolbox
from ark.agent.tools import ADD, FINISH, ToolOptions
from ark.errors import UserError, unknown
from ark.program import Expression, ProgramError
from ark.protocols import Context, Graph
from ark.records import (
    MAX_RANKED,
    Attempt,
    Json,
    Message,
    Query,
    Ranking,
    Step,
    ToolCall,
    Trajectory,
)
from ark.search.keyword import Keyword

TAG = "oracle.step"
NEIGHBOR_RANKS = ("bm25", "keyword")
EXAMPLES = (  # of the toy graph: what the behaviour fingerprint replays
    Query(
        "1",
        "Which insects visit plants that grow in Mercury and have to do with copper and nectar?",
        ("i1",),
        anchor_ids=("h3",),
        program='grown = backward(node("h3"), "grows in")\n'
        'end(text(backward(grown, "visits"), "copper", "nectar"))',
    ),
    Query(
        "2",
        "Which plants share a habitat with Silverleaf?",
        ("p2", "p3", "p5"),
        anchor_ids=("p1",),
        program='end(minus(backward(forward(node("p1"), "grows in"), "grows in"), node("p1")))',
    ),
    Query("3", "What does the slender fly over still water visit?", ("p1", "p4")),
)


@dataclass(frozen=True)
class Oracle:
    """Replays a question's program through ARK's tools; without a program, looks around a search.

    The fields are those of ``ark.agent.method.Ark`` with its defaults.
    """

    label: ClassVar[str] = "Oracle (knows the gold, no system)"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    ablations: ClassVar[Mapping[str, Mapping[str, bool]]] = {
        "no_neighbors": {"neighbors": False},
        "no_query": {"neighbor_query": False},
        "no_filter": {"neighbor_filters": False},
    }

    max_steps: int = 20
    """Steps at most (T_max): one call each, the last to add and finish."""
    global_k: int = 5
    """Hits of a global search when no size is given; the oracle always gives the largest."""
    global_k_max: int = 30
    """Most hits of a global search."""
    neighbor_k: int = 20
    """Neighbors shown at most."""
    neighbor_rank: str = "bm25"
    """How a query ranks neighbors: bm25 (paper) or keyword (the authors' code; it also filters)."""
    neighbors: bool = True
    """Ablation: False takes the neighborhood tool away."""
    neighbor_query: bool = True
    """Ablation: False takes its query argument away."""
    neighbor_filters: bool = True
    """Ablation: False takes both of its type filters away."""
    observation_tokens: int = 2000
    """Longest observation, in estimated tokens (4 characters each)."""
    paging: bool = False
    """Extension: searches and lists of neighbors have further pages (the oracle uses three)."""
    hops: int = 2
    """Questions without a program: how far from a hit of the search an answer may lie."""

    def __post_init__(self) -> None:
        for name, least in (("max_steps", 1), ("global_k", 1), ("neighbor_k", 1), ("hops", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UserError(f"method.{name}={value} must be a whole number >= {least}")
        if self.global_k_max < self.global_k:
            raise UserError(
                f"method.global_k_max={self.global_k_max} is below global_k={self.global_k}"
            )
        if self.observation_tokens < 50:
            raise UserError(f"method.observation_tokens={self.observation_tokens}: 50 at least")
        if self.neighbor_rank not in NEIGHBOR_RANKS:
            raise UserError(unknown("method.neighbor_rank", self.neighbor_rank, NEIGHBOR_RANKS))

    @property
    def agents(self) -> int:
        """One: nothing is drawn."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The gold that the tools show. Without the question's record there is none.

        The record is missing where the runner takes the behaviour fingerprint on the toy graph:
        the examples of that graph are replayed then.
        """
        if ctx.query is not None:
            return self._answer(ctx.query, ctx)
        known = [query for query in EXAMPLES if _fits(query, ctx.graph)]
        return _joined([self._answer(query, ctx) for query in known])

    def _answer(self, query: Query, ctx: Context) -> Attempt:
        golds = _golds(query, ctx.graph)
        try:
            end = None if query.program is None else expression(query.program, ctx.graph)
            route = [] if end is None else levels(ctx.graph, end, golds)
        except ProgramError:  # written for another graph
            end, route = None, []
        if end is None:
            return self._around(query, ctx, golds)
        return self._replayed(query, ctx, golds, end, route)

    def _toolbox(self, ctx: Context) -> Toolbox:
        shared = {f.name for f in fields(ToolOptions)} & {f.name for f in fields(self)}
        return Toolbox(
            ctx.graph,
            ctx.search,
            ToolOptions(**{name: getattr(self, name) for name in shared}),
            self.observation_tokens,
            rank=Keyword(ctx.graph) if self.neighbor_rank == "keyword" else None,
            handles=Handles(),
        )

    def _replayed(
        self,
        query: Query,
        ctx: Context,
        golds: Mapping[int, int],
        end: Expression,
        route: Sequence[Sequence[int]],
    ) -> Attempt:
        toolbox = self._toolbox(ctx)
        planner = Planner(toolbox, Words(query, ctx.graph, ctx.search, end), golds, route)
        walk = _Walk(toolbox, query.text)
        missing = frozenset(golds.values())
        for left in range(self.max_steps - 1, 0, -1):  # the last step adds
            move = planner.next(missing, left) if missing else None
            if move is None:
                break
            walk.step([(move.tool, move.arguments(toolbox))])
            missing -= {golds[node] for node in toolbox.seen if node in golds}
        shown: dict[int, int] = {}  # of the nodes that are one answer, the first
        for node in toolbox.seen:
            if node in golds:
                shown.setdefault(golds[node], node)
        chosen = list(shown.values())[:MAX_RANKED]
        why = "It satisfies the question's program."
        added = [{"node_index": toolbox.handles.of(n), "reasoning": why} for n in chosen]
        last: list[tuple[str, dict[str, Json]]] = [(ADD, {"answer_nodes": added})] if added else []
        walk.step([*last, (FINISH, {"comment": f"{len(missing)} answers were not shown."})])
        ranking = Ranking(tuple(toolbox.picks), len(toolbox.picks), tuple(toolbox.picks.values()))
        return Attempt(ranking, trajectory=walk.trajectory)

    def _around(self, query: Query, ctx: Context, golds: Mapping[int, int]) -> Attempt:
        """Gold within ``hops`` of the hits of one search with the question; no list is cut."""
        hits = [hit.node for hit in ctx.search.search(query.text, self.global_k_max)]
        hops = self.hops if self.neighbors else 0
        reached = _spread(ctx.graph, hits, hops - hops // 2)
        found: dict[int, int] = {}
        for node, answer in golds.items():
            if not reached.isdisjoint(_spread(ctx.graph, [node], hops // 2)):
                found.setdefault(answer, node)
        nodes = tuple(found.values())[:MAX_RANKED]
        graph = ctx.graph
        state: dict[str, Json] = {
            "kind": "evidence",
            "hits": [graph.id(i) for i in hits],
            "hops": hops,
            "top": [graph.id(i) for i in nodes],
        }
        trajectory = Trajectory(steps=(Step(1, "oracle.around", state),))
        return Attempt(Ranking(nodes, len(nodes)), trajectory=trajectory)


@dataclass
class _Walk:
    """Runs calls and keeps them as a conversation, as ARK's loop does."""

    toolbox: Toolbox
    question: str
    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def step(self, given: Sequence[tuple[str, Mapping[str, Json]]]) -> None:
        number = len(self.steps) + 1
        self.toolbox.step = number
        calls = [
            ToolCall(f"oracle_{number}_{i}", name, json.dumps(arguments, ensure_ascii=False))
            for i, (name, arguments) in enumerate(given)
        ]
        self.messages.append(Message("assistant", None, tuple(calls)))
        states = []
        for call in calls:
            seen = self.toolbox.execute(call)
            self.messages.append(Message("tool", seen.text, tool_call_id=call.id))
            states.append(
                {
                    "tool": call.name,
                    "arguments": call.arguments,
                    "offered": [self.toolbox.graph.id(i) for i in seen.offered],
                    "selected": [self.toolbox.graph.id(i) for i in seen.selected],
                    "valid": seen.valid,
                }
            )
        self.steps.append(Step(number, TAG, {"kind": "walk", "calls": states}))

    @property
    def trajectory(self) -> Trajectory:
        asked = Message("user", self.question)
        return Trajectory((asked, *self.messages), tuple(self.steps))


def _golds(query: Query, graph: Graph) -> dict[int, int]:
    """Rows of the answers, and the row of each answer's first record; unknown ids are left out."""
    golds: dict[int, int] = {}
    for node_id in query.answer_ids:
        try:
            row = graph.index(node_id)
        except KeyError:
            continue
        first = graph.canonical(row)
        golds |= {row: first, first: first}
    return golds


def _spread(graph: Graph, nodes: Iterable[int], hops: int) -> set[int]:
    """Nodes within so many hops, the given ones among them."""
    reached = {int(node) for node in nodes}
    edge = sorted(reached)
    for _ in range(hops):
        near = [graph.neighbors(node) for node in edge]
        fresh = np.unique(np.concatenate(near)) if near else np.empty(0, dtype=np.int64)
        edge = [int(i) for i in fresh if int(i) not in reached]
        reached.update(edge)
    return reached


def _fits(query: Query, graph: Graph) -> bool:
    try:
        return all(graph.index(i) >= 0 for i in (*query.answer_ids, *query.anchor_ids))
    except KeyError:
        return False


def _joined(attempts: Sequence[Attempt]) -> Attempt:
    """Several attempts as one, for the fingerprint."""
    nodes = tuple(dict.fromkeys(i for attempt in attempts for i in attempt.ranking.nodes))
    steps = [step for attempt in attempts for step in attempt.trajectory.steps]
    numbered = tuple(Step(n, s.tag, s.state) for n, s in enumerate(steps, start=1))
    messages = tuple(m for attempt in attempts for m in attempt.trajectory.messages)
    return Attempt(Ranking(nodes, len(nodes)), trajectory=Trajectory(messages, numbered))
