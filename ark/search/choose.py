"""Which relevance function a cell's settings name, and others over the same documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph
from ark.protocols import Relevance
from ark.records import Json
from ark.search.bm25 import BM25
from ark.search.dense import Dense, DenseSettings
from ark.search.hybrid import LEXICAL, Hybrid, HybridSettings
from ark.search.settings import BM25Settings

SearchSettings = BM25Settings | DenseSettings | HybridSettings
Search = BM25 | Dense | Hybrid
KINDS: dict[str, type[Any]] = {
    "bm25": BM25Settings,
    "dense": DenseSettings,
    "hybrid": HybridSettings,
}


def open_search(graph: KnowledgeGraph, root: Path, settings: SearchSettings) -> Search:
    """Open what the settings name, building it the first time."""
    if isinstance(settings, HybridSettings):
        return Hybrid.open_or_build(graph, root, settings)
    if isinstance(settings, DenseSettings):
        return Dense.open_or_build(graph, root, settings)
    return BM25.open_or_build(graph, root, settings)


def related(search: Relevance, settings: SearchSettings) -> Relevance:
    """``settings`` over the documents of ``search``, with its BM25 where they are a hybrid's.

    Raises UserError for a search without a graph on disk.
    """
    if not isinstance(search, Search):
        raise UserError("this method needs a search over a graph on disk: add search=bm25")
    own = search.settings
    settings = replace(settings, documents=own.documents, types=own.types)
    if isinstance(settings, HybridSettings):
        lexical = search.lexical.settings
        settings = replace(settings, **{name: getattr(lexical, name) for name in LEXICAL})
    return search if settings == own else _opened(search.graph, search.root, settings)


@lru_cache(maxsize=4)
def _opened(graph: KnowledgeGraph, root: Path, settings: SearchSettings) -> Search:
    return open_search(graph, root, settings)


def lexical(search: Relevance) -> Relevance:
    """The BM25 that backfill asks, whatever the relevance inside the method is."""
    return search.lexical if isinstance(search, Search) else search


def kind_of(values: Mapping[str, Json]) -> type[Any]:
    """The settings' class that the ``relevance`` of a config or of an identity names."""
    kind = str(values.get("relevance", "bm25"))
    if kind not in KINDS:
        raise UserError(unknown("search.relevance", kind, KINDS))
    return KINDS[kind]


def changed(values: Mapping[str, Json]) -> dict[str, Json]:
    """Of an identity, or of ``key`` with ``relevance``, what is not ``search=bm25``'s default."""
    cls = kind_of(values)
    out: dict[str, Json] = {}
    if cls is not BM25Settings:
        out["relevance"] = cls.relevance
    for field in fields(cls):
        value = values.get(field.name, field.default)
        if value != field.default:
            out[field.name] = value
    return out
