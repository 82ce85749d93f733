"""Which nodes a question may name, and how a name is spelled inside a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal, cast

from ark.graph.synonyms import count_names, name_key
from ark.protocols import Graph

MIN_LENGTH = 3
MAX_LENGTH = 80
MAX_COMMAS = 2

NAME, IN_GRAPH, HELD_OUT = "name", "synonym in graph", "held-out synonym"
WORDINGS = (NAME, IN_GRAPH, HELD_OUT)
"""How a mention may name its node, easiest first."""

_LOWER = re.compile(r"(?<![A-Za-z])[a-z]{3,}(?![A-Za-z])")
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?![A-Za-z])")
_FIRST = re.compile(r"[A-Z][a-z]{2,}(?![A-Za-z/])")
_EPONYM = re.compile(r"[A-Z][a-z]+(?:[- ][A-Z][a-z]+)* (?:syndrome|disease)\b")
_DANGLING = re.compile(r"\b(?:of|to|by|with|in|and|or|from|for|the|a|an)$")
_OPENING, _CLOSING = re.compile(r"(?<!\w)'"), re.compile(r"'(?!\w)")
_Stored = Mapping[str, tuple[str, ...]]


class NameBook:
    """Names of a graph's nodes. Reads all names, aliases and texts once, when made.

    ``common`` are types whose names are common nouns, ``titles`` types whose names are written
    Like Titles, ``small`` types whose names a sentence writes small altogether.
    """

    def __init__(
        self,
        graph: Graph,
        common: frozenset[str] = frozenset(),
        titles: frozenset[str] = frozenset(),
        small: frozenset[str] = frozenset(),
    ) -> None:
        self._graph = graph
        self._ways: dict[int, dict[str, tuple[str, ...]]] = {}
        self._common, self._titles, self._written_small = common, titles, small
        self._synonyms, self._held_out = (
            stored_names(graph, what) for what in ("synonyms", "held_out")
        )
        self._small: Counter[str] = Counter()  # how often a word is written small
        self._capital: Counter[str] = Counter()  # ... and with a capital inside a sentence
        names = []
        for i in range(graph.n_nodes):
            node = graph.node(i)
            names.append((node.name, *node.aliases, *self._held_out.get(node.id, ())))
            for text in (node.name, *node.aliases, node.text):
                self._small.update(_LOWER.findall(text))
                self._capital.update(word.lower() for word in _CAPITAL.findall(text))
        self._holders = count_names(names)  # how many nodes carry a name, alias or synonym

    def may_be_named(self, i: int) -> bool:
        """Whether the node's name stands for it alone and reads well in a sentence.

        Unique without regard to case among the names, aliases and synonyms of all nodes, with a
        letter, of a middling length, and not the inverted kind ("Obesity, hyperphagia, and, due
        to").
        """
        return self._stands_alone(self._graph.name(i))

    def ways(self, i: int) -> dict[str, tuple[str, ...]]:
        """The names of a node that questions may use, by wording; the name is always one."""
        if i not in self._ways:
            self._ways[i] = self._ways_of(i)
        return self._ways[i]

    def _ways_of(self, i: int) -> dict[str, tuple[str, ...]]:
        node_id = self._graph.id(i)
        found: dict[str, tuple[str, ...]] = {NAME: (self._graph.name(i),)}
        for wording, stored in ((IN_GRAPH, self._synonyms), (HELD_OUT, self._held_out)):
            # With a comma a synonym is mostly the inverted kind ("Nasal tip, upturned").
            usable = tuple(s for s in stored.get(node_id, ()) if self._stands_alone(s, commas=0))
            if usable:
                found[wording] = usable
        return found

    def _stands_alone(self, name: str, commas: int = MAX_COMMAS) -> bool:
        return (
            self._holders[name_key(name)] == 1
            and MIN_LENGTH <= len(name) <= MAX_LENGTH
            and any(c.isalpha() for c in name)
            and name == name.strip()
            and name.count(",") <= commas
            and "?" not in name
            and "\n" not in name
            and name.count('"') % 2 == 0
            and len(_OPENING.findall(name)) == len(_CLOSING.findall(name))
            and not _DANGLING.search(name)
        )

    def in_sentence(self, i: int, name: str | None = None) -> str:
        """The name, or one of the others, small at its beginning if that is a common noun.

        A word counts as one if names and texts write it small, more than once and at least as
        often as with a capital inside a sentence; in the types whose names are ``common`` nouns,
        if they do not write it with a capital more often. A word before "syndrome" or "disease"
        is left alone: it may be a person ("Glass"). So is a title with a second capital.
        """
        name = self._graph.name(i) if name is None else name
        kind = self._graph.type(i)
        if kind in self._written_small:
            return name.lower()
        first = _FIRST.match(name)
        title = kind in self._titles and any(c.isupper() for c in name[1:])
        if first is None or title or _EPONYM.match(name):
            return name
        word = first.group().lower()
        least = 0 if kind in self._common else 2
        common = self._small[word] >= max(least, self._capital[word])
        return word + name[first.end() :] if common else name


def stored_names(graph: Graph, what: Literal["synonyms", "held_out"]) -> _Stored:
    """By node id what a graph tells about its synonyms; nothing for a graph without any."""
    offered = getattr(graph, what, None)
    return cast("Callable[[], _Stored]", offered)() if callable(offered) else {}
