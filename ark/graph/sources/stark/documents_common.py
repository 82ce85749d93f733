"""What the documents of the three STaRK graphs share. Rules and quirks: docs/stark_documents.md.

A document is the text that ``get_doc_info(idx, add_rel=False, compact=False)`` of the package
stark-qa prints for a node; ``relations_text`` is what ``add_rel=True`` appends to it. Both are
pure functions of records, so a text can be built, hashed and compared without the package.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

from ark.errors import UserError, unknown

VERSIONS = ("1.1.0", "paper")
QUIRKS = ("official", "fixed")


class Neighbor(NamedTuple):
    """A node at the other end of a relation, as far as ``relations_text`` prints it.

    ``label`` is what the graph's ``label()`` gives for its record. ``institutions`` holds the
    labels of the institutions of a MAG author, ascending by node id.
    """

    node_type: str
    label: str
    institutions: tuple[str, ...] = ()


def mended(quirks: str, version: str = VERSIONS[0]) -> bool:
    """Whether known quirks are to be mended. Raises UserError for unknown names."""
    if version not in VERSIONS:
        raise UserError(unknown("version of STaRK's documents", version, VERSIONS))
    if quirks not in QUIRKS:
        raise UserError(unknown("quirks", quirks, QUIRKS))
    return quirks == "fixed"


def missing(value: object) -> bool:
    """None or not-a-number."""
    return value is None or (isinstance(value, numbers.Real) and math.isnan(value))


def cleaned(record: Mapping[str, Any]) -> dict[str, Any]:
    """``record`` without values that print as nothing or ``nan``, in nested dicts too.

    Lists are left as they are, and a dict that becomes empty stays: stark-qa cleans PRIME's
    records so when it loads them.
    """
    kept: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            kept[key] = cleaned(value)
        elif isinstance(value, list | tuple) or str(value) not in ("", "nan"):
            kept[key] = value
    return kept


def sequence(value: object) -> list[Any]:
    """The entries of a list or tuple; anything else has none."""
    return list(value) if isinstance(value, list | tuple) else []


def entries(value: object) -> list[tuple[int, dict[str, Any]]]:
    """The dicts of a list with their places, counted from one."""
    return [(n, part) for n, part in enumerate(sequence(value), 1) if isinstance(part, dict)]
