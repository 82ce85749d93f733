"""The lists that backfill=bm25 took from the search: recorded once, then stored by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import cast

from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.protocols import Nodes, Relevance
from ark.records import Hit, Json, Query
from ark.report.bundle_replay import Replay
from ark.search import BM25, BM25Settings

Lists = dict[str, tuple[str, ...]]


class _Recorder:
    """A search that keeps what it was asked last."""

    def __init__(self, search: BM25) -> None:
        self._search = search
        self.found: dict[str, list[Hit]] = {}

    def search(self, query: str, k: int) -> list[Hit]:
        self.found[query] = self._search.search(query, k)
        return self.found[query]


def backfill_lists(replay: Replay, queries: Sequence[Query], graph: KnowledgeGraph) -> Lists:
    """By question id the nodes that may follow its list, as many as the reading's cut at most.

    ``queries`` have their texts. Only nodes that the reading counts are kept, so that the lists
    say all that the reading needs. Raises UserError where the index of the run is not to be had.
    """
    recorder = _Recorder(_search(replay.run["search"], graph))
    asked = replace(replay, graph=graph, queries=list(queries), search=cast(Relevance, recorder))
    _ = asked.rows
    return {
        query.id: _first_countable(recorder.found[query.text], asked, query)
        for query in queries
        if query.text in recorder.found
    }


def _first_countable(hits: Sequence[Hit], replay: Replay, query: Query) -> tuple[str, ...]:
    """Ids as they are, not as their equals: the candidate filter will look at them again."""
    graph: Nodes = replay.graph
    types = replay.types_of(query)
    kept: dict[int, int] = {}
    for hit in hits:
        if types is None or graph.type(hit.node) in types:
            kept.setdefault(graph.canonical(hit.node), hit.node)
    return tuple(graph.id(row) for row in list(kept.values())[: replay.reading.cut])


def _search(identity: Mapping[str, Json], graph: KnowledgeGraph) -> BM25:
    known = {f.name for f in fields(BM25Settings)}
    settings = BM25Settings(**{k: v for k, v in identity.items() if k in known})
    search = BM25.open_or_build(graph, data_root(), settings)
    if dict(search.identity) != dict(identity):
        raise UserError(f"the search index of this run cannot be made here: it is {identity}")
    return search
