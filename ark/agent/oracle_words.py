"""The words that an oracle may search with: those of the question, and no others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from ark.program import Call, Constant, Expression
from ark.program.syntax import calls
from ark.protocols import Graph, Relevance
from ark.records import Query
from ark.text import tokens

COMMON = 0.1  # a word that this share of all nodes hold tells nothing apart
MOST_WORDS = 30  # of a question that are paired
RAREST = 3  # words of the short form of a query


class Words:
    """Queries for one question.

    An oracle knows what it is after, so it may choose *which* words of the question to send; a word
    that the question does not have is never sent, so no node is looked up by its name.
    """

    def __init__(self, query: Query, graph: Graph, search: Relevance, end: Expression) -> None:
        self._graph = graph
        self._asked = list(dict.fromkeys(tokens(query.text)))
        held = {word: search.count(word) for word in self._asked}
        matched = [word for word in self._asked if held[word]][:MOST_WORDS]
        self._rarity: Mapping[str, int] = {
            word: n for word, n in held.items() if 0 < n <= max(1, COMMON * graph.n_nodes)
        }
        self._kept: dict[int, tuple[str, ...]] = {}
        parts = [*self._named(query, end), *self._described(end)]
        inside = set(tokens(" ".join(parts)))
        rest = [word for word in self._rarity if word not in inside]
        whole = [query.text, " ".join(self._rarity), " ".join(parts), " ".join(rest)]
        pairs = [f"{a} {b}" for a, b in itertools.combinations(matched, 2)]
        self.base = _distinct([*parts, *whole, *matched, *pairs])
        """The question, its parts by the program, what is left of it, each word and pair of words.

        Also words such as "with" or "of": they order a list of names in other ways.
        """

    def told(self, text: str) -> str:
        """Those words of a text that the question has, in the text's order."""
        return " ".join(word for word in tokens(text) if word in self._asked)

    def matching(self, node: int) -> tuple[str, ...]:
        """The words of the question that stand in a node's document: all, and the rarest."""
        if node not in self._kept:
            names = self._graph.name(node), *self._graph.aliases(node)
            document = set(tokens(" ".join((*names, self._graph.text(node)))))
            shared = [word for word in self._rarity if word in document]
            few = sorted(shared, key=lambda word: (self._rarity[word], word))[:RAREST]
            self._kept[node] = _distinct([" ".join(shared), " ".join(few)])
        return self._kept[node]

    def _named(self, query: Query, end: Expression) -> list[str]:
        """How the question words each node of the program; else what it has of the name."""
        worded = {mention.node_id: mention.text for mention in query.mentions}
        found = []
        for node_id in _constants(end, "node", 0):
            if node_id in worded:
                found.append(self.told(worded[node_id]))
            else:
                found.append(self.told(self._graph.name(self._graph.index(node_id))))
        return found

    def _described(self, end: Expression) -> list[str]:
        """The words of each condition on texts."""
        conditions = [call for call in calls(end) if call.function == "text"]
        return [self.told(" ".join(_strings(call, 1))) for call in conditions]


def _constants(end: Expression, function: str, first: int) -> list[str]:
    found = [_strings(call, first) for call in calls(end) if call.function == function]
    return [text for texts in found for text in texts]


def _strings(call: Call, first: int) -> list[str]:
    given = call.arguments[first:]
    return [str(value.value) for value in given if isinstance(value, Constant)]


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if tokens(text)))
