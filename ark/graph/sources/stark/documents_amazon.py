"""Documents of AMAZON's nodes, byte for byte those of stark-qa. See docs/stark_documents.md.

Where the package leaves the order of reviews with equal votes to NumPy's unstable sort, these
texts put the earlier review first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ark.graph.sources.stark.documents_common import (
    Neighbor,
    entries,
    mended,
    missing,
    sequence,
)

_MOST = {"official": 27, "fixed": 25}  # reviews and questions; 25 was meant
_NAMED = ("brand", "category", "color")
_ASIN = re.compile(r"\basin\b", re.IGNORECASE)


def label(info: Mapping[str, Any], node_type: str) -> str:
    """How relations of products print this node: its title or name."""
    return f"{info.get(f'{node_type}_name' if node_type in _NAMED else 'title', '')}"


def document(
    info: Mapping[str, Any], node_type: str, *, version: str = "1.1.0", quirks: str = "official"
) -> str:
    """The text of a node without relations, from its record in ``node_info``.

    - ``info``: the record. Parts that the package cannot print (it raises there) are left out.
    - ``node_type``: ``product``, ``brand``, ``category`` or ``color``; records do not name it.
    - ``version``: ``1.1.0``, or ``paper`` for the texts before December 2024, which have no
      lines of dimensions and weight.
    - ``quirks``: ``official``, or ``fixed`` with the quirks of docs/stark_documents.md mended.

    Raises UserError for an unknown version or unknown quirks.
    """
    fixed = mended(quirks, version)
    if node_type in _NAMED:
        return f"{node_type} name: {label(info, node_type)}"
    lines = []
    for key, title in (("title", "product"), ("brand", "brand")):
        if key in info and not (fixed and _empty(info[key])):
            lines.append(f"- {title}: {info[key]}\n")
    if version != "paper":
        lines += _size(info.get("details"), fixed)
    lines += _description(info.get("description"), fixed)
    lines += _features(info.get("feature"), fixed)
    lines += _reviews(info.get("review"), fixed, _MOST[quirks])
    lines += _questions(info.get("qa"), fixed, _MOST[quirks])
    return "".join(lines)


def relations_text(
    relations: Mapping[str, Sequence[Neighbor]], node_type: str, *, quirks: str = "official"
) -> str:
    """What ``add_rel=True`` appends to the text of a product; empty for any other type.

    - ``relations``: the neighbours of each relation, ascending by node id, both directions
      together. Only ``also_buy``, ``also_view`` and the first of ``has_brand`` are printed.
    - ``node_type``: of the node itself.
    - ``quirks``: makes no difference to the text: what differs is which neighbours the package
      sees, since it averages the relations of parallel edges.
    """
    mended(quirks)
    if node_type in _NAMED:
        return ""
    lines = []
    for relation, title in (("also_buy", "purchased"), ("also_view", "viewed")):
        neighbors = relations.get(relation, ())
        if neighbors:
            lines.append(f"  products also {title}: \n")
        lines += [f"#{n}: {neighbor.label}\n" for n, neighbor in enumerate(neighbors, 1)]
    brands = relations.get("has_brand", ())
    if brands:
        lines.append(f"  brand: {brands[0].label}\n")
    return "".join(["- relations:\n", *lines]) if lines else ""


def _size(details: object, fixed: bool) -> list[str]:
    text = details.get("product_dimensions") if isinstance(details, dict) else None
    parts = text.split(" ; ") if isinstance(text, str) else []
    if fixed:
        parts = [part.strip() for part in parts] + [""] * (len(parts) == 1)
    if len(parts) != 2:
        return []
    lines = zip(("dimensions", "weight"), parts, strict=True)
    return [f"- {title}: {part}\n" for title, part in lines if part or not fixed]


def _description(value: object, fixed: bool) -> list[str]:
    text = " ".join(part for part in _parts(value, fixed) if isinstance(part, str)).strip(" ")
    return [f"- description: {text}\n"] if text else []


def _features(value: object, fixed: bool) -> list[str]:
    features = _parts(value, fixed)
    kept = [(n, part) for n, part in enumerate(features, 1) if _is_feature(part, fixed)]
    heading = kept if fixed else features
    return [*(["- features: \n"] if heading else []), *(f"#{n}: {part}\n" for n, part in kept)]


def _parts(value: object, fixed: bool) -> list[Any]:
    """The entries of a list. The package takes a string letter by letter."""
    if isinstance(value, str):
        return [value] if fixed else list(value)
    return sequence(value)


def _is_feature(part: object, fixed: bool) -> bool:
    if not isinstance(part, str) or not part:
        return False
    # A product number. Inside words it is found too: "casing", "increasing", "basin".
    return not _ASIN.search(part) if fixed else "asin" not in part.lower()


def _reviews(value: object, fixed: bool, most: int) -> list[str]:
    best = sorted(entries(value), key=lambda review: -_votes(review[1].get("vote")))
    forms = {"summary": "summary: {}", "reviewText": 'text: "{}"'}
    return _numbered("reviews", best, forms, fixed, most)


def _questions(value: object, fixed: bool, most: int) -> list[str]:
    forms = {"question": 'question: "{}"', "answer": 'answer: "{}"'}
    return _numbered("Q&A", entries(value), forms, fixed, most)


def _numbered(
    title: str,
    found: list[tuple[int, dict[str, Any]]],
    forms: dict[str, str],
    fixed: bool,
    most: int,
) -> list[str]:
    """The first ``most`` of what was found, each under its place in the record's own list."""
    blocks = []
    for number, entry in found:
        fields = [(form, entry.get(key)) for key, form in forms.items()]
        lines = [form.format(value) for form, value in fields if not (fixed and _empty(value))]
        if lines:
            blocks.append("\n".join([f"#{number}:", *lines, ""]))
        if len(blocks) == most:
            break
    return [f"- {title}: \n", *blocks] if blocks else []


def _empty(value: object) -> bool:
    return missing(value) or (isinstance(value, str) and not value.strip())


def _votes(vote: object) -> int:
    """Votes are strings such as ``1,234``; none, and what is no number, counts as zero."""
    try:
        if isinstance(vote, str):
            return int(vote.replace(",", ""))
        return int(vote) if isinstance(vote, int | float) else 0
    except (ValueError, OverflowError):  # no number, not-a-number, infinite
        return 0
