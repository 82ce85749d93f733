"""Writes the files of a graph folder. Imported only to build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ark.graph import layout
from ark.graph.content import content_hash
from ark.graph.data import GraphData, GraphSource, Strings, file_hashes
from ark.graph.schema import describe

_Int32 = NDArray[np.int32]
_Edges = tuple[_Int32, _Int32, _Int32]


def write_graph(source: GraphSource, folder: Path) -> dict[str, Any]:
    """Reads ``source`` and writes every file into ``folder``, the manifest last; returns it.

    Raises ValueError if the source breaks the rules of ``GraphData``.
    """
    data = source.read()
    nodes = _nodes(data)
    edges = _edges(data, nodes.num_rows)
    order = _id_order(nodes.column("id"))
    edge_attrs = _edge_attrs(data, len(edges[0]))
    negatives = _negatives(data, nodes.column("id"))
    synonyms = _synonyms(data, nodes)
    node_types, type_ids = _types(nodes.column("type"))

    _write_table(folder / layout.NODES, nodes)
    if edge_attrs is not None:
        _write_table(folder / layout.EDGES, edge_attrs)
    if negatives is not None:
        _write_table(folder / layout.NEGATIVES, negatives)
    if synonyms is not None:
        _write_table(folder / layout.SYNONYMS, synonyms)
    type_rows = np.argsort(type_ids, kind="stable")
    _save(folder, "id_order", order)
    _save(folder, "type_ids", type_ids)
    _save(folder, "type_rows", type_rows)
    _save(folder, "type_indptr", _indptr(type_ids, len(node_types)))
    if data.same_as is not None:
        same = edges[1] == data.relations.index(data.same_as)
        _save(folder, "canonical", _components(nodes.num_rows, edges[0][same], edges[2][same]))
    _save_edges(folder, edges, nodes.num_rows)

    schema = describe(node_types, type_ids, data.relations, edges)
    _dump(folder / layout.SCHEMA, schema)
    digest = content_hash(
        nodes=nodes,
        relations=data.relations,
        edges=edges,
        edge_attrs=edge_attrs,
        same_as=data.same_as,
        negatives=negatives,
        synonyms=synonyms,
    )
    counts = {
        "nodes": nodes.num_rows,
        "edges": len(edges[0]),
        "types": len(node_types),
        "relations": len(data.relations),
        "negatives": len(data.negatives),
        "with_text": int(pc.sum(pc.greater(pc.binary_length(nodes.column("text")), 0)).as_py()),
    }
    if synonyms is not None:
        counts["synonyms"] = synonyms.num_rows
        counts["held_out"] = sum(held_out for _, _, held_out in data.synonyms)
    return _write_manifest(source, folder, digest, counts, data)


def _write_manifest(
    source: GraphSource, folder: Path, digest: str, counts: dict[str, int], data: GraphData
) -> dict[str, Any]:
    origin = source.provenance()
    (folder / layout.LICENSE).write_text(origin.notice.rstrip("\n") + "\n", encoding="utf-8")
    written = sorted(folder.iterdir())
    hashes = file_hashes(written)
    manifest: dict[str, Any] = {
        "format": layout.FORMAT,
        "name": source.name,
        "source": origin.origin,
        "version": origin.version,
        "licence": origin.licence,
        "credit": origin.credit,
        "key": source.key(),
        "inputs": dict(sorted(origin.files.items())),
        "same_as": data.same_as,
        "content_hash": digest,
        "counts": counts,
        "files": {f.name: {"bytes": f.stat().st_size, "sha256": hashes[f.name]} for f in written},
    }
    if data.notes:
        manifest["notes"] = dict(data.notes)
    _dump(folder / layout.MANIFEST, manifest)
    return manifest


def _nodes(data: GraphData) -> pa.RecordBatch:
    n = len(data.ids)
    if n == 0:
        raise ValueError("a graph has at least one node")
    if n >= 2**31:
        raise ValueError(f"{n} nodes; the format ends at 2^31")
    aliases: Any = data.aliases if data.aliases is not None else [[]] * n
    attrs: Any = data.attrs if data.attrs is not None else [{}] * n
    columns = [
        _strings(data.ids, pa.string()),
        _strings(data.types, pa.string()),
        _strings(data.names, pa.string()),
        _strings(data.texts, pa.large_string()),
        _one(aliases, pa.list_(pa.string())),
        _one(attrs, layout.ATTRS) if _arrow(attrs) else layout.encode_attrs(attrs),
    ]
    for field, column in zip(layout.NODE_SCHEMA, columns, strict=True):
        if len(column) != n:
            raise ValueError(f"{len(column)} values of {field.name!r} for {n} nodes")
        if column.null_count:
            raise ValueError(f"{field.name!r} has {column.null_count} nulls")
    for name, column in (("id", columns[0]), ("type", columns[1])):
        if pc.any(pc.equal(pc.binary_length(column), 0)).as_py():
            raise ValueError(f"a node has an empty {name}")
    return pa.record_batch(columns, schema=layout.NODE_SCHEMA)


def _arrow(value: Any) -> bool:
    return isinstance(value, pa.Array | pa.ChunkedArray)


def _one(values: Any, kind: pa.DataType) -> pa.Array:
    """``values`` as one contiguous Arrow array of type ``kind`` that starts at offset 0."""
    column = values if _arrow(values) else pa.array(values, kind)
    if isinstance(column, pa.ChunkedArray):
        column = column.cast(kind).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # what some versions return for no chunk
            column = pa.array([], kind)
    return column.cast(kind)


def _strings(values: Strings, kind: pa.DataType) -> pa.Array:
    return _one(values if _arrow(values) else list(values), kind)


def _edges(data: GraphData, n: int) -> _Edges:
    names = ("source", "relation", "target")
    columns = [np.asarray(getattr(data, name)) for name in names]
    limits = (n, len(data.relations), n)
    if len(set(data.relations)) != len(data.relations) or not all(data.relations):
        raise ValueError("relation names are unique and not empty")
    if data.same_as is not None and data.same_as not in data.relations:
        raise ValueError(f"equivalence {data.same_as!r} is not one of the relations")
    for name, column, limit in zip(names, columns, limits, strict=True):
        if column.ndim != 1 or len(column) != len(columns[0]) or len(column) >= 2**31:
            raise ValueError(f"edge column {name!r} has shape {column.shape}")
        if len(column) == 0:
            continue
        if not np.issubdtype(column.dtype, np.integer):
            raise ValueError(f"edge column {name!r} has type {column.dtype}, not integers")
        if column.min() < 0 or column.max() >= limit:
            raise ValueError(f"edge column {name!r} has a number outside 0..{limit - 1}")
    source, relation, target = (column.astype(np.int32) for column in columns)
    return source, relation, target


def _id_order(ids: pa.Array) -> _Int32:
    """Rows in ascending order of id; UTF-8 bytes sort as code points do. Ids must be unique."""
    order = pc.sort_indices(ids)
    ordered = ids.take(order)
    same = pc.equal(ordered.slice(1), ordered.slice(0, len(ids) - 1))
    if pc.any(same).as_py():
        twice = ordered.slice(1).filter(same)[0].as_py()
        raise ValueError(f"node id {twice!r} occurs more than once")
    rows: _Int32 = order.to_numpy().astype(np.int32)
    return rows


def _edge_attrs(data: GraphData, m: int) -> pa.RecordBatch | None:
    rows: Any = data.edge_attrs
    if rows is None:
        return None
    column = _one(rows, layout.ATTRS) if _arrow(rows) else layout.encode_attrs(rows)
    if len(column) != m or column.null_count:
        raise ValueError(f"{len(column)} edge attributes ({column.null_count} null) for {m} edges")
    if len(column.keys) == 0:
        return None
    return pa.record_batch([column], schema=layout.EDGE_SCHEMA)


def _negatives(data: GraphData, ids: pa.Array) -> pa.RecordBatch | None:
    if not data.negatives:
        return None
    ends = pa.array([end for row in data.negatives for end in (row[0], row[2])], pa.string())
    lost = ends.filter(pc.invert(pc.is_in(ends, value_set=ids)))
    if len(lost):
        raise ValueError(f"a negative statement names the unknown node {lost[0].as_py()!r}")
    columns = [pa.array(part, pa.string()) for part in zip(*data.negatives, strict=True)]
    return pa.record_batch(columns, schema=layout.NEGATIVE_SCHEMA)


def _synonyms(data: GraphData, nodes: pa.RecordBatch) -> pa.RecordBatch | None:
    """Held-out synonyms must be no alias of their node, the others must be one."""
    if not data.synonyms:
        return None
    ids, aliases = (nodes.column(name).to_pylist() for name in ("id", "aliases"))
    known = dict(zip(ids, map(set, aliases), strict=True))
    for node_id, synonym, held_out in data.synonyms:
        if node_id not in known:
            raise ValueError(f"a synonym is of the unknown node {node_id!r}")
        if (synonym in known[node_id]) is held_out:
            told = "held out and an alias" if held_out else "neither held out nor an alias"
            raise ValueError(f"synonym {synonym!r} of {node_id!r} is {told}")
    parts = zip(*data.synonyms, strict=True)
    columns = [pa.array(p, f.type) for p, f in zip(parts, layout.SYNONYM_SCHEMA, strict=True)]
    return pa.record_batch(columns, schema=layout.SYNONYM_SCHEMA)


def _types(column: pa.Array) -> tuple[tuple[str, ...], _Int32]:
    """Type names ascending, and the number of each node's type."""
    encoded = column.dictionary_encode()
    found: Sequence[str] = encoded.dictionary.to_pylist()
    names = tuple(sorted(found))
    number = np.array([names.index(name) for name in found], dtype=np.int32)
    return names, number[encoded.indices.to_numpy()]


def _components(n: int, source: _Int32, target: _Int32) -> NDArray[np.integer]:
    """Smallest row of each node's component under an undirected relation."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(source), dtype=np.int8), (source, target)), shape=(n, n))
    _, label = connected_components(links, directed=False)
    _, first = np.unique(label, return_index=True)
    smallest: NDArray[np.integer] = first[label]
    return smallest


def _indptr(rows: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])


def _save_edges(folder: Path, edges: _Edges, n: int) -> None:
    source, relation, target = edges
    for name, column in zip(("source", "relation", "target"), edges, strict=True):
        _save(folder, f"edge_{name}", column)
    ways = (("out", "target", source, target), ("in", "source", target, source))
    for way, end, own, near in ways:
        order = np.lexsort((relation, near, own))  # stable: then by edge number
        _save(folder, f"{way}_indptr", _indptr(own, n))
        _save(folder, f"{way}_{end}", near[order])
        _save(folder, f"{way}_relation", relation[order])
        _save(folder, f"{way}_edge", order)


def _save(folder: Path, name: str, values: NDArray[np.integer]) -> None:
    np.save(folder / f"{name}.npy", np.ascontiguousarray(values, dtype="<i4"))


def _write_table(path: Path, batch: pa.RecordBatch) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
