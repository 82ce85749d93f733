"""Graphs from tables: what is read, and one clear line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.graph.sources.table import TableSource

NODES = "id,type,name,text\n10,film,Stars,A film.\n2,person,Ann,\n"
EDGES = "source,target,type\n10,2,directed by\n10,2,directed by\n"


def tables(folder: Path, nodes: str | bytes = NODES, edges: str | bytes = EDGES) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (("nodes.csv", nodes), ("edges.csv", edges)):
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def build(folder: Path, **more: Any) -> KnowledgeGraph:
    return open_or_build(source_for("table", path=folder, **more), folder / "root")


def refused(folder: Path, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        build(folder, **more)
    message = str(caught.value)
    assert "\n" not in message
    root = folder / "root" / "graphs"
    assert not root.exists() or list(root.iterdir()) == []
    return message


def test_rows_keep_their_order(tmp_path: Path) -> None:
    g = build(tables(tmp_path))
    assert [g.id(i) for i in range(2)] == ["10", "2"]
    assert g.node(0).text == "A film."
    assert g.text(1) == ""
    assert g.relations == ("directed by",)
    assert g.out_edges(0)[2].tolist() == [0, 1]
    assert g.aliases(0) == ()
    assert g.attrs(0) == {}
    assert g.manifest["licence"] == "not stated"


def test_cells_of_csv_are_words(tmp_path: Path) -> None:
    nodes = 'id,type,name,text\nNA,null,NULL,nan\n1.0,NaN,007,"two\nlines, ""quoted"""\n,x,,\n'
    g = build(
        tables(tmp_path, nodes.replace(",x,,", "#N/A,x,,"), "source,target,type\nNA,1.0,NA\n")
    )
    assert [(g.id(i), g.type(i), g.name(i)) for i in range(3)] == [
        ("NA", "null", "NULL"),
        ("1.0", "NaN", "007"),
        ("#N/A", "x", "#N/A"),
    ]
    assert g.text(1) == 'two\nlines, "quoted"'
    assert g.edge(0).relation == "NA"


def test_attributes_and_aliases(tmp_path: Path) -> None:
    nodes = (
        "id,type,name,text,attrs,aliases\n"
        '1,t,a,,"{""year"": 1999, ""tags"": [""x"", 2], ""none"": null}","[""A"", ""AA""]"\n'
        "2,t,b,,,\n"
    )
    edges = 'source,target,type,attrs\n1,2,r,"{""w"": 0.5}"\n1,2,r,{}\n'
    g = build(tables(tmp_path, nodes, edges))
    assert g.attrs(0) == {"year": 1999, "tags": ("x", 2)}
    assert g.aliases(0) == ("A", "AA")
    assert (g.attrs(1), g.aliases(1)) == ({}, ())
    assert [g.edge_attrs(i) for i in range(2)] == [{"w": 0.5}, {}]


def test_parquet_of_every_kind(tmp_path: Path) -> None:
    nodes = pa.table(
        {
            "id": pa.array([3, 1], pa.int64()),
            "type": pa.array(["t", "u"]).dictionary_encode(),
            "name": pa.array(["a", None]),
            "text": pa.array([None, "words"], pa.large_string()),
            "aliases": pa.array([["x"], None]),
            "attrs": pa.array(['{"a": true}', None]),
        }
    )
    edges = pa.table({"source": ["3"], "target": pa.array([1], pa.int32()), "type": ["r"]})
    parquet.write_table(nodes, tmp_path / "nodes.parquet")
    parquet.write_table(edges, tmp_path / "edges.parquet")
    g = build(tmp_path)
    assert g.node(0).aliases == ("x",)
    assert g.node(0).attrs == {"a": True}
    assert (g.id(1), g.name(1), g.text(1), g.text(0)) == ("1", "1", "words", "")
    assert g.neighbors(0).tolist() == [1]


def test_same_content_from_csv_and_parquet(tmp_path: Path) -> None:
    first = build(tables(tmp_path / "csv"))
    (tmp_path / "parquet").mkdir()
    for name in ("nodes", "edges"):
        table = csv.read_csv(tmp_path / "csv" / f"{name}.csv")
        parquet.write_table(table, tmp_path / "parquet" / f"{name}.parquet")
    assert build(tmp_path / "parquet").content_hash == first.content_hash


def test_equivalence_from_an_edge_type(tmp_path: Path) -> None:
    folder = tables(tmp_path, edges="source,target,type\n2,10,same\n")
    assert build(folder).canonical(1) == 1
    assert build(folder, same_as="same").canonical(1) == 0
    with pytest.raises(UserError, match="did you mean same"):
        build(folder, same_as="sane")


def test_settings_change_the_key(tmp_path: Path) -> None:
    folder = tables(tmp_path)
    keys = {
        TableSource(folder).key(),
        TableSource(folder, same_as="x").key(),
        TableSource(folder, licence="CC0").key(),
        TableSource(folder, credit="me").key(),
    }
    assert len(keys) == 4
    tables(tmp_path / "again")
    assert TableSource(tmp_path / "again").key() == TableSource(folder).key()
    g = build(folder, licence="CC0", credit="Data by me", name="films")
    assert (g.manifest["name"], g.manifest["credit"]) == ("films", "Data by me")


def test_missing_folder_and_files(tmp_path: Path) -> None:
    assert "is missing; give graph.path" in refused(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        source_for("table", path=tmp_path / "file").key()
    (tmp_path / "nodes.csv").write_text(NODES)
    assert "needs edges.parquet or edges.csv in" in refused(tmp_path)
    (tmp_path / "nodes.parquet").write_bytes(b"")
    assert "both" in refused(tmp_path)


@pytest.mark.parametrize(
    ("nodes", "edges", "parts"),
    [
        ("id,type\n1,t\n", EDGES, ["lacks the columns name, text", "it has id, type"]),
        (NODES, "source,target\n", ["edges.csv", "lacks the columns type"]),
        ("", EDGES, ["nodes.csv is not a readable CSV", "Empty CSV"]),
        ("id,type,name,text\n", EDGES, ["no rows"]),
        (NODES + "3,t\n", EDGES, ["not a readable CSV", "Expected 4 columns, got 2"]),
        (b"id,type,name,text\n1,t,\xff\xfe,x\n", EDGES, ["UTF-8"]),
        ("id,type,name,text,id\n1,t,a,x,1\n", EDGES, ["column id more than once"]),
        (
            "id,type,name,text\n" + "".join(f"{i % 8},t,n,\n" for i in range(16)),
            EDGES,
            ["8 ids occur more than once", "'0', '1', '2', '3', '4':"],
        ),
        (
            "id,type,name,text\n1,,n,\n2,t,n,\n3,,n,\n",
            EDGES,
            ["2 rows have an empty type", "row 1"],
        ),
        ("id,type,name,text\n1,t,n,\n,t,n,\n", EDGES, ["1 rows have an empty id", "row 2"]),
        (NODES, "source,target,type\n10,2,r\n10,2,\n", ["empty type, first row 2"]),
        (
            NODES,
            "source,target,type\n" + "".join(f"10,{i},r\n" for i in range(9)),
            ["8 edges name a node", "10 -> 0, 10 -> 1, 10 -> 3, 10 -> 4, 10 -> 5:"],
        ),
        (NODES, "source,target,type\n10.0,2,r\n", ["'7.0' is not '7'"]),
    ],
)
def test_mistakes(tmp_path: Path, nodes: str | bytes, edges: str | bytes, parts: list[str]) -> None:
    message = refused(tables(tmp_path, nodes, edges))
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("attrs", "{"),
        ("attrs", "[1]"),
        ("attrs", "3"),
        ("attrs", '{"a": {"b": 1}}'),
        ("attrs", '{"a": [[1]]}'),
        ("attrs", '{"a": [null]}'),
        ("attrs", '{"a": NaN}'),
        ("attrs", '{"a": "\\ud800"}'),
        ("attrs", "[" * 100_000),
        ("aliases", "Ann|Anne"),
        ("aliases", '"Ann"'),
        ("aliases", "[1]"),
    ],
)
def test_wrong_json_names_its_row(tmp_path: Path, column: str, cell: str) -> None:
    quoted = cell.replace('"', '""')
    nodes = f'id,type,name,text,{column}\n1,t,n,,\n2,t,n,,"{quoted}"\n'
    message = refused(tables(tmp_path, nodes, "source,target,type\n"))
    assert f"{column} of row 2 is not a JSON" in message


def test_float_ids_are_refused(tmp_path: Path) -> None:
    nodes = pa.table({"id": [1.0], "type": ["t"], "name": ["n"], "text": [""]})
    parquet.write_table(nodes, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target,type\n")
    assert "column id holds floating-point numbers" in refused(tmp_path)


def test_other_wrong_parquet(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,type\n")
    (tmp_path / "nodes.parquet").write_bytes(b"PAR1 not really")
    assert "not a readable Parquet file" in refused(tmp_path)
    plain = {"id": ["1"], "type": ["t"], "name": ["n"], "text": [""]}
    for column, message in (
        ({"text": [["list"]]}, "column text holds list"),
        ({"name": [b"\xff"]}, "column name (binary) is not text in UTF-8"),
        ({"attrs": [{"a": 1}]}, "column attrs holds struct"),
    ):
        parquet.write_table(pa.table(plain | column), tmp_path / "nodes.parquet")
        assert message in refused(tmp_path)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(WORDS.filter(bool), WORDS), min_size=1, max_size=5, unique_by=lambda r: r[0]
    )
)
def test_csv_gives_back_every_string(
    rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    table = pa.table(
        {
            "id": [r[0] for r in rows],
            "type": ["t"] * len(rows),
            "name": [r[0] for r in rows],
            "text": [r[1] for r in rows],
            "attrs": [json.dumps({"text": r[1]}) for r in rows],
        }
    )
    csv.write_csv(table, folder / "nodes.csv")
    (folder / "edges.csv").write_text("source,target,type\n")
    g = build(folder)
    assert [(g.id(i), g.text(i)) for i in range(g.n_nodes)] == rows
    assert [g.attrs(i)["text"] for i in range(g.n_nodes)] == [r[1] for r in rows]


def test_metaqa(shared: Path, tmp_path: Path) -> None:
    g = open_or_build(source_for("table", path=shared / "data" / "metaqa"), tmp_path)
    assert (g.n_nodes, g.n_edges) == (27_196, 85_343)
    assert (g.id(0), g.type(0), g.name(0)) == ("0", "movie", "Kismet")
    assert g.index(g.id(20_000)) == 20_000
    edge = g.edge(0)
    assert (g.id(edge.source), edge.relation, g.id(edge.target)) == ("29101", "written_by", "29102")


def test_codex(shared: Path, tmp_path: Path) -> None:
    g = open_or_build(source_for("table", path=shared / "data" / "codex_s"), tmp_path)
    assert (g.n_nodes, g.n_edges) == (1_131, 18_067)
    edge = g.edge(0)
    assert (g.id(edge.source), g.id(edge.target)) == ("Q7604", "Q188")
    assert edge.relation == "languages spoken, written, or signed"
