"""From a journal to a scored list for every question of the split: no calls, no clock."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import Literal

from ark.agent.fusion import fuse
from ark.errors import UserError
from ark.protocols import Nodes, Relevance
from ark.records import AgentLine, Json, Query, Usage
from ark.run.identity import digest
from ark.run.journal import Entries, summed
from ark.run.spec import Reading
from ark.scoring import judge, score_row, zero_row

Standing = Literal["ok", "limit", "failed", "missing"]
Row = Mapping[str, float | None]


@dataclass(frozen=True)
class Scored:
    """One question under one reading. ``values`` are zero where it failed or is missing.

    ``ranked`` is empty where ``values`` are means over several choices of agents; ``usage`` is
    that of all agents of the pool; ``singles`` are the values of each agent alone.
    """

    query: Query
    status: Standing
    ranked: tuple[str, ...]
    values: Row
    usage: Mapping[str, Usage]
    agents_differ: bool | None  # None: fewer than two lists
    singles: tuple[Row, ...] = ()
    partly_failed: bool = False  # some choices of agents hold a failed one, and score 0


def read(
    entries: Entries,
    queries: Sequence[Query],
    graph: Nodes,
    reading: Reading,
    candidate_types: tuple[str, ...] | None,
    seed: int,
    search: Relevance | None = None,
) -> list[Scored]:
    """Score every question of the split, in stored order.

    The candidate filter comes after fusion and before the cut (design, rules 4 and 11); nodes that
    are the same answer count once. Random fusion is seeded by run seed and question. ``search`` is
    asked for the nodes that follow the list under ``backfill=bm25``.
    """
    reader = _Reader(entries, graph, reading, candidate_types, seed, search)
    try:
        return [reader.scored(query) for query in queries]
    except KeyError as error:
        raise UserError(f"the journal names a node that is not in the graph: {error}") from None


@dataclass(frozen=True)
class _Reader:
    entries: Entries
    graph: Nodes
    reading: Reading
    candidate_types: tuple[str, ...] | None
    seed: int
    search: Relevance | None
    known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def look(self, node_id: str) -> tuple[str, str]:
        """Type of a node, and the id of the first node that is the same answer. Raises KeyError."""
        found = self.known.get(node_id)
        if found is None:  # finding a row by its id is most of the time that scoring takes
            index = self.graph.index(node_id)
            first = self.graph.canonical(index)
            found = (self.graph.type(index), node_id if first == index else self.graph.id(first))
            self.known[node_id] = found
        return found

    def same(self, node_id: str) -> str:
        """The id that stands for all nodes that are the same answer."""
        return self.look(node_id)[1]

    def scored(self, query: Query) -> Scored:
        found = [self.entries.agents.get((query.id, i)) for i in range(self.reading.lists)]
        lines = [None if line is None else within(line, self.reading) for line in found]
        present = [line for line in lines if line is not None]
        usage = _usage(present)
        many = len(lines) > 1
        orders = self._orders()
        failed = [any(_failed(lines[i]) for i in order) for order in orders]
        if len(present) < len(lines) or all(failed):
            status: Standing = "missing" if len(present) < len(lines) else "failed"
            alone = (zero_row(),) * (len(lines) if many else 0)
            return Scored(query, status, (), zero_row(), usage, None, alone)
        one = _Question(self, query)
        read = [
            ((), zero_row()) if broken else one.values([present[i] for i in order])
            for order, broken in zip(orders, failed, strict=True)
        ]
        ranked, values = read[0] if len(read) == 1 else ((), _mean([row for _, row in read]))
        singles = tuple(
            zero_row() if _failed(line) else one.values([line])[1] for line in present if many
        )
        status = "limit" if any(line.status == "limit" for line in present) else "ok"
        differ = len({line.nodes for line in present}) > 1 if many else None
        return Scored(query, status, ranked, values, usage, differ, singles, any(failed))

    def _orders(self) -> list[tuple[int, ...]]:
        """Numbers of agents in the order of their fusion: all of them, or every choice of some."""
        n = self.reading.lists
        if n == self.reading.agents:
            return [tuple(range(n))]
        return list(permutations(range(n), self.reading.agents))


class _Question:
    """One question: what may be an answer, which nodes are one, what its gold is."""

    def __init__(self, reader: _Reader, query: Query) -> None:
        self._reader, self._query = reader, query
        self._types = _types(query, reader.reading, reader.candidate_types)
        # The filter looks at nodes as they are; what it kept is then written as one of its equals.
        self._gold = self._countable(query.answer_ids)
        self._tail: list[str] | None = None

    def _countable(self, ids: Sequence[str]) -> list[str]:
        kept: dict[str, None] = {}
        for node_id in ids:
            node_type, same = self._reader.look(node_id)
            if self._types is None or node_type in self._types:
                kept[same] = None
        return list(kept)

    def values(self, lines: Sequence[AgentLine]) -> tuple[tuple[str, ...], Row]:
        """The ranked list of these agents in this order, and its measures."""
        reading = self._reader.reading
        seeded: dict[str, Json] = {"seed": self._reader.seed, "query": self._query.id}
        rng = random.Random(digest(seeded))
        fused = self._countable(fuse([line.nodes for line in lines], reading.fusion, rng))
        if reading.backfill == "bm25" and len(fused) < reading.cut:
            if self._tail is None:
                self._tail = self._found(reading.cut)
            fused = list(dict.fromkeys([*fused, *self._tail]))
        ranked = tuple(fused[: reading.cut])
        judged = judge(ranked, self._gold)
        committed = _committed(lines, ranked, self._reader.same)
        if committed is not None:
            chosen = judge(committed, self._gold, answers=len(committed))
            judged = replace(judged, answered=chosen.answered, correct=chosen.correct)
        return ranked, score_row(judged)

    def _found(self, n: int) -> list[str]:
        """The ``n`` best countable nodes that the search finds for the question."""
        search, graph = self._reader.search, self._reader.graph
        if search is None:
            raise UserError("backfill=bm25 needs the search index of the graph")
        k = 4 * n
        while True:
            hits = search.search(self._query.text, k)
            found = self._countable([graph.id(hit.node) for hit in hits])
            if len(found) >= n or len(hits) < k:
                return list(islice(found, n))
            k *= 8


def within(line: AgentLine, reading: Reading) -> AgentLine:
    """An agent's line as it would stand after ``reading.steps`` calls."""
    most = reading.steps
    if most is None or line.steps <= most or line.status == "failed":
        return line
    if len(line.calls) < line.steps:
        raise UserError("steps: this journal does not keep single calls; run the cell anew")
    calls = line.calls[:most]
    usage: dict[str, Usage] = {}
    for call in calls:
        usage[call.tag] = usage.get(call.tag, Usage()) + call.usage
    kept = 0 if reading.over_budget == "as_published" else sum(s <= most for s in line.picked_at)
    return replace(
        line,
        status="limit",
        nodes=line.nodes[:kept],
        answers=None if line.answers is None else min(line.answers, kept),
        picked_at=line.picked_at[:kept],
        steps=most,
        usage=usage,
        seconds=math.fsum(call.seconds for call in calls),
        calls=calls,
    )


def _mean(rows: Sequence[Row]) -> Row:
    """Of each measure; one that no row has stays None, one that some lack counts as 0 there."""
    out: dict[str, float | None] = {}
    for name in rows[0]:
        known = [v for row in rows if (v := row[name]) is not None]
        out[name] = math.fsum(known) / len(rows) if known else None
    return out


def _failed(line: AgentLine | None) -> bool:
    return line is not None and line.status == "failed"


def _committed(
    lines: Sequence[AgentLine], ranked: Sequence[str], same: Callable[[str], str]
) -> list[str] | None:
    """The ranked nodes that any agent committed to; None if an agent only ranked."""
    union: set[str] = set()
    for line in lines:
        if line.answers is None:
            return None
        union.update(same(node) for node in line.nodes[: line.answers])
    return [node for node in ranked if node in union]


def _usage(lines: Sequence[AgentLine]) -> dict[str, Usage]:
    tags = sorted({tag for line in lines for tag in line.usage})
    return {tag: summed([x.usage[tag] for x in lines if tag in x.usage]) for tag in tags}


def _types(query: Query, reading: Reading, types: tuple[str, ...] | None) -> frozenset[str] | None:
    """The node types that may be answers; None for all."""
    if reading.candidates == "answer_type":
        if query.answer_type is None:
            raise UserError(
                f"candidates=answer_type: question {query.id} has no answer_type; add that column "
                "or use candidates=graph"
            )
        types = (query.answer_type,)
    return None if types is None else frozenset(types)
