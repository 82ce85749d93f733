"""What a source of graphs hands to the builder, and the interface of a source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ark.errors import UserError
from ark.records import Attr, Json

Strings: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray
"""Text column: a list of str, or an Arrow string column without nulls."""
Numbers: TypeAlias = NDArray[np.integer] | Sequence[int]


@dataclass(frozen=True, eq=False)
class GraphData:
    """A graph in columns, before it is stored. Row order is node order, edge order edge number.

    ``ids`` are unique and not empty; ``types`` holds a type name for each node. ``source`` and
    ``target`` are rows, ``relation`` positions in ``relations``. ``aliases``, ``attrs`` and
    ``edge_attrs`` are one entry a row, or an Arrow column of the stored type
    (``ark.graph.layout``), or None for none. ``same_as`` names the relation whose connected
    components are one answer each. ``negatives`` are statements known to be false, as
    (source id, relation, target id). ``synonyms`` are other names that questions may use, as
    (node id, synonym, whether it is held out); held-out ones are in no alias and no text, the
    others are aliases (see ``ark.graph.synonyms``). ``notes`` is what the source found out about
    its input; it goes into the manifest and enters no hash.
    """

    ids: Strings
    types: Strings
    names: Strings
    texts: Strings
    source: Numbers
    relation: Numbers
    target: Numbers
    relations: tuple[str, ...]
    aliases: Sequence[Sequence[str]] | pa.Array | None = None
    attrs: Sequence[Mapping[str, Attr]] | pa.Array | None = None
    edge_attrs: Sequence[Mapping[str, Attr]] | pa.Array | None = None
    same_as: str | None = None
    negatives: Sequence[tuple[str, str, str]] = ()
    synonyms: Sequence[tuple[str, str, bool]] = ()
    notes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """Where a graph comes from; all of it goes into the manifest.

    ``origin`` says in words what was read, ``files`` maps the names of the files read to their
    sha256. ``credit`` is the line that reports print. ``notice`` is the text of
    ``LICENSE.data``. ``content_hash`` is what the content hash of the built graph must be,
    where that is known for exactly these files; ``stated_in`` names the user's file that says so,
    if one does.
    """

    origin: str
    version: str
    licence: str
    credit: str
    notice: str
    files: Mapping[str, str] = field(default_factory=dict)
    content_hash: str | None = None
    stated_in: str | None = None


@runtime_checkable
class GraphSource(Protocol):
    """Something that a graph can be built from.

    User mistakes (missing package, broken file) are UserErrors from any of the three calls.
    """

    @property
    def name(self) -> str:
        """Short name for folders and tables: letters, digits, ``-``, ``_`` and ``.`` only."""
        ...

    def key(self) -> str:
        """Hex digest of everything that the built folder depends on (see ``source_key``)."""
        ...

    def provenance(self) -> Provenance:
        """Version, licence, credit and input files."""
        ...

    def read(self) -> GraphData:
        """Reads and converts the input. May take minutes; called only to build."""
        ...


def source_key(converter: int, files: Mapping[str, str], **settings: Any) -> str:
    """Digest of a converter's version, its input files' sha256 by name, and its settings.

    Raise a converter's version whenever its output changes for the same input.
    """
    what = {"converter": converter, "files": dict(files), "settings": settings}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def file_hashes(paths: Iterable[Path]) -> dict[str, str]:
    """sha256 of each file by its base name. Raises UserError for a file that cannot be read."""
    out = {}
    for path in paths:
        try:
            with path.open("rb") as file:
                out[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"cannot read {path} ({error.strerror}): mend the file") from error
    return out
