"""Documents of MAG's nodes, byte for byte those of stark-qa. See docs/stark_documents.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ark.graph.sources.stark.documents_common import Neighbor, mended, missing

CITED_BY = "paper___cited_by___paper"  # not a relation of stark-qa: fixed texts keep directions
# First line, and the noun in the lines of counts. Some lines start with a space, as released.
_NAMED = {
    "author": ("- author name", "author"),
    "institution": (" - institution", "institution"),
    "field_of_study": (" - field of study", "field"),
}
_COUNTS = (("PaperCount", "paper count"), ("CitationCount", "citation count"))
_PLACES = (
    ("OriginalVenue", "venue"),
    ("JournalDisplayName", "journal"),
    ("ConferenceSeriesDisplayName", "conference"),
    ("ConferenceInstancesDisplayName", "conference"),
)
_NONE = "-1"  # stands for a missing value everywhere in these records
_UNKNOWN = "Unknown"


def label(info: Mapping[str, Any], node_type: str) -> str:
    """How relations of papers print this node: the title of a paper, the name of any other."""
    return f"{info.get('title' if node_type == 'paper' else 'DisplayName', _NONE)}"


def document(
    info: Mapping[str, Any], node_type: str, *, version: str = "1.1.0", quirks: str = "official"
) -> str:
    """The text of a node without relations, from its record in ``node_info``.

    - ``info``: the record; an absent field counts as missing. Parts that the package cannot print
      (it raises there) are left out.
    - ``node_type``: used if the record does not name its type itself.
    - ``version``: ``1.1.0`` and ``paper`` print the same here.
    - ``quirks``: ``official`` writes ``Unknown`` for every ``-1`` in the text of an author,
      institution or field, even inside names; ``fixed`` only for a missing name or title.

    Raises UserError for an unknown version or unknown quirks.
    """
    fixed = mended(quirks, version)
    own = info.get("type")
    kind = own if isinstance(own, str) else node_type
    if kind == "paper":
        return "".join(_paper(info, fixed))
    if kind not in _NAMED:
        return ""
    first, noun = _NAMED[kind]
    name = info.get("DisplayName", -1)
    lines = [f"{first}: {_UNKNOWN if fixed and _gone(name) else name}\n"]
    for key, title in _COUNTS:
        count = info.get(key, -1)
        # The string "-1" is a count like any other to the package.
        if _gone(count) if fixed else count == -1:
            continue
        lines.append(f"- {noun} {title}: {count}\n")
    text = "".join(lines)
    return text if fixed else text.replace(_NONE, _UNKNOWN)


def relations_text(
    relations: Mapping[str, Sequence[Neighbor]], node_type: str, *, quirks: str = "official"
) -> str:
    """What ``add_rel=True`` appends to the text of a paper; empty for any other type.

    - ``relations``: the neighbours of each relation, ascending by node id, relations in the order
      of ``edge_type_dict``. The package takes both directions together, so "cites" holds
      citing and cited papers; for ``quirks=fixed`` give the citing ones as ``CITED_BY``.
    - ``node_type``: of the node itself.
    - ``quirks``: nameless authors, institutions and fields are left out; ``fixed`` leaves out
      papers without a title too, and relations of which nothing remains.
    """
    fixed = mended(quirks)
    if node_type != "paper":
        return ""
    lines = []
    for relation, neighbors in relations.items():
        shown = [text for neighbor in neighbors if (text := _neighbor(neighbor, fixed)) is not None]
        if shown or (neighbors and not fixed):
            lines.append(f"\n{relation.replace('___', ' ')}: ({', '.join(shown)}),")
    return "".join(["- relations:\n", *lines]) if lines else ""


def _paper(info: Mapping[str, Any], fixed: bool) -> list[str]:
    lines = []
    if "title" in info:
        title = info["title"]
        lines.append(f" - paper title: {_UNKNOWN if fixed and _gone(title) else title}\n")
    abstract = info.get("abstract")
    if isinstance(abstract, str) and not (fixed and _gone(abstract)):
        body = abstract.replace("\r", "").rstrip("\n")
        lines.append(f" - abstract: {body}\n")
    absent = _gone if fixed else _prints_as_none
    date = info.get("Date", -1)
    if not absent(date):
        lines.append(f" - publication date: {date}\n")
    for key, title in _PLACES:
        place = info.get(key, -1)
        if not absent(place):
            lines.append(f" - {title}: {place}\n")
            break
    return lines


def _neighbor(neighbor: Neighbor, fixed: bool) -> str | None:
    if neighbor.node_type == "paper":
        return None if fixed and _gone(neighbor.label) else f'"{neighbor.label}"'
    if _gone(neighbor.label) if fixed else neighbor.label == _NONE:
        return None
    absent = _gone if fixed else _prints_as_none
    places = [place for place in neighbor.institutions if not absent(place)]
    return f"{neighbor.label} ({', '.join(places)})" if places else neighbor.label


def _prints_as_none(value: object) -> bool:
    return str(value) == _NONE


def _gone(value: object) -> bool:
    return missing(value) or value == -1 or str(value).strip() in ("", _NONE)
