"""What a model sees of the graph: one line a node, within a budget of tokens.

A row is ``[index] "name" | type | ...``. The name is a JSON string, so nothing that a stranger
wrote into a node can end the line or pass for another field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ark.errors import UserError, unknown
from ark.protocols import Graph
from ark.records import Json
from ark.text import clip, one_line, snippet, tokens

CHARACTERS_PER_TOKEN = 4  # the usual estimate for English; exact counts need each model's tokenizer
NAME_LIMIT = 120
SNIPPET_WIDTH = 160
HANDLES = ("index", "opaque")


@dataclass
class Handles:
    """The numbers by which a model knows nodes. A node exists for it once it has been shown.

    ``index`` is the row of the node, as the authors' code does. Where rows follow the answers
    (AMAZON), that tells something: ``opaque`` numbers nodes in the order they come up.
    """

    kind: str = "index"
    known: dict[int, int] = field(default_factory=dict)  # handle -> node, of nodes shown
    _numbers: dict[int, int] = field(default_factory=dict)  # node -> handle

    def __post_init__(self) -> None:
        if self.kind not in HANDLES:
            raise UserError(unknown("method.handles", self.kind, HANDLES))

    def of(self, node: int) -> int:
        """The handle of a node."""
        if self.kind == "index":
            return node
        return self._numbers.setdefault(node, len(self._numbers) + 1)

    def show(self, nodes: Sequence[int]) -> None:
        """These nodes have been shown."""
        self.known.update((self.of(node), node) for node in nodes)


def row(graph: Graph, handles: Handles, i: int) -> str:
    """``[handle] "name" | type``, the way every observation names a node."""
    name = json.dumps(clip(graph.name(i), NAME_LIMIT), ensure_ascii=False)
    return f"[{handles.of(i)}] {name} | {unbarred(graph.type(i), NAME_LIMIT)}"


def unbarred(name: str, limit: int) -> str:
    """A type or relation in a row: a bar in it could pass for the start of another field."""
    return clip(name, limit).replace("|", "¦")


def match_of(graph: Graph, i: int, query: str) -> str:
    """Why a node matches: `` | also: "alias"`` and `` | match: "..."``, each where there is one.

    The alias that shares most words with the query (of equals the first), and the text around the
    first query word in the node's text. Both are indexed, so both can be what matched.
    """
    wanted = set(tokens(query))
    alias = max(graph.aliases(i), key=lambda a: len(wanted & set(tokens(a))), default="")
    parts = []
    if wanted & set(tokens(alias)):
        parts.append(f" | also: {json.dumps(clip(alias, NAME_LIMIT), ensure_ascii=False)}")
    found = snippet(graph.text(i), query, SNIPPET_WIDTH)
    if found:
        parts.append(f" | match: {json.dumps(found, ensure_ascii=False)}")
    return "".join(parts)


def details(graph: Graph, i: int, budget: int) -> str:
    """Aliases, attributes and text of a node, each on a line as JSON, cut to a budget of tokens."""
    node = graph.node(i)
    parts = {"aliases": list(node.aliases), "attributes": dict(node.attrs)}
    lines = [
        f"{name}: {json.dumps(_on_one_line(value), ensure_ascii=False)}"
        for name, value in parts.items()
        if value
    ]
    lines.append(f"text: {json.dumps(one_line(node.text), ensure_ascii=False)}")
    return clip_lines(lines, budget * CHARACTERS_PER_TOKEN)


def _on_one_line(value: Json) -> Json:
    """Attributes with every text on one line: JSON itself leaves U+2028 and its like alone."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {one_line(str(key)): _on_one_line(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_on_one_line(inner) for inner in value]
    return value


def clip_lines(lines: Sequence[str], characters: int) -> str:
    """Whole lines, the last one cut with an ellipsis where ``characters`` run out."""
    text = "\n".join(lines)
    return text if len(text) <= characters else text[: max(0, characters - 1)] + "…"


def within_budget(head: str, rows: Sequence[tuple[str, str]], budget: int) -> tuple[str, int]:
    """``head`` and as many rows as fit; returns the text and how many rows it shows.

    A row is (essential part, match). Matches go first when space is short, then rows from the end.
    """
    room = budget * CHARACTERS_PER_TOKEN - len(head)
    full = sum(len(a) + len(b) + 1 for a, b in rows)
    lines = [a + b for a, b in rows] if full <= room else [a for a, _ in rows]
    shown: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0 and shown:  # one row is always shown
            break
        shown.append(line)
    missing = len(lines) - len(shown)
    tail = [f"({missing} rows left out: too long)"] if missing else []
    return "\n".join([head, *shown, *tail]), len(shown)
