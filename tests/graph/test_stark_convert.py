"""Conversion of STaRK's files: what is stored, how a graph is named, what is refused."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_stark import GRAPHS, tensor_pickle, write_all, write_graph, write_pt, write_tensor

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.graph.sources.stark import BENCHMARKS

NAMES = sorted(BENCHMARKS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("stark"))


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def build(name: str, root: Path, data: Path, **settings: Any) -> KnowledgeGraph:
    return open_or_build(source_for(name, root=root, **settings), data)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_keep_their_ids_types_and_texts(name: str, root: Path, data: Path) -> None:
    graph = build(name, root, data)
    made = GRAPHS[name]()
    documents = importlib.import_module(f"ark.graph.sources.stark.documents_{name}")
    assert graph.n_nodes == len(made["node_info"])
    for i, record in made["node_info"].items():
        node = graph.node(i)
        assert node.id == str(i)
        assert graph.index(str(i)) == i
        assert node.type == made["node_type_dict"][made["node_types"][i]]
        assert node.text == documents.document(record, node.type)
        assert node.text


@pytest.mark.parametrize("name", NAMES)
def test_every_edge_is_stored_once_as_it_stands(name: str, root: Path, data: Path) -> None:
    graph = build(name, root, data)
    made = GRAPHS[name]()
    assert graph.relations == BENCHMARKS[name].relations
    source, relation, target = graph.edges()
    assert [source.tolist(), target.tolist()] == made["edge_index"]
    assert relation.tolist() == made["edge_types"]


def test_names_and_attributes(root: Path, data: Path) -> None:
    prime, mag, amazon = (build(name, root, data) for name in ("prime", "mag", "amazon"))
    assert [prime.name(i) for i in (0, 3, 11)] == ["pebble fever", "Quietol", "11"]
    assert prime.attrs(0) == {"source": "Atlas"}
    assert [mag.name(i) for i in (0, 2, 3, 5)] == [
        "Ida Stone",
        "2",
        "Pebble University",
        "Loud stones",
    ]
    assert mag.attrs(4) == {"level": 2, "paper_count": 5}
    assert mag.attrs(5) == {"date": "2011-05-06", "year": 2011}
    assert mag.attrs(7) == {"date": "2013-05-06", "year": 2013}
    assert [amazon.name(i) for i in range(8)] == [
        *("Stone Bike", "Stone Helmet", "Stone Bell", "Stone Bell"),
        *("Rocky", "bikes", "helmets é", "grey"),
    ]
    assert amazon.attrs(0) == {"brand": "Rocky", "price": 1249.5}
    assert amazon.attrs(1) == {"brand": "Rocky"}  # a range of prices is no price
    assert amazon.attrs(4) == {}


@pytest.mark.parametrize("name", NAMES)
def test_relations_are_appended_to_the_documents(name: str, root: Path, data: Path) -> None:
    plain, more = build(name, root, data), build(name, root, data, add_rel=True)
    for i in range(plain.n_nodes):
        assert more.text(i).startswith(plain.text(i))
    i, added = {
        "prime": (3, "- relations:\n  enzyme: {gene/protein: (PBL1),}\n  target: {gene/protein: "
                     "(PBL1),}\n  indication: {disease: (pebble fever),}"),
        "mag": (6, '- relations:\n\npaper cites paper: ("Loud stones", "Grey stones"),\npaper '
                   "has_topic field_of_study: (Interleukin-1 in rocks),\nauthor writes paper: "
                   "(Ben Rock (Pebble University)),"),
        "amazon": (1, "- relations:\n  products also purchased: \n#1: Stone Bike\n  products also "
                      "viewed: \n#1: Stone Bell\n  brand: Rocky\n"),
    }[name]  # fmt: skip
    assert more.text(i) == plain.text(i) + added


def test_fixed_relations_keep_directions_and_parallel_edges(root: Path, data: Path) -> None:
    mag = build("mag", root, data, add_rel=True, quirks="fixed")
    assert 'paper cites paper: ("Loud stones", "Grey stones"),' in mag.text(6)
    assert 'paper cited_by paper: ("Loud stones"),' in mag.text(6)
    amazon = build("amazon", root, data, add_rel=True, quirks="fixed")
    assert "also purchased: \n#1: Stone Bike\n" in amazon.text(1)
    assert "also viewed: \n#1: Stone Bike\n#2: Stone Bell\n" in amazon.text(1)


def test_papers_texts_have_no_size(root: Path, data: Path) -> None:
    now, then = build("amazon", root, data), build("amazon", root, data, version="paper")
    assert "- dimensions: 2 x 3 inches\n- weight: 1 pounds\n" in now.text(0)
    assert "dimensions" not in then.text(0)
    assert now.content_hash != then.content_hash


# -- names of built graphs -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_key_follows_content_and_settings_only(name: str, tmp_path: Path) -> None:
    write_graph(tmp_path / "one", name)
    write_graph(tmp_path / "two", name)
    key = source_for(name, root=tmp_path / "one").key()
    for same in ({}, {"gold": "answer_ids_source"}, {"offline": True}):
        assert source_for(name, root=tmp_path / "two", **same).key() == key
    keys = {key}
    for other in (
        {"quirks": "fixed"}, {"add_rel": True}, {"view": "official"}, {"strict": True}
    ):  # fmt: skip
        keys.add(source_for(name, root=tmp_path / "two", **other).key())
    assert len(keys) == 5
    paper = source_for(name, root=tmp_path / "two", version="paper").key()
    assert (paper == key) == (name != "amazon")  # the others' documents are the same
    types = GRAPHS[name]()["edge_types"]
    write_graph(tmp_path / "two", name, edge_types=[*types[:-1], types[0]])
    assert source_for(name, root=tmp_path / "two").key() not in keys


def test_hashes_are_remembered_until_a_file_changes(tmp_path: Path, data: Path) -> None:
    folder = write_graph(tmp_path / "one", "prime")
    old = 1_000_000_000
    for file in folder.iterdir():
        os.utime(file, (old, old))
    first = source_for("prime", root=tmp_path / "one").key()
    (notes,) = (data / "hashes").iterdir()
    kept = notes.read_bytes()
    assert source_for("prime", root=tmp_path / "one").key() == first
    assert notes.read_bytes() == kept
    types = GRAPHS["prime"]()["edge_types"]
    write_graph(tmp_path / "one", "prime", edge_types=[*types[:-2], types[0], types[0]])
    changed = source_for("prime", root=tmp_path / "one").key()
    assert changed != first
    notes.write_text("[broken")
    assert source_for("prime", root=tmp_path / "one").key() == changed


def test_provenance_names_files_and_licence(root: Path) -> None:
    said = source_for("mag", root=root).provenance()
    assert said.licence == "CC-BY-4.0"
    assert set(said.files) == {"node_info.pkl", "edge_index.pt", "edge_types.pt", "node_types.pt"}
    assert "STaRK" in said.credit
    assert "huggingface.co/datasets/snap-stanford/stark" in said.notice


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"version": "1.0"}, "graph.version"),
        ({"quirks": "none"}, "graph.quirks"),
        ({"view": "oficial"}, "did you mean official"),
        ({"gold": "answers"}, "did you mean answer_ids"),
        ({"add_rel": "yes"}, "graph.add_rel=yes"),
        ({"name": "prime"}, "name"),
    ],
)
def test_wrong_settings(root: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        source_for("mag", root=root, **settings)


# -- what is refused -----------------------------------------------------------------------------


def _info(name: str, change: Any) -> dict[int, Any]:
    info: dict[int, Any] = GRAPHS[name]()["node_info"]
    change(info)
    return info


BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("prime", {"node_types": [0] * 11}, "has values from 0 to 11, outside 0..10"),
    ("mag", {"node_types": [0] * 9}, "node_info.pkl holds 8 nodes and node_types.pt 9 values"),
    ("mag", {"node_types": [0, 0, 0, 1, 2, 3, 3, 4]}, "from 0 to 4, outside 0..3"),
    ("mag", {"edge_types": [0] * 11}, "edge_index.pt has shape [2, 12] and edge_types.pt 11"),
    ("mag", {"edge_types": [0] * 11 + [4]}, "from 0 to 4, outside 0..3"),
    ("mag", {"edge_types": [0] * 11 + [-1]}, "from -1 to 0, outside 0..3"),
    ("mag", {"edge_index": [[0] * 12, [8] * 12]}, "from 0 to 8, outside 0..7"),
    ("mag", {"edge_index": [[0] * 12] * 3}, "edge_index.pt has shape [3, 12]"),
    ("mag", {"edge_index": [0] * 12}, "edge_index.pt has 1 dimensions instead of 2"),
    ("mag", {"node_info": _info("mag", lambda i: i.pop(3))}, "holds 7 nodes"),
    (
        "mag",
        {"node_info": _info("mag", lambda i: i.update({9: i.pop(3)}))},
        "no record of node 3: ids go from 0 to 7",
    ),
    ("mag", {"node_info": _info("mag", lambda i: i.update({3: None}))}, "no record of node 3"),
    ("prime", {"node_type_dict": {0: "paper", 1: "author"}}, "which is another graph's"),
    ("prime", {"node_type_dict": {1: "disease"}}, "does not number its names from 0"),
    ("prime", {"edge_type_dict": {0: "also_buy"}}, "edge_type_dict.pkl names ['also_buy']"),
    ("amazon", {"edge_type_dict": {0: "also_buy", 1: "also_buy"}}, "another graph's"),
]


@pytest.mark.parametrize(("name", "changes", "said"), BROKEN, ids=lambda v: str(v)[:30])
def test_files_that_do_not_belong_together(
    tmp_path: Path, data: Path, name: str, changes: dict[str, Any], said: str
) -> None:
    write_graph(tmp_path / "stark", name, **changes)
    refuse(name, tmp_path / "stark", data, said)


def refuse(name: str, root: Path, data: Path, said: str, **settings: Any) -> None:
    with pytest.raises(UserError) as caught:
        build(name, root, data, **settings)
    text = str(caught.value)
    assert said in text
    assert "\n" not in text
    assert str(root / name / BENCHMARKS[name].folder) in text
    assert not list((data / "graphs").rglob("*")), "something half-built was left"


def test_files_that_are_no_data(tmp_path: Path, data: Path) -> None:
    mark = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {mark}",)

    root = tmp_path / "stark"
    folder = write_graph(root, "mag")
    info = folder / "node_info.pkl"
    whole = info.read_bytes()
    info.write_bytes(pickle.dumps({0: Bomb()}))
    refuse("mag", root, data, f"asks for '{os.system.__module__}.system'")
    assert not mark.exists()
    info.write_bytes(whole[:-20])
    refuse("mag", root, data, "is not a readable pickle of plain data")
    info.write_bytes(pickle.dumps([1, 2]))
    refuse("mag", root, data, "node_info.pkl holds list and node_types.pt 8 values")
    info.write_bytes(whole)
    edges = folder / "edge_index.pt"
    cut = edges.read_bytes()[:-30]
    edges.write_bytes(cut)
    refuse("mag", root, data, "is not a readable tensor of torch.save")
    array = np.zeros((2, 12), np.int64)
    write_pt(edges, tensor_pickle(array, rebuild="os system"), array.tobytes())
    refuse("mag", root, data, "asks for 'os.system'")
    write_tensor(edges, array + 0.5)
    refuse("mag", root, data, "holds float64 instead of whole numbers")


def test_types_written_as_floats_are_numbers_all_the_same(tmp_path: Path, data: Path) -> None:
    folder = write_graph(tmp_path / "stark", "amazon")
    write_tensor(folder / "node_types.pt", np.array(GRAPHS["amazon"]()["node_types"], np.float32))
    assert build("amazon", tmp_path / "stark", data).type(7) == "color"


def test_an_older_graph_with_fewer_types_is_taken_and_said(tmp_path: Path, data: Path) -> None:
    info = {i: r for i, r in GRAPHS["amazon"]()["node_info"].items() if i < 5}
    write_graph(
        tmp_path / "stark",
        "amazon",
        node_info=info,
        node_types=[0, 0, 0, 0, 1],
        node_type_dict={0: "product", 1: "brand"},
        edge_index=[[0, 0, 0], [1, 2, 4]],
        edge_types=[0, 1, 2],
        edge_type_dict={0: "also_buy", 1: "also_view", 2: "has_brand"},
    )
    graph = build("amazon", tmp_path / "stark", data)
    assert graph.relations == ("also_buy", "also_view", "has_brand")
    assert graph.manifest["notes"]["counts_match_official"] is False


def test_counts_are_noted_and_refused_when_strict(root: Path, data: Path) -> None:
    notes = build("mag", root, data).manifest["notes"]
    assert notes["counts_match_official"] is False
    assert notes["counts_as_loaded_by_stark_qa"]["edges"] == 22
    assert notes["documents"] == {"version": "1.1.0", "quirks": "official", "add_rel": False}
    with pytest.raises(UserError) as caught:
        build("mag", root, data, strict=True)
    text = str(caught.value)
    assert "8 nodes instead of 1,872,968; 22 edges instead of 39,802,116" in text
    assert "3 paper instead of 700,244" in text
    assert "graph.strict=false" in text


# -- real files ----------------------------------------------------------------------------------


def test_folders_that_torch_wrote(shared: Path, tmp_path: Path, data: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: it writes the folders of this test")
    script = shared / "fixtures" / "make_tiny_stark.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "tiny")], check=True)
    sizes = {"prime": (11, 14, 14), "mag": (8, 10, 18), "amazon": (7, 11, 18)}
    for name, (nodes, edges, loaded) in sizes.items():
        graph = build(name, tmp_path / "tiny", data)
        assert (graph.n_nodes, graph.n_edges) == (nodes, edges)
        assert graph.manifest["notes"]["counts_as_loaded_by_stark_qa"]["edges"] == loaded
