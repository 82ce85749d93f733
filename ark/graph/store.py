"""The graph store: a folder built once, then opened memory-mapped by any number of processes."""

from __future__ import annotations

import json
import operator
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ark.graph import layout
from ark.graph.manifest import broken, read_manifest
from ark.graph.merge import merged
from ark.graph.synonyms import by_node
from ark.protocols import Ints
from ark.records import Attr, Edge, Node

_Stored = NDArray[np.int32]


class KnowledgeGraph:
    """A graph folder as a ``Graph``. Opening reads kilobytes; the rest is paged in on use.

    Immutable and safe to share between threads. Get one from ``open`` or ``open_or_build``.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], schema: dict[str, Any]) -> None:
        self._path = path
        self._manifest = manifest
        self._schema = schema
        self._relations = tuple(str(row["name"]) for row in schema["relations"])
        self._node_types = tuple(str(row["name"]) for row in schema["types"])
        self._relation_number = {name: i for i, name in enumerate(self._relations)}
        self._type_number = {name: i for i, name in enumerate(self._node_types)}
        self._n = int(manifest["counts"]["nodes"])
        self._m = int(manifest["counts"]["edges"])
        nodes = _table(path / layout.NODES)
        self._ids, self._names, self._texts = (
            _Texts(nodes.column(c)) for c in ("id", "name", "text")
        )
        self._aliases, self._attrs = nodes.column("aliases"), nodes.column("attrs")
        self._type_ids = _array(path, "type_ids")
        self._id_order = _array(path, "id_order")
        self._type_rows, self._type_indptr = _array(path, "type_rows"), _array(path, "type_indptr")
        self._canonical = _array(path, "canonical") if "canonical.npy" in self._files else None
        self._edge = tuple(_array(path, f"edge_{c}") for c in ("source", "relation", "target"))
        self._out = _Csr(path, "out", "target")
        self._in = _Csr(path, "in", "source")

    @classmethod
    def open(cls, path: Path) -> KnowledgeGraph:
        """Opens a built folder.

        Raises UserError if the folder is missing, was not built to its end, has another format
        or lacks a file. File sizes are compared, file contents are not.
        """
        path = Path(path)
        manifest = read_manifest(path)
        try:
            schema = json.loads((path / layout.SCHEMA).read_text(encoding="utf-8"))
            return cls(path, manifest, schema)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise broken(path, f"cannot be read ({type(error).__name__}: {error})") from error

    def __repr__(self) -> str:
        return f"KnowledgeGraph({str(self._path)!r}, nodes={self._n}, edges={self._m})"

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    @property
    def manifest(self) -> dict[str, Any]:
        """``manifest.json``: name, source, version, licence, credit, hashes, counts."""
        return self._manifest

    @property
    def schema(self) -> dict[str, Any]:
        """``schema.json``: types, relations and signatures, with counts."""
        return self._schema

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self._n

    @property
    def n_edges(self) -> int:
        """Number of edges, parallel ones counted each."""
        return self._m

    @property
    def node_types(self) -> tuple[str, ...]:
        """Type names in ascending order; ``type_ids`` holds positions in it."""
        return self._node_types

    @property
    def relations(self) -> tuple[str, ...]:
        """Relation names in the source's order; relation numbers are positions in it."""
        return self._relations

    @property
    def signatures(self) -> tuple[tuple[str, str, str], ...]:
        """(source type, relation, target type) of all edges, each once."""
        rows = self._schema["signatures"]
        return tuple((s["source"], s["relation"], s["target"]) for s in rows)

    @property
    def content_hash(self) -> str:
        """sha256 of the logical content (see ``ark.graph.content``)."""
        return str(self._manifest["content_hash"])

    @property
    def type_ids(self) -> NDArray[np.int32]:
        """int32[n_nodes], mapped read-only: the type number of every node."""
        return self._type_ids

    def node(self, i: int) -> Node:
        """All that is stored about node ``i``."""
        return Node(
            index=int(i),
            id=self.id(i),
            type=self.type(i),
            name=self.name(i),
            text=self.text(i),
            aliases=self.aliases(i),
            attrs=self.attrs(i),
        )

    def id(self, i: int) -> str:
        """Public id of node ``i``."""
        return self._ids[self._row(i)]

    def name(self, i: int) -> str:
        """Name of node ``i``; several nodes may share it."""
        return self._names[self._row(i)]

    def type(self, i: int) -> str:
        """Type name of node ``i``."""
        return self._node_types[int(self._type_ids[self._row(i)])]

    def text(self, i: int) -> str:
        """Text of node ``i``, empty where there is none."""
        return self._texts[self._row(i)]

    def aliases(self, i: int) -> tuple[str, ...]:
        """Other names of node ``i``."""
        return tuple(self._aliases[self._row(i)].as_py())

    def attrs(self, i: int) -> dict[str, Attr]:
        """Attributes of node ``i``: scalars or tuples of scalars."""
        return layout.decode_attrs(self._attrs[self._row(i)])

    def index(self, node_id: str) -> int:
        """Row of an id, by binary search. Raises KeyError."""
        order, ids = self._id_order, self._ids
        if node_id.isascii() and node_id.isdecimal() and len(node_id) < 10:
            row = int(node_id)  # STaRK's ids are rows: no search
            if row < self._n and ids[row] == node_id:
                return row
        at = bisect_left(range(self._n), node_id, key=lambda k: ids[int(order[k])])
        if at < self._n:
            row = int(order[at])
            if ids[row] == node_id:
                return row
        raise KeyError(node_id)

    def canonical(self, i: int) -> int:
        """Smallest row among the nodes that are the same answer as ``i``."""
        row = self._row(i)
        return row if self._canonical is None else int(self._canonical[row])

    def of_type(self, node_type: str) -> Ints:
        """All nodes of a type, ascending. Raises KeyError for an unknown type."""
        number = self._type_number[node_type]
        start, stop = self._type_indptr[number], self._type_indptr[number + 1]
        return self._type_rows[start:stop].astype(np.int64)

    def out_edges(self, i: int) -> tuple[Ints, Ints, Ints]:
        """(targets, relation numbers, edge numbers), sorted in this order of keys."""
        return self._out.row(self._row(i))

    def in_edges(self, i: int) -> tuple[Ints, Ints, Ints]:
        """(sources, relation numbers, edge numbers), sorted in this order of keys."""
        return self._in.row(self._row(i))

    def degree(self, i: int) -> int:
        """Number of edges that leave or enter ``i``; a loop counts twice."""
        row = self._row(i)
        return self._out.count(row) + self._in.count(row)

    def neighbors(
        self, i: int, *, relation: str | None = None, node_type: str | None = None
    ) -> Ints:
        """Distinct neighbours in either direction, without ``i`` itself, ascending.

        Raises KeyError for an unknown relation or type.
        """
        row = self._row(i)
        wanted = None if relation is None else self._relation_number[relation]
        near: Ints = merged(self._out.neighbors(row, wanted), self._in.neighbors(row, wanted))
        near = near[near != row]
        if node_type is not None:
            near = near[self._type_ids[near] == self._type_number[node_type]]
        return near

    def edge(self, number: int) -> Edge:
        """The edge with this number. Raises IndexError."""
        row = self._edge_row(number)
        source, relation, target = (int(column[row]) for column in self._edge)
        return Edge(row, source, self._relations[relation], target)

    def edge_attrs(self, number: int) -> Mapping[str, Attr]:
        """Attributes of an edge, empty where there are none. Raises IndexError."""
        row = self._edge_row(number)
        if self._edge_attrs is None:
            return {}
        return layout.decode_attrs(self._edge_attrs[row])

    def edges(self) -> tuple[Ints, Ints, Ints]:
        """(sources, relation numbers, targets) of all edges by edge number: int64 copies."""
        source, relation, target = (column.astype(np.int64) for column in self._edge)
        return source, relation, target

    def negatives(self) -> tuple[tuple[str, str, str], ...]:
        """(source id, relation, target id) of statements known to be false; never edges."""
        if layout.NEGATIVES not in self._files:
            return ()
        table = _table(self._path / layout.NEGATIVES)
        return tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def synonyms(self) -> dict[str, tuple[str, ...]]:
        """By node id the aliases that questions may use in place of the name."""
        return self._other_names(held_out=False)

    def held_out(self) -> dict[str, tuple[str, ...]]:
        """By node id the synonyms that no text or alias shows, for composing questions only."""
        return self._other_names(held_out=True)

    def _other_names(self, *, held_out: bool) -> dict[str, tuple[str, ...]]:
        file = self._path / layout.SYNONYMS
        return by_node(file, held_out=held_out) if layout.SYNONYMS in self._files else {}

    @property
    def _files(self) -> Mapping[str, Any]:
        files: Mapping[str, Any] = self._manifest["files"]
        return files

    @cached_property
    def _edge_attrs(self) -> pa.MapArray | None:
        if layout.EDGES not in self._files:
            return None
        return _table(self._path / layout.EDGES).column("attrs")

    def _row(self, i: int) -> int:
        row = operator.index(i)
        if 0 <= row < self._n:
            return row
        raise IndexError(f"node {i} of a graph with {self._n} nodes")

    def _edge_row(self, number: int) -> int:
        row = operator.index(number)
        if 0 <= row < self._m:
            return row
        raise IndexError(f"edge {number} of a graph with {self._m} edges")


class _Csr:
    """One direction of the adjacency."""

    def __init__(self, path: Path, way: str, end: str) -> None:
        self._indptr = _array(path, f"{way}_indptr")
        self._columns = tuple(_array(path, f"{way}_{c}") for c in (end, "relation", "edge"))

    def _slice(self, i: int) -> slice:
        return slice(int(self._indptr[i]), int(self._indptr[i + 1]))

    def count(self, i: int) -> int:
        return int(self._indptr[i + 1]) - int(self._indptr[i])

    def row(self, i: int) -> tuple[Ints, Ints, Ints]:
        span = self._slice(i)
        # int64 although int32 is stored: products such as i * n_nodes must not wrap around.
        near, relation, edge = (column[span].astype(np.int64) for column in self._columns)
        return near, relation, edge

    def neighbors(self, i: int, relation: int | None) -> _Stored:
        span = self._slice(i)
        near = self._columns[0][span]
        return near if relation is None else near[self._columns[1][span] == relation]


class _Texts:
    """Cells of a mapped string column as str, three times faster than through Arrow scalars."""

    def __init__(self, column: pa.Array) -> None:
        _, offsets, data = column.buffers()
        self._ends = memoryview(offsets).cast("q" if column.type == pa.large_string() else "i")
        self._data = memoryview(data if data is not None else b"")
        self._keep = column

    def __getitem__(self, row: int) -> str:
        return str(self._data[self._ends[row] : self._ends[row + 1]], "utf-8")


def _array(path: Path, name: str) -> _Stored:
    # A plain view: slices of numpy.memmap itself cost a microsecond more each.
    mapped: _Stored = np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    return mapped.view(np.ndarray)


def _table(path: Path) -> pa.RecordBatch:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).get_batch(0)
