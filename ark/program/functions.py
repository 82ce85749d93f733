"""The functions of the language: what each takes and gives. Docs and prompts print ``usage``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["set", "number"]
ParameterKind = Literal["set", "type", "id", "relation", "attribute", "operator", "word", "value"]

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "has")


@dataclass(frozen=True, slots=True)
class Signature:
    """``least`` arguments at least; the last kind repeats where ``more`` is true."""

    name: str
    kinds: tuple[ParameterKind, ...]
    returns: Kind
    usage: str
    help: str
    more: bool = False

    def kind_at(self, place: int) -> ParameterKind:
        """The kind of the argument at ``place``, from 0."""
        return self.kinds[min(place, len(self.kinds) - 1)]

    def takes(self, count: int) -> bool:
        """Whether ``count`` arguments are right."""
        return count >= len(self.kinds) if self.more else count == len(self.kinds)


_ALL = (
    Signature("type", ("type",), "set", 'type("type")', "all nodes of a type"),
    Signature("node", ("id",), "set", 'node("id", ...)', "these nodes", more=True),
    Signature(
        "forward",
        ("set", "relation"),
        "set",
        'forward(S, "relation")',
        "targets of the relation's edges that leave a node of S",
    ),
    Signature(
        "backward",
        ("set", "relation"),
        "set",
        'backward(S, "relation")',
        "sources of the relation's edges that enter a node of S",
    ),
    Signature(
        "intersect", ("set", "set"), "set", "intersect(A, B, ...)", "nodes in all sets", more=True
    ),
    Signature("union", ("set", "set"), "set", "union(A, B, ...)", "nodes in any set", more=True),
    Signature("minus", ("set", "set"), "set", "minus(A, B)", "nodes of A that are not in B"),
    Signature(
        "text",
        ("set", "word"),
        "set",
        'text(S, "word", ...)',
        "nodes of S whose text holds every word",
        more=True,
    ),
    Signature(
        "where",
        ("set", "attribute", "operator", "value"),
        "set",
        'where(S, "attribute", "operator", value)',
        f"nodes of S by an attribute; operators {' '.join(OPERATORS)}",
    ),
    Signature("count", ("set",), "number", "count(S)", "how many nodes S has"),
    Signature(
        "argmax",
        ("set", "attribute"),
        "set",
        'argmax(S, "attribute")',
        "nodes of S with the largest value of an attribute, ties included",
    ),
    Signature(
        "argmin",
        ("set", "attribute"),
        "set",
        'argmin(S, "attribute")',
        "nodes of S with the smallest value of an attribute, ties included",
    ),
)

SIGNATURES: Mapping[str, Signature] = {s.name: s for s in _ALL}
