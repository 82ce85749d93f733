"""Puts a pattern with drawn leaves into words."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ark.protocols import Graph
from ark.queries.mention import Namer
from ark.queries.plan import Leaf
from ark.queries.wording import Pattern, Wording
from ark.records import Mention


class Phraser:
    """Words for questions, drawn from the pack's variants."""

    def __init__(self, graph: Graph, wording: Wording, namer: Namer, rng: random.Random) -> None:
        self._graph = graph
        self._wording = wording
        self._namer = namer
        self._rng = rng

    def question(
        self, pattern: Pattern, leaves: Sequence[Leaf], split: str
    ) -> tuple[str, tuple[Mention, ...]]:
        """A question's text and the nodes that it names, in the order of the pattern's slots."""
        named = [leaf.node for leaf in leaves if not leaf.words]
        mentions = tuple(
            Mention(self._graph.id(node), name, wording)
            for node, (name, wording) in zip(named, self._namer.choose(named, split), strict=True)
        )
        names = iter(mentions)
        slots = [_words(leaf) if leaf.words else next(names).text for leaf in leaves]
        nouns = self._one(self._wording.nouns[pattern.answer])
        # A whole sentence and a composed one are equally likely for a pattern with two sentences.
        if self._rng.randrange(len(pattern.sentences) + 2) < len(pattern.sentences):
            text = self._one(pattern.sentences).replace("{nouns}", nouns).format(*slots)
        else:
            frame = self._one(self._wording.frames)
            text = frame.replace("{nouns}", nouns).replace("{what}", self._what(pattern, slots))
        return text[0].upper() + text[1:], mentions

    def _what(self, pattern: Pattern, slots: list[str]) -> str:
        """All clauses as verb phrases, joined."""
        phrases: list[str] = []
        told: list[str] = []
        at = 0
        for clause in pattern.clauses:
            mine = slots[at : at + clause.leaves()]
            at += len(mine)
            # A clause that comes twice is said in two ways.
            told.append(self._one([p for p in clause.phrases if p not in told] or clause.phrases))
            phrases.append(told[-1].format(*mine))
        if pattern.together and self._rng.randrange(2):
            both = self._one(pattern.together)
            used = sum(clause.leaves() for clause in pattern.clauses[:2])
            phrases[:2] = [both.format(*slots[:used])]
        if len(phrases) == 1:
            return phrases[0]
        joins = self._wording.pairs if len(phrases) == 2 else self._wording.triples
        return self._one(joins).format(*phrases)

    def _one(self, choices: Sequence[str]) -> str:
        return choices[self._rng.randrange(len(choices))]


def _words(leaf: Leaf) -> str:
    *first, last = leaf.words
    return f"{', '.join(first)} and {last}"
