"""Reference harness for LLM retrieval over knowledge graphs.

``ark.load_graph(name)`` opens a graph with search and tools, ``ark.evaluate(rank, ...)`` scores a
retriever, ``ark.table(result, ...)`` prints results. Importing ``ark`` loads none of it yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ark.api import evaluate, load_graph, table

__all__ = ["evaluate", "load_graph", "table"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from ark import api

        return getattr(api, name)
    raise AttributeError(f"module 'ark' has no attribute {name!r}")
