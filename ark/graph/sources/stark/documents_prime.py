"""Documents of PRIME's nodes, byte for byte those of stark-qa. See docs/stark_documents.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ark.graph.sources.stark.documents_common import (
    Neighbor,
    cleaned,
    entries,
    mended,
    missing,
)

NODE_TYPES = (
    "disease",
    "gene/protein",
    "molecular_function",
    "drug",
    "pathway",
    "anatomy",
    "effect/phenotype",
    "biological_process",
    "cellular_component",
    "exposure",
)
_GENE = "gene/protein"
_GLOSSES = {
    "name": "gene name",
    "type_of_gene": "gene types",
    "alias": "other gene names",
    "other_names": "extended other gene names",
    "genomic_pos": "genomic position",
    "generif": "PubMed text",
    "interpro": "protein family and classification information",
    "summary": "protein summary text",
}
_MOST_WORDS = 50_000  # of a gene's PubMed text, counted between single spaces


def label(info: Mapping[str, Any], node_type: str) -> str:
    """How relations of other nodes print this one; ``node_type`` makes no difference here."""
    del node_type
    return f"{info.get('name', '')}"


def document(
    info: Mapping[str, Any], node_type: str, *, version: str = "1.1.0", quirks: str = "official"
) -> str:
    """The text of a node without relations, from its record in ``node_info`` as stored.

    - ``info``: the record; ``details`` is optional. Parts that the package cannot print (it raises
      there) are left out.
    - ``node_type``: printed and used if the record does not name its type itself.
    - ``version``: ``1.1.0`` and ``paper`` print the same here.
    - ``quirks``: ``official`` prints lists and dicts as Python does, ``fixed`` as plain text.

    Raises UserError for an unknown version or unknown quirks.
    """
    fixed = mended(quirks, version)
    record = {"type": node_type, **cleaned(info)}
    lines = [f"- {key}: {record[key]}\n" for key in ("name", "type", "source") if key in record]
    details = _details(record.get("details"), record["type"] == _GENE, fixed)
    return "".join([*lines, "- details:\n", *details] if details else lines)


def relations_text(
    relations: Mapping[str, Sequence[Neighbor]], node_type: str, *, quirks: str = "official"
) -> str:
    """What ``add_rel=True`` appends to the text; empty without neighbours.

    - ``relations``: the neighbours of each relation, ascending by node id, relations in the order
      of ``edge_type_dict``; the package takes both directions together.
    - ``node_type``: of the node itself; every type has relations here.
    - ``quirks``: neighbours are grouped by type. ``official`` puts the types in the order in which
      CPython iterates over a set of their numbers, ``fixed`` ascending.
    """
    del node_type
    fixed = mended(quirks)
    lines = []
    for relation, neighbors in relations.items():
        if neighbors:
            groups = "".join(_groups(neighbors, fixed))
            lines.append(f"\n  {relation.replace(' ', '_')}: {{{groups}}}")
    return "".join(["- relations:", *lines]) if lines else ""


def _groups(neighbors: Sequence[Neighbor], fixed: bool) -> list[str]:
    names: dict[int, list[str]] = {}
    known = dict(enumerate(NODE_TYPES))
    for neighbor in neighbors:
        number = next((n for n, kind in known.items() if kind == neighbor.node_type), len(known))
        known[number] = neighbor.node_type
        names.setdefault(number, []).append(neighbor.label)
    order = sorted(names) if fixed else list(set(names))
    return [f"{known[number]}: ({', '.join(names[number])})," for number in order]


def _details(details: object, gene: bool, fixed: bool) -> list[str]:
    lines: list[str] = []
    if not isinstance(details, dict):
        return lines
    for key, value in details.items():
        if str(key).startswith("_") or "_id" in str(key):
            continue
        glossed = gene and key in _GLOSSES
        title = f"{key} ({_GLOSSES[key]})" if glossed else key
        for shown in _of_gene(key, value) if glossed else [value]:
            text = _plain(shown) if fixed else f"{shown}"
            if text or not fixed:
                lines.append(f"  - {title}: {text}\n")
    return lines


def _of_gene(key: str, value: Any) -> list[Any]:
    """What is printed of a field that has a gloss: one value, or none if it cannot be printed."""
    listed = isinstance(value, dict | list | tuple)
    found = entries([value] if isinstance(value, dict) else value)
    if key == "interpro" and listed:
        return [[part["desc"] for _, part in found if "desc" in part]]
    if key == "generif" and listed:
        text = "; ".join(str(part["text"]) for _, part in found if "text" in part)
        return [" ".join(text.split(" ")[:_MOST_WORDS])]
    if key == "genomic_pos" and isinstance(value, list | tuple):
        return list(value[:1])
    return [value]


def _plain(value: Any, separator: str = "; ") -> str:
    """Lists and dicts as text, entries without content left out; commas inside of either."""
    if isinstance(value, dict):
        parts = ((key, _plain(part, ", ")) for key, part in value.items())
        return separator.join(f"{key}: {part}" for key, part in parts if part)
    if isinstance(value, list | tuple):
        return separator.join(filter(None, (_plain(part, ", ") for part in value)))
    return "" if missing(value) else str(value)
