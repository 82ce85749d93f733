"""What a graph's wording pack holds: the kinds of question asked of it, and the words for them.

A question is an answer type with one or more clauses. A clause is a path of steps from the answer
to its leaf: a node that is *named*, a node that is *described* by words of its text, or a group of
further clauses that one intermediate node has to satisfy together. A clause without steps
describes the answer itself. The composer (``ark.queries.compose``) knows no graph and no English
beyond "and"; every phrase is in a pack.

Phrases are plural verb phrases ("show {0}") that fit behind "diseases that ..." and "Which
diseases ...?". ``{0}``, ``{1}`` stand for the leaves in order: a name, or words joined by "and".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """One edge away from the answer: ``out`` along its direction, otherwise against it."""

    relation: str
    type: str  # of the node reached
    out: bool = True


@dataclass(frozen=True, slots=True)
class Named:
    """A leaf that the question names. ``like``: a regular expression its name must match."""

    like: str = ""

    def fits(self, name: str) -> bool:
        """Whether a node of this name may be the leaf."""
        return re.search(self.like, name) is not None


@dataclass(frozen=True, slots=True)
class Described:
    """A leaf that the question describes by words of its text."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on the answer. ``others``: the named leaf itself is no answer."""

    steps: tuple[Step, ...]
    leaf: Named | Described | tuple[Clause, ...]
    phrases: tuple[str, ...]
    others: bool = False

    def leaves(self) -> int:
        """How many slots the phrases have."""
        if isinstance(self.leaf, tuple):
            return sum(clause.leaves() for clause in self.leaf)
        return 1

    def hops(self) -> int:
        """Edges on the longest way from the answer to a leaf."""
        further = max(c.hops() for c in self.leaf) if isinstance(self.leaf, tuple) else 0
        return len(self.steps) + further

    def chains(self) -> Iterator[tuple[Clause, ...]]:
        """The ways from here to each leaf, in the order of the slots."""
        if not isinstance(self.leaf, tuple):
            yield (self,)
            return
        for clause in self.leaf:
            for chain in clause.chains():
                yield (self, *chain)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of question. ``weight`` is its share among the patterns of its answer type.

    ``together`` are verb phrases that say the first two clauses at once; ``sentences`` are whole
    questions with a slot for every leaf and for ``{nouns}``.
    """

    name: str
    answer: str
    clauses: tuple[Clause, ...]
    weight: int = 1
    together: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()

    def hops(self) -> int:
        """Edges on the longest way from the answer to a leaf."""
        return max(clause.hops() for clause in self.clauses)

    def textual(self) -> bool:
        """Whether a condition on node text is part of it."""
        ends = (chain[-1].leaf for clause in self.clauses for chain in clause.chains())
        return any(isinstance(leaf, Described) for leaf in ends)


@dataclass(frozen=True, slots=True)
class Taste:
    """Which words of a text describe it (see ``ark.queries.describe``).

    A word may stand in the share ``commonest`` of all texts. Of its places, ``closes`` per cent
    must end a noun phrase and ``opens`` per cent begin one. ``vague`` names a file with further
    vague words.
    """

    commonest: float = 0.01
    closes: int = 70
    opens: int = 15
    vague: str = ""


USUAL = Taste()


@dataclass(frozen=True, slots=True)
class Wording:
    """A pack. ``shares`` gives each answer type its part of all questions.

    ``reuse`` says in how many questions a node of a type may be an anchor, where that is not
    ``usual_reuse``: types with few nodes need more. ``count`` questions are asked for.
    ``synonyms``: one draw in so many of a node to be named takes one with a synonym if it can, so
    that their questions are no handful; 0 for as they come. ``common``, ``titles`` and ``small``
    are types by how a sentence writes their names (see ``ark.queries.names``). Change ``version``
    with any change here.
    """

    graph: str
    version: str
    shares: Mapping[str, int]
    nouns: Mapping[str, tuple[str, ...]]
    frames: tuple[str, ...]
    pairs: tuple[str, ...]
    triples: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    reuse: Mapping[str, int] = field(default_factory=dict)
    usual_reuse: int = 3
    count: int = 1500
    common: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()
    synonyms: int = 0
    taste: Taste = USUAL

    def patterns_of(self, answer: str) -> tuple[Pattern, ...]:
        """The patterns of an answer type, in order."""
        return tuple(p for p in self.patterns if p.answer == answer)

    def templates(self) -> tuple[str, ...]:
        """Every piece of wording with its slots, and every frame filled with each noun and phrase.

        Tests hold other rooms' rules against these: nothing that answers may know them.
        """
        found = [*self.pairs, *self.triples]
        for pattern in self.patterns:
            nouns = self.nouns[pattern.answer]
            found += [s.replace("{nouns}", noun) for s in pattern.sentences for noun in nouns]
            phrases = [p for clause in pattern.clauses for p in clause.phrases]
            for phrase in (*phrases, *pattern.together):
                for frame in self.frames:
                    found += [
                        frame.replace("{nouns}", noun).replace("{what}", phrase) for noun in nouns
                    ]
        return tuple(dict.fromkeys(found))
