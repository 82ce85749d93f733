"""What the model is told. Tasks are ours; the originals' demonstrations are not used."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ark.protocols import Context
from ark.text import one_line, snippet
from baselines.ask import numbered, plain
from baselines.tog.ways import NAME_WIDTH, name_of

SNIPPET = 160  # characters of text in a card: about 40 tokens
CARDS = 4_800  # characters that the texts of all cards of a prompt share
ELLIPSES = 40  # what a snippet may have beyond its width, for whole words
LEAST = 40  # a shorter text says nothing

RELATIONS = (
    "A question is answered by walking a knowledge graph from an entity. The numbered options are "
    "the relations of the entity, written in the direction of their edges. Choose at most {width} "
    "that lead towards the answer and score each from 0 to 1 by how much it helps. Answer with a "
    'JSON object: {{"relations": [{{"option": number, "score": number}}, ...]}}.'
)
ENTITIES = (
    "A question is answered by walking a knowledge graph. The numbered options are the nodes that "
    "the step reaches. Score from 0 to 1 those that are the answer or lead to it, at most {most}; "
    "the others count as 0. Answer with a JSON object: "
    '{{"entities": [{{"option": number, "score": number}}, ...]}}.'
)
REASON = (
    "Decide whether the facts from a knowledge graph, with what you know, are enough to answer the "
    "question. If so, the answers are numbers of options, best first. Answer with a JSON object: "
    '{"enough": true, "answers": [numbers]} or {"enough": false, "answers": []}.'
)
ANSWER = (
    "Answer the question from the facts of a knowledge graph. The answers are numbers of options, "
    'best first. Answer with a JSON object: {"answers": [numbers]}.'
)
MEMORY = (
    "Answer the question from what you know. Give names as an encyclopedia would, the most likely "
    'first, at most {most}; none if you do not know. Answer with a JSON object: {{"answers": '
    '["name", ...]}}.'
)
VERSION = hashlib.sha256(
    "\n".join((RELATIONS, ENTITIES, REASON, ANSWER, MEMORY)).encode()
).hexdigest()[:16]


def cards(ctx: Context, question: str, nodes: Sequence[int], kind: str) -> list[str]:
    """Nodes as options: ``name``, or ``name | type | text`` where kind is ``full``."""
    graph = ctx.graph
    if kind == "name":
        return [name_of(graph, node) for node in nodes]
    width = min(SNIPPET, CARDS // max(1, len(nodes)))
    out = []
    for node in nodes:
        parts = [name_of(graph, node), plain(graph.type(node), NAME_WIDTH)]
        text = graph.text(node) if width >= LEAST else ""
        if text:
            parts.append(plain(snippet(text, question, width) or text, width + ELLIPSES))
        out.append(" | ".join(parts))
    return out


def with_options(question: str, facts: Sequence[str], title: str, options: Sequence[str]) -> str:
    """The user message: the question, facts as a list, numbered options."""
    return "\n".join((ask(question), *facts, f"{title}:", numbered(options)))


def ask(question: str) -> str:
    """The question on its line."""
    return f"Question: {one_line(question)}"


def listed(title: str, lines: Sequence[str]) -> list[str]:
    """Facts below a title."""
    return [f"{title}:", *(f"- {line}" for line in lines)]
