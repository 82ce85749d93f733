"""MetaQA's knowledge base of films as a graph, from the user's download.

Zhang, Dai, Kozareva, Smola and Song, Variational Reasoning for Question Answering with Knowledge
Graph, AAAI 2018 (arXiv 1709.04071); the data stand under CC BY 3.0. Two forms are read: the
official files (``kb.txt`` and the folders ``1-hop``, ``2-hop``, ``3-hop``), and tables made from
them (``nodes.parquet``, ``edges.parquet``, ``queries.csv``), which may add texts of films.

Node identity differs between the two. Official files hold names only: a node is a pair of type and
name (``ark.graph.sources.metaqa_kb``). Tables have the node ids that their maker gave.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ark.errors import UserError
from ark.graph.data import GraphData, Provenance, file_hashes, source_key
from ark.graph.sources.metaqa_kb import KB, read_kb

_OFFICIAL, _TABULAR = 2, 1  # versions of the converters of the two forms
_TABLES = ("nodes.parquet", "edges.parquet")
_PAGE = "https://github.com/yuyuz/MetaQA"
_LICENCE = "CC BY 3.0"
_CREDIT = (
    "MetaQA, Zhang, Dai, Kozareva, Smola and Song, Variational Reasoning for Question Answering "
    f"with Knowledge Graph, AAAI 2018, {_PAGE}, {_LICENCE}"
)


@dataclass(frozen=True)
class MetaQASource:
    """MetaQA from the folder ``root``: the official files or the tables, whichever lie there."""

    root: Path
    name: str = field(default="metaqa", init=False)

    def key(self) -> str:
        """Changes with the files of the graph and the version of this converter."""
        version = _OFFICIAL if self.official else _TABULAR
        return source_key(version, self._hashes, official=self.official)

    def provenance(self) -> Provenance:
        """Licence and credit of MetaQA; of the films' texts too where the tables have them."""
        files = ", ".join(self._hashes)
        changes = "names were given types by the side of the relation they stand on"
        licence, credit = _LICENCE, _CREDIT
        if not self.official:
            changes = "made into tables before"
            licence = f"{_LICENCE}; texts of films CC BY-SA"
            credit = f"{_CREDIT}; texts of films from an encyclopedia, CC BY-SA"
        return Provenance(
            origin=f"{'official files' if self.official else 'tables'} of the user: {files}",
            version=self.key()[:12],
            licence=licence,
            credit=credit,
            notice=(
                f"This graph was made from MetaQA ({_PAGE}).\n{credit}.\n"
                "CC BY 3.0: https://creativecommons.org/licenses/by/3.0/\n"
                f"Changes: converted to nodes and edges; {changes}."
            ),
            files=self._hashes,
        )

    def read(self) -> GraphData:
        """About 43,000 names and 134,700 lines in the official file; seconds."""
        if self.official:
            return read_kb(self.folder / KB)
        from ark.graph.sources.table import TableSource

        return TableSource(self.folder).read()

    @cached_property
    def folder(self) -> Path:
        """The folder of the download. Raises UserError if it is not one."""
        folder = Path(self.root).expanduser()
        if not folder.is_dir():
            what = "a file" if folder.exists() else "missing"
            raise UserError(
                f"graph 'metaqa' needs the folder of a MetaQA download: {folder} is {what}; give "
                "graph.root=DIR"
            )
        return folder

    @cached_property
    def official(self) -> bool:
        """Whether the folder holds the official files, and not tables. Raises UserError."""
        if (self.folder / KB).is_file():
            return True
        lost = [name for name in _TABLES if not (self.folder / name).is_file()]
        if lost:
            inside = sorted(p.parent.name for p in self.folder.glob(f"*/{KB}"))
            hint = f" (its folder {inside[0]!r} has one)" if inside else ""
            raise UserError(
                f"{self.folder} holds no {KB}{hint} and no {' and '.join(_TABLES)}: download "
                f"MetaQA ({_PAGE}) and give its folder as graph.root=DIR"
            )
        return False

    @cached_property
    def _hashes(self) -> dict[str, str]:
        names = (KB,) if self.official else _TABLES
        return file_hashes(self.folder / name for name in names)
