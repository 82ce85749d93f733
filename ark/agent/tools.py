"""The four tools of ARK as OpenAI function schemas (paper, section 3; names as in the paper).

An ablation takes tools or arguments out of the schemas themselves, so that no model sees them. The
extensions of ``ark_plus`` add two tools and arguments to them in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ark.records import Json

SEARCH = "search_in_graph"
NEIGHBORS = "search_in_neighborhood"
ADD = "add_to_answer"
FINISH = "finish"
DETAILS = "show_node"
COMMON = "common_neighbors"


@dataclass(frozen=True)
class ToolOptions:
    """Which tools and arguments exist, and how much they return."""

    neighbors: bool = True
    neighbor_query: bool = True
    neighbor_filters: bool = True
    global_k: int = 5
    global_k_max: int = 30
    neighbor_k: int = 20
    details: bool = False
    intersection: bool = False
    multi_filters: bool = False
    paging: bool = False
    hints: bool = False


def tool_schemas(options: ToolOptions) -> list[dict[str, Json]]:
    """The tools that exist under ``options``, in the order models see them."""
    tools = [_search(options)]
    if options.neighbors:
        tools.append(_neighbors(options))
    if options.details:
        tools.append(_details())
    if options.intersection:
        tools.append(_common(options))
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


_NODE = {"type": "integer", "description": "Index of a node that a tool has shown."}
_PAGE = {"type": "integer", "description": "Which page of the list, from 1 (default)."}


def _filter(what: str, options: ToolOptions) -> dict[str, Json]:
    if not options.multi_filters:
        return {"type": "string", "description": f"Only {what}."}
    one_or_more = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    return {"anyOf": one_or_more, "description": f"Only {what}; one type or a list of types."}


def _filters(options: ToolOptions) -> dict[str, Json]:
    if not options.neighbor_filters:
        return {}
    return {
        "node_type": _filter("neighbors of this type", options),
        "edge_type": _filter("neighbors over edges of this type", options),
    }


def _search(options: ToolOptions) -> dict[str, Json]:
    properties: dict[str, Json] = {
        "query": {"type": "string", "description": "Words to look for."},
        "size": {
            "type": "integer",
            "description": f"How many nodes to return (default {options.global_k}, "
            f"at most {options.global_k_max}).",
        },
    }
    if options.paging:
        properties["page"] = _PAGE
    return _function(
        SEARCH,
        "Rank all nodes of the graph by how well their name and text match the query words.",
        properties,
        ["query"],
    )


def _listing(options: ToolOptions) -> tuple[dict[str, Json], str]:
    """Arguments that narrow a list of neighbors, and the words that say so."""
    properties: dict[str, Json] = {}
    words = ""
    if options.neighbor_query:
        properties["query"] = {"type": "string", "description": "Words that rank the neighbors."}
        words = ", ranked by the query if there is one"
    properties |= _filters(options)
    if options.paging:
        properties["page"] = _PAGE
    return (
        properties,
        f"{words}. At most {options.neighbor_k} are shown, with the number there are.",
    )


def _neighbors(options: ToolOptions) -> dict[str, Json]:
    narrowing, words = _listing(options)
    return _function(
        NEIGHBORS,
        f"List the nodes one edge away from a node, in either direction{words}",
        {"node_index": _NODE, **narrowing},
        ["node_index"],
    )


def _common(options: ToolOptions) -> dict[str, Json]:
    narrowing, words = _listing(options)
    nodes = {"type": "array", "items": {"type": "integer"}, "description": "Two nodes or more."}
    return _function(
        COMMON,
        f"List the nodes that are one edge away from every one of several nodes{words}",
        {"node_indices": nodes, **narrowing},
        ["node_indices"],
    )


def _details() -> dict[str, Json]:
    return _function(
        DETAILS,
        "Show all that is stored about one node: aliases, attributes and the whole text.",
        {"node_index": _NODE},
        ["node_index"],
    )


def _add() -> dict[str, Json]:
    item = {
        "type": "object",
        "properties": {
            "node_index": _NODE,
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
