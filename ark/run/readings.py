"""From a journal to a scored list for every question of the split: no calls, no clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ark.agent.fusion import fuse
from ark.errors import UserError
from ark.protocols import Graph
from ark.records import AgentLine, Query, Usage
from ark.run.identity import digest
from ark.run.journal import Entries, summed
from ark.run.spec import Reading
from ark.scoring import judge, score_row, zero_row

Standing = Literal["ok", "limit", "failed", "missing"]


@dataclass(frozen=True)
class Scored:
    """One question under one reading. ``values`` are zero where it failed or is missing."""

    query: Query
    status: Standing
    ranked: tuple[str, ...]
    values: Mapping[str, float | None]
    usage: Mapping[str, Usage]
    agents_differ: bool | None  # None: fewer than two lists


def read(
    entries: Entries,
    queries: Sequence[Query],
    graph: Graph,
    reading: Reading,
    candidate_types: tuple[str, ...] | None,
    seed: int,
) -> list[Scored]:
    """Score every question of the split, in stored order.

    The candidate filter comes after fusion and before the cut (design, rules 4 and 11); nodes that
    are the same answer count once. Random fusion is seeded by run seed and question.
    """
    try:
        return [_score(q, entries, graph, reading, candidate_types, seed) for q in queries]
    except KeyError as error:
        raise UserError(f"the journal names a node that is not in the graph: {error}") from None


def _score(
    query: Query,
    entries: Entries,
    graph: Graph,
    reading: Reading,
    candidate_types: tuple[str, ...] | None,
    seed: int,
) -> Scored:
    lines = [entries.agents.get((query.id, agent)) for agent in range(reading.agents)]
    present = [line for line in lines if line is not None]
    usage = _usage(present)
    status = _standing(lines)
    if status in ("failed", "missing"):
        return Scored(query, status, (), zero_row(), usage, None)
    lists = [line.nodes for line in present]
    rng = random.Random(digest({"seed": seed, "query": query.id}))
    keep = _candidates(query, graph, reading, candidate_types)
    same = _same(graph)
    fused = fuse(lists, reading.fusion, rng)
    countable = list(dict.fromkeys(same(node) for node in fused if keep is None or keep(node)))
    ranked = tuple(countable[: reading.cut])
    # The filter looks at nodes as they are; what it kept is then written as one of its equals.
    gold = [same(node) for node in query.answer_ids if keep is None or keep(node)]
    judged = judge(ranked, gold)
    committed = _committed(present, ranked, same)
    if committed is not None:
        chosen = judge(committed, gold, answers=len(committed))
        judged = replace(judged, answered=chosen.answered, correct=chosen.correct)
    differ = len(set(lists)) > 1 if len(lists) > 1 else None
    return Scored(query, status, ranked, score_row(judged), usage, differ)


def _standing(lines: Sequence[AgentLine | None]) -> Standing:
    if any(line is None for line in lines):
        return "missing"
    statuses = {line.status for line in lines if line is not None}
    if "failed" in statuses:
        return "failed"
    return "limit" if "limit" in statuses else "ok"


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


def _candidates(
    query: Query, graph: Graph, reading: Reading, types: tuple[str, ...] | None
) -> Callable[[str], bool] | None:
    if reading.candidates == "answer_type":
        if query.answer_type is None:
            raise UserError(
                f"candidates=answer_type: question {query.id} has no answer_type; add that column "
                "or use candidates=graph"
            )
        types = (query.answer_type,)
    if types is None:
        return None
    allowed = frozenset(types)
    return lambda node_id: graph.type(graph.index(node_id)) in allowed


def _same(graph: Graph) -> Callable[[str], str]:
    def same(node_id: str) -> str:
        index = graph.index(node_id)
        first = graph.canonical(index)
        return node_id if first == index else graph.id(first)

    return same
