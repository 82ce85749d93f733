"""STaRK's AMAZON, MAG and PRIME as sources of graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ark.errors import UserError, unknown
from ark.graph.build import data_root
from ark.graph.data import GraphData, Provenance, source_key
from ark.graph.sources.stark import fetch, names
from ark.graph.sources.stark.documents_common import QUIRKS, VERSIONS
from ark.graph.sources.stark.hashes import remembered_hashes
from ark.graph.sources.stark.official_view import VIEWS

_CONVERTER = 1  # raise it when the texts of documents change, too
GOLD = ("answer_ids", "answer_ids_source")


@dataclass(frozen=True)
class StarkSource:
    """One of STaRK's graphs, from files as the benchmark publishes them.

    ``root`` is a folder that holds ``prime/``, ``mag/`` and ``amazon/``, or one of these; without
    it the files are fetched (extra ``hub``) at ``revision`` and kept beside the built graphs;
    ``offline`` asks nobody. ``version``, ``quirks`` and ``add_rel`` choose the documents
    (docs/stark_documents.md), ``view`` the edges: as ``stored``, each with its direction and
    relation, or the ``official`` view of the package. ``strict`` refuses a graph whose counts are
    not the published ones; otherwise the manifest says so. ``gold`` names the column of answers
    and changes questions only.
    """

    name: str
    root: Path | None = None
    version: str = "1.1.0"
    quirks: str = "official"
    add_rel: bool = False
    view: str = "stored"
    gold: str = "answer_ids"
    strict: bool = False
    revision: str = names.REVISION
    offline: bool = False

    def __post_init__(self) -> None:
        choices = {"version": VERSIONS, "quirks": QUIRKS, "view": VIEWS, "gold": GOLD}
        for setting, known in choices.items():
            if getattr(self, setting) not in known:
                raise UserError(unknown(f"graph.{setting}", str(getattr(self, setting)), known))
        for setting in ("add_rel", "strict", "offline"):
            if not isinstance(getattr(self, setting), bool):
                raise UserError(f"graph.{setting}={getattr(self, setting)} must be true or false")
        if self.name not in names.BENCHMARKS:
            raise UserError(unknown("STaRK graph", self.name, names.BENCHMARKS))

    @property
    def bench(self) -> names.Benchmark:
        """What is known of this graph beforehand."""
        return names.BENCHMARKS[self.name]

    def key(self) -> str:
        """Changes with the files and with what the built graph depends on; not with names."""
        settings = {
            "version": self.version if self.name == "amazon" else VERSIONS[0],  # others: the same
            "quirks": self.quirks,
            "add_rel": self.add_rel,
            "view": self.view,
        }
        if self.strict:
            settings["strict"] = True  # or a graph that was taken as it came would pass
        return source_key(_CONVERTER, self._hashes, **settings)

    def provenance(self) -> Provenance:
        """Licence and credit of the benchmark; hashes of the files that were read."""
        bench = self.bench
        if self.root is None:
            origin = f"{bench.archive} of {names.DATASET}, revision {self.revision}"
            release = self.revision[:12]
        else:
            origin = f"{', '.join(bench.files)} of {names.DATASET}, in a folder of the user's"
            release = "not stated"
        return Provenance(
            origin=origin,
            version=f"{release}; documents {self.version}, quirks {self.quirks}",
            licence=names.LICENCE,
            credit=bench.credit,
            notice=(
                f"This graph was made from STaRK's {bench.title} "
                f"(https://huggingface.co/datasets/{names.DATASET}), which stands under "
                f"{names.LICENCE}.\n{bench.credit}.\nChanges: converted to nodes, texts and edges."
            ),
            files=self._hashes,
        )

    def read(self) -> GraphData:
        """Reads and converts: seconds for PRIME, a minute for MAG; AMAZON needs some 15 GB."""
        from ark.graph.sources.stark.convert import Options, convert

        options = Options(self.version, self.quirks, self.add_rel, self.view, self.strict)
        return convert(self.bench, self._files, options, data_root())

    def question_folder(self) -> Path:
        """The folder with ``stark_qa/`` and ``split/``; fetched first where there is no root."""
        return fetch.question_folder(
            self.bench, self._root, self._downloads, self.revision, offline=self.offline
        )

    @property
    def _root(self) -> Path | None:
        return None if self.root is None else Path(self.root)

    @property
    def _downloads(self) -> Path:
        return data_root() / "downloads"

    @cached_property
    def _files(self) -> dict[str, Path]:
        return fetch.graph_files(
            self.bench, self._root, self._downloads, self.revision, offline=self.offline
        )

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return remembered_hashes(self._files, data_root() / "hashes")


@dataclass(frozen=True)
class AmazonSource(StarkSource):
    """AMAZON: products with reviews, brands, categories and colors."""

    name: str = field(default="amazon", init=False)


@dataclass(frozen=True)
class MagSource(StarkSource):
    """MAG: papers, authors, institutions and fields of study."""

    name: str = field(default="mag", init=False)


@dataclass(frozen=True)
class PrimeSource(StarkSource):
    """PRIME: diseases, drugs, genes and what connects them."""

    name: str = field(default="prime", init=False)
