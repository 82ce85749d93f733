"""What the planner is told: the task, the tools and five short programs. Our own words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ark.protocols import Graph
from baselines.kg_agent.tools import Tool

MOST_TYPES = 60  # node types that the prompt lists

TASK = (
    "You answer a question with a knowledge graph by writing a program, one call at a time. "
    "Variables hold sets of nodes; v0, v1, ... are entities that the question names. A relation "
    "must be copied from the list that get_relation shows. After each call you see what it gave. "
    'Answer with the next call only, as a JSON object: {"call": "v2 = get_relation(v0)"}.'
)

EXAMPLES = (
    ("what v0 is treated with", "v1 = get_tail_entity(v0, treated with)", "end(v1)"),
    (
        "the makers of what v0 is treated with",
        "v1 = get_tail_entity(v0, treated with)",
        "v2 = get_head_entity(v1, makes)",
        "end(v2)",
    ),
    (
        "those of them founded after 1990",
        "v3 = get_entity_by_constraint(v2, founded, >, 1990)",
        "end(v3)",
    ),
    ("the oldest of them", "v3 = get_entity_by_constraint(v2, founded, argmin)", "end(v3)"),
    ("how many there are", "v3 = count(v2)", "end(v3)"),
)


def system_message(graph: Graph, tools: Mapping[str, Tool]) -> str:
    """The parts of the memory that never change, but for the question."""
    types = list(graph.node_types)
    more = f" and {len(types) - MOST_TYPES} more" if len(types) > MOST_TYPES else ""
    lines = [
        TASK,
        "Tools (E: a variable or a node id, r: a relation, R: a result of get_relation):",
        *(f"- {tool.usage}: {tool.help}" for tool in tools.values()),
        f"Node types: {json.dumps(types[:MOST_TYPES], ensure_ascii=False)}{more}",
        "Examples, each line a call of its own step:",
        *("\n  ".join((f"- {wish}:", *calls)) for wish, *calls in EXAMPLES),
    ]
    return "\n".join(lines)
