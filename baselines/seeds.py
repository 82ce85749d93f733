"""Where a walk begins: the nodes that a question names, from its text alone.

Think-on-Graph has the model name the topic entities (arXiv 2307.07697, section 2.1) and its code
reads them from the data set. Here they are linked in two calls; ``seeds=oracle`` gives the
question's anchors instead, as a row of its own.
"""

from __future__ import annotations

from ark.protocols import Context
from ark.records import Json
from ark.text import one_line
from baselines.ask import (
    Asker,
    best_by_words,
    numbered,
    object_schema,
    pick_schema,
    plain,
    read_picks,
    read_texts,
)

MOST_MENTIONS = 5
NAME = 100  # characters of a name or a type
PER_MENTION = 3  # nodes that are looked up for a mention

FIND = (
    "A question is to be answered with a knowledge graph. List the things of the graph that the "
    "question names and that a search could start from: names as they stand in the question, the "
    "most specific first. What is asked for is not one of them. Answer with a JSON object: "
    '{"mentions": ["name", ...]}.'
)
PICK = (
    "A question is to be answered with a knowledge graph. The numbered nodes were found for the "
    "names in it. Choose the nodes that the question is about, most important first. Answer with a "
    'JSON object: {"chosen": [numbers]}.'
)


async def link_seeds(asker: Asker, prefix: str, question: str, most: int) -> list[int]:
    """At most ``most`` rows, best first; empty where the graph has nothing for the question.

    Two calls, tags ``PREFIX.link`` and ``PREFIX.pick``; the second only where there is a choice.
    """
    ctx = asker.ctx
    if ctx.seeds is not None:
        return list(dict.fromkeys(ctx.seeds))[:most]
    state: dict[str, Json] = {"kind": "beam", "depth": 0, "purpose": "link"}
    mentions = await asker.ask(
        f"{prefix}.link",
        FIND,
        f"Question: {one_line(question)}",
        object_schema(
            {"mentions": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_MENTIONS}}
        ),
        lambda value: read_texts(value, "mentions", MOST_MENTIONS),
        lambda: [question],
        state=state,
    )
    found = _found(ctx, mentions or [question])
    if len(found) <= most:
        asker.note(f"{prefix}.link", {"taken": [ctx.graph.id(i) for i in found]})
        return found
    options = [describe(ctx, i) for i in found]
    picks = await asker.ask(
        f"{prefix}.pick",
        PICK,
        f"Question: {one_line(question)}\nNodes:\n{numbered(options)}",
        pick_schema("chosen", len(options), most, 1),
        lambda value: read_picks(value, "chosen", len(options), 1),
        lambda: best_by_words(question, options, most),
        state={**state, "offered": [ctx.graph.id(i) for i in found]},
    )
    seeds = [found[i] for i in picks[:most]]
    asker.note(f"{prefix}.pick", {"taken": [ctx.graph.id(i) for i in seeds]})
    return seeds


def describe(ctx: Context, node: int) -> str:
    """A node as an option: name and type."""
    return f"{plain(ctx.graph.name(node), NAME)} | {plain(ctx.graph.type(node), NAME)}"


def _found(ctx: Context, mentions: list[str]) -> list[int]:
    """Search hits of each mention, the first of all before the second of any."""
    lists = [[hit.node for hit in ctx.search.search(m, PER_MENTION)] for m in mentions]
    ranks = range(max(map(len, lists), default=0))
    return list(dict.fromkeys(row[rank] for rank in ranks for row in lists if rank < len(row)))
