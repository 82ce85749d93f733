"""What a relevance function reads of a node: the text that is indexed, one document a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from ark.graph import KnowledgeGraph
from ark.protocols import Relevance
from ark.records import Json


class Documents(Protocol):
    """One text for every node. Hashable, and equal where the texts are: a frozen dataclass.

    A relevance function indexes the node's own text; a method may ask for an index over other
    texts of the same graph (``Siblings``).
    """

    @property
    def key(self) -> Mapping[str, Json]:
        """Names these texts among all others: kind, settings and a version to raise on change."""
        ...

    def of(self, graph: KnowledgeGraph) -> Iterator[str]:
        """The texts in node order, one at a time: a graph's documents never lie in memory."""
        ...


@runtime_checkable
class Siblings(Protocol):
    """A relevance function that can be had over other documents, with the same settings."""

    def sibling(self, documents: Documents) -> Relevance:
        """Builds the index the first time, later calls and processes open it."""
        ...


def document(graph: KnowledgeGraph, i: int) -> str:
    """A node's own text: its name, aliases and text, without relations."""
    return "\n".join((graph.name(i), *graph.aliases(i), graph.text(i)))
