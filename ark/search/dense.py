"""Dense retrieval: the cosine of the query's vector with that of each node's text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ark.errors import FatalBackboneError, QueryFailedError, UserError, unknown
from ark.graph import KnowledgeGraph
from ark.protocols import Ints
from ark.records import Hit, Json
from ark.search.ann import FOUND, Neighbours
from ark.search.bm25 import BM25, CACHE_BYTES
from ark.search.documents import document
from ark.search.encoder import MINILM, MOST_TOKENS, Encoder, encoder_of
from ark.search.recent import Recent
from ark.search.settings import DOCUMENTS, BM25Settings
from ark.search.topk import top_k
from ark.search.vectors import (
    Query,
    Vectors,
    build,
    encoded,
    same_length,
    to_grid,
    to_query,
    wordless,
)

VECTORS_VERSION = 1  # of texts, grid and scores: in a search's identity; method=dense has none
EXACT = 500_000
_QUERIES = 4096  # vectors of queries that are kept


@dataclass(frozen=True)
class DenseSettings:
    """What makes one dense search unlike another. Endpoints and keys are the environment's."""

    relevance: ClassVar[str] = "dense"

    encoder: str = MINILM
    """``minilm``: all-MiniLM-L6-v2 on this machine; ``litellm``: an endpoint for embeddings; or a
    class of your own, ``package.module:Class``."""
    model: str | None = None
    """For ``litellm`` the model as litellm names it, ``PROVIDER/NAME``."""
    max_tokens: int = 256
    """``minilm`` reads a text's first so many tokens; 256 as sentence-transformers sets it."""
    exact_up_to: int = EXACT
    """With more documents than this, approximate nearest neighbours are asked (extra ``ann``)."""
    documents: str = "node"
    """``node``: name, aliases and text; ``text``: the text alone."""
    types: tuple[str, ...] | None = None
    """Only nodes of these types are documents. None: every node."""

    def __post_init__(self) -> None:
        # Fields of ``search`` and of ``method``: the first ones are named without either.
        if not 8 <= self.max_tokens <= MOST_TOKENS:
            raise UserError(f"max_tokens={self.max_tokens} must be from 8 to {MOST_TOKENS}")
        if self.exact_up_to < 0:
            raise UserError(f"exact_up_to={self.exact_up_to} must be a whole number >= 0")
        if self.documents not in DOCUMENTS:
            raise UserError(unknown("search.documents", str(self.documents), DOCUMENTS))
        # One rule for types, that of BM25, and equal spellings.
        object.__setattr__(self, "types", BM25Settings(types=self.types).types)

    @property
    def key(self) -> Mapping[str, Json]:
        """Every setting as plain JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "types": None if self.types is None else list(self.types)}

    def made(self) -> Encoder:
        """The encoder that is named; it loads nothing before it is asked."""
        return encoder_of(self.encoder, self.model, self.max_tokens)

    @property
    def lexical(self) -> BM25Settings:
        """The BM25 that backfill asks: over the same documents, else with its defaults."""
        return BM25Settings(documents=self.documents, types=self.types)


class Dense:
    """``Relevance`` by cosine. A node without text, or that is no document, scores 0.

    ``search`` finds the nodes with a cosine above 0; ``rank`` also returns the others, which may
    score below 0. Both give the same bits for the same node (``ark.search.vectors``).
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        root: Path,
        settings: DenseSettings,
        encoder: Encoder,
        vectors: Vectors,
        neighbours: Neighbours | None,
    ) -> None:
        self.graph, self.root, self.settings = graph, root, settings
        self._encoder, self.vectors, self._neighbours = encoder, vectors, neighbours
        self._rows = rows_of(graph, settings.types)
        self._queries: Recent[Query] = Recent(_QUERIES)
        self._scores: Recent[NDArray[np.float32]] = Recent(CACHE_BYTES // max(1, 4 * len(vectors)))
        self._lexical: BM25 | None = None

    @classmethod
    def open_or_build(
        cls,
        graph: KnowledgeGraph,
        root: Path,
        settings: DenseSettings | None = None,
        encoder: Encoder | None = None,
    ) -> Dense:
        """Open the vectors of ``graph`` under ``root``; made once, which takes minutes.

        ``encoder`` in place of the one that the settings name. Raises UserError where that one is
        not installed.
        """
        settings = settings or DenseSettings()
        own = encoder or settings.made()
        own.ready()
        key = json.dumps(_stored(settings, own), sort_keys=True)
        name = f"dense-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        folder = root / "indexes" / graph.content_hash[:12] / name
        rows = rows_of(graph, settings.types)
        documents = graph.n_nodes if rows is None else len(rows)
        if documents == 0:
            raise UserError("search.types names types without nodes: there is nothing to search")
        text_of = graph.text if settings.documents == "text" else partial(document, graph)
        if not folder.is_dir():
            try:
                build(
                    text_of if rows is None else lambda i: text_of(int(rows[i])),
                    documents,
                    own,
                    folder,
                )
            except QueryFailedError as error:  # no question's fault: each would try it again
                raise FatalBackboneError(
                    f"the vectors of this graph cannot be made: {error}; what is done is kept, the "
                    "same command goes on from there"
                ) from error
        vectors = Vectors.open(folder, documents)
        near = None
        if documents > settings.exact_up_to:
            near = Neighbours.open_or_build(vectors.grid, folder, vectors.mark)
        return cls(graph, root, settings, own, vectors, near)

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {
            "relevance": self.settings.relevance,
            "vectors_version": VECTORS_VERSION,
            **self.settings.key,
            "vectors": dict(self._encoder.identity),
            **({} if self._neighbours is None else {"ann": dict(self._neighbours.identity)}),
        }

    @property
    def lexical(self) -> BM25:
        """BM25 over the same documents."""
        if self._lexical is None:
            self._lexical = BM25.open_or_build(self.graph, self.root, self.settings.lexical)
        return self._lexical

    def scores(self, query: str) -> NDArray[np.float32]:
        """Cosine of every node, shape (n_nodes,), float32: exact whatever ``exact_up_to`` is."""
        found = self._every(query)
        if self._rows is None:
            return found
        whole = np.zeros(self.graph.n_nodes, dtype=np.float32)
        whole[self._rows] = found
        whole.setflags(write=False)
        return whole

    def search(self, query: str, k: int) -> list[Hit]:
        """The ``k`` nodes nearest to the query, of those with a cosine above 0.

        Where neighbours are approximate, of the ``FOUND`` that they offer.
        """
        documents, found = self._found(query)
        above = found > 0
        documents, found = documents[above], found[above]
        nodes = documents if self._rows is None else self._rows[documents]
        return top_k(nodes, found, k)

    def count(self, query: str) -> int:
        """How many nodes have a cosine above 0; that is most, so it tells little."""
        return int(np.count_nonzero(self._found(query)[1] > 0))

    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]:
        """The ``k`` best of ``nodes``, whatever they score."""
        chosen = np.asarray(nodes, dtype=np.int64)
        if self._rows is None:
            return top_k(chosen, self._of(query, chosen), k)
        documents = np.minimum(np.searchsorted(self._rows, chosen), len(self._rows) - 1)
        there = self._rows[documents] == chosen
        found = np.zeros(len(chosen), dtype=np.float32)
        found[there] = self._of(query, documents[there])
        return top_k(chosen, found, k)

    def _found(self, query: str) -> tuple[Ints, NDArray[np.float32]]:
        """(documents, cosines) that a search chooses from."""
        if self._neighbours is None:
            found = self._every(query)
            return np.arange(len(found), dtype=np.int64), found
        near = self._neighbours.near(self._vector(query), FOUND)
        return near, self.vectors.scores(self._vector(query), near)

    def _every(self, query: str) -> NDArray[np.float32]:
        known = self._scores.get(query)
        if known is None:
            known = self.vectors.scores(self._vector(query))
            known.setflags(write=False)
            self._scores.keep(query, known)
        return known

    def _of(self, query: str, documents: Ints) -> NDArray[np.float32]:
        known = self._scores.get(query)
        if known is not None:
            return known[documents]
        return self.vectors.scores(self._vector(query), documents)

    def _vector(self, query: str) -> Query:
        known = self._queries.get(query)
        if known is None:
            if wordless(query):  # nothing to ask the encoder
                return np.zeros(self.vectors.grid.shape[1])
            made = to_query(encoded(self._encoder, [query])[0])
            self.vectors.fit(made)
            known = self._queries.keep(query, made)
        return known


class DenseTexts:
    """``TextRanker`` by cosine, 0 where it is below; texts are encoded once and remembered."""

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder or encoder_of(MINILM, None, DenseSettings().max_tokens)
        self._kept: Recent[NDArray[np.float32]] = Recent(_QUERIES)

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        return {"ranker": "dense", "vectors": dict(self._encoder.identity)}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Shape (texts,), from 0 to 1; 0 where the query or the text is without words."""
        if not texts:
            return []
        known = {text: self._kept.get(text) for text in (query, *texts)}
        new = [text for text, vector in known.items() if vector is None]
        for text, vector in zip(new, encoded(self._encoder, new) if new else (), strict=True):
            known[text] = self._kept.keep(text, vector)
        vectors = {text: vector for text, vector in known.items() if vector is not None}
        same_length(*map(len, vectors.values()))
        grid = to_grid(np.stack([vectors[text] for text in texts]))
        scores = Vectors(grid).scores(to_query(vectors[query]))
        return [max(0.0, float(score)) for score in scores]


@cache
def dense_texts() -> DenseTexts:
    """The ranker with MiniLM; one a process, as it remembers texts."""
    return DenseTexts()


def rows_of(graph: KnowledgeGraph, types: tuple[str, ...] | None) -> Ints | None:
    """The node of each document, ascending; None where every node is one."""
    if types is None:
        return None
    for node_type in types:
        if node_type not in graph.node_types:
            raise UserError(unknown("search.types", node_type, graph.node_types))
    return np.sort(np.concatenate([graph.of_type(t) for t in types]))


def _stored(settings: DenseSettings, encoder: Encoder) -> dict[str, Json]:
    """What names a folder of vectors; how they are asked is no part of it."""
    return {
        "version": VECTORS_VERSION,
        "vectors": dict(encoder.identity),
        "documents": settings.documents,
        "types": settings.key["types"],
    }
