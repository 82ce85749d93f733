"""A graph of thirteen nodes that ships with the package: test bed, fingerprint, first look.

An invented garden. It has what breaks code: an isolated node, nodes without text, two nodes with
one name, an alias, attributes of every kind, parallel edges that differ in their attributes, a
loop, an equivalence and a negative statement.
"""

from __future__ import annotations

from dataclasses import dataclass

from ark.graph.data import GraphData, Provenance, source_key

_CONVERTER = 1
_NODES = (
    ("p1", "plant", "Silverleaf", "A low shrub with grey leaves that smells of mint after rain."),
    ("p2", "plant", "Night bell", "A climbing plant whose blue flowers open after sunset only."),
    ("p3", "plant", "Sand thistle", "A thorny plant of dry dunes with a root as long as an arm."),
    ("p4", "plant", "Marsh candle", "A tall water plant with a yellow flower that glows faintly."),
    ("p5", "plant", "Mercury", ""),
    (
        "i1",
        "insect",
        "Copper moth",
        "A moth with copper wings that flies at night for nectar.",
    ),
    ("i2", "insect", "Dune beetle", "A black beetle that stores dew on its back in dry places."),
    ("i3", "insect", "Ribbon fly", "A slender fly that dances over still water in the evening."),
    ("i4", "insect", "Copper Moth", "Another record of the moth with copper wings."),
    ("h1", "habitat", "North dunes", "Dry hills of sand by the sea, windy all year."),
    ("h2", "habitat", "Old marsh", "Wet ground with still water, fog and many reeds."),
    ("h3", "habitat", "Mercury", "A walled garden, named after the statue at its gate."),
    ("h4", "habitat", "Glass house", "A heated house of glass that stands empty."),
)
_RELATIONS = ("grows in", "visits", "lives in", "same record as")
_EDGES: tuple[tuple[str, str, str, dict[str, str | int]], ...] = (
    ("p1", "grows in", "h1", {}),
    ("p1", "grows in", "h3", {"since": 1911}),
    ("p2", "grows in", "h3", {}),
    ("p3", "grows in", "h1", {}),
    ("p4", "grows in", "h2", {}),
    ("p5", "grows in", "h3", {}),
    ("i1", "visits", "p2", {"season": "spring"}),
    ("i1", "visits", "p2", {"season": "autumn"}),
    ("i1", "visits", "p4", {}),
    ("i2", "visits", "p3", {}),
    ("i3", "visits", "p4", {}),
    ("i3", "visits", "p1", {}),
    ("i4", "visits", "p2", {}),
    ("i2", "visits", "i2", {}),
    ("i1", "lives in", "h3", {}),
    ("i2", "lives in", "h1", {}),
    ("i3", "lives in", "h2", {}),
    ("i4", "same record as", "i1", {}),
)


@dataclass(frozen=True)
class ToySource:
    """The toy graph."""

    name: str = "toy"

    def key(self) -> str:
        """Changes with the content above and the version of the code below."""
        return source_key(_CONVERTER, {}, nodes=_NODES, relations=_RELATIONS, edges=_EDGES)

    def provenance(self) -> Provenance:
        """Ours, under the package's licence."""
        return Provenance(
            origin="invented for this package (ark/graph/toy.py)",
            version=str(_CONVERTER),
            licence="MIT",
            credit="Toy garden graph of ark-harness (MIT)",
            notice="The toy graph is part of ark-harness and stands under its MIT licence.",
        )

    def read(self) -> GraphData:
        """Thirteen nodes, three types, four relations, eighteen edges."""
        ids, types, names, texts = zip(*_NODES, strict=True)
        row = {node_id: i for i, node_id in enumerate(ids)}
        aliases = {"p2": ("Evening bell", "Moonbell"), "i3": ("Ribbon gnat",)}
        attrs = {
            "p2": {"height_m": 2.5, "colours": ("blue", "white"), "edible": False},
            "h3": {"founded": 1911},
        }
        return GraphData(
            ids=ids,
            types=types,
            names=names,
            texts=texts,
            source=[row[s] for s, _, _, _ in _EDGES],
            relation=[_RELATIONS.index(r) for _, r, _, _ in _EDGES],
            target=[row[t] for _, _, t, _ in _EDGES],
            relations=_RELATIONS,
            aliases=[aliases.get(i, ()) for i in ids],
            attrs=[attrs.get(i, {}) for i in ids],
            edge_attrs=[a for _, _, _, a in _EDGES],
            same_as="same record as",
            negatives=(("p3", "grows in", "h2"),),
        )
