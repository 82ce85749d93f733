"""Anybody's graph from two tables in a folder.

``nodes.parquet`` or ``nodes.csv``: id, type, name, text; optional aliases and attrs.
``edges.parquet`` or ``edges.csv``: source, target, type; optional attrs.

Ids are compared as strings, so 7 in one file is "7" in the other. Row order is node order and
edge order. A missing text is empty, an empty name becomes the id. Aliases are a list of strings,
or its JSON text; attrs are the JSON text of an object whose values are scalars or lists of
scalars (a null is no attribute); an empty cell is none of either. In CSV files every cell is a
string: "NA" and "null" are those words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ark.errors import UserError, unknown
from ark.graph.data import GraphData, Provenance, file_hashes, source_key
from ark.graph.sources import columns

_CONVERTER = 1
_SUFFIXES = (".parquet", ".csv")
_SHOWN = 5


@dataclass(frozen=True)
class TableSource:
    """The graph in the folder ``path``.

    ``same_as`` names the edge type that links nodes which are one answer. ``name``, ``licence``
    and ``credit`` go into the manifest.
    """

    path: Path
    name: str = "table"
    same_as: str | None = None
    licence: str = "not stated"
    credit: str = ""

    def key(self) -> str:
        """Changes with the two files and with every setting but the path."""
        return source_key(
            _CONVERTER,
            self._hashes,
            same_as=self.same_as,
            licence=self.licence,
            credit=self.credit,
        )

    def provenance(self) -> Provenance:
        """What the user said about the tables."""
        credit = self.credit or f"Graph from tables given by the user (licence: {self.licence})"
        return Provenance(
            origin=f"tables {', '.join(self._hashes)} given by the user",
            version=self.key()[:12],
            licence=self.licence,
            credit=credit,
            notice=f"Made from tables given by the user.\nLicence: {self.licence}\n{credit}",
            files=self._hashes,
        )

    def read(self) -> GraphData:
        """Reads both tables. Raises UserError for whatever is wrong with them."""
        nodes_file, edges_file = self._files
        nodes = columns.Columns.read(nodes_file, ("id", "type", "name", "text"))
        edges = columns.Columns.read(edges_file, ("source", "target", "type"))
        ids = nodes.required("id")
        _refuse_duplicates(nodes_file, ids)
        types, names = nodes.required("type"), nodes.text("name")
        relation, relations = _numbered(edges.required("type"))
        if self.same_as is not None and self.same_as not in relations:
            raise UserError(unknown(f"edge type in {edges_file}", self.same_as, relations))
        source, target = _ends(edges_file, ids, edges)
        return GraphData(
            ids=ids,
            types=types,
            names=pc.if_else(pc.equal(names, ""), ids, names),
            texts=nodes.text("text"),
            source=source,
            relation=relation,
            target=target,
            relations=relations,
            aliases=nodes.aliases("aliases"),
            attrs=nodes.attrs("attrs"),
            edge_attrs=edges.attrs("attrs"),
            same_as=self.same_as,
        )

    @cached_property
    def _files(self) -> tuple[Path, Path]:
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise UserError(
                f"graph 'table' needs a folder with nodes and edges as .parquet or .csv: "
                f"{folder} is {'a file' if folder.exists() else 'missing'}; give graph.path=FOLDER"
            )
        return _find(folder, "nodes"), _find(folder, "edges")

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return file_hashes(self._files)


def _find(folder: Path, stem: str) -> Path:
    found = [folder / f"{stem}{s}" for s in _SUFFIXES if (folder / f"{stem}{s}").is_file()]
    names = " or ".join(f"{stem}{s}" for s in _SUFFIXES)
    if not found:
        raise UserError(f"graph 'table' needs {names} in {folder}: add the file")
    if len(found) > 1:
        raise UserError(f"graph 'table' found {names} both in {folder}: keep one of them")
    return found[0]


def _refuse_duplicates(file: Path, ids: pa.Array) -> None:
    counts = pc.value_counts(ids)  # in the order of first occurrence
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        raise UserError(
            f"{file}: {len(twice)} ids occur more than once, first {_some(twice)}: "
            "give every node its own id"
        )


def _numbered(values: pa.Array) -> tuple[NDArray[np.integer], tuple[str, ...]]:
    """Each value's position among the distinct values in ascending order."""
    encoded = values.dictionary_encode()
    found = encoded.dictionary.to_pylist()
    names = tuple(sorted(found))
    place: Mapping[str, int] = {name: i for i, name in enumerate(names)}
    number = np.array([place[name] for name in found], dtype=np.int32)
    return number[encoded.indices.to_numpy()], names


def _ends(
    file: Path, ids: pa.Array, edges: columns.Columns
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Rows of both ends of every edge."""
    source, target = edges.required("source"), edges.required("target")
    rows = [pc.index_in(column, value_set=ids) for column in (source, target)]
    lost = pc.or_(pc.is_null(rows[0]), pc.is_null(rows[1]))
    count = pc.sum(lost).as_py() or 0
    if count:
        first = np.flatnonzero(lost.to_numpy(zero_copy_only=False))[:_SHOWN]
        shown = ", ".join(f"{source[i].as_py()} -> {target[i].as_py()}" for i in first.tolist())
        raise UserError(
            f"{file}: {count} edges name a node that the node table lacks, first {shown}: "
            f"add the nodes or drop the edges{_float_hint(ids, source, target)}"
        )
    return rows[0].to_numpy(), rows[1].to_numpy()


def _float_hint(ids: pa.Array, *ends: pa.Array) -> str:
    for column in ends:
        cut = pc.replace_substring_regex(column, r"\.0$", "")
        changed = pc.and_(pc.not_equal(cut, column), pc.is_in(cut, value_set=ids))
        if pc.any(changed).as_py():
            return " (ids are compared as strings: '7.0' is not '7')"
    return ""


def _some(values: pa.Array) -> str:
    return ", ".join(repr(v) for v in values.slice(0, _SHOWN).to_pylist())
