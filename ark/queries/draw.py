"""Draws the leaves of a pattern around an answer, within one split."""

from __future__ import annotations

import random
from collections import Counter

from ark.protocols import Graph
from ark.queries.describe import Describer
from ark.queries.names import NameBook
from ark.queries.plan import Leaf
from ark.queries.wording import Clause, Named, Pattern, Step, Wording

SPLIT_SHARES = (("train", 3), ("val", 1), ("test", 2))
Pool = dict[int, str]  # node -> split, for every node that may be an anchor


def assign_splits(graph: Graph, wording: Wording, rng: random.Random) -> Pool:
    """Gives every node of an anchor type to one split: half train, a sixth val, a third test.

    Each type is shuffled and cut by itself, so that small types are in every split.
    """
    pool: Pool = {}
    total = sum(share for _, share in SPLIT_SHARES)
    for node_type in sorted(anchor_types(wording)):
        nodes = graph.of_type(node_type).tolist()
        rng.shuffle(nodes)
        start, cumulated = 0, 0
        for split, share in SPLIT_SHARES:
            cumulated += share
            stop = round(len(nodes) * cumulated / total)
            pool.update(dict.fromkeys(nodes[start:stop], split))
            start = stop
    return pool


def anchor_types(wording: Wording) -> set[str]:
    """Types of the nodes that a question may name or describe."""
    found = set()
    for pattern in wording.patterns:
        for clause in pattern.clauses:
            for chain in clause.chains():
                steps = [step for part in chain for step in part.steps]
                found.add(steps[-1].type if steps else pattern.answer)
    return found


class Drawer:
    """Draws from one random stream; keeps count of how often each anchor has been used."""

    def __init__(
        self,
        graph: Graph,
        *,
        wording: Wording,
        names: NameBook,
        describer: Describer,
        pool: Pool,
        rng: random.Random,
    ) -> None:
        self._graph = graph
        self._wording = wording
        self._names = names
        self._describer = describer
        self._pool = pool
        self._rng = rng
        self._used: Counter[int] = Counter()
        self._most = {
            i: wording.reuse.get(node_type, wording.usual_reuse)
            for node_type in anchor_types(wording)
            for i in graph.of_type(node_type).tolist()
        }
        self._numbers = {name: k for k, name in enumerate(graph.relations)}
        self._named: dict[tuple[int, str], bool] = {}
        self._described: dict[int, tuple[str, ...]] = {}
        self._reached: dict[tuple[int, Step], list[int]] = {}
        self._answers = {t: graph.of_type(t).tolist() for t in sorted(wording.shares)}

    def draw(self, pattern: Pattern, split: str) -> list[Leaf] | None:
        """Leaves that some node of the answer type satisfies, or None if this try found none."""
        answers = self._answers[pattern.answer]
        answer = self._one(answers)
        leaves: list[Leaf] = []
        for clause in pattern.clauses:
            if not self._clause(clause, answer, split, leaves):
                return None
        return leaves

    def note(self, leaves: list[Leaf]) -> None:
        """Counts the anchors of a question that is kept."""
        self._used.update(leaf.node for leaf in leaves if not leaf.own)

    def _clause(self, clause: Clause, start: int, split: str, leaves: list[Leaf]) -> bool:
        """Adds the clause's leaves to ``leaves``; False if there is none to be had."""
        if not clause.steps:
            return self._describe(start, split, leaves, own=True)
        at = start
        for step in clause.steps[:-1]:
            near = self._near(at, step)
            if not near:
                return False
            at = self._one(near)
        ends = self._near(at, clause.steps[-1])
        if isinstance(clause.leaf, tuple):
            middle = self._one(ends) if ends else None
            return middle is not None and all(
                self._clause(c, middle, split, leaves) for c in clause.leaf
            )
        taken = {leaf.node for leaf in leaves} | {start}
        free = self._free(ends, split, taken)
        if isinstance(clause.leaf, Named):
            free = [i for i in free if self._may_name(i, clause.leaf)]
            leaves += [Leaf(self._one(self._with_synonyms(free)))] if free else []
            return bool(free)
        return bool(free) and self._describe(self._one(free), split, leaves, own=False)

    def _one(self, nodes: list[int]) -> int:
        return nodes[self._rng.randrange(len(nodes))]

    def _near(self, i: int, step: Step) -> list[int]:
        """Distinct nodes one step away, ascending."""
        key = (i, step)
        if key not in self._reached:
            look_up = self._graph.out_edges if step.out else self._graph.in_edges
            others, relations, _ = look_up(i)
            found = sorted(set(others[relations == self._numbers[step.relation]].tolist()))
            self._reached[key] = [j for j in found if self._graph.type(j) == step.type]
        return self._reached[key]

    def _free(self, nodes: list[int], split: str, taken: set[int]) -> list[int]:
        """Those that this question may still take as an anchor."""
        pool, used, most = self._pool, self._used, self._most
        return [
            i for i in nodes if pool.get(i) == split and i not in taken and used.get(i, 0) < most[i]
        ]

    def _may_name(self, i: int, leaf: Named) -> bool:
        key = (i, leaf.like)
        if key not in self._named:
            self._named[key] = self._names.may_be_named(i) and leaf.fits(self._graph.name(i))
        return self._named[key]

    def _with_synonyms(self, nodes: list[int]) -> list[int]:
        """All of them, or now and then those with a synonym."""
        often = self._wording.synonyms
        if not often or not nodes or self._rng.randrange(often):
            return nodes
        return [i for i in nodes if len(self._names.ways(i)) > 1] or nodes

    def _describe(self, i: int, split: str, leaves: list[Leaf], *, own: bool) -> bool:
        """Two of the node's describing words, three in every fourth description."""
        wanted = 3 if self._rng.randrange(4) == 0 else 2
        if self._pool.get(i) != split:
            return False
        if i not in self._described:
            self._described[i] = self._describer.candidates(i)
        words = list(self._described[i])
        if len(words) < wanted:
            return False
        self._rng.shuffle(words)
        leaves.append(Leaf(i, tuple(sorted(words[:wanted])), own=own))
        return True
