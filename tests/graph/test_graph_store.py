"""The store against a plain dictionary of the same graph."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.errors import UserError
from ark.graph import (
    GraphData,
    KnowledgeGraph,
    Provenance,
    build_graph,
    open_or_build,
    source_for,
    source_key,
)
from ark.protocols import Graph
from ark.records import Edge


class Given:
    """A source of a ready ``GraphData``."""

    name = "given"

    def __init__(self, data: GraphData) -> None:
        self.data = data

    def key(self) -> str:
        return source_key(1, {})

    def provenance(self) -> Provenance:
        return Provenance("a test", "1", "none", "nobody", "no notice")

    def read(self) -> GraphData:
        return self.data


def store(data: GraphData, root: Path) -> KnowledgeGraph:
    return KnowledgeGraph.open(build_graph(Given(data), root))


def small(**changes: object) -> GraphData:
    fields: dict[str, object] = {
        "ids": ["b", "a"],
        "types": ["t", "t"],
        "names": ["B", "A"],
        "texts": ["", "text"],
        "source": [0],
        "relation": [0],
        "target": [1],
        "relations": ("r",),
    }
    return GraphData(**(fields | changes))  # type: ignore[arg-type]


def test_toy_has_what_breaks_code(toy_graph: KnowledgeGraph) -> None:
    g = toy_graph
    assert isinstance(g, Graph)
    assert (g.n_nodes, g.n_edges) == (13, 18)
    assert g.node_types == ("habitat", "insect", "plant")
    assert g.relations == ("grows in", "visits", "lives in", "same record as")
    lonely = g.index("h4")
    assert g.degree(lonely) == 0
    assert g.neighbors(lonely).tolist() == []
    assert g.text(g.index("p5")) == ""
    assert g.name(g.index("p5")) == g.name(g.index("h3")) == "Mercury"
    bell = g.node(g.index("p2"))
    assert bell.aliases == ("Evening bell", "Moonbell")
    assert bell.attrs == {"height_m": 2.5, "colours": ("blue", "white"), "edible": False}
    assert g.attrs(g.index("h3")) == {"founded": 1911}
    assert g.negatives() == (("p3", "grows in", "h2"),)
    assert g.content_hash == "3f01286661e3e252c7aaddaa502de87152b3379b628be4b0fae230ced5d1435e"


def test_parallel_edges_keep_their_attributes(toy_graph: KnowledgeGraph) -> None:
    g = toy_graph
    moth, bell = g.index("i1"), g.index("p2")
    targets, relations, numbers = g.out_edges(moth)
    parallel = numbers[(targets == bell)].tolist()
    assert len(parallel) == 2
    assert [g.edge_attrs(n) for n in parallel] == [{"season": "spring"}, {"season": "autumn"}]
    assert g.edge(parallel[0]) == Edge(parallel[0], moth, "visits", bell)
    assert set(relations[targets == bell].tolist()) == {g.relations.index("visits")}
    assert g.edge_attrs(0) == {}


def test_loop_is_no_neighbour_and_counts_twice(toy_graph: KnowledgeGraph) -> None:
    beetle = toy_graph.index("i2")
    assert beetle not in toy_graph.neighbors(beetle)
    assert toy_graph.degree(beetle) == 4


def test_same_answers_share_the_first_row(toy_graph: KnowledgeGraph) -> None:
    first, second = toy_graph.index("i1"), toy_graph.index("i4")
    assert toy_graph.canonical(second) == toy_graph.canonical(first) == first
    rest = [i for i in range(toy_graph.n_nodes) if i not in (first, second)]
    assert [toy_graph.canonical(i) for i in rest] == rest


def test_schema_counts(toy_graph: KnowledgeGraph) -> None:
    schema = toy_graph.schema
    assert sum(t["count"] for t in schema["types"]) == toy_graph.n_nodes
    assert sum(r["count"] for r in schema["relations"]) == toy_graph.n_edges
    assert {"source": "insect", "relation": "visits", "target": "plant", "count": 7} in schema[
        "signatures"
    ]
    assert sum(s["count"] for s in schema["signatures"]) == toy_graph.n_edges


@pytest.mark.parametrize("call", ["node", "id", "type", "text", "out_edges", "canonical", "degree"])
@pytest.mark.parametrize("row", [-1, 13])
def test_rows_out_of_range(toy_graph: KnowledgeGraph, call: str, row: int) -> None:
    with pytest.raises(IndexError):
        getattr(toy_graph, call)(row)


def test_unknown_names(toy_graph: KnowledgeGraph) -> None:
    for wrong in ("", "p", "p11", "zz", "P1"):
        with pytest.raises(KeyError):
            toy_graph.index(wrong)
    with pytest.raises(KeyError):
        toy_graph.of_type("animal")
    with pytest.raises(KeyError):
        toy_graph.neighbors(0, relation="eats")
    for number in (-1, 18):
        with pytest.raises(IndexError):
            toy_graph.edge(number)
        with pytest.raises(IndexError):
            toy_graph.edge_attrs(number)


def test_rows_may_be_numpy_integers(toy_graph: KnowledgeGraph) -> None:
    row = toy_graph.of_type("insect")[0]
    node = toy_graph.node(row)
    assert type(node.index) is int
    assert toy_graph.index(toy_graph.id(row)) == row


def test_mapped_arrays_refuse_writes(toy_graph: KnowledgeGraph) -> None:
    with pytest.raises(ValueError, match="read-only"):
        toy_graph.type_ids[0] = 1


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ATTRS = st.dictionaries(
    NAMES,
    NAMES | st.booleans() | st.integers() | st.lists(NAMES, max_size=2).map(tuple),
    max_size=2,
)


@st.composite
def graphs(draw: st.DrawFn) -> GraphData:
    ids = draw(st.lists(NAMES.filter(bool), min_size=1, max_size=8, unique=True))
    n = len(ids)
    rows = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(rows, st.integers(0, 2), rows, ATTRS), max_size=20))

    def every(item: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(item, min_size=n, max_size=n))

    return GraphData(
        ids=ids,
        types=every(st.sampled_from(["x", "y", "é"])),
        names=every(NAMES),
        texts=every(NAMES),
        source=[e[0] for e in edges],
        relation=[e[1] for e in edges],
        target=[e[2] for e in edges],
        relations=("r", "s", "same"),
        aliases=every(st.lists(NAMES, max_size=2)),
        attrs=every(ATTRS),
        edge_attrs=[e[3] for e in edges],
        same_as=draw(st.sampled_from([None, "same"])),
    )


def component(n: int, links: set[tuple[int, int]], start: int) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for a, b in links:
            for near in {a, b} - seen if here in (a, b) else ():
                seen.add(near)
                todo.append(near)
    return seen


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_everything_comes_back(data: GraphData) -> None:
    with tempfile.TemporaryDirectory() as folder:
        g = store(data, Path(folder))
        edges = list(zip(data.source, data.relation, data.target, strict=True))
        assert [tuple(map(int, e)) for e in zip(*g.edges(), strict=True)] == edges
        for number, (s, r, t) in enumerate(edges):
            assert g.edge(number) == Edge(number, s, data.relations[r], t)
            assert g.edge_attrs(number) == data.edge_attrs[number]  # type: ignore[index]
        links = {(s, t) for s, r, t in edges if data.relations[r] == data.same_as}
        for i, node_id in enumerate(data.ids):
            node = g.node(i)
            assert (node.id, node.type, node.name) == (node_id, data.types[i], data.names[i])
            assert (node.text, node.aliases) == (data.texts[i], tuple(data.aliases[i]))  # type: ignore[index]
            assert node.attrs == data.attrs[i]  # type: ignore[index]
            assert g.index(node_id) == i
            out = sorted((t, r, e) for e, (s, r, t) in enumerate(edges) if s == i)
            into = sorted((s, r, e) for e, (s, r, t) in enumerate(edges) if t == i)
            assert [tuple(map(int, x)) for x in zip(*g.out_edges(i), strict=True)] == out
            assert [tuple(map(int, x)) for x in zip(*g.in_edges(i), strict=True)] == into
            assert all(column.dtype == np.int64 for column in g.out_edges(i))
            assert g.degree(i) == len(out) + len(into)
            for relation in (None, "r"):
                near = {x for x, r, _ in out + into if relation is None or r == 0} - {i}
                assert g.neighbors(i, relation=relation).tolist() == sorted(near)
                typed = [x for x in sorted(near) if data.types[x] == "x"]
                if "x" in g.node_types:
                    assert g.neighbors(i, relation=relation, node_type="x").tolist() == typed
            assert g.canonical(i) == min(component(g.n_nodes, links, i))
        for kind in g.node_types:
            rows = [i for i, t in enumerate(data.types) if t == kind]
            assert g.of_type(kind).tolist() == rows


def test_graph_without_edges(tmp_path: Path) -> None:
    g = store(small(source=[], relation=[], target=[], relations=()), tmp_path)
    assert g.n_edges == 0
    assert g.out_edges(0)[0].tolist() == g.neighbors(1).tolist() == []
    assert g.schema["signatures"] == []
    assert g.negatives() == ()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return open_or_build(source_for("toy"), tmp_path).path


def one_line(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        KnowledgeGraph.open(path)
    message = str(caught.value)
    assert "\n" not in message
    assert "build" in message
    return message


def test_missing_folder(tmp_path: Path) -> None:
    assert "no graph folder" in one_line(tmp_path / "nothing")


def test_folder_without_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert "not finished" in one_line(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "files": []}']
)
def test_broken_manifest(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    assert "unreadable manifest" in one_line(folder)


def test_other_format(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    assert "format 99" in one_line(folder)


def test_every_file_is_needed_at_its_size(folder: Path, tmp_path: Path) -> None:
    names = sorted(p.name for p in folder.iterdir() if p.name != "manifest.json")
    assert len(names) > 15
    for name in names:
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        with (copy / name).open("ab") as file:
            file.write(b"x")
        assert name in one_line(copy)
        (copy / name).unlink()
        assert f"lacks {name}" in one_line(copy)
        shutil.rmtree(copy)


def test_scrambled_file_of_the_right_size(folder: Path) -> None:
    size = (folder / "nodes.arrow").stat().st_size
    (folder / "nodes.arrow").write_bytes(b"x" * size)
    assert "cannot be read" in one_line(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": ["a", "a"]}, "more than once"),
        ({"ids": ["a", ""]}, "empty id"),
        ({"types": ["t", ""]}, "empty type"),
        ({"names": ["A"]}, "1 values of 'name' for 2 nodes"),
        ({"texts": ["", None]}, "nulls"),
        ({"target": [2]}, "outside 0..1"),
        ({"source": [-1]}, "outside"),
        ({"relation": [1]}, "outside 0..0"),
        ({"source": [0.0]}, "not integers"),
        ({"source": [0, 1]}, "shape"),
        ({"relations": ("r", "r")}, "unique"),
        ({"same_as": "q"}, "not one of the relations"),
        ({"negatives": [("a", "r", "z")]}, "unknown node 'z'"),
        ({"edge_attrs": []}, "0 edge attributes"),
        ({"attrs": [{}, {"k": float("nan")}]}, "JSON"),
        ({"ids": [], "types": [], "names": [], "texts": []}, "at least one node"),
    ],
)
def test_data_against_the_rules_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        store(small(**changes), tmp_path)
    assert list((tmp_path / "graphs").iterdir()) == []


def test_nested_attributes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="scalar"):
        store(small(attrs=[{}, {"k": {"a": 1}}]), tmp_path)
