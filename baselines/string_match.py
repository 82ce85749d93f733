"""``method=string_match``: nodes that the question names, and what lies next to most of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ark.protocols import Context, Ints
from ark.records import MAX_RANKED, Attempt, Hit, Json
from ark.text import tokens
from baselines.common import PerGraph, evidence, ids, ranking, settings, whole_number
from baselines.names import Named, NameIndex

TAG = "string_match"

names_of = PerGraph(NameIndex)


@dataclass(frozen=True)
class StringMatch:
    """Exact names in the question, neighbourhoods intersected; asks no backbone.

    Names and aliases are compared as runs of whole words without regard to case; a name inside a
    longer one that is found is dropped. Nodes next to the most found names come first, then by
    BM25 of the question, then by node number. Nodes of one name count as one, and a named node is
    itself no answer, unless no other node is next to any of them: then the named nodes are
    ranked. If the question holds no name, the list is that of BM25. Both stand-ins count as a
    fallback.
    """

    label: ClassVar[str] = "String match"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    min_characters: int = 3
    """Names with fewer letters and digits than this are not looked for."""

    def __post_init__(self) -> None:
        whole_number("min_characters", self.min_characters, 1)

    @property
    def agents(self) -> int:
        """One: nothing is drawn."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings."""
        return settings(self)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The 100 best nodes."""
        found = [
            name
            for name in names_of(ctx.graph).find(tokens(question))
            if sum(map(len, name.words)) >= self.min_characters
        ]
        named = _union([name.nodes for name in found])
        near, counts = _shared_neighbors(ctx, found)
        other = ~np.isin(near, named)
        hits = _best(question, ctx, near[other], counts[other])
        source = "neighbors"
        if not hits:
            source = "named" if len(named) else "search"
            hits = ctx.search.rank(question, named, MAX_RANKED) if len(named) else []
        if source == "search":
            hits = ctx.search.search(question, MAX_RANKED)
        top = ranking(hits)
        trace = evidence(
            TAG,
            ctx.graph,
            top,
            fallbacks=int(source != "neighbors"),
            source=source,
            seeds=ids(ctx.graph, named),
        )
        return Attempt(top, trajectory=trace)


def _shared_neighbors(ctx: Context, found: Sequence[Named]) -> tuple[Ints, Ints]:
    """Neighbours of all found names, ascending, and next to how many of the names each is."""
    around = [_union([ctx.graph.neighbors(i) for i in name.nodes.tolist()]) for name in found]
    near, counts = np.unique(_joined(around), return_counts=True)
    return near, counts.astype(np.int64)


def _best(question: str, ctx: Context, near: Ints, counts: Ints) -> list[Hit]:
    """By count, then as the search ranks them; only as many counts as the list has room for."""
    hits: list[Hit] = []
    for count in np.unique(counts)[::-1]:
        hits += ctx.search.rank(question, near[counts == count], MAX_RANKED - len(hits))
        if len(hits) == MAX_RANKED:
            break
    return hits


def _union(parts: Sequence[Ints]) -> Ints:
    return np.unique(_joined(parts))


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([*parts, np.empty(0, dtype=np.int64)])
