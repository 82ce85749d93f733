"""Which nodes a question may name, and how a name is spelled inside a sentence."""

from __future__ import annotations

import re
from collections import Counter

from ark.protocols import Graph

MIN_LENGTH = 3
MAX_LENGTH = 80
MAX_COMMAS = 2

_LOWER = re.compile(r"(?<![A-Za-z])[a-z]{3,}(?![A-Za-z])")
_FIRST = re.compile(r"[A-Z][a-z]{2,}(?![A-Za-z])")
_DANGLING = re.compile(r"\b(?:of|to|by|with|in|and|or|from|for|the|a|an)$")


class NameBook:
    """Names of a graph's nodes. Reads all names, aliases and texts once, when made."""

    def __init__(self, graph: Graph, proper: frozenset[str] = frozenset()) -> None:
        self._graph = graph
        self._proper = proper
        self._holders: Counter[str] = Counter()  # how many nodes carry a name or alias
        self._lower: Counter[str] = Counter()  # how often a word is written small
        for i in range(graph.n_nodes):
            node = graph.node(i)
            self._holders.update({_key(n) for n in (node.name, *node.aliases)})
            for name in (node.name, *node.aliases):
                self._lower.update(_LOWER.findall(name))
            self._lower.update(_LOWER.findall(node.text))

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

        A word is taken to be one if the graph's names or texts write it small at least twice.
        """
        name = self._graph.name(i)
        first = _FIRST.match(name)
        if first is None:
            return name
        word = first.group().lower()
        common = self._lower[word] >= 2 and word not in self._proper
        return word + name[first.end() :] if common else name


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
