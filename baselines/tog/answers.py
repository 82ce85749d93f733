"""Reading answers: numbers of options from the walk, names from memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ark.protocols import Context
from ark.records import Json
from ark.text import tokens
from baselines.ask import object_schema, pick_schema, read_picks, read_texts, read_yes

MOST_ANSWERS = 10  # options that an answer may name
MOST_NAMES = 5  # names that memory may give
LOOKED = 20  # hits among which a name is looked for
MARGIN = 1.5  # times the second score that the best hit for an inexact name needs

NAMES = object_schema(
    {"answers": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_NAMES}}
)


def verdict_schema(options: int) -> dict[str, Json]:
    """``{"enough": boolean, "answers": [numbers of options]}``."""
    answers = pick_schema("answers", options, MOST_ANSWERS)["properties"]
    return object_schema({"enough": {"type": "boolean"}, **answers})


@dataclass(frozen=True)
class Verdict:
    """Whether the facts are enough, and then positions of options, best first."""

    enough: bool
    picks: tuple[int, ...] = ()


def read_verdict(value: Mapping[str, Json], options: int) -> tuple[Verdict, int]:
    """A yes needs an answer: without one it is unreadable, never right. A no has none.

    Raises UnreadableError.
    """
    if not read_yes(value, "enough"):
        return Verdict(False), 0
    picks, unusable = read_picks(value, "answers", options, 1)
    return Verdict(True, tuple(picks[:MOST_ANSWERS])), unusable


def read_names(value: Mapping[str, Json]) -> tuple[list[str], int]:
    """Names from memory; an empty list is an answer too. Raises UnreadableError."""
    return read_texts(value, "answers", MOST_NAMES)


def grounded(
    ctx: Context, question: str, names: Sequence[str], visited: Sequence[int]
) -> list[int]:
    """Nodes that the names mean, in their order; names that no node clearly has mean none.

    A name that stands in the question is not what the question asks for.
    """
    out: dict[int, None] = {}
    said = f" {' '.join(tokens(question))} "
    for name in names:
        words = tokens(name)
        if words and f" {' '.join(words)} " not in said:
            out.update(dict.fromkeys(_ground(ctx, name, words, visited)))
    return list(out)


def _ground(ctx: Context, name: str, words: list[str], visited: Sequence[int]) -> list[int]:
    """Exact names among visited nodes, then in the graph, then a hit with a clear margin."""
    known = [node for node in visited if words in _names(ctx, node)]
    if known:
        return known
    hits = ctx.search.search(name, LOOKED)
    exact = [hit.node for hit in hits if words in _names(ctx, hit.node)]
    if exact or not hits:
        return exact
    clear = len(hits) == 1 or hits[0].score >= MARGIN * hits[1].score
    return [hits[0].node] if clear and _alike(set(words), _names(ctx, hits[0].node)) else []


def _names(ctx: Context, node: int) -> list[list[str]]:
    return [tokens(text) for text in (ctx.graph.name(node), *ctx.graph.aliases(node))]


def _alike(words: set[str], names: Sequence[list[str]]) -> bool:
    """Whether a name holds all the words, or the words all of a name."""
    return any(name and (words <= set(name) or set(name) <= words) for name in names)
