"""Relevance functions behind the tools: ``bm25`` now, others beside it."""

from ark.search.bm25 import BM25
from ark.search.documents import Documents, Siblings, document
from ark.search.settings import BM25Settings
from ark.text import clip, one_line, snippet, tokens

__all__ = [
    "BM25",
    "BM25Settings",
    "Documents",
    "Siblings",
    "clip",
    "document",
    "one_line",
    "snippet",
    "tokens",
]
