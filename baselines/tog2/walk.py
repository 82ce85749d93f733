"""The walk: topics, relations, entities, passages, reasoning; then one hop on.

Sections 3.1 to 3.3 of the paper (arXiv 2407.10805). Where its code does otherwise there is a
setting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ark.records import Json
from baselines.ask import best_by_words
from baselines.calls import Caller
from baselines.seeds import describe, link_seeds
from baselines.tog2.calls import Calls, Known
from baselines.tog2.discover import (
    Relation,
    Triple,
    by_node,
    cut_tails,
    lead,
    narrowed,
    relation_option,
    relations_of,
    sentence,
    usable,
)
from baselines.tog2.evidence import Evidence
from baselines.tog2.found import Findings, grounded
from baselines.tog2.ranker import ranker
from baselines.tog2.settings import Settings

OPTIONS = 20  # nodes that a reasoning or answering call may choose from
MOST_RELATIONS = 40  # of a topic that are offered; more are cut by shared words
SHOWN = 20  # ids that a step lists as offered
FACTS = 3  # triples that are kept for each node of the frontier

Candidates = dict[int, list[Triple]]
Kept = list[tuple[Relation, float]]


class Walk:
    """One attempt. ``findings`` is up to date whenever a call is under way."""

    def __init__(self, question: str, caller: Caller, settings: Settings) -> None:
        self.question, self.asker, self.s = question, caller.asker, settings
        self.ctx, self.graph = self.asker.ctx, self.asker.ctx.graph
        self.calls = Calls(caller, settings)
        self.evidence = Evidence(self.ctx, question, ranker(settings.ranker), settings)
        self.findings = Findings()
        self.topics: list[int] = []
        self.past: set[int] = set()  # topics of all depths
        self.facts: list[str] = []
        self.clue = ""
        self.depth = 0

    async def run(self) -> None:
        """From linking to the answer. Raises QueryLimitError."""
        await self._start()
        if not self.topics:
            return await self._finish("no topics")
        if self.s.initial and await self._enough(self.topics):
            return self.note_end("sufficient")
        for depth in range(1, self.s.depth + 1):
            self.depth = depth
            self.past.update(self.topics)
            kept, reason = await self._relations()
            if not kept:
                return await self._finish(reason)
            candidates = self._entities(kept)
            if not candidates:
                return await self._finish("no tails")
            self._prune(candidates, kept)
            last = self.depth == self.s.depth and self.s.final == "evidence"
            if last:
                break
            if await self._enough(self._options()):
                return self.note_end("sufficient")
        return await self._finish("depth")

    # -- where it starts ---------------------------------------------------------------------------

    async def _start(self) -> None:
        """Links the question, prunes the topics and reads their passages."""
        linked = await link_seeds(self.asker, "tog2", self.question, self.s.link)
        self.findings.linked = linked
        self.topics = linked[: self.s.width]
        if len(linked) > self.s.topic_prune_above:
            options = [describe(self.ctx, node) for node in linked]
            state = self._state("topic_prune", offered=self._ids(linked))
            picks = await self.calls.topic_prune(self.question, options, state)
            self.topics = [linked[i] for i in picks]
            self.asker.note("tog2.topic_prune", {"taken": self._ids(self.topics)})
        read = self.topics or linked
        if read:
            self.evidence.weigh(dict.fromkeys(read, ""), self.question)
            self.asker.note("tog2.retrieve", self._state("retrieve", visited=self._ids(read)))

    # -- relations ---------------------------------------------------------------------------------

    async def _relations(self) -> tuple[Kept, str]:
        """Relations to follow, with scores, best first a topic; else why there are none."""
        offered = [self._offered(topic) for topic in self.topics]
        if self.s.relation_prune == "combined":
            offered = [[relation for group in offered for relation in group]]
        kept: Kept = []
        for group in filter(None, offered):
            kept += await self._pruned(group)
        return kept, "relations dropped" if any(offered) else "no relations"

    def _offered(self, topic: int) -> list[Relation]:
        found = relations_of(self.graph, topic)
        if len(found) <= MOST_RELATIONS:
            return found
        options = [relation_option(self.graph, relation) for relation in found]
        best = best_by_words(self.question, options, MOST_RELATIONS)
        return [found[i] for i in sorted(best)]

    async def _pruned(self, relations: list[Relation]) -> Kept:
        combined = self.s.relation_prune == "combined"
        limits = self.s.combined_limits or not combined
        options = [relation_option(self.graph, relation) for relation in relations]
        topics = list(dict.fromkeys(relation.topic for relation in relations))
        most = min(len(options), self.s.width * len(topics)) if limits else len(options)
        state = self._state("relation_prune", topics=self._ids(topics), offered=options)
        known = Known(self.question, self.clue)
        scores = await self.calls.relation_prune(known, options, most, state)
        order = sorted(scores, key=lambda i: (-scores[i], i))
        if limits:
            order = [i for i in order if scores[i] >= self.s.threshold]
            of_topic = [[i for i in order if relations[i].topic == t] for t in topics]
            order = [i for group in of_topic for i in group[: self.s.width]]
        taken = [[options[i], round(scores[i], 6)] for i in order]
        self.asker.note("tog2.relation_prune", {"taken": taken})
        return [(relations[i], scores[i]) for i in order]

    # -- entities ----------------------------------------------------------------------------------

    def _entities(self, kept: Kept) -> Candidates:
        """Ends of the kept relations, by row; at most 50 of each."""
        triples: list[Triple] = []
        past = np.array(sorted(self.past), dtype=np.int64)
        for relation, _ in kept:
            ends = relation.tails
            if not self.s.revisit:
                ends = ends[~np.isin(ends, past)]
            sample = self.s.tails == "random"
            tails = cut_tails(self.ctx, self.question, ends, self.s.tails_most, sample=sample)
            if self.s.need_text:
                tails = [tail for tail in tails if usable(self.graph, tail)]
            triples += [Triple(relation.topic, relation.number, relation.out, i) for i in tails]
        return narrowed(self.ctx, self.question, by_node(triples))

    def _prune(self, candidates: Candidates, kept: Kept) -> None:
        """Passages weigh the candidates; the best become the topics of the next depth."""
        leads = {node: lead(self.graph, triples) for node, triples in candidates.items()}
        weighed = self.evidence.weigh(leads, f"{self.question} {self.clue}".strip())
        self.findings.score(self.depth, weighed.sums, weighed.best)
        order = sorted(candidates, key=lambda node: (-weighed.sums[node], node))
        taken = [node for node in order if weighed.sums[node] > 0] or self._unread(candidates, kept)
        self.topics = self.findings.frontier = taken[: self.s.width]
        for node in self.topics:
            self.facts += [sentence(self.graph, triple) for triple in candidates[node][:FACTS]]
        self.facts = list(dict.fromkeys(self.facts))
        found: dict[str, Json] = {
            "visited": self._ids(order),
            "offered": self._ids(order[:SHOWN]),
            "taken": self._ids(self.topics),
            "scores": [round(weighed.sums[node], 6) for node in self.topics],
        }
        if weighed.fallback:
            found["fallback"] = weighed.fallback
        self.asker.note("tog2.entity_prune", self._state("entity_prune", **found))

    def _unread(self, candidates: Candidates, kept: Kept) -> list[int]:
        """Candidates where no passage tells them apart: by relation, then BM25 of the question."""
        scores = {(r.topic, r.number, r.out): score for r, score in kept}
        best = {
            node: max(scores[t.topic, t.relation, t.out] for t in triples)
            for node, triples in candidates.items()
        }
        nodes = np.array(list(candidates), dtype=np.int64)
        hits = self.ctx.search.rank(self.question, nodes, len(nodes))
        return sorted((hit.node for hit in hits), key=lambda node: -best[node])

    # -- reasoning ---------------------------------------------------------------------------------

    async def _enough(self, nodes: Sequence[int]) -> bool:
        """Whether the model answers with what is known; if not, its clue is kept."""
        options = [describe(self.ctx, node) for node in nodes]
        state = self._state("reason", offered=self._ids(nodes))
        verdict = await self.calls.reason(self._known(), options, state)
        self.findings.answers = [nodes[i] for i in verdict.answers]
        found = {"sufficient": verdict.sufficient, "taken": self._ids(self.findings.answers)}
        self.asker.note("tog2.reason", {**found, "clue": verdict.clue})
        if self.s.clue and verdict.clue:
            self.clue = verdict.clue
        return verdict.sufficient

    async def _finish(self, reason: str) -> None:
        """The last answer: from what was found, or from memory; ``reason`` goes on record."""
        nodes = self._options()
        if self.s.final == "memory" or not nodes:
            names = await self.calls.memory(self.question, self._state("memory"))
            visited = list(dict.fromkeys([*self.findings.seen, *self.findings.linked]))
            self.findings.answers = grounded(self.ctx, self.question, names, visited)
        else:
            options = [describe(self.ctx, node) for node in nodes]
            state = self._state("answer", offered=self._ids(nodes))
            picks = await self.calls.answer(self._known(), options, state)
            self.findings.answers = [nodes[i] for i in picks]
        self.asker.note("tog2.answer", {"taken": self._ids(self.findings.answers)})
        self.note_end(reason)

    def note_end(self, reason: str) -> None:
        """Records why the walk ended."""
        self.asker.note("tog2.end", self._state("end", reason=reason))

    def _known(self) -> Known:
        return Known(self.question, self.clue, self.facts, self.evidence.lines())

    def _options(self) -> list[int]:
        """Nodes that may be answers: the frontier and other candidates by score.

        What the question names answers it rarely: it is offered where there is nothing else.
        """
        found = self.findings
        nodes = list(dict.fromkeys([*found.frontier, *found.by_score()]))
        return (nodes or found.linked)[:OPTIONS]

    def _ids(self, nodes: Sequence[int]) -> list[str]:
        return [self.graph.id(node) for node in nodes]

    def _state(self, purpose: str, **more: Json) -> dict[str, Json]:
        return {"kind": "beam", "depth": self.depth, "purpose": purpose, **more}
