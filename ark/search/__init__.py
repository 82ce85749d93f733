"""Relevance functions behind the tools: ``bm25``, ``dense`` and ``hybrid``."""

from ark.search.bm25 import BM25
from ark.search.choose import Search, SearchSettings, open_search, related
from ark.search.dense import Dense, DenseSettings
from ark.search.documents import Documents, Siblings, document
from ark.search.hybrid import Hybrid, HybridSettings
from ark.search.settings import BM25Settings
from ark.text import clip, one_line, snippet, tokens

__all__ = [
    "BM25",
    "BM25Settings",
    "Dense",
    "DenseSettings",
    "Documents",
    "Hybrid",
    "HybridSettings",
    "Search",
    "SearchSettings",
    "Siblings",
    "clip",
    "document",
    "one_line",
    "open_search",
    "related",
    "snippet",
    "tokens",
]
