"""Scores of texts that are no documents of an index: passages, options, sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from ark.records import Json
from ark.text import tokens


class TextRanker(Protocol):
    """How well texts answer a query."""

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes scores."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One value >= 0 a text, higher is better, in the order given."""
        ...


class BM25Texts:
    """BM25 (Lucene's form, k1 1.5, b 0.75) with the given texts as its whole collection.

    bm25s computes it in single precision, so texts of equal words get exactly equal scores.
    """

    identity: ClassVar[Mapping[str, Json]] = {"ranker": "bm25", "collection": "the texts"}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Shape (texts,); 0 for a text that shares no word with the query."""
        corpus = [tokens(text) for text in texts]
        words = set(tokens(query)) & {w for text in corpus for w in text}
        if not words:
            return [0.0] * len(texts)
        import bm25s

        index = bm25s.BM25(method="lucene")
        index.index(corpus, show_progress=False)
        scores = index.get_scores(sorted(words))
        return [float(value) for value in scores]
