"""Whole runs of the prompted methods: nothing depends on what runs beside, facts are edges."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ark.cli.compose import compose_one
from ark.graph import KnowledgeGraph
from ark.run import run_cell

CELLS = [
    "method=tog",
    "method=tog_faithful",
    "method=tog_r",
    "method=tog2",
    "method=kg_agent",
    "method=af_retriever",
    "method=closed_book",
    "method=bm25 rerank=pointwise",
]
_EDGE = re.compile(r"^- (.+?)(?: \(option \d+\))? -\[(.+?)\]-> (.+?)(?: \(option \d+\))?$")


def run(cell: str, folder: Path, concurrency: int) -> Path:
    job = compose_one(["graph=toy", "split=all", *cell.split()])
    transport = replace(job.transport, results_dir=folder, progress=False, concurrency=concurrency)
    return run_cell(job.spec, transport).path


def trajectories(result: Path) -> list[dict[str, object]]:
    lines = (result.parents[2] / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda t: str(t["query"]))


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


@pytest.mark.parametrize("cell", CELLS)
def test_one_at_a_time_and_eight_at_a_time_are_the_same(cell: str, tmp_path: Path) -> None:
    one, eight = run(cell, tmp_path / "1", 1), run(cell, tmp_path / "8", 8)
    measured = [json.loads(path.read_text(encoding="utf-8"))["measures"] for path in (one, eight)]
    assert measured[0] == measured[1]
    assert trajectories(one) == trajectories(eight)


@pytest.mark.parametrize("cell", ["method=tog", "method=tog_faithful"])
def test_each_fact_that_is_shown_is_an_edge_in_its_direction(
    cell: str, tmp_path: Path, toy_graph: KnowledgeGraph
) -> None:
    edges = {
        (toy_graph.name(i), toy_graph.relations[int(relation)], toy_graph.name(int(target)))
        for i in range(toy_graph.n_nodes)
        for target, relation in zip(*toy_graph.out_edges(i)[:2], strict=True)
    }
    found = 0
    for trajectory in trajectories(run(cell, tmp_path, 4)):
        for message in trajectory["messages"]:  # type: ignore[attr-defined]
            for line in (message["content"] or "").splitlines():
                if match := _EDGE.match(line):
                    assert match.groups() in edges
                    found += 1
    assert found > 20
