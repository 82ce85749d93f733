"""A card is what a reranking model sees of a node: name, type, edges and text that fit a question.

One line of bounded length, whatever strangers wrote into the graph. Time grows with the degree of
a node only inside array operations: names are read of a handful of neighbours.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ark.protocols import Context, Graph, Ints
from ark.text import TOKEN_PATTERN, clip, one_line, tokens
from baselines.common import PerGraph

CHARACTERS_PER_TOKEN = 4  # as in ARK's observations; exact counts need each model's tokenizer
LEAST_TOKENS = 20
NAME_LIMIT = 80
TYPE_LIMIT = 30
EDGE_LIMIT = 70
TEXT_READ = 20_000  # characters of a node's text that are looked through
MOST_WORDS = 100  # of a question
NEAR = 12  # neighbours that the search thinks best for the question
PER_RELATION = 2  # edges that are shown for their relation's name alone
TELLING = 0.25  # of the largest weight: words below it are "the" and its like
SAMPLE = 2_000  # nodes whose words are counted
SAMPLE_TEXT = 2_000  # characters of the text of each
_TOKEN = re.compile(TOKEN_PATTERN)

Weights = Mapping[str, float]


def cards(question: str, nodes: Sequence[int], ctx: Context, most_tokens: int) -> list[str]:
    """One line for each of ``nodes``, at most ``most_tokens`` estimated tokens long.

    ``NAME | TYPE | edges: RELATION → NAME; RELATION ← NAME | text: …WINDOW…``; edges and text
    where there are any. Shown are the edges whose relation or other end shares words with the
    question (an arrow to the right leaves the node) and the stretch of the text that holds most
    of its words; words count by their rarity among the nodes of the graph.
    """
    weights = word_weights(question, ctx.graph)
    limit = most_tokens * CHARACTERS_PER_TOKEN
    return [_card(question, node, ctx, weights, limit) for node in nodes]


class WordCounts:
    """In how many nodes a word stands, of a sample of at most ``2 * SAMPLE`` nodes of a graph.

    Not asked of the search: it may be a dense one, which knows no words.
    """

    def __init__(self, graph: Graph) -> None:
        rows = range(0, graph.n_nodes, max(1, graph.n_nodes // SAMPLE))
        self._seen = len(rows)
        self._counts: Counter[str] = Counter()
        for i in rows:
            parts = graph.name(i), *graph.aliases(i), graph.text(i)[:SAMPLE_TEXT]
            self._counts.update(set(tokens(" ".join(parts))))

    def weight(self, word: str) -> float:
        """log(1 + nodes / nodes with the word), half a node for a word that was not seen."""
        return math.log1p(self._seen / (self._counts.get(word) or 0.5))


word_counts = PerGraph(WordCounts)


def word_weights(question: str, graph: Graph) -> dict[str, float]:
    """The question's words by their rarity, without those that are as common as "the"."""
    counts = word_counts(graph)
    weights = {word: counts.weight(word) for word in list(dict.fromkeys(tokens(question)))}
    least = TELLING * max(weights.values(), default=0.0)
    telling = [(word, weight) for word, weight in weights.items() if weight >= least]
    return dict(telling[:MOST_WORDS])


def _card(question: str, node: int, ctx: Context, weights: Weights, limit: int) -> str:
    graph = ctx.graph
    card = f"{_field(graph.name(node), min(NAME_LIMIT, limit // 2))} | {_type(graph, node)}"
    text = one_line(graph.text(node)[:TEXT_READ])
    room = limit - len(card)
    edges = _joined(
        matching_edges(question, node, ctx, weights),
        (room // 2 if text else room) - len(" | edges: "),
    )
    if edges:
        card += f" | edges: {edges}"
    room = limit - len(card) - len(" | text: ")
    shown = window(text, weights, room) if room > 0 else ""
    return clip(f"{card} | text: {_field(shown, room)}" if shown else card, limit)


def _type(graph: Graph, node: int) -> str:
    return _field(graph.type(node), TYPE_LIMIT)


def _field(text: str, limit: int) -> str:
    """A bar in it could pass for the start of another field."""
    return clip(text, limit).replace("|", "¦")


def _joined(parts: Sequence[str], room: int) -> str:
    kept: list[str] = []
    for part in parts:
        room -= len(part) + 2
        if room < -2:
            break
        kept.append(part)
    return "; ".join(kept)


def matching_edges(question: str, node: int, ctx: Context, weights: Weights) -> list[str]:
    """Edges of a node that share a word with the question, the rarest words first.

    Looked at are the edges to the ``NEAR`` neighbours that the search ranks highest for the
    question, and the first ``PER_RELATION`` of each relation whose name shares a word with it.
    """
    graph = ctx.graph
    around = graph.neighbors(node)
    if not len(around):
        return []
    hits = [hit.node for hit in ctx.search.rank(question, around, NEAR) if hit.score > 0]
    near = np.array(hits, dtype=np.int64)
    named = [i for i, name in enumerate(graph.relations) if _shared(_words(name), weights)]
    scored: dict[str, float] = {}
    for arrow, (others, relations, _) in (
        ("→", graph.out_edges(node)),
        ("←", graph.in_edges(node)),
    ):
        for at in _chosen(node, others, relations, near, named):
            relation = graph.relations[int(relations[at])]
            words = _words(relation) | _words(graph.name(int(others[at])))
            score = _shared(words, weights)
            if score > 0:
                scored.setdefault(_edge(graph, relation, arrow, int(others[at])), score)
    return sorted(scored, key=lambda edge: (-scored[edge], len(edge)))


def _chosen(
    node: int, others: Ints, relations: Ints, near: Ints, named: Sequence[int]
) -> list[int]:
    found = [np.flatnonzero(np.isin(others, near))[: 2 * NEAR]]
    found += [np.flatnonzero((relations == r) & (others != node))[:PER_RELATION] for r in named]
    return [int(at) for at in np.unique(np.concatenate(found))]


def _edge(graph: Graph, relation: str, arrow: str, other: int) -> str:
    name = _field(graph.name(other), EDGE_LIMIT - 20).replace(";", ",")
    return f"{_field(relation.replace('_', ' '), 20).replace(';', ',')} {arrow} {name}"


def _words(text: str) -> set[str]:
    return set(tokens(text.replace("_", " ")[:EDGE_LIMIT]))


def _shared(words: set[str], weights: Weights) -> float:
    return math.fsum(sorted(weights[w] for w in words if w in weights))


def window(text: str, weights: Weights, width: int) -> str:
    """At most ``width`` characters of a one-line ``text``: the stretch with the best words.

    A word counts once; of equal stretches the first. The beginning where no word matches.
    """
    if len(text) <= width:
        return text
    found = _found(text, weights)
    best, first, last = 0.0, 0, 0
    for i, (start, _, _) in enumerate(found):
        seen: dict[str, float] = {}
        end = start
        for _, stop, word in found[i:]:
            if stop - start > width - 2:  # two ellipses
                break
            seen[word], end = weights[word], stop
        score = math.fsum(seen.values())
        if score > best:
            best, first, last = score, start, end
    return _cut(text, first, last, width)


def _found(text: str, weights: Weights) -> list[tuple[int, int, str]]:
    """Start, end and word of each word of the question in a text, in order."""
    words = ((match.span(), match.group().lower()) for match in _TOKEN.finditer(text))
    return [(*span, word) for span, word in words if word in weights]


def _cut(text: str, first: int, last: int, width: int) -> str:
    """``width`` characters around a stretch, at word borders where there is room for them."""
    start = max(0, min(first - (width - (last - first)) // 2, len(text) - width))
    end = min(len(text), start + width)
    left, right = "…" if start > 0 else "", "…" if end < len(text) else ""
    start, end = start + len(left), end - len(right)
    if left and text[start - 1] != " ":
        space = text.find(" ", start, first)
        start = start if space < 0 else space + 1
    if right and text[end] != " ":
        space = text.rfind(" ", last, end)
        end = end if space < 0 else space
    return f"{left}{text[start:end].strip()}{right}"
