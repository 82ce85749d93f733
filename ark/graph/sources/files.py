"""A graph from plain files, without pickles: our own form, or tables of others by a mapping.

See docs/graphs/files.md for the form, and ``ark.graph.export`` for what writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ark.errors import UserError, unknown
from ark.graph import export
from ark.graph.build import data_root
from ark.graph.data import GraphData, Provenance, source_key
from ark.graph.sources.stark.hashes import remembered_hashes
from ark.graph.sources.stark.names import BENCHMARKS

_CONVERTER = 1
_PARTS = ("nodes", "edges", "negatives", "synonyms", "candidates")
_COLUMNS = (
    *("id", "type", "name", "text", "aliases", "attrs"),
    *("source", "relation", "target", "edge_attrs"),
)
_SUFFIXES = {"nodes": (".jsonl", ".csv", ".tsv", ".parquet")}
_SUFFIXES["edges"] = (".tsv", ".csv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class FilesSource:
    """The graph in the plain files of the folder ``path``.

    For files of others: ``files`` names them (``nodes``, ``edges``, ``candidates``) and
    ``columns`` maps our names of columns to theirs. ``same_as``, ``licence`` and ``credit``
    stand in for what ``schema.json`` says.
    """

    path: Path
    files: Mapping[str, str] | None = None
    columns: Mapping[str, str] | None = None
    same_as: str | None = None
    licence: str | None = None
    credit: str | None = None
    name: str = "files"

    def __post_init__(self) -> None:
        for setting, known in (("files", _PARTS), ("columns", _COLUMNS)):
            given = getattr(self, setting)
            if given is not None and not isinstance(given, Mapping):
                raise UserError(f"graph.{setting}={given} must be a mapping: {{{known[0]}: NAME}}")
            for key in given or ():
                if key not in known:
                    raise UserError(unknown(f"key of graph.{setting}", str(key), known))

    def key(self) -> str:
        """Changes with the files and with every setting but the path."""
        return source_key(
            _CONVERTER,
            self._hashes,
            named=dict(self.files or {}),
            columns=dict(self.columns or {}),
            same_as=self.same_as,
            licence=self.licence,
            credit=self.credit,
        )

    def provenance(self) -> Provenance:
        """What ``schema.json`` says, or the user."""
        said = self._schema.get("provenance", {})
        licence = self.licence or str(said.get("licence") or "not stated")
        credit = self.credit or str(said.get("credit") or f"Graph from files (licence: {licence})")
        return Provenance(
            origin=f"plain files {', '.join(self._hashes)}",
            version=str(said.get("version") or self.key()[:12]),
            licence=licence,
            credit=credit,
            notice=str(said.get("notice") or f"Made from plain files.\nLicence: {licence}"),
            files=self._hashes,
            content_hash=self._schema.get("content_hash"),
            stated_in=str(self._folder / export.SCHEMA),
        )

    def read(self) -> GraphData:
        """Reads all files. Raises UserError with file and line for whatever is wrong."""
        from ark.graph.sources.files_read import Reader
        from ark.graph.sources.table import _refuse_duplicates

        reader = Reader(self.columns or {}, self.ours, data_root())
        nodes = reader.nodes(self._files["nodes"])
        _refuse_duplicates(self._files["nodes"], nodes.ids)
        edges = reader.edges(self._files["edges"], nodes.ids, self._schema.get("relations"))
        same_as = self.same_as or self._schema.get("same_as")
        if same_as is not None and same_as not in edges.relations:
            raise UserError(unknown("relation (same_as)", str(same_as), edges.relations))
        negatives, synonyms = [], []
        known = set(nodes.ids.to_pylist()) if len(self._files) > 2 else set()
        if "negatives" in self._files:
            file = self._files["negatives"]
            for number, row in enumerate(reader.cells(file, export.EDGE_COLUMNS), start=2):
                _known(file, number, known, row[0], row[2])
                negatives.append((row[0], row[1], row[2]))
        if "synonyms" in self._files:
            file = self._files["synonyms"]
            for number, row in enumerate(reader.cells(file, export.SYNONYM_COLUMNS), start=2):
                _known(file, number, known, row[0])
                synonyms.append((row[0], row[1], row[2] == "true"))
        notes = {"candidate_types": self._candidate_types(nodes, known)}
        return GraphData(
            ids=nodes.ids,
            types=nodes.types,
            names=nodes.names,
            texts=nodes.texts,
            source=edges.source,
            relation=edges.relation,
            target=edges.target,
            relations=edges.relations,
            aliases=nodes.aliases,
            attrs=nodes.attrs,
            edge_attrs=edges.attrs,
            same_as=same_as,
            negatives=negatives,
            synonyms=synonyms,
            notes=notes if notes["candidate_types"] else {},
        )

    @property
    def ours(self) -> bool:
        """Whether the files are in our own form."""
        return "form" in self._schema

    @property
    def benchmark(self) -> str | None:
        """The STaRK graph that was exported here, if it was one."""
        name = self._schema.get("provenance", {}).get("name")
        return name if name in BENCHMARKS else None

    def _candidate_types(self, nodes: Any, known: set[str]) -> list[str] | None:
        """The types of the nodes in ``candidate_ids.txt``: candidates are whole types here."""
        if "candidates" not in self._files:
            return None
        file = self._files["candidates"]
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{file} cannot be read ({error}): mend it") from error
        wanted = {export.unescaped(line) if self.ours else line.strip() for line in lines} - {""}
        for number, line in enumerate(lines, start=1):
            if line.strip():
                _known(file, number, known, export.unescaped(line) if self.ours else line.strip())
        inside: set[str] = set()
        outside: set[str] = set()
        types = nodes.types if isinstance(nodes.types, list) else nodes.types.to_pylist()
        for node_id, node_type in zip(nodes.ids.to_pylist(), types, strict=True):
            (inside if node_id in wanted else outside).add(node_type)
        if inside & outside:
            some = ", ".join(sorted(inside & outside))
            raise UserError(
                f"{file} holds some nodes of type {some} and not all: give the others another type"
            )
        return sorted(inside)

    @cached_property
    def _folder(self) -> Path:
        folder = Path(self.path).expanduser()
        if not folder.is_dir():
            raise UserError(
                f"graph 'files' needs a folder with {export.NODES} and {export.EDGES}: {folder} "
                f"is {'a file' if folder.exists() else 'missing'}; give graph.path=DIR"
            )
        return folder

    @cached_property
    def _schema(self) -> dict[str, Any]:
        """``schema.json`` if it is ours: that of another form says nothing to us."""
        file = self._folder / export.SCHEMA
        if not file.is_file():
            return {}
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:120]
            raise UserError(f"{file} is no readable JSON ({reason}): mend it") from error
        if not isinstance(value, dict) or "form" not in value:
            return {}
        if value["form"] != export.FORM:
            raise UserError(f"{file} has form {value['form']}, this version reads {export.FORM}")
        relations: Any = value.get("relations")
        said = value.get("provenance", {})
        whole = isinstance(relations, list) and all(isinstance(r, str) and r for r in relations)
        if not whole or len(set(relations)) != len(relations) or not isinstance(said, dict):
            raise UserError(f"{file}: relations must be a list of names, each once: mend it")
        return value

    @cached_property
    def _files(self) -> dict[str, Path]:
        given = {part: self._folder / str(name) for part, name in (self.files or {}).items()}
        for part, file in given.items():
            if not file.is_file():
                raise UserError(f"no {file}: mend graph.files={{{part}: NAME}}")
        for part in ("nodes", "edges"):
            if part not in given:
                names = [f"{part}{suffix}" for suffix in _SUFFIXES[part]]
                found = [self._folder / n for n in names if (self._folder / n).is_file()]
                if len(found) != 1:
                    what = "finds several of" if found else "lacks"
                    raise UserError(
                        f"graph 'files' {what} {', '.join(names)} in {self._folder}: say which "
                        f"as graph.files={{{part}: NAME}}"
                    )
                given[part] = found[0]
            if given[part].suffix not in _SUFFIXES[part]:
                raise UserError(f"{given[part]} must end in {', '.join(_SUFFIXES[part])}")
        optional = (export.NEGATIVES, export.SYNONYMS, export.CANDIDATES)
        for part, name in zip(_PARTS[2:], optional, strict=True):
            if part not in given and (self._folder / name).is_file():
                given[part] = self._folder / name
        return {part: given[part] for part in _PARTS if part in given}

    @cached_property
    def _hashes(self) -> dict[str, str]:
        files = {file.name: file for file in self._files.values()}
        if self._schema:
            files[export.SCHEMA] = self._folder / export.SCHEMA
        return remembered_hashes(files, data_root() / "hashes")


def _known(file: Path, number: int, known: set[str], *ids: str) -> None:
    for node_id in ids:
        if node_id not in known:
            raise UserError(
                f"{file}, line {number}: {node_id[:80]!r} is no id of the node table: mend the line"
            )
