"""Chooses words of a node's text that describe it without naming it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

from ark.program.words import WordIndex, split_words
from ark.protocols import Graph

RAREST = 2  # a word must occur in the texts of at least so many nodes ...
COMMONEST = 0.01  # ... and of at most this share of the nodes that have a text
POOL = 6  # descriptions are drawn from so many of a text's rarest fitting words
STEM = 5  # words with so many first letters in common count as forms of one word

_TOKEN = re.compile(r"[A-Za-z]+|[^\sA-Za-z]")
# After these a noun phrase begins; before these, or before punctuation, one has ended.
_OPENERS = frozenset(
    "a an the of in with by and or to from on at for between within its their into this".split()
)
_CLOSERS = frozenset(
    "of in is are was with that which and or to by from on at for as due than can may has have "
    "within between during after before into without leading resulting".split()
)


class Describer:
    """Describing words of nodes, from the texts of one graph.

    There is no part-of-speech tagger here: a word counts as a noun if in the graph's own texts
    it mostly ends a noun phrase and often enough stands right after a word that opens one.
    """

    def __init__(self, graph: Graph, words: WordIndex) -> None:
        self._graph = graph
        self._words = words

    def candidates(self, i: int) -> tuple[str, ...]:
        """Up to ``POOL`` words fit to describe node ``i``, rarest first, ties by spelling.

        Nouns of its text with at least four letters that are neither common nor unique among the
        graph's texts and no form of a word of the node's name or aliases, no two forms of one.
        """
        node = self._graph.node(i)
        if not node.text:
            return ()
        told = {w[:STEM] for name in (node.name, *node.aliases) for w in split_words(name)}
        found: list[str] = []
        fitting = {w for w in split_words(node.text) if self._fits(w) and w in self._nouns}
        for word in sorted(fitting, key=lambda w: (self._words.frequency(w), w)):
            if word[:STEM] not in told:
                told.add(word[:STEM])
                found.append(word)
        return tuple(found[:POOL])

    def _fits(self, word: str) -> bool:
        often = self._words.frequency(word)
        return (
            len(word) >= 4 and word.isascii() and word.isalpha() and RAREST <= often <= self._most
        )

    @cached_property
    def _most(self) -> float:
        texts = sum(1 for i in range(self._graph.n_nodes) if self._graph.text(i))
        return max(RAREST, COMMONEST * texts)

    @cached_property
    def _nouns(self) -> frozenset[str]:
        seen: Counter[str] = Counter()
        opened: Counter[str] = Counter()
        closed: Counter[str] = Counter()
        for i in range(self._graph.n_nodes):
            tokens = ["."] + _TOKEN.findall(self._graph.text(i).lower()) + ["."]
            for before, word, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
                if len(word) < 4 or after == "-" or before == "-":
                    continue
                seen[word] += 1
                opened[word] += before in _OPENERS
                closed[word] += after in _CLOSERS or not after.isalpha()
        return frozenset(
            w for w, n in seen.items() if closed[w] >= 0.7 * n and opened[w] >= 0.15 * n
        )


def shares_run(question: str, text: str, length: int = 4) -> bool:
    """Whether ``length`` words in a row of the question stand in a row in the text as well."""
    told = split_words(text)
    runs = {tuple(told[k : k + length]) for k in range(len(told) - length + 1)}
    asked = split_words(question)
    return any(tuple(asked[k : k + length]) in runs for k in range(len(asked) - length + 1))
