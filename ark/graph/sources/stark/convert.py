"""Converts the files of one STaRK graph. Imported only to build."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph.data import GraphData
from ark.graph.sources.stark import names
from ark.graph.sources.stark.nodes import AttrColumn, TextColumn, node_attrs, node_name
from ark.graph.sources.stark.official_view import Edges, counted, loaded_edges
from ark.graph.sources.stark.relations import Relations
from ark.graph.sources.stark.torch_file import load_tensor
from ark.graph.sources.stark.unpickle import load_pickle, without_gc

_SMALL = 1 << 20  # bytes of a pickle with a few names


@dataclass(frozen=True)
class Options:
    """What of a conversion can be chosen (see ``StarkSource``)."""

    version: str = "1.1.0"
    quirks: str = "official"
    add_rel: bool = False
    view: str = "stored"
    strict: bool = False


def convert(
    bench: names.Benchmark, files: Mapping[str, Path], options: Options, scratch: Path
) -> GraphData:
    """The graph in ``files`` (by base name). Node ids are the row numbers of the release.

    ``scratch`` is a folder on the disk for texts until they are stored. Records are freed as their
    nodes are written, so that the largest moment is the one after unpickling. Raises UserError,
    one line, for files that do not belong together or hold something else.
    """
    return _Conversion(bench, files, options, scratch).run()


class _Conversion:
    def __init__(
        self, bench: names.Benchmark, files: Mapping[str, Path], options: Options, scratch: Path
    ) -> None:
        self.bench, self.files, self.options, self.scratch = bench, files, options, scratch

    def run(self) -> GraphData:
        """Small files first: what is wrong with them shows before minutes are spent."""
        node_types = self.names_in(names.TYPE_NAMES, self.bench.node_types)
        relations = self.names_in(names.RELATION_NAMES, self.bench.relations)
        type_ids = self.numbers(names.TYPES, len(node_types), 1)
        n = len(type_ids)
        ends = self.numbers(names.INDEX, n, 2)
        relation = self.numbers(names.RELATIONS, len(relations), 1)
        if len(ends) != 2 or ends.shape[1] != len(relation):
            self.wrong(
                f"{names.INDEX} has shape {list(ends.shape)} and {names.RELATIONS} "
                f"{len(relation)} values"
            )
        edges = (ends[0], relation, ends[1])
        sizes = np.bincount(type_ids, minlength=len(node_types)).tolist()
        per_type = dict(zip(node_types, sizes, strict=True))
        notes = self.notes(n, per_type, relations, edges)
        types = pa.DictionaryArray.from_arrays(type_ids.astype(np.int32), list(node_types))
        column_of = self.nodes([node_types[t] for t in type_ids.tolist()], relations, edges)
        if self.options.view == "official":
            edges = loaded_edges(*edges, n, len(relations))
        return GraphData(
            ids=pa.array(np.arange(n)).cast(pa.string()),
            types=types,
            source=edges[0],
            relation=edges[1],
            target=edges[2],
            relations=relations,
            notes=notes,
            **column_of,
        )

    def nodes(self, types: list[str], relations: tuple[str, ...], edges: Edges) -> dict[str, Any]:
        """Names, texts and attributes, from the records."""
        graph, options = self.bench.name, self.options
        documents = documents_of(graph)
        info = self.records(len(types))
        appended: Relations | None = None
        if options.add_rel:
            labels = [documents.label(info[i], types[i]) for i in range(len(types))]
            appended = Relations(
                self.bench, documents, labels, types, relations, edges, options.quirks
            )
        labels_, texts, attrs = self.column(), self.column(), AttrColumn()
        with without_gc():
            for i, node_type in enumerate(types):
                record = info.pop(i)
                labels_.append(node_name(documents.label(record, node_type), i))
                text = documents.document(
                    record, node_type, version=options.version, quirks=options.quirks
                )
                texts.append(text + appended.text(i) if appended else text)
                attrs.append(node_attrs(graph, record))
        return {"names": labels_.finish(), "texts": texts.finish(), "attrs": attrs.finish()}

    def column(self) -> TextColumn:
        """A new column of texts."""
        try:
            self.scratch.mkdir(parents=True, exist_ok=True)
            return TextColumn(self.scratch)
        except OSError as error:
            raise UserError(
                f"cannot write to {self.scratch} ({error.strerror}): set ARK_DATA to another folder"
            ) from error

    def records(self, n: int) -> dict[int, dict[str, Any]]:
        """``node_info``: one dict for each of the ids 0 to n - 1."""
        info = load_pickle(self.files[names.INFO], max_bytes=self.bench.max_file)
        if not isinstance(info, dict) or len(info) != n:
            held = f"{len(info)} nodes" if isinstance(info, dict) else type(info).__name__
            self.wrong(f"{names.INFO} holds {held} and {names.TYPES} {n} values")
        for i in range(n):
            if not isinstance(info.get(i), dict):
                self.wrong(f"{names.INFO} has no record of node {i}: ids go from 0 to {n - 1}")
        return info

    def numbers(self, name: str, limit: int, dimensions: int) -> NDArray[np.integer]:
        """A tensor of numbers from 0 to ``limit`` - 1."""
        found: Any = load_tensor(self.files[name])
        if found.ndim != dimensions:
            self.wrong(f"{name} has {found.ndim} dimensions instead of {dimensions}")
        if found.dtype.kind == "f" and np.array_equal(found, np.trunc(found)):
            found = found.astype(np.int64)  # an early AMAZON wrote its types so
        if found.dtype.kind not in "iu":
            self.wrong(f"{name} holds {found.dtype} instead of whole numbers")
        if found.size and not 0 <= int(found.min()) <= int(found.max()) < limit:
            self.wrong(
                f"{name} has values from {found.min()} to {found.max()}, outside 0..{limit - 1}"
            )
        numbers: NDArray[np.integer] = found
        return numbers

    def names_in(self, file: str, expected: tuple[str, ...]) -> tuple[str, ...]:
        """Names by number. Older AMAZON graphs have fewer; names of another graph are refused."""
        if not self.bench.stored_names:
            return expected
        found = load_pickle(self.files[file], max_bytes=_SMALL)
        if not isinstance(found, dict) or sorted(map(repr, found)) != sorted(
            map(repr, range(len(found)))
        ):
            self.wrong(f"{file} does not number its names from 0")
        listed = tuple(found[i] for i in range(len(found)))
        strange = [name for name in listed if name not in expected]
        if strange or len(set(listed)) != len(listed):
            self.wrong(f"{file} names {str(strange or listed)[:80]}, which is another graph's")
        return listed

    def notes(
        self, n: int, per_type: dict[str, int], relations: tuple[str, ...], edges: Edges
    ) -> dict[str, Any]:
        """What goes into the manifest: counts as the package loads them, and whether they match."""
        counts = counted(n, per_type, relations, edges)
        bench = self.bench
        pairs = [("nodes", n, bench.nodes), ("edges", counts["edges"], bench.edges)]
        pairs += [(t, per_type.get(t, 0), k) for t, k in bench.per_type.items()]
        different = [f"{k:,} {what} instead of {w:,}" for what, k, w in pairs if k != w]
        if different and self.options.strict:
            self.wrong(f"it has {'; '.join(different)} (graph.strict=false takes it all the same)")
        return {
            "counts_match_official": not different,
            "counts_as_loaded_by_stark_qa": counts,
            "documents": {
                "version": self.options.version,
                "quirks": self.options.quirks,
                "add_rel": self.options.add_rel,
            },
            "view": self.options.view,
        }

    def wrong(self, what: str) -> NoReturn:
        """Raises the error for files that are not those of one release of this graph."""
        folder = self.files[names.INFO].parent
        raise UserError(
            f"graph {self.bench.name!r}: {folder}: {what}: unpack {self.bench.archive} of "
            f"{names.DATASET} there once more"
        )


def documents_of(graph: str) -> ModuleType:
    """The module that writes this graph's documents."""
    return importlib.import_module(f"ark.graph.sources.stark.documents_{graph}")
