"""Reads the catalogue of the Common Weakness Enumeration (schema 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ark.errors import UserError
from ark.graph.sources.cwe_text import prose, without_references

_HEADER_BYTES = 2000
# Taxonomies whose entry names are other names of weaknesses, not codes or rules.
_TAXONOMIES = ("PLOVER", "CLASP", "7 Pernicious Kingdoms", "WASC")
_CVE = re.compile(r"CVE-\d+-\d+$")


@dataclass(frozen=True)
class Catalogue:
    """The entries that are not deprecated, as elements in the order of the file."""

    weaknesses: tuple[Any, ...]
    categories: tuple[Any, ...]
    views: tuple[Any, ...]

    def entries(self) -> Iterator[Any]:
        """All of them."""
        yield from self.weaknesses
        yield from self.categories
        yield from self.views


def load(path: Path) -> Catalogue:
    """Parses the file; entities are not resolved and nothing is fetched. Raises UserError."""
    try:
        from lxml import etree
    except ModuleNotFoundError as error:
        raise UserError(
            "graph 'cwe' is parsed with lxml: pip install 'ark-harness[demo]'"
        ) from error
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.parse(str(path), parser).getroot()
    except (etree.XMLSyntaxError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a readable XML file ({reason})") from error
    catalogue = Catalogue(
        *(
            tuple(e for e in find(root, f"{group}/{kind}") if e.get("Status") != "Deprecated")
            for group, kind in (
                ("Weaknesses", "Weakness"),
                ("Categories", "Category"),
                ("Views", "View"),
            )
        )
    )
    if not catalogue.weaknesses:
        raise UserError(f"{path} holds no weakness: give the cwec_v*.xml of a CWE release")
    return catalogue


def header(path: Path) -> tuple[str, str]:
    """(version, date) as the root element states them."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES).decode("utf-8", errors="replace")
    found = [re.search(rf'<Weakness_Catalog[^>]* {key}="([^"]*)"', head) for key in _HEADER]
    version, date = (m.group(1) if m else "unknown" for m in found)
    return version, date


_HEADER = ("Version", "Date")


def find(element: Any, path: str) -> Iterator[Any]:
    """Elements below ``element`` by their names, whatever their namespace."""
    found: Iterator[Any] = element.iterfind("/".join(f"{{*}}{name}" for name in path.split("/")))
    return found


def texts(element: Any, path: str) -> list[str]:
    """Their texts without references, empty ones left out."""
    return [text for e in find(element, path) if (text := without_references(prose(e)))]


def first(element: Any, path: str) -> str:
    """The first of ``texts``, or nothing."""
    return next(iter(texts(element, path)), "")


def observed(weakness: Any) -> Iterator[tuple[str, str]]:
    """(CVE, description) of the observed examples; other kinds of report are left out."""
    for example in find(weakness, "Observed_Examples/Observed_Example"):
        number = "".join(prose(e) for e in find(example, "Reference"))
        if _CVE.match(number):
            yield number, first(example, "Description")


def alternate_terms(weakness: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """(terms, description) of the alternate terms: "Denylist / Deny List" is two terms."""
    for entry in find(weakness, "Alternate_Terms/Alternate_Term"):
        terms = tuple(part.strip() for part in first(entry, "Term").split(" / "))
        yield tuple(term for term in terms if term), first(entry, "Description")


def taxonomy_names(weakness: Any) -> set[str]:
    """Names under which the four taxonomies list the weakness, without those that hold a digit.

    Nor is "Other length calculation error" a name: it stands for what has none.
    """
    return {
        name
        for mapping in find(weakness, "Taxonomy_Mappings/Taxonomy_Mapping")
        if mapping.get("Taxonomy_Name") in _TAXONOMIES
        for name in texts(mapping, "Entry_Name")
        if not any(character.isdigit() for character in name) and not name.startswith("Other ")
    }
