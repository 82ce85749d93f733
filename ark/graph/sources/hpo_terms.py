"""Terms of the Human Phenotype Ontology from its OBO file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ark.errors import UserError

# (root of a branch, type of its terms): the first branch that holds a term decides.
_BRANCHES = (
    ("HP:0000118", "phenotype"),
    ("HP:0000005", "inheritance"),
    ("HP:0031797", "onset and course"),
    ("HP:0012823", "modifier"),
    ("HP:0032443", "medical history"),
    ("HP:0020228", "biospecimen feature"),
    ("HP:0032223", "blood group"),
    ("HP:0040279", "frequency"),
    ("HP:0000001", "ontology root"),
)
_NOT_A_NAME = "HP:0034334"  # synonym type "allelic_requirement": a code such as biallelic_autosomal
_SCOPES = ("EXACT", "RELATED")  # "broad" and "narrow" synonyms name something else
_VARIANTS = ("abbreviation", "uk_spelling", "plural_form", "obsolete_synonym")
_HEADER_LINES = 100


@dataclass(frozen=True, slots=True)
class Term:
    """A term that is not obsolete. ``synonyms`` are those aliases that some may be held out of."""

    id: str
    type: str
    name: str
    text: str
    aliases: tuple[str, ...]
    synonyms: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """All terms by id, their ``is a`` pairs (child, parent), and the secondary ids."""

    terms: tuple[Term, ...]
    is_a: tuple[tuple[str, str], ...]
    names: dict[str, str]
    secondary: dict[str, str]

    def primary(self, term_id: str) -> str:
        """The id of the term that ``term_id`` means. Raises UserError if there is none."""
        if term_id in self.names:
            return term_id
        if term_id in self.secondary:
            return self.secondary[term_id]
        raise UserError(
            f"HPO annotations name {term_id}, which hp.obo lacks: use files of one HPO release"
        )

    def named(self, value: str) -> str:
        """The name of the term if ``value`` is an HPO id, else ``value`` itself (a fraction)."""
        return self.names[self.primary(value)] if value.startswith("HP:") else value


def load(path: Path) -> Terms:
    """Parses an OBO file. Raises UserError without pronto or for a file that is no OBO."""
    ontology = _parse(path)
    live = sorted((t for t in ontology.terms() if not t.obsolete), key=lambda t: str(t.id))
    types: dict[str, str] = {}
    for root, name in _BRANCHES:
        if root not in ontology:
            raise UserError(f"{path} has no term {root}: give the hp.obo of an HPO release")
        for term in ontology[root].subclasses():
            types.setdefault(str(term.id), name)
    terms = tuple(_term(t, types[str(t.id)]) for t in live)
    names = {t.id: t.name for t in terms}
    parents = [
        (str(t.id), str(parent.id))
        for t in live
        for parent in t.superclasses(distance=1, with_self=False)
    ]
    secondary = {str(old): str(t.id) for t in live for old in sorted(t.alternate_ids)}
    return Terms(terms=terms, is_a=tuple(sorted(set(parents))), names=names, secondary=secondary)


def header(path: Path) -> tuple[str, str]:
    """(release, licence URL) as the first lines of the OBO file state them."""
    version, licence = "unknown", "unknown"
    with path.open(encoding="utf-8") as file:
        for _, line in zip(range(_HEADER_LINES), file, strict=False):
            if line.startswith("data-version:"):
                version = line.split(":", 1)[1].strip().rsplit("/", 1)[-1]
            elif line.startswith("property_value: terms:license "):
                licence = line.split("terms:license ", 1)[1].strip()
    return version, licence


def other_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """The distinct names that differ from ``name`` by more than case, ascending."""
    return tuple(sorted({n for n in names if n.casefold() != name.casefold()}))


def _parse(path: Path) -> Any:
    try:
        from pronto.ontology import Ontology
    except ModuleNotFoundError as error:
        raise UserError(
            "graph 'hpo' is parsed with pronto: pip install 'ark-harness[demo]'"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on the file's style that nobody here can mend
        try:
            return Ontology(str(path))
        except (ValueError, SyntaxError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(f"{path} is not a readable OBO file ({reason})") from error


def _term(term: Any, kind: str) -> Term:
    name = str(term.name)
    parts = (str(part) for part in (term.definition, term.comment) if part)
    given = [(s, s.type.id if s.type else "") for s in term.synonyms]
    aliases = other_names(name, (s.description for s, code in given if code != _NOT_A_NAME))
    return Term(
        id=str(term.id),
        type=kind,
        name=name,
        text=" ".join(" ".join(parts).split()),
        aliases=aliases,
        synonyms=tuple(
            sorted({s.description for s, code in given if _stands_for_it(s, code)} & set(aliases))
        )
        if kind == "phenotype"
        else (),
    )


def _stands_for_it(synonym: Any, code: str) -> bool:
    """Whether it is an exact or a layperson's synonym, and no short form or spelling of one."""
    exact = synonym.scope == "EXACT" and code not in _VARIANTS
    return exact or (code == "layperson" and synonym.scope in _SCOPES)
