"""What a walk has found so far, and the ranked list that it makes of it at any time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ark.protocols import Context
from ark.records import Ranking
from ark.text import tokens
from baselines.tiers import Found, tiered
from baselines.tog2.scores import min_max


@dataclass(frozen=True)
class Seen:
    """A candidate: its best score over depths, its best passage, and the depth it came up at."""

    score: float
    best: float
    positive: bool
    depth: int


@dataclass
class Findings:
    """Nodes by row: those that were linked, those that were scored, the last frontier, answers."""

    linked: list[int] = field(default_factory=list)
    seen: dict[int, Seen] = field(default_factory=dict)
    frontier: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def score(
        self, depth: int, sums: Mapping[int, float], best: Mapping[int, float]
    ) -> dict[int, float]:
        """Takes in the scores of one depth; returns them brought to [0, 1].

        A node keeps the highest of its scores over all depths.
        """
        scaled = min_max(sums)
        for node, value in scaled.items():
            old = self.seen.get(node, Seen(0.0, 0.0, positive=False, depth=depth))
            self.seen[node] = Seen(
                max(old.score, value),
                max(old.best, best.get(node, 0.0)),
                positive=old.positive or sums[node] > 0,
                depth=old.depth,
            )
        return scaled

    def by_score(self) -> list[int]:
        """Candidates whose passages counted, best first."""
        good = [node for node, seen in self.seen.items() if seen.positive]
        return sorted(good, key=lambda node: (-self.seen[node].score, node))

    def ranking(self, ctx: Context, question: str) -> Ranking:
        """Answers, the last frontier, scored candidates, the others, and last what was linked."""
        answers = [Found(n, float(-place)) for place, n in enumerate(self.answers)]
        frontier = [Found(n, self.seen[n].score, self.seen[n].depth) for n in self.frontier]
        seen = self.seen.items()
        good = [Found(n, s.score, s.depth) for n, s in seen if s.positive]
        others = [Found(n, s.best, s.depth) for n, s in seen if not s.positive]
        linked = [Found(n, float(-place)) for place, n in enumerate(self.linked)]
        return tiered(ctx, question, answers, frontier, good, others, linked)


def grounded(ctx: Context, question: str, names: Iterable[str], visited: list[int]) -> list[int]:
    """Visited nodes with these names or aliases, without regard to case; in the names' order.

    A node whose name stands in the question is no answer to it. Where nothing was visited, the
    search stands in: nodes that it finds for a name and that have exactly this name.
    """
    asked = f" {' '.join(tokens(question))} "
    called: dict[str, list[int]] = {}
    for node in visited:
        _enter(ctx, called, node)
    found: dict[int, None] = {}
    for name in names:
        if not visited:
            for hit in ctx.search.search(name, 5):
                _enter(ctx, called, hit.node)
        key = " ".join(tokens(name))
        if key and f" {key} " not in asked:
            found.update(dict.fromkeys(called.get(key, ())))
    return list(found)


def _enter(ctx: Context, called: dict[str, list[int]], node: int) -> None:
    for name in dict.fromkeys((ctx.graph.name(node), *ctx.graph.aliases(node))):
        nodes = called.setdefault(" ".join(tokens(name)), [])
        if node not in nodes:
            nodes.append(node)
