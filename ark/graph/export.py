"""Writes a built graph as plain files: the form that ``graph=files`` reads back to the same hash.

The form is described in docs/graphs/files.md. Rows are written as they are read from the store, so
that a graph of any size needs little memory, and the folder appears whole or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ark.errors import UserError, unknown
from ark.graph import layout, staging
from ark.graph.store import KnowledgeGraph

FORM = 1
NODES, EDGES, SCHEMA = "nodes.jsonl", "edges.tsv", "schema.json"
NEGATIVES, SYNONYMS, CANDIDATES = "negatives.tsv", "synonyms.tsv", "candidate_ids.txt"
EDGE_COLUMNS = ("source", "relation", "target")
SYNONYM_COLUMNS = ("id", "synonym", "held_out")

_BLOCK = 1 << 17  # edges written at a time
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {v: k for k, v in _ESCAPES.items()}


def escaped(cell: str) -> str:
    r"""A cell of a TSV file: backslash, tab and ends of lines as ``\\``, ``\t``, ``\n``, ``\r``."""
    return re.sub(r"[\\\t\n\r]", lambda m: _ESCAPES[m[0]], cell)


def unescaped(cell: str) -> str:
    """The inverse of ``escaped``; other backslashes stay."""
    return re.sub(r"\\[\\tnr]", lambda m: _PLAIN[m[0]], cell)


def export_files(
    graph: KnowledgeGraph, out: Path, candidate_types: Sequence[str] | None = None
) -> Path:
    """Writes ``graph`` into the new folder ``out`` and returns it.

    ``candidate_types`` are the types that may be answers; with them ``candidate_ids.txt`` is
    written. Raises UserError if ``out`` exists or cannot be written, or for an unknown type.
    """
    out = Path(out).expanduser().absolute()
    for name in candidate_types or ():
        if name not in graph.node_types:
            raise UserError(unknown("graph.candidate_types", name, graph.node_types))
    if out.exists():
        raise UserError(f"{out} exists already: delete it or choose another folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with staging.folder(out) as new:
            _write(new, graph, candidate_types)
    except OSError as error:
        raise UserError(f"cannot write {out} ({error.strerror}): choose another folder") from error
    return out


def _write(new: Path, graph: KnowledgeGraph, candidate_types: Sequence[str] | None) -> None:
    _lines(new / NODES, (_node(graph, i) for i in range(graph.n_nodes)))
    _lines(new / EDGES, _edges(graph))
    negatives = graph.negatives()
    if negatives:
        _lines(new / NEGATIVES, _tsv(EDGE_COLUMNS, negatives))
    if layout.SYNONYMS in graph.manifest["files"]:
        rows = zip(*(c.to_pylist() for c in _table(graph, layout.SYNONYMS).columns), strict=True)
        cells = ((i, synonym, "true" if held else "false") for i, synonym, held in rows)
        _lines(new / SYNONYMS, _tsv(SYNONYM_COLUMNS, cells))
    if candidate_types:
        kept = np.sort(np.concatenate([graph.of_type(t) for t in candidate_types]))
        _lines(new / CANDIDATES, (escaped(graph.id(int(i))) for i in kept))
    schema = json.dumps(_schema(graph), ensure_ascii=False, indent=1)
    (new / SCHEMA).write_text(schema + "\n", encoding="utf-8", newline="\n")


def _schema(graph: KnowledgeGraph) -> dict[str, Any]:
    manifest = graph.manifest
    notice = (graph.path / layout.LICENSE).read_text(encoding="utf-8")
    said = {key: manifest.get(key, "") for key in ("name", "version", "licence", "credit")}
    return {
        "form": FORM,
        "node_types": list(graph.node_types),
        "relations": list(graph.relations),
        "same_as": manifest.get("same_as"),
        "provenance": {**said, "notice": notice.rstrip("\n")},
        "counts": {"nodes": graph.n_nodes, "edges": graph.n_edges},
        "content_hash": graph.content_hash,
    }


def _node(graph: KnowledgeGraph, i: int) -> str:
    node = graph.node(i)
    row: dict[str, Any] = {"id": node.id, "type": node.type, "name": node.name, "text": node.text}
    if node.aliases:
        row["aliases"] = node.aliases
    if node.attrs:
        row["attrs"] = node.attrs
    return _json(row)


def _edges(graph: KnowledgeGraph) -> Iterator[str]:
    columns = [
        np.load(graph.path / f"edge_{name}.npy", mmap_mode="r", allow_pickle=False)
        for name in EDGE_COLUMNS
    ]
    ids = pa.array((escaped(graph.id(i)) for i in range(graph.n_nodes)), pa.large_string())
    relations = pa.array([escaped(name) for name in graph.relations], pa.large_string())
    attrs = layout.EDGES in graph.manifest["files"]
    yield "\t".join((*EDGE_COLUMNS, "attrs") if attrs else EDGE_COLUMNS)
    tab = pa.scalar("\t", pa.large_string())
    for start in range(0, graph.n_edges, _BLOCK):
        source, relation, target = (np.asarray(c[start : start + _BLOCK]) for c in columns)
        names = ids.take(pa.array(source)), relations.take(pa.array(relation))
        rows = pc.binary_join_element_wise(*names, ids.take(pa.array(target)), tab).to_pylist()
        if not attrs:
            yield from rows
            continue
        for number, row in enumerate(rows, start):
            found = graph.edge_attrs(number)
            yield f"{row}\t{escaped(_json(found)) if found else ''}"


def _tsv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "\t".join(columns)
    for row in rows:
        yield "\t".join(map(escaped, row))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line)
            file.write("\n")


def _table(graph: KnowledgeGraph, name: str) -> pa.RecordBatch:
    with pa.memory_map(str(graph.path / name)) as file:
        return pa.ipc.open_file(file).get_batch(0)
