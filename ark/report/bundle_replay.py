"""A reading computed again from what a bundle holds: no graph, no texts, no calls.

The functions are those of the runner; only the graph is a small table, and the search a stored
list. ``Contents`` is what members say, ``Replay`` one reading of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

from ark.errors import UserError
from ark.protocols import Nodes, Relevance
from ark.records import MAX_RANKED, AgentLine, Hit, Json, Query
from ark.report import bundle_archive as names
from ark.report import bundle_records as records
from ark.report.export import qrels, trec_run
from ark.report.finished import Finished
from ark.run.identity import Identity
from ark.run.journal import Entries
from ark.run.readings import Scored, read
from ark.run.result import per_query_csv, result
from ark.run.spec import Reading, stored_reading

FORMAT = 1  # of bundles
_K = TypeVar("_K")
_V = TypeVar("_V")
DERIVED = ("run_id", "cell_id", "identity", "reading")  # of ``cell``; the rest are labels


class NodeTable:
    """The part of a graph that scoring asks for, of the nodes that a run names."""

    def __init__(self, rows: Sequence[tuple[str, str, str | None]]) -> None:
        self._rows = rows
        self._index = {node_id: i for i, (node_id, _, _) in enumerate(rows)}
        if len(self._index) != len(rows):
            raise ValueError(f"{names.NODES}: a node stands twice")
        for node_id, _, first in rows:
            if first is not None and (first not in self._index or first == node_id):
                raise ValueError(f"{names.NODES}: the equal of {node_id!r} is not there")

    def __len__(self) -> int:
        return len(self._rows)

    def id(self, i: int) -> str:
        """Id of a row."""
        return self._rows[i][0]

    def type(self, i: int) -> str:
        """Type of a row."""
        return self._rows[i][1]

    def index(self, node_id: str) -> int:
        """Row of an id. Raises KeyError."""
        return self._index[node_id]

    def canonical(self, i: int) -> int:
        """Row of the first equal node."""
        first = self._rows[i][2]
        return i if first is None else self._index[first]


class StoredSearch:
    """A ``Relevance`` that knows one list for each question and answers nothing else."""

    def __init__(self, found: Mapping[str, Sequence[str]], graph: Nodes) -> None:
        self._found, self._graph = found, graph

    def search(self, query: str, k: int) -> list[Hit]:
        """The stored list; at most ``k`` of it."""
        ids = self._found.get(query, ())[:k]
        return [Hit(self._graph.index(node), float(-rank)) for rank, node in enumerate(ids)]


@dataclass(frozen=True)
class Contents:
    """What a bundle says, checked for form and not yet for truth."""

    about: Mapping[str, Json]
    run: Mapping[str, Json]
    queries: list[Query]
    graph: NodeTable
    entries: Entries
    results: Mapping[str, Mapping[str, Json]]
    backfill: Mapping[str, Mapping[str, tuple[str, ...]]]  # cell id -> question id -> node ids

    def replay(self, cell_id: str) -> Replay:
        """One of its readings."""
        data = self.results[cell_id]
        reading, types = stored_reading(data["cell"]["reading"])
        found = self.backfill.get(cell_id, {})
        by_text = {q.text: found[q.id] for q in self.queries if q.id in found}
        search = cast(Relevance, StoredSearch(by_text, self.graph))
        seed = int(self.run["seed"])
        return Replay(
            data, self.graph, self.queries, self.entries, reading, types, seed, self.run, search
        )


@dataclass(frozen=True)
class Replay:
    """One reading, and all that follows from it. ``graph`` may be a whole graph as well."""

    data: Mapping[str, Json]
    graph: Nodes
    queries: list[Query]
    entries: Entries
    reading: Reading
    candidate_types: tuple[str, ...] | None
    seed: int
    run: Mapping[str, Json]
    search: Relevance

    @cached_property
    def rows(self) -> list[Scored]:
        """Every question under this reading."""
        return self._read(self.reading)

    def scored(self, cut: int) -> list[Scored]:
        """The same with another cut. Backfilled lists keep theirs: no more of them is stored."""
        if self.reading.backfill != "none" or cut == self.reading.cut:
            return self.rows
        return self._read(replace(self.reading, cut=cut))

    def _read(self, reading: Reading) -> list[Scored]:
        return read(
            self.entries,
            self.queries,
            self.graph,
            reading,
            self.candidate_types,
            self.seed,
            self.search,
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

    def result(self) -> dict[str, Json]:
        """The parts of result.json that are a pure function of the journal and the labels."""
        cell = self.data["cell"]
        labels = {name: value for name, value in cell.items() if name not in DERIVED}
        return result(Identity(self.run, cell["reading"]), labels, self.reading, self.rows)

    def files(self) -> dict[str, bytes]:
        """per_query.csv, and the TREC files where ids can stand in them and lists were made."""
        out = {names.PER_QUERY: per_query_csv(self.rows).encode("utf-8", "replace")}
        run = cast(Finished, self)  # it has what export asks for
        try:
            found = {names.TREC: trec_run(run).encode(), names.QRELS: qrels(run).encode()}
        except UserError:  # an id with a space in it: these forms cannot hold it
            return out
        out.update({name: data for name, data in found.items() if data})
        return out


def load(members: Mapping[str, bytes]) -> Contents:
    """What the members say. Raises ValueError, KeyError or TypeError where they are malformed."""
    entries = Entries()
    for line in records.parse_lines(names.JOURNAL, members[names.JOURNAL], records.journal_line):
        if isinstance(line, AgentLine):
            _put(entries.agents, (line.query, line.agent), line)
        else:
            _put(entries.outcomes, line.query, line)
    queries = records.parse_lines(names.QUESTIONS, members[names.QUESTIONS], records.question)
    if not queries or len({q.id for q in queries}) != len(queries):
        raise ValueError(f"{names.QUESTIONS}: no question, or one twice")
    results, backfill = {}, {}
    for cell_id in names.cells_of(members):
        results[cell_id] = records.strict_json(members[names.in_reading(cell_id, names.RESULT)])
        stored = names.in_reading(cell_id, names.BACKFILL)
        if stored in members:
            backfill[cell_id] = dict(records.parse_lines(stored, members[stored], _found))
    return Contents(
        about=records.strict_json(members[names.ABOUT]),
        run=records.strict_json(members[names.RUN]),
        queries=queries,
        graph=NodeTable(records.parse_lines(names.NODES, members[names.NODES], records.node)),
        entries=entries,
        results=results,
        backfill=backfill,
    )


def _put(table: dict[_K, _V], key: _K, value: _V) -> None:
    if key in table:
        raise ValueError(f"{names.JOURNAL}: two lines of {key!r}")
    table[key] = value


def _found(row: Json) -> tuple[str, tuple[str, ...]]:
    query, nodes = row
    found = tuple(nodes)
    if not all(isinstance(each, str) for each in (query, *found)) or len(found) > MAX_RANKED:
        raise ValueError("not a question with at most 100 nodes")
    return query, found
