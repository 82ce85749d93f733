"""Chooses by which of its names a question mentions a node."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from ark.queries.names import NAME, WORDINGS, NameBook
from ark.records import Query

ALONE = "name, no synonym"  # counted apart: the node could not have been mentioned otherwise


def wording_of(query: Query) -> str | None:
    """How a question names its nodes: the hardest wording among its mentions, None without any.

    ``held-out synonym`` before ``synonym in graph`` before ``name``.
    """
    used = {mention.wording for mention in query.mentions}
    return max(used, key=WORDINGS.index) if used else None


class Namer:
    """Gives every wording the same share of the mentions of nodes that have a synonym.

    In each split, a mention gets the wording that has been used least so far, among those that
    its node allows; ties are drawn.
    """

    def __init__(self, names: NameBook, rng: random.Random) -> None:
        self._names = names
        self._rng = rng
        self.used: Counter[tuple[str, str]] = Counter()
        """(split, wording), or ``ALONE`` for a node without a synonym -> mentions."""

    def choose(self, nodes: Iterable[int], split: str) -> list[tuple[str, str]]:
        """For each node a name, spelled for a sentence, and its wording."""
        used = self.used.copy()
        found = []
        for i in nodes:
            ways = self._names.ways(i)
            wording = NAME
            if len(ways) > 1:
                least = min(used[split, way] for way in ways)
                wording = self._one([way for way in ways if used[split, way] == least])
            used[split, self._counted(i, wording)] += 1
            name = self._one(ways[wording])
            found.append((self._names.in_sentence(i, name), wording))
        return found

    def note(self, split: str, mentioned: Iterable[tuple[int, str]]) -> None:
        """Counts the (node, wording) pairs of a question that is kept."""
        self.used.update((split, self._counted(i, wording)) for i, wording in mentioned)

    def _counted(self, i: int, wording: str) -> str:
        return wording if len(self._names.ways(i)) > 1 else ALONE

    def _one(self, choices: list[str] | tuple[str, ...]) -> str:
        return choices[self._rng.randrange(len(choices))] if len(choices) > 1 else choices[0]
