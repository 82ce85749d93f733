"""What the tools ask of a graph; made once a graph and kept for all questions."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ark.errors import unknown
from ark.program.adjacency import Adjacency
from ark.program.attributes import elements
from ark.program.words import WordIndex, split_words
from ark.protocols import Graph, Ints
from ark.records import Scalar
from ark.text import one_line
from baselines.common import PerGraph
from baselines.kg_agent.errors import CallError, quoted
from baselines.kg_agent.sets import MOVES, NodeSet, Relation, Way

EXACT = 500  # nodes of a set whose relations are counted; of larger ones the schema tells
SCAN = 50_000  # nodes whose values are read for one constraint
EXAMPLES = 3  # values of an attribute, and types beyond a relation, in a list of relations
TYPED = 50  # nodes whose type is looked at to say what lies beyond a relation
PAIR = ("from", "to")  # ends of the names of two attributes that are one time: term_from, term_to


class Engine:
    """Steps, relation lists and values of sets on one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.words = WordIndex(graph)
        self._adjacency = Adjacency(graph)
        self._numbers = {name: number for number, name in enumerate(graph.relations)}
        self._sizes: dict[str, int] = {}

    def is_relation(self, name: str) -> bool:
        """Whether the graph has edges of this name."""
        return name in self._numbers

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Names of all attributes; reads every node, once."""
        every = (self.graph.node(i).attrs for i in range(self.graph.n_nodes))
        return frozenset(name for attrs in every for name in attrs)

    def spelled(self, name: str) -> str:
        """A relation as the graph spells it: a planner's line has single spaces only."""
        return name if name in self._numbers else self._spelled.get(name, name)

    @cached_property
    def _spelled(self) -> dict[str, str]:
        return {one_line(name): name for name in reversed(self.graph.relations)}

    @cached_property
    def type_names(self) -> dict[str, str]:
        """Types by their ``type_key``; of equal ones the first."""
        return {type_key(name): name for name in reversed(self.graph.node_types)}

    def of_type(self, name: str) -> NodeSet:
        """All nodes of a type; nothing but their number is read."""
        if name not in self._sizes:
            self._sizes[name] = len(self.graph.of_type(name))
        return NodeSet(self._sizes[name], lambda: self.graph.of_type(name), of_type=name)

    def follow(self, nodes: NodeSet, relation: str, *, backward: bool) -> Ints:
        """Distinct nodes at the other end of a relation's edges, ascending."""
        return self._adjacency.follow(nodes.rows, self._numbers[relation], backward=backward)

    # -- lists of relations ----------------------------------------------------------------------

    def relations(self, nodes: NodeSet) -> list[Relation]:
        """What leads out of, into and is a value of a set: by name, out before in before value."""
        found = self._counted(nodes) if len(nodes) <= EXACT else self._by_schema(nodes)
        order = {"out": 0, "in": 1, "value": 2}
        return sorted(found, key=lambda r: (order[r.way], r.name))

    def _counted(self, nodes: NodeSet) -> list[Relation]:
        out: list[Relation] = []
        ways: tuple[Way, Way] = ("out", "in")
        for way in ways:
            look = self.graph.out_edges if way == "out" else self.graph.in_edges
            edges = [look(i) for i in nodes.rows.tolist()]
            others = np.concatenate([e[0] for e in edges]) if edges else np.empty(0, np.int64)
            numbers = np.concatenate([e[1] for e in edges]) if edges else np.empty(0, np.int64)
            for number in np.unique(numbers).tolist():
                beyond = np.unique(others[numbers == number])
                types = dict.fromkeys(self.graph.type(i) for i in beyond[:TYPED].tolist())
                name = self.graph.relations[number]
                out.append(Relation(name, way, tuple(types)[:EXAMPLES], len(beyond)))
        return out + self._attributes(nodes.rows, counted=True)

    def _by_schema(self, nodes: NodeSet) -> list[Relation]:
        types = {nodes.of_type} if nodes.of_type else self._types_of(nodes.rows)
        beyond: dict[tuple[str, Way], list[str]] = {}
        for source, relation, target in self.graph.signatures:
            if source in types:
                beyond.setdefault((relation, "out"), []).append(target)
            if target in types:
                beyond.setdefault((relation, "in"), []).append(source)
        found = [Relation(*key, tuple(ends)[:EXAMPLES]) for key, ends in beyond.items()]
        return found + self._attributes(nodes.rows[:EXACT], counted=False)

    def _types_of(self, rows: Ints) -> set[str]:
        every = ((name, self.graph.of_type(name)) for name in self.graph.node_types)
        return {name for name, members in every if np.isin(rows, members).any()}

    def _attributes(self, rows: Ints, *, counted: bool) -> list[Relation]:
        seen: dict[str, list[Scalar]] = {}
        for i in rows.tolist():
            for name, value in self.graph.node(i).attrs.items():
                seen.setdefault(name, []).extend(elements(value)[:1])
        pairs = {f"{a}_{PAIR[1]}": v for a, v in seen.items() if _pair(a)[1] in seen}
        return [
            Relation(
                name,
                "value",
                tuple(str(v)[:30] for v in list(dict.fromkeys(values))[:EXAMPLES]),
                len(values) if counted else None,
            )
            for name, values in (seen | pairs).items()
        ]

    def holding(self, nodes: NodeSet, text: str) -> Ints:
        """Nodes of a set whose text holds every word of ``text``. Raises CallError."""
        words = split_words(text)
        if not words:
            raise CallError("value", f"{quoted(text)} holds no word")
        return self.words.holding(nodes.rows, words)

    # -- values ----------------------------------------------------------------------------------

    def tails(self, nodes: NodeSet, name: str) -> dict[int, list[Scalar]]:
        """The values of an attribute, or names beyond a relation, of the nodes that have any.

        Raises CallError: the set is too large.
        """
        if len(nodes) > SCAN:
            raise CallError("size", f"{len(nodes)} nodes are too many to compare: narrow first")
        out: dict[int, list[Scalar]] = {}
        number = self._numbers.get(name)
        for i in nodes.rows.tolist():
            values = list(elements(self.graph.node(i).attrs.get(name)))
            if number is not None:
                targets, numbers, _ = self.graph.out_edges(i)
                beyond = np.unique(targets[numbers == number]).tolist()
                values += [self.graph.name(other) for other in beyond]
            if values:
                out[i] = values
        return out

    def times(self, nodes: NodeSet, name: str) -> dict[int, list[tuple[Scalar, Scalar]]] | None:
        """(from, to) of a pair of attributes; "" for a missing end. None if it is no such pair."""
        if not name.endswith("_".join(PAIR)):
            return None
        starts, ends = (self.tails(nodes, n) for n in _pair(name[: -len(PAIR[1]) - 1]))
        if not starts and not ends:
            return None
        out: dict[int, list[tuple[Scalar, Scalar]]] = {}
        for i in nodes.rows.tolist():
            first, last = starts.get(i, []), ends.get(i, [])
            if len(first) == len(last):
                spans = list(zip(first, last, strict=True))
            else:  # which belong together is not known: any that might
                spans = [(a, b) for a in first or [""] for b in last or [""]]
            if spans:
                out[i] = spans
        return out

    def no_link(self, name: str, nodes: NodeSet) -> CallError:
        """The error for what no move can follow: an attribute of the set, or nothing of it."""
        own = (r.name for r in self.relations(nodes) if r.way == "value")
        if any(each.casefold() == name.casefold() for each in own):
            reason = f"{quoted(name)} is an attribute and leads to no node"
            return CallError("relation", f"{reason}: use {MOVES['value']}")
        return self.missing(name, nodes)

    def missing(self, name: str, nodes: NodeSet) -> CallError:
        """The error for a relation or attribute that a set does not have."""
        known = list(dict.fromkeys(r.name for r in self.relations(nodes)))
        return CallError("relation", unknown("relation of this set:", name, known))


def type_key(name: str) -> str:
    """A type as types are compared: lower case, underscores and runs of white space as a space."""
    return one_line(name.replace("_", " ")).lower()


def _pair(start: str) -> tuple[str, str]:
    """The names of both attributes, given the first: term_from -> (term_from, term_to)."""
    if not start.endswith(PAIR[0]):
        return "", ""
    return start, start[: -len(PAIR[0])] + PAIR[1]


engine_of = PerGraph(Engine)
