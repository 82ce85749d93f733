"""Typed knowledge graphs with text, stored once and opened memory-mapped.

``open_or_build(source_for("hpo"), data_root())`` gives a ``KnowledgeGraph``.
"""

from ark.graph.build import build_graph, data_root, graph_folder, open_or_build
from ark.graph.data import GraphData, GraphSource, Provenance, file_hashes, source_key
from ark.graph.sources import source_for, source_names
from ark.graph.store import KnowledgeGraph

__all__ = [
    "GraphData",
    "GraphSource",
    "KnowledgeGraph",
    "Provenance",
    "build_graph",
    "data_root",
    "file_hashes",
    "graph_folder",
    "open_or_build",
    "source_for",
    "source_key",
    "source_names",
]
