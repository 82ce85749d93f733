"""Chooses words of a node's text that describe it without naming it."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from pathlib import Path

from ark.program.words import WordIndex, split_words
from ark.protocols import Graph
from ark.queries.names import stored_names
from ark.queries.wording import USUAL, Taste

RAREST = 3  # in a graph with many texts, a word must occur in so many of them at least
MANY = 1000  # texts
POOL = 6  # descriptions are drawn from so many of a text's rarest fitting words
STEM = 5  # words with so many first letters in common count as forms of one word

_TOKEN = re.compile(r"[A-Za-z]+|[^\sA-Za-z]")
# After these a noun phrase begins; before these, or before punctuation, one has ended.
_OPENERS = frozenset(
    ("a", "an", "the", "of", "in", "its", "their", "this", "these", "between", "within", "into")
)
_CLOSERS = frozenset(
    (
        *("of", "in", "is", "are", "was", "were", "with", "that", "which", "and", "or", "to"),
        *("by", "from", "on", "at", "for", "as", "due", "can", "may", "has", "have", "within"),
        *("between", "during", "after", "before", "into", "without", "leading", "resulting"),
    )
)


def vague_words(name: str = "vague_words") -> frozenset[str]:
    """Words that say nothing about what a text is about ("addition", "majority")."""
    file = Path(__file__).with_name(f"{name}.json")
    return frozenset(json.loads(file.read_text(encoding="utf-8")))


class Describer:
    """Describing words of nodes, from the texts of one graph.

    There is no part-of-speech tagger here: a word counts as a noun if in the graph's own texts
    it mostly ends a noun phrase, often enough begins one and is mostly written small.
    """

    def __init__(self, graph: Graph, words: WordIndex, taste: Taste = USUAL) -> None:
        self._graph = graph
        self._words = words
        self._taste = taste
        self._vague = vague_words() | (vague_words(taste.vague) if taste.vague else frozenset())
        self._held_out = stored_names(graph, "held_out")

    def candidates(self, i: int) -> tuple[str, ...]:
        """Up to ``POOL`` words fit to describe node ``i``, rarest first, ties by spelling.

        Nouns of its text with at least four letters that are neither vague nor very common or
        rare in the graph's texts, no form of a word of the node's name, aliases or held-out
        synonyms, and no two forms of one word.
        """
        node = self._graph.node(i)
        if not node.text:
            return ()
        names = (node.name, *node.aliases, *self._held_out.get(node.id, ()))
        told = {w[:STEM] for name in names for w in split_words(name)}
        found: list[str] = []
        fitting = {w for w in split_words(node.text) if self._fits(w) and w in self._nouns}
        for word in sorted(fitting, key=lambda w: (self._words.frequency(w), w)):
            if word[:STEM] not in told:
                told.add(word[:STEM])
                found.append(word)
        return tuple(found[:POOL])

    def _fits(self, word: str) -> bool:
        often = self._words.frequency(word)
        least, most = self._bounds
        return (
            len(word) >= 4
            and word.isascii()
            and word.isalpha()
            and least <= often <= most
            and word not in self._vague
        )

    @cached_property
    def _bounds(self) -> tuple[int, float]:
        return (RAREST, self._taste.commonest * self._texts) if self._texts >= MANY else (1, RAREST)

    @cached_property
    def _texts(self) -> int:
        return sum(1 for i in range(self._graph.n_nodes) if self._graph.text(i))

    @cached_property
    def _nouns(self) -> frozenset[str]:
        seen: Counter[str] = Counter()
        opened: Counter[str] = Counter()
        closed: Counter[str] = Counter()
        small: Counter[str] = Counter()
        for i in range(self._graph.n_nodes):
            tokens = [".", *_TOKEN.findall(self._graph.text(i)), "."]
            for before, told, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
                if len(told) < 4 or after == "-" or before == "-":
                    continue
                word = told.lower()
                small[word] += told.islower()
                seen[word] += 1
                opened[word] += before.lower() in _OPENERS
                closed[word] += after in _CLOSERS or not after.isalpha()
        # With few texts a noun may by chance never follow an opening word.
        least = self._taste.opens if self._texts >= MANY else 0
        most = self._taste.closes
        return frozenset(
            w
            for w, n in seen.items()
            if 100 * closed[w] >= most * n and 100 * opened[w] >= least * n and 2 * small[w] >= n
        )


def holds(question: str, name: str) -> bool:
    """Whether the words of the name stand in a row in the question."""
    return f" {' '.join(split_words(name))} " in f" {' '.join(split_words(question))} "


def shares_run(question: str, text: str, length: int = 4) -> bool:
    """Whether ``length`` words in a row of the question stand in a row in the text as well."""
    told = split_words(text)
    runs = {tuple(told[k : k + length]) for k in range(len(told) - length + 1)}
    asked = split_words(question)
    return any(tuple(asked[k : k + length]) in runs for k in range(len(asked) - length + 1))
