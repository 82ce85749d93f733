"""A finished run opened again from its folder: its lists, longer ones too, without any call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.records import Json, Query
from ark.run.journal import read_journal
from ark.run.readings import Scored, read
from ark.run.spec import Reading, stored_reading
from ark.search import BM25, BM25Settings


@dataclass(frozen=True)
class Finished:
    """One reading of a run: ``path`` is its result.json, ``data`` what stands in it."""

    path: Path
    data: Mapping[str, Json]
    graph: KnowledgeGraph
    reading: Reading
    candidate_types: tuple[str, ...] | None
    seed: int
    searched: BM25Settings

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.path.parents[2]

    @cached_property
    def queries(self) -> list[Query]:
        """The questions of the split with their gold, in stored order."""
        lines = (self.folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
        return [
            Query(
                id=row["id"],
                text=row["text"],
                answer_ids=tuple(row["answer_ids"]),
                split=str(self.data["cell"]["split"]),
                answer_type=row.get("answer_type"),
            )
            for row in rows
        ]

    def scored(self, cut: int | None = None) -> list[Scored]:
        """Every question under this reading, or under the same with another cut (at most 100).

        Raises UserError where the reading averages over choices of agents: it has no one list.
        """
        reading = self.reading if cut is None else replace(self.reading, cut=cut)
        if reading.lists > reading.agents:
            raise UserError(
                f"{self.path} is a mean over choices of {reading.agents} of {reading.lists} agents "
                "and has no one ranking; take the reading with all of them"
            )
        backfill = reading.backfill == "bm25"
        search = BM25.open_or_build(self.graph, data_root(), self.searched) if backfill else None
        return read(
            read_journal(self.folder),
            self.queries,
            self.graph,
            reading,
            self.candidate_types,
            self.seed,
            search,
        )

    def types_of(self, query: Query) -> tuple[str, ...] | None:
        """The candidate types of a question; None for all."""
        if self.reading.candidates == "answer_type":
            return (str(query.answer_type),)
        return self.candidate_types

    def gold(self, query: Query) -> list[int]:
        """Rows of the distinct answers that are candidates, ascending."""
        types = self.types_of(query)
        rows = [self.graph.index(answer) for answer in query.answer_ids]
        kept = [i for i in rows if types is None or self.graph.type(i) in types]
        return sorted({self.graph.canonical(i) for i in kept})

    def candidates(self, types: tuple[str, ...] | None) -> list[int]:
        """Rows of the distinct answers of these types, ascending."""
        rows: Iterable[int] = range(self.graph.n_nodes)
        if types is not None:
            rows = np.concatenate([self.graph.of_type(t) for t in types]).tolist()
        return sorted({self.graph.canonical(i) for i in rows})


def open_finished(path: Path) -> Finished:
    """Open a reading: its result.json, its folder, or a run folder that holds only one.

    Raises UserError where that is no finished run, where a run has several readings, and where
    the graph is not among those built here.
    """
    file = _result(Path(path))
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        run, reading = data["cell"]["identity"], data["cell"]["reading"]
        made, candidate_types = stored_reading(reading)
        known, given = {f.name for f in fields(BM25Settings)}, run["search"]
        searched = BM25Settings(**{name: given[name] for name in known & set(given)})
        name, content = run["graph"]["source"], run["graph"]["content_hash"]
        seed = int(run["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is no result.json of a run ({error!r})") from None
    graph = _graph(name, content)
    return Finished(file, data, graph, made, candidate_types, seed, searched)


def _result(path: Path) -> Path:
    if path.is_file():
        return path.absolute()
    if (path / "result.json").is_file():
        return (path / "result.json").absolute()
    found = sorted(path.glob("readings/*/result.json"))
    if len(found) == 1:
        return found[0].absolute()
    if found:
        some = ", ".join(file.parent.name for file in found[:4])
        raise UserError(f"{path} has {len(found)} readings: give one, {path}/readings/ + {some}")
    raise UserError(f"{path} is no finished run: give results/runs/NAME or a result.json in it")


def _graph(name: str, content: str) -> KnowledgeGraph:
    """The built graph of this content, whatever settings it was built with."""
    for manifest in sorted((data_root() / "graphs").glob("*/manifest.json")):
        try:
            known = json.loads(manifest.read_text(encoding="utf-8")).get("content_hash")
        except (OSError, ValueError):
            continue
        if known == content:
            return KnowledgeGraph.open(manifest.parent)
    raise UserError(
        f"the graph of this run ({name}, content {content[:12]}) is not under {data_root()}: "
        "run the cell again first, or set ARK_DATA"
    )
