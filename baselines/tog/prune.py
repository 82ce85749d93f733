"""The calls that explore: score the relations of an entity, score the nodes that a relation has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ark.protocols import Context
from ark.records import Json
from baselines.ask import by_words, read_scores, score_schema
from baselines.calls import Caller
from baselines.tog import prompts
from baselines.tog.ways import Way, option, step

if TYPE_CHECKING:
    from baselines.tog.method import Tog

MOST_SCORED = 10  # tails that a model may score in one call
MOST_LISTED = 20  # entries of a list in a step's state


class Pruner:
    """Scores in [0, 1] by the model, by BM25 where it is set to or where the model fails."""

    def __init__(self, ctx: Context, question: str, how: Tog, caller: Caller, prefix: str) -> None:
        self._ctx, self._question, self._how = ctx, question, how
        self._caller, self._prefix = caller, prefix

    def shown(self, ways: Sequence[Way]) -> list[str]:
        """Ways as options."""
        return [option(self._ctx.graph, way, types=self._how.cards == "full") for way in ways]

    async def ways(self, node: int, ways: Sequence[Way], depth: int) -> dict[int, float]:
        """Places of the N best ways of an entity -> score, best first."""
        width, options = self._how.width, self.shown(ways)
        if self._how.prune == "bm25":
            return _best(by_words(self._question, options), width)
        (entity,) = self._cards([node])
        scores = await self._ask(
            "relation",
            prompts.RELATIONS.format(width=width),
            [f"Entity: {entity}"],
            options,
            options,
            width,
            depth,
            node=self._ctx.graph.id(node),
        )
        return _best(scores, width)

    async def tails(self, way: Way, tails: Sequence[int], depth: int) -> Mapping[int, float]:
        """Places of tails -> score; those that are left out count as 0."""
        options = self._cards(tails)
        if self._how.prune == "bm25":
            return by_words(self._question, options)
        graph, most = self._ctx.graph, min(len(tails), MOST_SCORED)
        return await self._ask(
            "entity",
            prompts.ENTITIES.format(most=most),
            [f"Step: {step(graph, way, '?')}"],
            options,
            [graph.id(tail) for tail in tails],
            most,
            depth,
            node=graph.id(way.node),
            relation=way.relation,
        )

    async def _ask(
        self,
        kind: str,
        system: str,
        facts: Sequence[str],
        options: Sequence[str],
        labels: Sequence[str],
        most: int,
        depth: int,
        **more: Json,
    ) -> Mapping[int, float]:
        """``labels`` name the options in the state, in their order."""
        name, title = ("relations", "Relations") if kind == "relation" else ("entities", "Nodes")
        tag = f"{self._prefix}.{kind}_prune"
        scores = await self._caller.ask(
            tag,
            system,
            prompts.with_options(self._question, facts, title, options),
            score_schema(name, len(options), most),
            lambda value: read_scores(value, name, len(labels)),
            lambda: by_words(self._question, options),
            state=state_of(depth, f"{kind}_prune", labels, **more),
            temperature=self._how.explore_temperature,
            # The reasoning of this and all later depths, and the answer, must still be asked for.
            reserve=self._how.depth - depth + 2,
        )
        best = _best(scores, self._how.width)
        taken = [{"option": labels[i], "score": round(score, 4)} for i, score in best.items()]
        self._caller.asker.note(tag, {"kind": "beam", "taken": taken})
        return scores

    def _cards(self, nodes: Sequence[int]) -> list[str]:
        return prompts.cards(self._ctx, self._question, nodes, self._how.cards)


def state_of(depth: int, purpose: str, offered: Sequence[str], **more: Json) -> dict[str, Json]:
    """What the viewer shows of a step."""
    shown = list(offered[:MOST_LISTED])
    return {"kind": "beam", "depth": depth, "purpose": purpose, "offered": shown, **more}


def _best(scores: Mapping[int, float], most: int) -> dict[int, float]:
    """The ``most`` highest, best first, ties by place."""
    places = sorted(scores, key=lambda i: (-scores[i], i))[:most]
    return {i: scores[i] for i in places}
