"""Tiny folders in the official format, converted, answer tool calls with the package's own texts.

``tests/graph/stark_documents/tiny.json`` holds what stark-qa printed for the same records.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from tiny_stark import write_graph

from ark.agent.toolbox import Toolbox
from ark.agent.tools import ToolOptions
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.records import ToolCall
from ark.search.keyword import Keyword
from ark.text import one_line

RECORDED = Path(__file__).resolve().parents[1] / "graph" / "stark_documents" / "tiny.json"
NAMES = ("prime", "mag", "amazon")
MANY_VOTES = 16  # reviews with equal votes; above that the package's order is not defined
Tiny = tuple[KnowledgeGraph, list[str | None], list[set[int]]]


@pytest.fixture(params=NAMES)
def tiny(request: pytest.FixtureRequest, shared: Path, tmp_path: Path) -> Tiny:
    """The converted folder; recorded text (None where none is defined) and neighbours by node."""
    name = request.param
    script = runpy.run_path(str(shared / "fixtures" / "make_tiny_stark.py"))
    made = script[name]()
    write_graph(tmp_path / "root", name, **made)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    texts = [node["text"] for node in recorded]
    neighbors = [{i for ids in node["neighbors"].values() for i in ids} for node in recorded]
    for node, info in made["node_info"].items():
        if len(info.get("review", [])) > MANY_VOTES:
            texts[node] = None
    source = source_for(name, root=str(tmp_path / "root"))
    return open_or_build(source, tmp_path / "data"), texts, neighbors


def asked(box: Toolbox, name: str, **arguments: Any) -> str:
    execution = box.execute(ToolCall("1", name, json.dumps(arguments)))
    assert execution.valid, execution
    return execution.text


def test_texts_and_neighbours_are_the_packages(tiny: Tiny) -> None:
    graph, texts, neighbors = tiny
    assert graph.n_nodes == len(texts)
    assert sum(text is not None for text in texts) >= graph.n_nodes - 1
    for node, text in enumerate(texts):
        assert text is None or graph.text(node) == text
        assert set(graph.neighbors(node)) == neighbors[node]


def test_a_node_is_shown_with_the_packages_text(tiny: Tiny) -> None:
    """One line of JSON: line ends of the text are spaces there, nothing else differs."""
    graph, texts, neighbors = tiny
    options = ToolOptions(details=True, intersection=True)
    box = Toolbox(graph, Keyword(graph), options, observation_tokens=100_000)
    box.handles.show(range(graph.n_nodes))
    for node, text in enumerate(texts):
        *_, last = asked(box, "show_node", node_index=node).split("\n")
        assert last.startswith("text: ")
        assert text is None or json.loads(last.removeprefix("text: ")) == one_line(text)
        around = asked(box, "search_in_neighborhood", node_index=node)
        for other in neighbors[node]:
            assert f"[{other}] {json.dumps(graph.name(other))} | {graph.type(other)}" in around
