"""The tools that a planner may call: the 13 of KG-Agent (arXiv 2402.11163, table 8), and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Form = Literal["rest", "commas", "sets", "text"]


@dataclass(frozen=True, slots=True)
class Tool:
    """``form`` says how arguments are split: see ``calls``. ``reads``: it is a look at the graph,
    and what it shows becomes the current information. ``extension``: the switch that turns it on.
    """

    name: str
    usage: str
    help: str
    form: Form
    least: int
    most: int
    reads: bool = False
    extension: str = ""


_ALL = (
    Tool("get_relation", "get_relation(E)", "relations and attributes of E", "rest", 1, 1, True),
    Tool(
        "get_head_entity",
        "get_head_entity(E, r)",
        "nodes that point to E by relation r",
        "commas",
        2,
        2,
    ),
    Tool(
        "get_tail_entity",
        "get_tail_entity(E, r)",
        "nodes that E points to by relation r",
        "commas",
        2,
        2,
    ),
    Tool("get_entity_by_type", "get_entity_by_type(type)", "all nodes of a type", "rest", 1, 1),
    Tool(
        "get_entity_by_constraint",
        "get_entity_by_constraint(E, r, op, value)",
        "nodes of E by a value: = > >= < <=, or argmax / argmin without value",
        "commas",
        3,
        4,
    ),
    Tool(
        "get_candidate_entity",
        "get_candidate_entity(mention)",
        "nodes that a name may mean",
        "rest",
        1,
        1,
        True,
    ),
    Tool("count", "count(E)", "how many nodes E has", "rest", 1, 1),
    Tool("intersect", "intersect(E1, E2, ...)", "nodes in all sets", "sets", 2, 20),
    Tool("union", "union(E1, E2, ...)", "nodes in any set", "sets", 2, 20),
    Tool(
        "judge",
        "judge(E, r, op, value)",
        "whether a node of E has such a value",
        "commas",
        4,
        4,
    ),
    Tool("end", "end(E)", "E is the answer", "rest", 1, 1),
    Tool(
        "retrieve_relation",
        "retrieve_relation(R)",
        "those of R that fit the question",
        "rest",
        1,
        1,
        True,
    ),
    Tool(
        "disambiguate_entity",
        "disambiguate_entity(E)",
        "the node of E that fits the question",
        "rest",
        1,
        1,
    ),
    Tool(
        "search_in",
        "search_in(E or type, text, k)",
        "the k nodes whose text fits best, ranked",
        "text",
        2,
        3,
        extension="search_in",
    ),
    Tool(
        "difference",
        "difference(E1, E2)",
        "nodes of E1 that are not in E2",
        "sets",
        2,
        2,
        extension="more_tools",
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}


def offered(*, search_in: bool, more_tools: bool) -> dict[str, Tool]:
    """The tools of a preset, by name."""
    on = {"": True, "search_in": search_in, "more_tools": more_tools}
    return {name: tool for name, tool in TOOLS.items() if on[tool.extension]}
