"""What a model sees of the graph: one line a node, within a budget of tokens.

A row is ``[index] "name" | type | ...``. The name is a JSON string, so nothing that a stranger
wrote into a node can end the line or pass for another field.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ark.protocols import Graph
from ark.text import clip, snippet

CHARACTERS_PER_TOKEN = 4  # the usual estimate for English; exact counts need each model's tokenizer
NAME_LIMIT = 120
SNIPPET_WIDTH = 160


def handle(graph: Graph, i: int) -> str:
    """``[index] "name" | type``, the way every observation names a node."""
    name = json.dumps(clip(graph.name(i), NAME_LIMIT), ensure_ascii=False)
    return f"[{i}] {name} | {clip(graph.type(i), NAME_LIMIT)}"


def match_of(graph: Graph, i: int, query: str) -> str:
    """`` | match: "..."`` around the first query word in the node's text, or nothing."""
    found = snippet(graph.text(i), query, SNIPPET_WIDTH)
    return f" | match: {json.dumps(found, ensure_ascii=False)}" if found else ""


def within_budget(head: str, rows: Sequence[tuple[str, str]], tokens: int) -> tuple[str, int]:
    """``head`` and as many rows as fit; returns the text and how many rows it shows.

    A row is (essential part, match). Matches go first when space is short, then rows from the end.
    """
    room = tokens * CHARACTERS_PER_TOKEN - len(head)
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
