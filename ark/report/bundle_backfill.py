"""The lists that backfill=bm25 takes from the search, stored by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.records import Json, Query
from ark.report.bundle_replay import Replay
from ark.search import BM25, BM25Settings
from ark.search.choose import kind_of

Lists = dict[str, tuple[str, ...]]


def backfill_lists(replay: Replay, queries: Sequence[Query], graph: KnowledgeGraph) -> Lists:
    """By question id the nodes that may follow its list, as many as the reading's cut at most.

    ``queries`` have their texts. Only nodes that the reading counts are kept, so that these lists
    are all that it needs. Raises UserError where the index of the run is not to be had.
    """
    search = _search(replay.run["search"], graph)
    return {query.id: _found(search, graph, replay, query) for query in queries}


def _found(search: BM25, graph: KnowledgeGraph, replay: Replay, query: Query) -> tuple[str, ...]:
    """As ``ark.run.readings`` asks; ids as they are, since the filter sees them again."""
    most, types = replay.reading.cut, replay.types_of(query)
    k = 4 * most
    while True:
        hits = search.search(query.text, k)
        kept: dict[int, int] = {}
        for hit in hits:
            if types is None or graph.type(hit.node) in types:
                kept.setdefault(graph.canonical(hit.node), hit.node)
        if len(kept) >= most or len(hits) < k:
            return tuple(graph.id(row) for row in list(kept.values())[:most])
        k *= 8


def _search(identity: Mapping[str, Json], graph: KnowledgeGraph) -> BM25:
    known = {f.name for f in fields(BM25Settings)}
    settings = BM25Settings(**{k: v for k, v in identity.items() if k in known})
    search = BM25.open_or_build(graph, data_root(), settings)
    # Of a dense or hybrid search it is the BM25 beside it, whose settings the identity holds too.
    if kind_of(identity) is BM25Settings and dict(search.identity) != dict(identity):
        raise UserError(f"the search index of this run cannot be made here: it is {identity}")
    return search
