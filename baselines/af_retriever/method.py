"""``method=af_retriever``: facts from one call, candidates by joins, one call to put them in order.

Built from the description of AF-Retriever (Boer, Roth, Kramer, arXiv 2505.09246: abstract), not
from its code; docs/methods/af_retriever.md lists what is ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ark.errors import QueryLimitError, UserError
from ark.protocols import Context
from ark.records import MAX_RANKED, Attempt, Json, Ranking, Status
from baselines.af_retriever.join import Candidates, Join, Scope
from baselines.af_retriever.plan import TASK, Options, Plan
from baselines.ask import Asker
from baselines.calls import Bounded
from baselines.common import ids, settings, whole_number
from baselines.rerank import Settings, listwise

TRIPLES, RERANK = "af.triples", "af.rerank"
SEARCHED = 1_000  # hits of the question that the supplement is taken from
PROBE = (
    # One object for both calls: each reads its own keys.
    {
        "content": '{"answer_types": [3, 9], "constants": ["walled garden", "copper moth"], '
        '"triples": [{"subject": "answer", "relation": 8, "object": "Mercury"}, '
        '{"subject": "?x", "relation": 5, "object": "answer"}, '
        '{"subject": "?x", "relation": 6, "object": "walled garden"}, '
        '{"relation": 5}], "order": [2, 1]}'
    },
)


@dataclass(frozen=True)
class AFRetriever:
    """Our reading of AF-Retriever: at most two calls, each with one repair."""

    label: ClassVar[str] = "AF-Retriever (our reading)"
    label_without_model: ClassVar[str] = "AF-Retriever (lexical)"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    links_seeds: ClassVar[bool] = True
    probe: ClassVar[Sequence[Mapping[str, Any]]] = PROBE

    first_groundings: int = 1
    """Nodes that a constant stands for at the narrowest scope; doubled at each step. Those that it
    names in full are the first, also where the search ranks many others before them."""
    most_groundings: int = 16
    """Nodes that a constant stands for at the widest scope."""
    enough: int = 20
    """Candidates that fulfil every constraint end the widening."""
    k: int = 20
    """Nodes that the last call puts in order."""
    supplement: int = 5
    """Of these at least so many come from the question's text alone, where there are any."""
    card_tokens: int = 60
    """Longest description of a node in that call, in estimated tokens (4 characters each)."""
    max_calls: int = 4
    """Calls a question at most, repairs included."""

    def __post_init__(self) -> None:
        for name in ("first_groundings", "most_groundings", "enough", "max_calls"):
            whole_number(name, getattr(self, name), 1)
        whole_number("k", self.k, 2)
        whole_number("supplement", self.supplement, 0)
        whole_number("card_tokens", self.card_tokens, 20)
        if self.most_groundings < self.first_groundings:
            raise UserError(
                f"method.most_groundings={self.most_groundings} is below first_groundings="
                f"{self.first_groundings}"
            )
        if self.supplement > self.k:
            raise UserError(f"method.supplement={self.supplement} is above k={self.k}")

    @property
    def agents(self) -> int:
        """One: nothing is drawn."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings; the prompt by the hash of its text."""
        return {**settings(self), "prompt": hashlib.sha256(TASK.encode()).hexdigest()[:16]}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """At most ``max_calls`` calls; where they end early, the list is as it stands."""
        asker = Asker(replace(ctx, backbone=Bounded(ctx.backbone, self.max_calls)), agent)
        status: Status = "ok"
        plan = Plan()
        try:
            plan = await self._plan(question, asker)
        except QueryLimitError:
            status = "limit"
        nodes = self._list(question, plan, asker)
        if status == "ok":
            how = Settings(k=self.k, card_tokens=self.card_tokens)
            try:
                nodes = await listwise(question, nodes, asker.ctx, asker, how, tag=RERANK)
            except QueryLimitError:
                status = "limit"
        return Attempt(Ranking(tuple(nodes[:MAX_RANKED])), status, asker.trajectory)

    async def _plan(self, question: str, asker: Asker) -> Plan:
        options = Options(asker.ctx.graph, question)
        return await asker.ask(
            TRIPLES,
            TASK,
            options.prompt,
            options.schema,
            options.read,
            Plan,  # knows nothing: the list is that of the search
            state={"kind": "evidence"},
        )

    def _list(self, question: str, plan: Plan, asker: Asker) -> list[int]:
        """Candidates and supplement in one list, and in the trace what they rest on."""
        ctx = asker.ctx
        join = Join.of(ctx, plan, self.most_groundings)
        found = join.candidates(Scope(self.first_groundings, self.most_groundings, self.enough))
        best = _by_text(question, ctx, found)
        others = _supplement(question, ctx, plan, join)
        nodes = _merged(best, others, self.k, self.supplement)
        asker.note(TRIPLES, {"kind": "evidence", **_trace(ctx, plan, join, found, nodes)})
        return list(dict.fromkeys([*nodes, *map(int, join.named)]))


def _by_text(question: str, ctx: Context, found: Candidates) -> list[int]:
    """At most ``MAX_RANKED`` candidates; equal ones as the search ranks them for the question."""
    nodes: list[int] = []
    for group in found.groups:
        hits = ctx.search.rank(question, group, MAX_RANKED - len(nodes))
        nodes += [hit.node for hit in hits]
        if len(nodes) >= MAX_RANKED:
            break
    return nodes


def _supplement(question: str, ctx: Context, plan: Plan, join: Join) -> list[int]:
    """Nodes of the answer's types by the text of the question."""
    named = set(join.named.tolist())
    hits = [hit.node for hit in ctx.search.search(question, SEARCHED) if hit.node not in named]
    typed = [i for i in hits if ctx.graph.type(i) in plan.types]
    return (typed or hits)[: 2 * MAX_RANKED]


def _merged(best: Sequence[int], others: Sequence[int], k: int, least: int) -> list[int]:
    """Candidates first, but of the first ``k`` at least ``least`` from the text alone."""
    kept = set(best[: k - least])
    new = [i for i in others if i not in kept]
    head = [*best[: k - min(least, len(new))]]
    fill = [i for i in others if i not in set(head)][: max(0, k - len(head))]
    return list(dict.fromkeys([*head, *fill, *best, *others]))


def _trace(
    ctx: Context, plan: Plan, join: Join, found: Candidates, nodes: Sequence[int]
) -> dict[str, Json]:
    return {
        "types": sorted(plan.types),
        "constants": [
            {"text": leaf.text, "nodes": ids(ctx.graph, nodes_)}
            for leaf, nodes_ in join.grounded.items()
        ],
        "triples": [
            [_end(t.subject.kind, t.subject.text), list(t.edge), _end(t.object.kind, t.object.text)]
            for t in plan.triples
        ],
        "open": [list(edge) for edge in plan.open],
        "constraints": found.constraints,
        "doubtful": found.doubtful,
        "satisfied": found.satisfied,
        "scope": found.scope,
        "candidates": int(np.sum([len(group) for group in found.groups], dtype=np.int64)),
        "top": ids(ctx.graph, nodes),
    }


def _end(kind: str, text: str) -> str:
    return "answer" if kind == "answer" else text
