"""The Common Weakness Enumeration (CWE) with its categories, views and observed examples.

Read from the XML file inside the package ``cwe2`` (release 3.0.0 carries CWE 4.14 of 2024-02-29);
the package itself is not imported. Deprecated entries are left out. Nodes are sorted by id.

Types. Weaknesses, categories and views are entries of the catalogue; ``vulnerability`` is a CVE
that some weakness was observed in, named by its number. Impacts, scopes, phases, languages,
technologies, architectures, operating systems and detection methods are the catalogue's own lists
of values, each value but "Other" a node without text.

Texts. Of a weakness: description, extended description, background, alternate terms and the prose
notes on consequences and mitigations; values that are nodes are not repeated there. Of a category
its summary, of a view its objective, of a CVE how the catalogue describes it. Numbers of other
entries ("CWE-79", "CVE-...", "CAPEC-...") and links to the bibliography ("[REF-1]") are cut out.

Edges. Those between weaknesses and ``has member`` once for every view that states them (attribute
``view``), all others once, with attributes gathered. Numbers of attack patterns (CAPEC) are an
attribute of the weakness: the file holds nothing else about them.

Names. Aliases of a weakness are its alternate terms and the entry names in PLOVER, CLASP, 7
Pernicious Kingdoms and WASC that hold no digit and stand for this weakness only; half of them are
held out (``ark.graph.synonyms``).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ark.errors import UserError
from ark.graph.data import GraphData, Provenance, file_hashes, source_key

_CONVERTER = 1
_LICENCE, _NOTICE = "cwe-tou.LICENSE", "cwe.NOTICE"
_TERMS = "https://cwe.mitre.org/about/termsofuse.html"
_INSTALL = "pip install 'ark-harness[demo]'"
_COPYRIGHT = re.compile(r"Copyright © \S+ The MITRE Corporation")


@dataclass(frozen=True)
class CweSource:
    """CWE from ``cwe2``, or from ``path``, a folder with its three files."""

    path: Path | None = None
    name: str = field(default="cwe", init=False)

    def key(self) -> str:
        """Changes with the files and the version of this converter."""
        return source_key(_CONVERTER, self._hashes)

    def provenance(self) -> Provenance:
        """Version from the file; licence and copyright as the package states them."""
        from ark.graph.sources.cwe_xml import header

        catalogue, licence, notice = self._files
        version, date = header(catalogue)
        expected = json.loads(Path(__file__).with_name("expected.json").read_text("utf-8"))["cwe"]
        pinned = expected["files"] == self._hashes
        told = [" ".join(file.read_text(encoding="utf-8").split()) for file in (notice, licence)]
        copyright_line = _COPYRIGHT.search(told[0])
        owner = copyright_line.group() if copyright_line else "Copyright The MITRE Corporation"
        carrier = "given folder" if self.path else f"package cwe2 {_package_version()}"
        return Provenance(
            origin=f"{carrier}: {', '.join(self._hashes)}",
            version=f"{version} ({date})",
            licence=_TERMS,
            credit=f"Common Weakness Enumeration (CWE) {version}, https://cwe.mitre.org. {owner}.",
            notice=(
                f"This graph was made from the Common Weakness Enumeration, version {version} of "
                f"{date}.\nMITRE's notice and licence hold for it:\n\n{told[0]}\n\n"
                f"{licence.read_text(encoding='utf-8').strip()}\n\n"
                "Changes: converted to nodes and edges; deprecated entries, references and some "
                "synonyms left out."
            ),
            files=self._hashes,
            content_hash=expected["content_hash"] if pinned else None,
        )

    def read(self) -> GraphData:
        """About 3,500 nodes and 17,500 edges in the release named above."""
        from ark.graph.sources.cwe_graph import convert
        from ark.graph.sources.cwe_xml import load

        return convert(load(self._files[0]))

    @cached_property
    def _files(self) -> tuple[Path, Path, Path]:
        folder = _package_folder() if self.path is None else Path(self.path)
        found = sorted(folder.glob("cwec_v*.xml"))
        if len(found) != 1:
            raise UserError(f"graph 'cwe' needs one cwec_v*.xml in {folder}: {_INSTALL}")
        for name in (_LICENCE, _NOTICE):
            if not (folder / name).is_file():
                raise UserError(f"graph 'cwe' needs {name} in {folder}: {_INSTALL}")
        return found[0], folder / _LICENCE, folder / _NOTICE

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return file_hashes(self._files)


def _package_folder() -> Path:
    spec = importlib.util.find_spec("cwe2")
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"graph 'cwe' is read from the package cwe2: {_INSTALL}")
    package = Path(spec.submodule_search_locations[0])
    return next(iter(sorted(package.glob("database_v*"))), package)


def _package_version() -> str:
    try:
        return importlib.metadata.version("cwe2")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
