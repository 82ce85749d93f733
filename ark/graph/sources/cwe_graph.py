"""Nodes and edges of the Common Weakness Enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ark.errors import UserError
from ark.graph.data import GraphData
from ark.graph.sources import cwe_xml
from ark.graph.sources.cwe_xml import Catalogue, find, first, texts
from ark.graph.synonyms import Synonyms, count_names, draw, name_key
from ark.records import Attr

_NATURES = {
    "ChildOf": "child of",
    "PeerOf": "peer of",
    "CanPrecede": "can precede",
    "CanAlsoBe": "can also be",
    "Requires": "requires",
    "StartsWith": "starts with",
}
_RELATIONS = (
    *_NATURES.values(),
    *("has member", "has impact", "affects", "introduced in", "mitigated in"),
    *("applies to", "detected by", "observed in"),
)
_PLATFORMS = {
    "Language": "language",
    "Technology": "technology",
    "Architecture": "architecture",
    "Operating_System": "operating system",
}
_ATTRIBUTES = {  # of a weakness; each may occur several times
    "functional areas": "Functional_Areas/Functional_Area",
    "affected resources": "Affected_Resources/Affected_Resource",
    "ordinality": "Weakness_Ordinalities/Weakness_Ordinality/Ordinality",
}
_UNKNOWN = ("Undetermined", "Unknown")
_NOTHING: Mapping[str, Sequence[str]] = {}
_OTHER = "Other"  # a value that stands for what the catalogue's list lacks: no node
_Edge = tuple[str, str, str, str]
"""(source id, relation, target id, view that states it or nothing)."""


@dataclass(slots=True)
class _Node:
    id: str
    type: str
    name: str
    texts: list[str] = field(default_factory=list)
    aliases: tuple[str, ...] = ()
    attrs: dict[str, Attr] = field(default_factory=dict)
    synonyms: Synonyms | None = None
    terms: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def text(self, held_out: Set[tuple[str, str]]) -> str:
        """Its pieces, each once, with the alternate terms that are not held out."""
        pieces = [*self.texts[:_TERMS_AT], *self._told(held_out), *self.texts[_TERMS_AT:]]
        return " ".join(piece for piece in dict.fromkeys(pieces) if piece)

    def _told(self, held_out: Set[tuple[str, str]]) -> list[str]:
        told = []
        for terms, description in self.terms:
            kept = [term for term in terms if (self.id, term) not in held_out]
            note = description if len(kept) == len(terms) else ""
            if kept:
                told.append(f"{' / '.join(kept)}{f': {note}' if note else '.'}")
        return told


_TERMS_AT = 3  # after description, extended description and background


class _Collector:
    """Nodes and edges as entries name them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._names = {e.get("ID"): e.get("Name") for e in catalogue.entries()}
        self._nodes: dict[str, _Node] = {}
        self._edges: dict[_Edge, dict[str, set[str]]] = {}
        mapped = (cwe_xml.taxonomy_names(e) for e in catalogue.weaknesses)
        self._mapped = Counter(key for names in mapped for key in {name_key(n) for n in names})

    def collect(self) -> None:
        for entry in self._catalogue.weaknesses:
            self._weakness(entry)
        for entry in self._catalogue.categories:
            node = self._entry(entry, "category", "Summary")
            self._members(node.id, find(entry, "Relationships/Has_Member"))
        for entry in self._catalogue.views:
            node = self._entry(entry, "view", "Objective")
            node.attrs["kind"] = entry.get("Type")
            self._members(node.id, find(entry, "Members/Has_Member"))

    def finish(self) -> GraphData:
        """The graph: nodes by id; edges by relation, ends and view."""
        nodes = [self._nodes[node_id] for node_id in sorted(self._nodes)]
        carriers = count_names((node.name, *node.aliases) for node in nodes)
        synonyms = draw((node.synonyms for node in nodes if node.synonyms), carriers)
        out = {(node_id, name) for node_id, name, held_out in synonyms if held_out}
        row = {node.id: i for i, node in enumerate(nodes)}
        number = {relation: i for i, relation in enumerate(_RELATIONS)}
        edges = sorted(self._edges, key=lambda e: (number[e[1]], e[0], e[2], e[3]))
        return GraphData(
            ids=[node.id for node in nodes],
            types=[node.type for node in nodes],
            names=[node.name for node in nodes],
            texts=[node.text(out) for node in nodes],
            source=[row[source] for source, _, _, _ in edges],
            relation=[number[relation] for _, relation, _, _ in edges],
            target=[row[target] for _, _, target, _ in edges],
            relations=_RELATIONS,
            aliases=[[a for a in n.aliases if (n.id, a) not in out] for n in nodes],
            attrs=[node.attrs for node in nodes],
            edge_attrs=[self._attrs_of(edge) for edge in edges],
            synonyms=synonyms,
        )

    def _entry(self, entry: Any, kind: str, *prose: str) -> _Node:
        node_id = f"CWE-{entry.get('ID')}"
        name = " ".join(entry.get("Name").split())
        node = _Node(node_id, kind, name, [first(entry, path) for path in prose])
        node.attrs["status"] = entry.get("Status")
        self._nodes[node_id] = node
        return node

    def _weakness(self, entry: Any) -> None:
        node = self._entry(entry, "weakness", "Description", "Extended_Description")
        node.texts.append(" ".join(texts(entry, "Background_Details/Background_Detail")))
        node.texts += texts(entry, "Common_Consequences/Consequence/Note")
        for mitigation in find(entry, "Potential_Mitigations/Mitigation"):
            node.texts += texts(mitigation, "Description")
            node.texts += texts(mitigation, "Effectiveness_Notes")
        self._attributes(node, entry)
        self._other_names(node, entry)
        self._related(node.id, entry)
        self._values(node.id, entry)
        for cve, description in cwe_xml.observed(entry):
            self._link(node.id, "observed in", self._value(cve, "vulnerability", cve))
            known = self._nodes[cve].texts
            if description not in known:
                known.append(description)

    def _attributes(self, node: _Node, entry: Any) -> None:
        node.attrs |= {key.lower(): entry.get(key) for key in ("Abstraction", "Structure")}
        likelihood = first(entry, "Likelihood_Of_Exploit")
        if likelihood:
            node.attrs["likelihood of exploit"] = likelihood
        for key, path in _ATTRIBUTES.items():
            values = tuple(sorted(set(texts(entry, path))))
            if values:
                node.attrs[key] = values
        patterns = find(entry, "Related_Attack_Patterns/Related_Attack_Pattern")
        numbers = tuple(sorted({int(pattern.get("CAPEC_ID")) for pattern in patterns}))
        if numbers:
            node.attrs["attack patterns"] = numbers

    def _other_names(self, node: _Node, entry: Any) -> None:
        node.terms = list(cwe_xml.alternate_terms(entry))
        mapped = {n for n in cwe_xml.taxonomy_names(entry) if self._mapped[name_key(n)] == 1}
        names = mapped | {term for terms, _ in node.terms for term in terms}
        node.aliases = tuple(sorted(n for n in names if name_key(n) != name_key(node.name)))
        notes = {term: note for terms, note in node.terms for term in terms if note}
        said = " ".join(node.texts)
        node.synonyms = Synonyms(node.id, node.name, node.aliases, node.aliases, said, notes)

    def _related(self, source: str, entry: Any) -> None:
        for related in find(entry, "Related_Weaknesses/Related_Weakness"):
            nature, target = related.get("Nature"), related.get("CWE_ID")
            if nature not in _NATURES:
                raise UserError(f"CWE has the unknown relation {nature!r}: use a supported release")
            if target in self._names:
                view = self._names.get(related.get("View_ID"), "")
                link = self._link(source, _NATURES[nature], f"CWE-{target}", view)
                _add(link, "ordinal", [related.get("Ordinal")])

    def _members(self, source: str, members: Iterable[Any]) -> None:
        for member in members:
            if member.get("CWE_ID") in self._names:
                view = self._names.get(member.get("View_ID"), "")
                self._link(source, "has member", f"CWE-{member.get('CWE_ID')}", view)

    def _values(self, source: str, entry: Any) -> None:
        """Edges to the nodes of the catalogue's lists of values."""
        for consequence in find(entry, "Common_Consequences/Consequence"):
            scopes, how = texts(consequence, "Scope"), texts(consequence, "Likelihood")
            for scope in scopes:
                self._to_value(source, "affects", "scope", scope)
            for impact in texts(consequence, "Impact"):
                told = {"likelihood": how, "scope": scopes}
                self._to_value(source, "has impact", "impact", impact, told)
        for phase in texts(entry, "Modes_Of_Introduction/Introduction/Phase"):
            self._to_value(source, "introduced in", "phase", phase)
        for mitigation in find(entry, "Potential_Mitigations/Mitigation"):
            told = {key: texts(mitigation, key.title()) for key in ("strategy", "effectiveness")}
            for phase in texts(mitigation, "Phase"):
                self._to_value(source, "mitigated in", "phase", phase, told)
        for detection in find(entry, "Detection_Methods/Detection_Method"):
            told = {"effectiveness": texts(detection, "Effectiveness")}
            method = first(detection, "Method")
            self._to_value(source, "detected by", "detection method", method, told)
        for tag, kind in _PLATFORMS.items():
            for platform in find(entry, f"Applicable_Platforms/{tag}"):
                name = platform.get("Name") or platform.get("Class")
                told = {"prevalence": [platform.get("Prevalence")]}
                self._to_value(source, "applies to", kind, name, told)

    def _to_value(
        self,
        source: str,
        relation: str,
        kind: str,
        name: str,
        told: Mapping[str, Sequence[str]] = _NOTHING,
    ) -> None:
        """An edge to the node of a value, which is made at its first occurrence."""
        if name == _OTHER:
            return
        link = self._link(source, relation, self._value(f"{kind}:{name}", kind, name))
        for key, values in told.items():
            _add(link, key, values)

    def _value(self, node_id: str, kind: str, name: str) -> str:
        self._nodes.setdefault(node_id, _Node(node_id, kind, name))
        return node_id

    def _link(self, source: str, relation: str, target: str, view: str = "") -> dict[str, set[str]]:
        return self._edges.setdefault((source, relation, target, view), {})

    def _attrs_of(self, edge: _Edge) -> dict[str, Attr]:
        found: dict[str, Attr] = {k: tuple(sorted(v)) for k, v in self._edges[edge].items()}
        return found | ({"view": edge[3]} if edge[3] else {})


def convert(catalogue: Catalogue) -> GraphData:
    """The graph of a catalogue."""
    out = _Collector(catalogue)
    out.collect()
    return out.finish()


def _add(attrs: dict[str, set[str]], key: str, values: Iterable[str]) -> None:
    known = {value for value in values if value and value not in _UNKNOWN}
    if known:
        attrs.setdefault(key, set()).update(known)
