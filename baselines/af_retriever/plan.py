"""What one call says of a question: the types of the answer, and facts it must fulfil."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from ark.protocols import Graph
from ark.records import Json
from ark.text import one_line
from baselines.ask import UnreadableError, best_by_words, numbered, object_schema, read_texts

MOST_TYPES = 60
MOST_RELATIONS = 120  # of the schema's edges that are offered
MOST_CONSTANTS = 8
MOST_TRIPLES = 6
MOST_NAME = 200  # characters of a constant

TASK = (
    "A question asks for nodes of a knowledge graph. Do not answer it: say what it asks for, as "
    "numbers of the options below. answer_types: the node types that the thing asked for may have. "
    "constants: the names in the question that stand for nodes of the graph, as they are spelled "
    "there. triples: what must hold, each with a subject, the number of a relation and an object; "
    'subject and object are "answer" for the thing asked for, a constant, or ?x, ?y, ?z for '
    "something between them that has no name. Answer with a JSON object: "
    '{"answer_types": [number], "constants": ["name"], "triples": '
    '[{"subject": "answer", "relation": number, "object": "name"}]}.'
)
_ANSWER_WORDS = frozenset({"answer", "?answer", "the answer", "?"})

T = TypeVar("T")
_JOINING = re.compile(r"\s+(?:and|or)\s+")
Signature = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Term:
    """An end of a triple: the answer, something without a name, or a constant."""

    kind: Literal["answer", "variable", "constant"]
    text: str = ""


ANSWER = Term("answer")


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact; ``edge`` is the kind of edge: source type, relation, target type."""

    subject: Term
    edge: Signature
    object: Term


@dataclass(frozen=True, slots=True)
class Plan:
    """What the answer must be. No types: any type. ``open`` are kinds of edges without ends."""

    types: frozenset[str] = frozenset()
    constants: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    open: tuple[Signature, ...] = ()


@dataclass(frozen=True)
class Options:
    """The numbered options of one question: node types, then kinds of edges.

    A graph with more than ``MOST_RELATIONS`` kinds offers those that share most with the question.
    """

    graph: Graph
    question: str

    @cached_property
    def types(self) -> Sequence[str]:
        """Node types; the number of one is its place from 1."""
        return self._fitting(self.graph.node_types, self.graph.node_types, MOST_TYPES)

    @cached_property
    def edges(self) -> Sequence[Signature]:
        """Kinds of edges, numbered on from the last type."""
        every = self.graph.signatures
        return self._fitting(every, [_shown(edge) for edge in every], MOST_RELATIONS)

    @property
    def prompt(self) -> str:
        """The user's message."""
        first = len(self.types) + 1
        relations = numbered((_shown(edge) for edge in self.edges), first)
        return (
            f"Question: {one_line(self.question)}\n"
            f"Node types:\n{numbered(map(_several, self.types))}\n"
            f"Relations, each between two node types:\n{relations}"
        )

    @property
    def schema(self) -> dict[str, Json]:
        """Of the answer. Ranges say which numbers are types and which are relations."""
        first, last = len(self.types), len(self.types) + len(self.edges)
        kind = {"type": "integer", "minimum": 1, "maximum": max(first, 1)}
        edge = {"type": "integer", "minimum": first + 1, "maximum": max(last, first + 1)}
        text = {"type": "string"}
        triple = object_schema({"subject": text, "relation": edge, "object": text})
        return object_schema(
            {
                "answer_types": {"type": "array", "items": kind, "maxItems": max(first, 1)},
                "constants": {"type": "array", "items": text, "maxItems": MOST_CONSTANTS},
                "triples": {"type": "array", "items": triple, "maxItems": MOST_TRIPLES},
            }
        )

    def read(self, value: Mapping[str, Json]) -> tuple[Plan, int]:
        """The plan, and how many of its parts were unusable. Raises UnreadableError for none."""
        types, lost = self._types(value.get("answer_types"))
        constants: list[str] = []
        if isinstance(value.get("constants"), list):
            constants, bad = read_texts(value, "constants", MOST_CONSTANTS)
            constants = list(dict.fromkeys(text[:MOST_NAME] for text in constants))
            lost += bad
        triples, open_, bad = self._triples(value.get("triples"))
        if not (types or constants or triples or open_):
            raise UnreadableError(
                f'"answer_types" must hold numbers from 1 to {len(self.types)}, and "triples" '
                'objects with "subject", "relation" and "object".'
            )
        if len(types) == len(self.types):
            types = frozenset()  # all of them say nothing
        return Plan(types, tuple(constants), triples, open_), lost + bad

    def _types(self, given: Json) -> tuple[frozenset[str], int]:
        entries = given if isinstance(given, list) else [] if given is None else [given]
        places = [_whole(entry) for entry in entries]
        good = [p for p in places if p is not None and 1 <= p <= len(self.types)]
        return frozenset(self.types[p - 1] for p in good), len(entries) - len(good)

    def _triples(self, given: Json) -> tuple[tuple[Triple, ...], tuple[Signature, ...], int]:
        closed: list[Triple] = []
        open_: list[Signature] = []
        lost = 0
        for entry in given[: 2 * MOST_TRIPLES] if isinstance(given, list) else ():
            row = entry if isinstance(entry, Mapping) else {}
            place = _whole(row.get("relation"))
            ends = [self._term(row.get(side)) for side in ("subject", "object")]
            if place is None or not 0 < place - len(self.types) <= len(self.edges):
                lost += 1
            elif ends[0] is None and ends[1] is None:
                open_.append(self.edges[place - len(self.types) - 1])
            elif ends[0] is None or ends[1] is None or ends[0] == ends[1]:
                lost += 1
            else:
                edge = self.edges[place - len(self.types) - 1]
                closed.append(Triple(ends[0], edge, ends[1]))
        unique = tuple(dict.fromkeys(closed))[:MOST_TRIPLES]
        return unique, tuple(dict.fromkeys(open_))[:MOST_TRIPLES], lost

    def _term(self, given: Json) -> Term | None:
        """A name of a type stands for something of that type that has no name."""
        text = one_line(given)[:MOST_NAME].strip(" \"'") if isinstance(given, str) else ""
        low = text.casefold()
        if not text:
            return None
        if low in _ANSWER_WORDS:
            return ANSWER
        if low.startswith("?") or low in {t.casefold() for t in self.types}:
            return Term("variable", low)
        return Term("constant", text)

    def _fitting(self, every: Sequence[T], texts: Sequence[str], most: int) -> Sequence[T]:
        if len(every) <= most:
            return every
        return [every[i] for i in sorted(best_by_words(self.question, texts, most))]


def _shown(edge: Signature) -> str:
    return " | ".join(map(_plain, edge))


def _plain(name: str) -> str:
    """Without "and" and "or", which stand in most questions: rules choose by shared words."""
    return _JOINING.sub(", ", name.replace("_", " "))


def _several(name: str) -> str:
    """With the plural of its last word: questions mostly ask for several."""
    text = _plain(name)
    if text.endswith(("s", "x", "z", "ch", "sh")):
        return f"{text} ({text}es)"
    if text.endswith("y") and text[-2:-1] not in tuple("aeiou"):
        return f"{text} ({text[:-1]}ies)"
    return f"{text} ({text}s)"


def _whole(value: Json) -> int | None:
    """A whole number, also as a text or as 3.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None
