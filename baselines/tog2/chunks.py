"""Passages of a node's text: about three sentences or a hundred words, whatever the text is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ark.protocols import Graph
from ark.text import one_line

SENTENCES = 3  # of a passage at most
WORDS = 100  # of a passage at most
LONGEST_WORD = 200  # characters; longer ones are cut: no text is one endless word
MOST_READ = 200_000  # characters of a text that are read
# A stop with white space behind it, an ideographic stop, or the end of a line.
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|[\r\n\u2028\u2029]+")


def sentences(text: str) -> list[str]:
    """Sentences on one line each, none empty and none longer than ``WORDS`` words."""
    return list(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    for piece in _END.split(text[:MOST_READ]):
        words = [
            word[at : at + LONGEST_WORD]
            for word in one_line(piece).split()
            for at in range(0, len(word), LONGEST_WORD)
        ]
        for at in range(0, len(words), WORDS):
            yield " ".join(words[at : at + WORDS])


def passages(text: str, most: int) -> list[str]:
    """The first ``most`` passages of a text; none where it holds nothing to read."""
    return list(itertools.islice(_passages(text), most))


def _passages(text: str) -> Iterator[str]:
    held: list[str] = []
    length = 0
    for sentence in _sentences(text):
        size = sentence.count(" ") + 1
        if held and (len(held) == SENTENCES or length + size > WORDS):
            yield " ".join(held)
            held, length = [], 0
        held.append(sentence)
        length += size
    if held:
        yield " ".join(held)


def has_text(graph: Graph, node: int) -> bool:
    """Whether a node's text says more than its name."""
    text = one_line(graph.text(node))
    return text != "" and text.casefold() != one_line(graph.name(node)).casefold()


def node_passages(graph: Graph, node: int, most: int) -> list[str]:
    """Passages of a node; its name where it has no text of its own."""
    if has_text(graph, node):
        return passages(graph.text(node), most)
    name = one_line(graph.name(node))
    return [name] if name else []
