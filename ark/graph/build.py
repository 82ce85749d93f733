"""Builds a graph folder from a source, all of it or nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ark.errors import ArkError, UserError
from ark.graph import staging
from ark.graph.data import GraphSource
from ark.graph.store import KnowledgeGraph


def data_root() -> Path:
    """Folder of everything this package builds: ``ARK_DATA``, else the user's cache folder."""
    chosen = os.environ.get("ARK_DATA", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_path("ark-harness", appauthor=False))


def graph_folder(source: GraphSource, root: Path) -> Path:
    """Where the graph of ``source`` lies under ``root``: ``graphs/NAME-KEY``."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", str(source.name)):
        raise UserError(f"graph name {source.name!r}: use letters, digits, '-', '_' and '.' only")
    return Path(root) / "graphs" / f"{source.name}-{source.key()[:12]}"


def open_or_build(source: GraphSource, root: Path) -> KnowledgeGraph:
    """The graph of ``source``, built first unless ``root`` has it.

    Raises UserError if the input is missing or broken, or the stored folder is damaged.
    """
    folder = graph_folder(source, root)
    if not folder.exists():
        build_graph(source, root)
    return KnowledgeGraph.open(folder)


def build_graph(source: GraphSource, root: Path) -> Path:
    """Builds the graph of ``source`` under ``root`` and returns its folder.

    The folder appears by one rename when all its files are on disk. If another process made it
    in the meantime, that one is kept. What dead builds left behind is removed.
    """
    folder = graph_folder(source, root)
    staging.sweep(folder.parent)
    with staging.folder(folder) as new:
        from ark.graph.write import write_graph

        manifest = write_graph(source, new)
        said = source.provenance()
        wanted = said.content_hash
        if wanted is not None and wanted != manifest["content_hash"]:
            if said.stated_in is not None:
                raise UserError(
                    f"{said.stated_in} says content_hash {str(wanted)[:16]}..., and the files "
                    f"beside it give {manifest['content_hash'][:16]}...: they were changed; export "
                    "them again, or delete content_hash there to take them as they are"
                )
            raise ArkError(
                f"graph {source.name!r} came out with content hash {manifest['content_hash']} "
                f"instead of {wanted}: its conversion is not deterministic here; please report "
                "this with your versions of Python and pyarrow"
            )
    return folder
