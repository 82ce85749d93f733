"""Turns a pattern with drawn leaves into a program of the set language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ark.program import Call, Constant, End, Expression, Program
from ark.protocols import Graph
from ark.queries.wording import Clause, Pattern, Step


@dataclass(frozen=True, slots=True)
class Leaf:
    """A node drawn for a slot; ``words`` if it is described and not named.

    ``own``: the words describe the answer itself, so the node is an answer and no anchor.
    """

    node: int
    words: tuple[str, ...] = ()
    own: bool = False


class Planner:
    """Programs over one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def program(self, pattern: Pattern, leaves: Sequence[Leaf]) -> Program:
        """The whole question. ``leaves`` fill the slots of the clauses in order."""
        slots = iter(leaves)
        return self._answer(pattern.answer, [self._take(c, slots) for c in pattern.clauses])

    def alone(self, pattern: Pattern, leaves: Sequence[Leaf]) -> list[Program]:
        """For every leaf the program that asks for it only, with the answer type."""
        chains = [chain for clause in pattern.clauses for chain in clause.chains()]
        programs = []
        for chain, leaf in zip(chains, leaves, strict=True):
            steps = tuple(step for clause in chain for step in clause.steps)
            others = any(clause.others for clause in chain)
            straight = Clause(steps, chain[-1].leaf, (), others)
            programs.append(self._answer(pattern.answer, [(straight, [leaf])]))
        return programs

    def _take(self, clause: Clause, slots: Iterator[Leaf]) -> tuple[Clause, list[Leaf]]:
        return clause, [next(slots) for _ in range(clause.leaves())]

    def _answer(self, answer: str, clauses: list[tuple[Clause, list[Leaf]]]) -> Program:
        sets = [self._set(clause, iter(leaves)) for clause, leaves in clauses if clause.steps]
        own = [leaves[0].words for clause, leaves in clauses if not clause.steps]
        whole = self._joined(answer, sets, [clause for clause, _ in clauses])
        for words in own:
            whole = _call_on("text", whole, *words)
        return Program((), End(whole))

    def _joined(self, kind: str, sets: list[Expression], clauses: Sequence[Clause]) -> Expression:
        """The nodes of type ``kind`` in all sets.

        The type is asked for unless the first step of some clause starts at such nodes only.
        """
        if not any(self._only(c.steps[0], kind) for c in clauses if c.steps):
            sets = [_call("type", kind), *sets]
        return sets[0] if len(sets) == 1 else Call("intersect", tuple(sets))

    def _only(self, step: Step, kind: str) -> bool:
        return self._starts.get((step.relation, step.out)) == {kind}

    @cached_property
    def _starts(self) -> dict[tuple[str, bool], set[str]]:
        """The types of nodes at which a relation's edges start (True) and end (False)."""
        found: dict[tuple[str, bool], set[str]] = {}
        for source, relation, target in self._graph.signatures:
            found.setdefault((relation, True), set()).add(source)
            found.setdefault((relation, False), set()).add(target)
        return found

    def _set(self, clause: Clause, slots: Iterator[Leaf]) -> Expression:
        """The nodes that satisfy a clause with steps."""
        nodes = anchor = self._base(clause, slots)
        for k, step in reversed(list(enumerate(clause.steps))):
            nodes = _call_on("backward" if step.out else "forward", nodes, step.relation)
            if k and not self._only(step, clause.steps[k - 1].type):
                nodes = Call("intersect", (_call("type", clause.steps[k - 1].type), nodes))
        return Call("minus", (nodes, anchor)) if clause.others else nodes

    def _base(self, clause: Clause, slots: Iterator[Leaf]) -> Expression:
        kind = clause.steps[-1].type
        if isinstance(clause.leaf, tuple):
            sets = [self._set(c, slots) for c in clause.leaf]
            return self._joined(kind, sets, clause.leaf)
        leaf = next(slots)
        if leaf.words:
            return _call_on("text", _call("type", kind), *leaf.words)
        return _call("node", self._graph.id(leaf.node))


def _call(function: str, *words: str) -> Call:
    return Call(function, tuple(Constant(word) for word in words))


def _call_on(function: str, nodes: Expression, *words: str) -> Call:
    return Call(function, (nodes, *(Constant(word) for word in words)))
