"""What lies around the topics: relations in both directions, then the entities at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ark.protocols import Context, Graph, Ints
from baselines.ask import plain
from baselines.tog2.chunks import has_text

NAME = 80  # characters of a name in a triple
MOST_CANDIDATES = 1_000  # entities of one depth whose text is read
SENTENCES = 3  # triples that are put before a passage


@dataclass(frozen=True, eq=False)
class Relation:
    """One relation of a topic in one direction, and the distinct nodes at its other end."""

    topic: int
    number: int
    out: bool
    tails: Ints = field(repr=False)


@dataclass(frozen=True)
class Triple:
    """An edge that was walked; ``out``: it leaves the topic."""

    topic: int
    relation: int
    out: bool
    tail: int


def relations_of(graph: Graph, topic: int) -> list[Relation]:
    """All relations of a node, by name, outgoing ones first; loops lead nowhere."""
    found = []
    for out, (ends, numbers, _) in (
        (True, graph.out_edges(topic)),
        (False, graph.in_edges(topic)),
    ):
        for number in np.flatnonzero(np.bincount(numbers)):
            tails = _distinct(ends[numbers == number])
            tails = tails[tails != topic]
            if len(tails):
                found.append(Relation(topic, int(number), out, tails))
    return sorted(found, key=lambda r: (graph.relations[r.number], not r.out))


def _distinct(rows: Ints) -> Ints:
    # Neighbours come sorted, and numpy's own unique is ten times slower on such a row.
    rows = np.sort(rows, kind="stable")
    kept: Ints = rows[np.diff(rows, prepend=-1) != 0]
    return kept


def sentence(graph: Graph, triple: Triple) -> str:
    """``head —relation→ tail.`` in the direction of the edge."""
    head, tail = (triple.topic, triple.tail) if triple.out else (triple.tail, triple.topic)
    relation = plain(graph.relations[triple.relation], NAME)
    return f"{plain(graph.name(head), NAME)} —{relation}→ {plain(graph.name(tail), NAME)}."


def relation_option(graph: Graph, relation: Relation) -> str:
    """A relation as an option: its topic, its direction, the types and number of its ends."""
    name = graph.relations[relation.number]
    own = graph.type(relation.topic)
    here, there = (0, 2) if relation.out else (2, 0)
    types = [s[there] for s in graph.signatures if s[1] == name and s[here] == own]
    ends = plain("/".join(dict.fromkeys(types)), NAME)
    topic, name = plain(graph.name(relation.topic), NAME), plain(name, NAME)
    arrow = f"{topic} —{name}→ {ends}" if relation.out else f"{ends} —{name}→ {topic}"
    return f"{arrow} ({len(relation.tails)})"


def cut_tails(ctx: Context, question: str, tails: Ints, most: int, *, sample: bool) -> list[int]:
    """At most ``most`` ends of a relation: the best by BM25 of the question, or a sample."""
    if len(tails) <= most:
        return [int(i) for i in tails]
    if sample:
        return sorted(int(tails[i]) for i in ctx.rng.sample(range(len(tails)), most))
    return [hit.node for hit in ctx.search.rank(question, tails, most)]


def usable(graph: Graph, node: int) -> bool:
    """Whether the released code would keep an entity: a name of three letters, and a text."""
    return len(graph.name(node).strip()) > 2 and has_text(graph, node)


def by_node(triples: Iterable[Triple]) -> dict[int, list[Triple]]:
    """Candidates by row, so that nodes with equal names stay apart; each with its triples."""
    found: dict[int, dict[Triple, None]] = {}
    for triple in triples:
        found.setdefault(triple.tail, {})[triple] = None
    return {node: list(found[node]) for node in sorted(found)}


def narrowed(
    ctx: Context, question: str, candidates: dict[int, list[Triple]]
) -> dict[int, list[Triple]]:
    """At most ``MOST_CANDIDATES`` of them, the best by BM25 of the question."""
    if len(candidates) <= MOST_CANDIDATES:
        return candidates
    nodes = np.array(list(candidates), dtype=np.int64)
    kept = {hit.node for hit in ctx.search.rank(question, nodes, MOST_CANDIDATES)}
    return {node: triples for node, triples in candidates.items() if node in kept}


def lead(graph: Graph, triples: Sequence[Triple]) -> str:
    """The triple sentences that stand before each passage of a candidate."""
    return " ".join(sentence(graph, triple) for triple in triples[:SENTENCES])
