"""Passages of the entities at hand: which are best, and what they make each entity worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ark.protocols import Context
from ark.search.texts import TextRanker
from baselines.ask import plain
from baselines.tog2.chunks import has_text, node_passages, sentences
from baselines.tog2.discover import NAME
from baselines.tog2.ranker import not_negative
from baselines.tog2.scores import best_first, best_passage, entity_scores
from baselines.tog2.settings import Settings


@dataclass(frozen=True)
class Weighed:
    """S of each entity, its best passage's score, and what was missing, if anything."""

    sums: Mapping[int, float]
    best: Mapping[int, float]
    fallback: str | None = None


@dataclass
class Evidence:
    """What reasoning calls read. ``shown``: (node, passage) of the depth; ``pool``: of all."""

    ctx: Context
    question: str
    ranker: TextRanker
    settings: Settings
    shown: list[tuple[int, str]] = field(default_factory=list)
    pool: dict[tuple[int, str], None] = field(default_factory=dict)

    def weigh(self, leads: Mapping[int, str], query: str) -> Weighed:
        """Scores the passages of nodes; ``leads`` has the triple sentences of each (or '')."""
        owners: list[int] = []
        bare: list[str] = []
        texts: list[str] = []
        for node, lead in leads.items():
            for passage in node_passages(self.ctx.graph, node, self.settings.node_passages):
                owners.append(node)
                bare.append(passage)
                with_lead = self.settings.triple_sentence and lead
                texts.append(f"{lead} {passage}" if with_lead else passage)
        scores = not_negative(self.ranker.score(query, texts)) if texts else []
        top = best_first(scores)[: self.settings.passages]
        self.shown = [(owners[i], bare[i]) for i in top]
        self.pool.update(dict.fromkeys(self.shown))
        found = entity_scores(owners, scores, self.settings.passages, self.settings.decay)
        sums = {node: found.get(node, 0.0) for node in leads}
        fallback = None
        if not any(has_text(self.ctx.graph, node) for node in leads):
            fallback = "no passages: names stand for them"
        if not any(sums.values()):
            fallback = "no passage has a word of the query: order by relation, then BM25"
        return Weighed(sums, best_passage(owners, scores), fallback)

    def lines(self) -> list[str]:
        """What a reasoning call reads, each with the name of its node."""
        if self.settings.context == "passages":
            return [self._line(node, passage) for node, passage in self.shown]
        split = [(node, s) for node, passage in self.pool for s in sentences(passage)]
        scores = not_negative(self.ranker.score(self.question, [s for _, s in split]))
        return [self._line(*split[i]) for i in best_first(scores)[: self.settings.sentences]]

    def _line(self, node: int, text: str) -> str:
        return f"{plain(self.ctx.graph.name(node), NAME)}: {text}"
