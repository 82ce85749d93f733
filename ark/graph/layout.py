"""What lies in a graph folder: file names, Arrow schemas, the coding of attributes.

Version 1 of the format::

    nodes.arrow      id, type, name: string; text: large_string; aliases: list<string>;
                     attrs: map<string, large_string>. One record batch, one row a node.
    edges.arrow      attrs as above, row = edge number. Only if some edge has attributes.
    negatives.arrow  source, relation, target: string (ids). Only if the source has them.
    synonyms.arrow   id, synonym: string; held_out: bool. Only if the source has them.
    type_ids.npy     int32[n]: number of each node's type; type_rows.npy, type_indptr.npy:
                     the nodes of each type, ascending.
    id_order.npy     int32[n]: nodes in ascending order of id (code points).
    canonical.npy    int32[n]: first node that is the same answer. Only with an equivalence.
    edge_source.npy, edge_relation.npy, edge_target.npy
                     int32[m]: the edge table, row = edge number.
    out_indptr.npy, out_target.npy, out_relation.npy, out_edge.npy and in_*.npy
                     CSR both ways. Row i is indptr[i]:indptr[i+1], sorted by (neighbour,
                     relation, edge number).
    schema.json, manifest.json, LICENSE.data

Row and edge numbers are stored as int32: 2^31 nodes or edges are the limit of this format.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ark.records import Attr, Scalar

FORMAT = 1
MANIFEST = "manifest.json"
SCHEMA = "schema.json"
LICENSE = "LICENSE.data"
NODES = "nodes.arrow"
EDGES = "edges.arrow"
NEGATIVES = "negatives.arrow"
SYNONYMS = "synonyms.arrow"

ATTRS = pa.map_(pa.string(), pa.large_string())
_CODING = {"attrs": "map values are JSON texts: a scalar or a list of scalars"}
NODE_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("aliases", pa.list_(pa.string()), nullable=False),
        pa.field("attrs", ATTRS, nullable=False),
    ],
    metadata=_CODING,
)
EDGE_SCHEMA = pa.schema([pa.field("attrs", ATTRS, nullable=False)], metadata=_CODING)
NEGATIVE_SCHEMA = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("source", "relation", "target")]
)
SYNONYM_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("synonym", pa.string(), nullable=False),
        pa.field("held_out", pa.bool_(), nullable=False),
    ]
)


def encode_attr(value: Attr | Sequence[Scalar]) -> str:
    """The JSON text of a scalar or a list of scalars. TypeError or ValueError for anything else."""
    parts = value if isinstance(value, list | tuple) else (value,)
    for part in parts:
        if not isinstance(part, str | int | float | bool):
            raise TypeError(f"an attribute is a scalar or a list of scalars, not {part!r}")
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def decode_attr(text: str) -> Attr:
    """The inverse of ``encode_attr``; lists come back as tuples."""
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


def encode_attrs(rows: Sequence[Mapping[str, Any]]) -> pa.MapArray:
    """Arrow column of attribute maps, keys of each row sorted."""
    offsets, keys, values = [0], [], []
    for row in rows:
        for key in sorted(row):
            keys.append(key)
            values.append(encode_attr(row[key]))
        offsets.append(len(keys))
    items = pa.array(values, ATTRS.item_type)
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), items
    )


def decode_attrs(cell: pa.MapScalar) -> dict[str, Attr]:
    """Attributes of one row."""
    return {key: decode_attr(text) for key, text in cell.as_py()}
