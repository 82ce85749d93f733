"""The four tools of ARK as OpenAI function schemas (paper, section 3; names as in the paper).

An ablation takes tools or arguments out of the schemas themselves, so that no model sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ark.records import Json

SEARCH = "search_in_graph"
NEIGHBORS = "search_in_neighborhood"
ADD = "add_to_answer"
FINISH = "finish"


@dataclass(frozen=True)
class ToolOptions:
    """Which tools and arguments exist, and how much they return."""

    neighbors: bool = True
    neighbor_query: bool = True
    neighbor_filters: bool = True
    global_k: int = 5
    global_k_max: int = 30
    neighbor_k: int = 20


def tool_schemas(options: ToolOptions) -> list[dict[str, Json]]:
    """The tools that exist under ``options``, in the order models see them."""
    tools = [_search(options)]
    if options.neighbors:
        tools.append(_neighbors(options))
    return [*tools, _add(), _finish()]


def parameters_of(schema: Mapping[str, Json]) -> list[str]:
    """Argument names of one tool schema."""
    return list(schema["function"]["parameters"]["properties"])


def _function(
    name: str, description: str, properties: dict[str, Json], required: list[str]
) -> dict[str, Json]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": False,
            },
        },
    }


def _search(options: ToolOptions) -> dict[str, Json]:
    return _function(
        SEARCH,
        "Rank all nodes of the graph by how well their name and text match the query words.",
        {
            "query": {"type": "string", "description": "Words to look for."},
            "size": {
                "type": "integer",
                "description": f"How many nodes to return (default {options.global_k}, "
                f"at most {options.global_k_max}).",
            },
        },
        ["query"],
    )


def _neighbors(options: ToolOptions) -> dict[str, Json]:
    properties: dict[str, Json] = {
        "node_index": {"type": "integer", "description": "Index of a node that a tool has shown."}
    }
    text = "List the nodes one edge away from a node, in either direction"
    if options.neighbor_query:
        properties["query"] = {"type": "string", "description": "Words that rank the neighbors."}
        text += ", ranked by the query if there is one"
    if options.neighbor_filters:
        properties["node_type"] = {"type": "string", "description": "Only neighbors of this type."}
        properties["edge_type"] = {
            "type": "string",
            "description": "Only neighbors over edges of this type.",
        }
    text += f". At most {options.neighbor_k} are shown, with the number there are."
    return _function(NEIGHBORS, text, properties, ["node_index"])


def _add() -> dict[str, Json]:
    item = {
        "type": "object",
        "properties": {
            "node_index": {
                "type": "integer",
                "description": "Index of a node that a tool has shown.",
            },
            "reasoning": {"type": "string", "description": "Why this node answers the question."},
        },
        "required": ["node_index", "reasoning"],
        "additionalProperties": False,
    }
    return _function(
        ADD,
        "Append nodes to the answer list, best first. Earlier nodes rank higher.",
        {"answer_nodes": {"type": "array", "items": item, "description": "Nodes to append."}},
        ["answer_nodes"],
    )


def _finish() -> dict[str, Json]:
    return _function(
        FINISH,
        "End the work; the answer list stands as it is.",
        {"comment": {"type": "string", "description": "A short remark on the answer."}},
        [],
    )
