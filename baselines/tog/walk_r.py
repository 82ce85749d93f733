"""The loop of ToG-R (arXiv 2307.07697, section 2.2): relations are pruned, entities are drawn.

The authors' code has no ToG-R: it follows the paper's text and its prompt (appendix E).
"""

from __future__ import annotations

from collections.abc import Sequence

from baselines.ask import plain
from baselines.tog import prompts
from baselines.tog.beam import Kept, Reached
from baselines.tog.walk import Evidence, Walk
from baselines.tog.ways import NAME_WIDTH, name_of

Chain = tuple[int, tuple[tuple[str, bool], ...]]
"""A topic entity of the question and the relations walked from it."""


class WalkR(Walk):
    """Like ``Walk``, but no call scores entities; reasoning sees chains with all their tails."""

    prefix = "tog_r"

    def __init__(self, *parts: object, **named: object) -> None:
        super().__init__(*parts, **named)  # type: ignore[arg-type]
        self._chains: dict[int, Chain] = {}  # of the topic entities
        self._paths: dict[Chain, list[int]] = {}  # of this depth: tails of each chain

    async def _prune_entities(self, kept: Sequence[Kept], depth: int) -> list[Reached]:  # noqa: ARG002
        """Every tail with its relation's score."""
        reached, paths = [], dict[Chain, list[int]]()
        for one in kept:
            tails = self._cut(one.way)
            reached += [Reached(tail, one.score, one.way) for tail in tails]
            paths.setdefault(self._chain(one.way.node, one.way.key), []).extend(tails)
        if reached:
            self._paths = paths
        return reached

    def _chain(self, node: int, way: tuple[str, bool]) -> Chain:
        start, walked = self._chains.get(node, (node, ()))
        return start, (*walked, way)

    def _select(self, nodes: Sequence[Reached]) -> list[Reached]:
        """The frontier is all tails: none of them is pruned."""
        return list(nodes)

    def _next(self, beam: Sequence[Reached], reached: Sequence[Reached]) -> list[int]:
        """N of the tails, each with the same chance."""
        width = min(self.how.width, len(beam))
        drawn = [beam[place] for place in sorted(self.ctx.rng.sample(range(len(beam)), width))]
        self._chains = {one.node: self._chain(one.way.node, one.way.key) for one in drawn}
        return super()._next(drawn, reached)

    def evidence(self) -> Evidence:
        """The chains of the last depth, each with the numbers of its tails."""
        number = self._numbers([tail for tails in self._paths.values() for tail in tails])
        lines = []
        for (start, walked), tails in self._paths.items():
            places = ", ".join(str(number[tail]) for tail in dict.fromkeys(tails))
            lines.append(f"{self._walked(start, walked)} options {places}")
        return Evidence(tuple(prompts.listed("Paths", lines)), tuple(number))

    def _walked(self, start: int, walked: Sequence[tuple[str, bool]]) -> str:
        """Each relation in its own direction; the nodes between are left out, as in the paper."""
        arrows = []
        for relation, forward in walked:
            name = plain(relation, NAME_WIDTH)
            arrows.append(f"-[{name}]->" if forward else f"<-[{name}]-")
        return f"{name_of(self.ctx.graph, start)} {' … '.join(arrows)}"
