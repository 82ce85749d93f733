"""The triples as a tree that hangs from the answer: each branch is one constraint on it."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from baselines.af_retriever.plan import ANSWER, Plan, Signature, Term, Triple


@dataclass(frozen=True, slots=True)
class Leaf:
    """A constant: its text and the types that its node may have (none: any), or its nodes."""

    text: str
    types: frozenset[str] = frozenset()
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """What an end says about the node it hangs from.

    ``steps`` lead from ``below`` up: (relation, whether edges are followed from target to source);
    none of them: any edge in either direction. ``below`` is a constant, or the branches of
    something without a name.
    """

    steps: tuple[tuple[str, bool], ...]
    below: Leaf | tuple[Branch, ...]


def closed_branches(plan: Plan) -> tuple[Branch, ...]:
    """The constraints that the triples put on the answer.

    A variable that leads to no constant says nothing. A triple that would close a circle is left
    out, and so is what hangs together with the answer by nothing.
    """
    return _grow(ANSWER, plan.types, list(plan.triples), {ANSWER})


def _grow(term: Term, types: Set[str], left: list[Triple], seen: set[Term]) -> tuple[Branch, ...]:
    found = []
    for triple in tuple(left):
        if triple not in left or term not in (triple.subject, triple.object):
            continue
        left.remove(triple)
        up_is_subject = term == triple.subject
        other = triple.object if up_is_subject else triple.subject
        steps, below = directed(triple.edge, types, up_is_subject=up_is_subject)
        if other.kind == "constant":
            found.append(Branch(steps, Leaf(other.text, below)))
        elif other not in seen:
            seen.add(other)
            branches = _grow(other, below, left, seen)
            if branches:
                found.append(Branch(steps, branches))
    return tuple(found)


def directed(
    edge: Signature, types: Set[str], *, up_is_subject: bool
) -> tuple[tuple[tuple[str, bool], ...], frozenset[str]]:
    """Steps from the lower to the upper end, and the types of the lower end.

    The direction is the model's where the upper end's types fit it, else the other one where they
    fit that, else both, with nothing known of the lower end.
    """
    source, relation, target = edge
    for backward in (up_is_subject, not up_is_subject):
        upper, lower = (source, target) if backward else (target, source)
        if not types or upper in types:
            return ((relation, backward),), frozenset({lower})
    return ((relation, True), (relation, False)), frozenset()


def loose_branches(leaf: Leaf, plan: Plan) -> tuple[Branch, ...]:
    """A constant in no triple: next to the answer, and by an open kind of edge if there are any."""
    found = [Branch((), leaf)]
    steps: dict[tuple[str, bool], None] = {}
    types: set[str] = set()
    for source, relation, target in plan.open:
        for backward, upper, lower in ((True, source, target), (False, target, source)):
            if not plan.types or upper in plan.types:
                steps[relation, backward] = None
                types.add(lower)
    if steps:
        below = Leaf(leaf.text, leaf.types or frozenset(types), leaf.nodes)
        found.append(Branch(tuple(steps), below))
    return tuple(found)


def leaves(branches: Iterable[Branch]) -> list[Leaf]:
    """All constants below, in order."""
    found: list[Leaf] = []
    for branch in branches:
        found += [branch.below] if isinstance(branch.below, Leaf) else leaves(branch.below)
    return found
