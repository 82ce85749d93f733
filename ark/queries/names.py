"""Which nodes a question may name, and how a name is spelled inside a sentence."""

from __future__ import annotations

import re
from collections import Counter

from ark.protocols import Graph

MIN_LENGTH = 3
MAX_LENGTH = 80
MAX_COMMAS = 2

_LOWER = re.compile(r"(?<![A-Za-z])[a-z]{3,}(?![A-Za-z])")
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?![A-Za-z])")
_FIRST = re.compile(r"[A-Z][a-z]{2,}(?![A-Za-z/])")
_EPONYM = re.compile(r"[A-Z][a-z]+(?:[- ][A-Z][a-z]+)* (?:syndrome|disease)\b")
_DANGLING = re.compile(r"\b(?:of|to|by|with|in|and|or|from|for|the|a|an)$")


class NameBook:
    """Names of a graph's nodes. Reads all names, aliases and texts once, when made."""

    def __init__(self, graph: Graph, common: frozenset[str] = frozenset()) -> None:
        self._graph = graph
        self._common = common
        self._holders: Counter[str] = Counter()  # how many nodes carry a name or alias
        self._small: Counter[str] = Counter()  # how often a word is written small
        self._capital: Counter[str] = Counter()  # ... and with a capital inside a sentence
        for i in range(graph.n_nodes):
            node = graph.node(i)
            names = (node.name, *node.aliases)
            self._holders.update({_key(n) for n in names})
            for text in (*names, node.text):
                self._small.update(_LOWER.findall(text))
                self._capital.update(word.lower() for word in _CAPITAL.findall(text))

    def may_be_named(self, i: int) -> bool:
        """Whether the node's name stands for it alone and reads well in a sentence.

        Unique without regard to case among the names and aliases of all nodes, with a letter, of
        a middling length, and not the inverted kind ("Obesity, hyperphagia, and, due to").
        """
        name = self._graph.name(i)
        return (
            self._holders[_key(name)] == 1
            and MIN_LENGTH <= len(name) <= MAX_LENGTH
            and any(c.isalpha() for c in name)
            and name == name.strip()
            and name.count(",") <= MAX_COMMAS
            and "?" not in name
            and "\n" not in name
            and not _DANGLING.search(name)
        )

    def in_sentence(self, i: int) -> str:
        """The name with a small first letter where its first word is a common noun.

        A word counts as one if names and texts write it small, more than once and at least as
        often as with a capital inside a sentence; in the types whose names are ``common`` nouns,
        if they do not write it with a capital more often. A word before "syndrome" or "disease"
        is left alone: it may be a person ("Glass").
        """
        name = self._graph.name(i)
        first = _FIRST.match(name)
        if first is None or _EPONYM.match(name):
            return name
        word = first.group().lower()
        least = 0 if self._graph.type(i) in self._common else 2
        common = self._small[word] >= max(least, self._capital[word])
        return word + name[first.end() :] if common else name


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
