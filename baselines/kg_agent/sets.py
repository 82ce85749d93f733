"""What a variable may hold: a set of nodes, a list of relations, a number or a truth value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ark.protocols import Ints

Origin = Literal["topic", "candidates", "raw", ""]
Way = Literal["out", "in", "value"]
MOVES: Mapping[Way, str] = {
    "out": "get_tail_entity",
    "in": "get_head_entity",
    "value": "get_entity_by_constraint",
}


@dataclass(frozen=True, eq=False)
class NodeSet:
    """Distinct rows, ascending, read when first needed: a type may have millions of nodes.

    ``scores`` are those of ``search_in``, higher is better. ``origin``: linked from the question
    (topic), found for a name (candidates), written by its id (raw), or the result of a call.
    """

    size: int
    read: Callable[[], Ints]
    scores: Mapping[int, float] = field(default_factory=dict)
    origin: Origin = ""
    of_type: str = ""
    """The node type of which this is the whole set, if it is one."""

    def __len__(self) -> int:
        return self.size

    @cached_property
    def rows(self) -> Ints:
        """Shape (size,), int64."""
        return self.read()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a set, seen from it, or an attribute (way ``value``).

    ``beyond``: types of the nodes that it leads to, or values for example. ``count``: how many
    nodes it leads to, or how many nodes have the attribute; None where that was not counted.
    """

    name: str
    way: Way
    beyond: tuple[str, ...]
    count: int | None = None

    @property
    def line(self) -> str:
        """As a list of relations shows it: name, tool that takes it, what lies there, how many."""
        count = "" if self.count is None else f" | {self.count}"
        return f"{self.name} | {MOVES[self.way]} | {', '.join(self.beyond)}{count}"


Value = NodeSet | Sequence[Relation] | int | bool


def of_rows(rows: Ints, origin: Origin = "", scores: Mapping[int, float] | None = None) -> NodeSet:
    """The set of rows that are at hand, distinct and ascending."""
    return NodeSet(len(rows), lambda: rows, scores or {}, origin)


def narrowed(rows: Ints, *sources: NodeSet) -> NodeSet:
    """Rows chosen from sets: the scores that these have for them are added up."""
    scores: dict[int, float] = {}
    ranked = [source.scores for source in sources if source.scores]
    if ranked:
        for row in rows.tolist():
            scores[row] = sum(each.get(row, 0.0) for each in ranked)
    return of_rows(rows, scores=scores)


def describe_kind(value: Value) -> str:
    """A value's kind in words."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "a number"
    return "a set of nodes" if isinstance(value, NodeSet) else "a list of relations"
