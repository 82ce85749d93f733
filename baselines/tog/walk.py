"""The loop of ToG (arXiv 2307.07697, section 2.1): prune relations, prune entities, reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ark.protocols import Context
from ark.records import Json, Trajectory
from baselines.ask import best_by_words, pick_schema, read_picks
from baselines.calls import Caller
from baselines.seeds import link_seeds
from baselines.tiers import Found
from baselines.tog import prompts
from baselines.tog.answers import (
    MOST_ANSWERS,
    MOST_NAMES,
    NAMES,
    Verdict,
    grounded,
    read_names,
    read_verdict,
    verdict_schema,
)
from baselines.tog.beam import Kept, Reached, Seen, best_ways, merged
from baselines.tog.prune import MOST_LISTED, Pruner, state_of
from baselines.tog.ways import Way, cut, name_of, triple, ways_of

if TYPE_CHECKING:
    from baselines.tog.method import Tog

MOST_RELATIONS = 60  # ways of an entity that are offered; of more those nearest to the question


@dataclass(frozen=True)
class Evidence:
    """Facts as a prompt shows them, and the nodes that stand in it as options."""

    facts: tuple[str, ...]
    nodes: tuple[int, ...]


class Walk:
    """One attempt. Its state can be read at any time: a limit may end it after any call."""

    prefix = "tog"

    def __init__(self, ctx: Context, question: str, how: Tog, caller: Caller) -> None:
        self.ctx, self.question, self.how, self.caller = ctx, question, how, caller
        self.answers: list[int] = []
        self.seen = Seen(how.scores == "cumulative")
        self.frontier: list[Reached] = []  # tier B: what the last step kept
        self.triples: list[Reached] = []  # of all depths
        self._pruner = Pruner(ctx, question, how, caller, self.prefix)
        self._score: dict[int, float] = {}  # of the path to a topic entity
        self._back: dict[int, set[tuple[str, bool]]] = {}  # ways by which it was not to be left
        self._ways: dict[int, list[Way]] = {}

    @property
    def trajectory(self) -> Trajectory:
        """All that was said so far."""
        return self.caller.asker.trajectory

    @property
    def tiers(self) -> tuple[list[Found], list[Found], list[Found]]:
        """A the answer, B the last frontier, C all nodes that were scored."""
        places = len(self.answers)
        answer = [Found(node, float(places - i)) for i, node in enumerate(self.answers)]
        frontier = self.seen.of(one.node for one in self.frontier)
        return answer, frontier, self.seen.of(self.seen.nodes)

    async def run(self) -> None:
        """Sets ``answers``. Raises QueryLimitError."""
        how = self.how
        topics = await link_seeds(self.caller.asker, self.prefix, self.question, how.width)
        self._score = dict.fromkeys(topics, 1.0)
        if not topics:
            return await self._from_memory(0, "no topic entity")
        for depth in range(1, how.depth + 1):
            ways = await self._prune_relations(topics, depth)
            reached = await self._prune_entities(ways, depth)
            beam = self._advance(reached, depth)
            if not beam:
                return await self._from_triples(depth)
            verdict = await self._reason(depth)
            if verdict.enough:
                return self._answer(verdict.picks, "reason")
            topics = self._next(beam, reached)
        return await self._from_memory(how.depth, "depth exhausted")

    # -- the parts that ToG-R has otherwise ------------------------------------------------------

    async def _prune_entities(self, kept: Sequence[Kept], depth: int) -> list[Reached]:
        """Every tail with the product of its relation's and its own score; one call a relation."""
        reached = []
        for one in kept:
            tails = self._cut(one.way)
            scores = (
                {0: 1.0} if len(tails) == 1 else await self._pruner.tails(one.way, tails, depth)
            )
            reached += [
                Reached(tail, one.score * scores.get(i, 0.0), one.way)
                for i, tail in enumerate(tails)
            ]
        return reached

    def _select(self, nodes: Sequence[Reached]) -> list[Reached]:
        """The beam: the best N nodes, none with a score of 0."""
        return [one for one in nodes if one.score > 0][: self.how.width]

    def _next(self, beam: Sequence[Reached], reached: Sequence[Reached]) -> list[int]:
        """The next topic entities, with what each of them must not walk back."""
        self._score = {one.node: one.score for one in beam} if self.seen.cumulative else {}
        self._back = {one.node: set() for one in beam}
        for one in reached:
            if one.score > 0 and one.node in self._back:
                self._back[one.node].add(one.way.back)
        return list(self._back)

    def evidence(self) -> Evidence:
        """All triples so far, and their tails in order."""
        number = self._numbers([one.node for one in self.triples])
        lines = []
        for one in self.triples:
            ends = [self._mention(node, number) for node in (one.way.node, one.node)]
            head, tail = ends if one.way.forward else reversed(ends)
            lines.append(triple(head, one.way.relation, tail))
        facts = prompts.listed("Facts", list(dict.fromkeys(lines)))
        return Evidence(tuple(facts), tuple(number))

    # -- steps -----------------------------------------------------------------------------------

    async def _prune_relations(self, topics: Sequence[int], depth: int) -> list[Kept]:
        """At most N ways of all topic entities together, each with the score of its path."""
        kept = []
        for node in topics:
            ways = self._open_ways(node)
            scores = await self._pruner.ways(node, ways, depth) if ways else {}
            path = self._score.get(node, 1.0)
            kept += [Kept(ways[i], path * score) for i, score in scores.items()]
        return best_ways(kept, self.how.width)

    def _open_ways(self, node: int) -> list[Way]:
        """Ways from a node but those that walk back to where it was reached from."""
        if node not in self._ways:
            self._ways[node] = ways_of(self.ctx.graph, node)
        closed = self._back.get(node, set())
        ways = [
            way
            for way in self._ways[node]
            if way.key not in closed and way.relation not in self.how.relation_blacklist
        ]
        if len(ways) <= MOST_RELATIONS:
            return ways
        options = self._pruner.shown(ways)
        return [ways[i] for i in sorted(best_by_words(self.question, options, MOST_RELATIONS))]

    def _advance(self, reached: Sequence[Reached], depth: int) -> list[Reached]:
        nodes = merged(reached)
        self.seen.add(nodes, depth)
        beam = self._select(nodes)
        if beam:
            self.frontier = beam
            self.triples += beam
        return beam

    async def _reason(self, depth: int) -> Verdict:
        shown = self.evidence()
        options = self._cards(shown.nodes)
        return await self.caller.ask(
            f"{self.prefix}.reason",
            prompts.REASON,
            prompts.with_options(self.question, shown.facts, "Options", options),
            verdict_schema(len(options)),
            lambda value: read_verdict(value, len(options)),
            lambda: Verdict(False),
            state=state_of(depth, "reason", self._ids(shown.nodes), beam=self._beam(), taken=[]),
            temperature=self.how.reason_temperature,
            reserve=self.how.depth - depth + 1,
        )

    async def _from_triples(self, depth: int) -> None:
        """Nothing more to walk to: the answer from what there is, or from memory."""
        shown = self.evidence()
        if not shown.nodes:
            return await self._from_memory(depth, "nothing reached")
        options = self._cards(shown.nodes)
        picks = await self.caller.ask(
            f"{self.prefix}.answer",
            prompts.ANSWER,
            prompts.with_options(self.question, shown.facts, "Options", options),
            pick_schema("answers", len(options), MOST_ANSWERS, 1),
            lambda value: read_picks(value, "answers", len(options), 1),
            lambda: best_by_words(self.question, options, 1),
            state=state_of(
                depth, "answer", self._ids(shown.nodes), source="graph", ended="nothing reached"
            ),
            temperature=self.how.reason_temperature,
        )
        return self._answer(picks, "answer")

    async def _from_memory(self, depth: int, ended: str) -> None:
        """The answer without the graph, as paper and code have it; its names are looked up."""
        tag = f"{self.prefix}.answer"
        names = await self.caller.ask(
            tag,
            prompts.MEMORY.format(most=MOST_NAMES),
            prompts.ask(self.question),
            NAMES,
            read_names,
            list[str],
            state=state_of(depth, "answer", (), source="memory", ended=ended),
            temperature=self.how.reason_temperature,
        )
        self.answers = grounded(self.ctx, self.question, names, self.seen.nodes)[:MOST_ANSWERS]
        self.caller.asker.note(tag, {"kind": "beam", "taken": self._ids(self.answers)})

    def _answer(self, picks: Sequence[int], call: str) -> None:
        """Options of the last evidence as the answer."""
        nodes = self.evidence().nodes
        self.answers = [nodes[i] for i in picks[:MOST_ANSWERS]]
        taken: dict[str, Json] = {"kind": "beam", "taken": self._ids(self.answers)}
        self.caller.asker.note(f"{self.prefix}.{call}", taken)

    # -- small things ----------------------------------------------------------------------------

    def _cut(self, way: Way) -> list[int]:
        how = self.how
        return cut(self.ctx, self.question, way, how.large_rule, how.large, how.large_keep)

    def _cards(self, nodes: Sequence[int]) -> list[str]:
        return prompts.cards(self.ctx, self.question, nodes, self.how.cards)

    def _mention(self, node: int, number: Mapping[int, int]) -> str:
        name = name_of(self.ctx.graph, node)
        return f"{name} (option {number[node]})" if node in number else name

    @staticmethod
    def _numbers(nodes: Sequence[int]) -> dict[int, int]:
        """The number that each node has as an option, from 1."""
        return {node: number for number, node in enumerate(dict.fromkeys(nodes), 1)}

    def _ids(self, nodes: Sequence[int]) -> list[str]:
        return [self.ctx.graph.id(node) for node in nodes]

    def _beam(self) -> list[Json]:
        ids = self.ctx.graph.id
        return [
            {
                "from": ids(one.way.node),
                "relation": one.way.relation,
                "direction": "out" if one.way.forward else "in",
                "to": ids(one.node),
                "score": round(one.score, 4),
            }
            for one in self.frontier[:MOST_LISTED]
        ]
