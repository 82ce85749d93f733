"""The questions beside a graph in plain files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.graph.sources.files import FilesSource
from ark.queries.load import load_queries
from ark.queries.stark import stark_questions
from ark.records import Json, Query


def questions_beside(
    graph: KnowledgeGraph, settings: Mapping[str, Json], split: str | None = None
) -> list[Query]:
    """``queries.csv`` or ``questions.jsonl`` in the folder, or STaRK's ``stark_qa`` and ``split``.

    The latter are read where ``schema.json`` says that the graph was exported from one of STaRK's.
    Raises UserError for missing or broken files, and for answers that the graph lacks.
    """
    source = FilesSource(**settings)
    folder = Path(source.path).expanduser()
    if not (folder / "stark_qa").is_dir():
        return load_queries(folder, graph)
    if source.benchmark is None:
        raise UserError(
            f"{folder}/stark_qa holds questions of STaRK, and schema.json names none of its graphs "
            "as provenance: give queries=FILE"
        )
    return stark_questions(source.benchmark, folder, graph=graph, split=split)
