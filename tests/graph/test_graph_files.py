"""Plain files: what is exported comes back with the same content hash; mistakes are one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tiny_stark import write_all

from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build, source_for, source_key
from ark.graph.export import escaped, export_files, unescaped
from ark.queries.files import questions_beside

HOSTILE = "a\tb\\n\nc\rd\u2028e\x85 \\"


@dataclass(frozen=True)
class Odd:
    """A graph with everything that a graph may have, in strange words."""

    name: str = field(default="odd", init=False)

    def key(self) -> str:
        return source_key(1, {})

    def provenance(self) -> Provenance:
        return Provenance("made up", "1", "CC0", "a credit", "line one\nline two")

    def read(self) -> GraphData:
        attrs: list[Mapping[str, Any]] = [
            {"i": 7, "f": 1.0, "small": 1e-300, "big": 10**30, "b": True, "s": HOSTILE, "": ""},
            {"list": (1, 2.5, "x", False), "none": ()},
            {},
        ]
        return GraphData(
            ids=[HOSTILE, "NA", "7"],
            types=["t\tu", "null", "null"],
            names=['"quoted", name', HOSTILE, "x"],
            texts=["", HOSTILE, "é\u0000 😀"],
            source=[0, 0, 1, 2, 2],
            relation=[1, 1, 0, 2, 1],
            target=[1, 1, 2, 2, 1],
            relations=("z\\t", "a\nb", "same as", "unused"),
            aliases=[["one", HOSTILE], [], ["x", ""]],
            attrs=attrs,
            edge_attrs=[{"k\t": HOSTILE}, {}, {"w": 0.1}, {}, {"l": (1,)}],
            same_as="same as",
            negatives=[(HOSTILE, "a\nb", "7"), ("7", "other", "NA")],
            synonyms=[("7", "x", False), (HOSTILE, "never\tsaid", True)],
        )


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def again(graph: KnowledgeGraph, tmp_path: Path, types: list[str] | None = None) -> KnowledgeGraph:
    out = export_files(graph, tmp_path / "out", types)
    return open_or_build(source_for("files", path=out), tmp_path / "data")


@pytest.mark.parametrize("name", ["toy", "prime", "mag", "amazon", "odd"])
def test_what_is_exported_comes_back(name: str, tmp_path: Path, data: Path) -> None:
    settings = {} if name in ("toy", "odd") else {"root": write_all(tmp_path / "stark")}
    source = Odd() if name == "odd" else source_for(name, **settings)
    graph = open_or_build(source, data)
    back = again(graph, tmp_path)
    assert back.content_hash == graph.content_hash
    assert back.relations == graph.relations
    assert [back.node(i) for i in range(3)] == [graph.node(i) for i in range(3)]
    assert back.negatives() == graph.negatives()
    assert (back.synonyms(), back.held_out()) == (graph.synonyms(), graph.held_out())
    for field_ in ("licence", "credit", "version", "same_as"):
        assert back.manifest[field_] == graph.manifest[field_]
    notices = [(g.path / "LICENSE.data").read_text() for g in (back, graph)]
    assert notices[0] == notices[1]


@pytest.mark.parametrize("text", [HOSTILE, "\\\\n", "\\t", "", "\\\t"])
def test_cells_survive(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not set(escaped(text)) & set("\t\n\r")


def test_candidates_and_questions_come_with_the_folder(tmp_path: Path, data: Path) -> None:
    root = write_all(tmp_path / "stark")
    graph = open_or_build(source_for("mag", root=root), data)
    back = again(graph, tmp_path, ["paper"])
    out = tmp_path / "out"
    assert (out / "candidate_ids.txt").read_text() == "5\n6\n7\n"
    assert back.manifest["notes"]["candidate_types"] == ["paper"]
    with pytest.raises(UserError, match=r"no queries\.csv"):
        questions_beside(back, {"path": str(out)})
    (root / "mag" / "stark_qa").rename(out / "stark_qa")
    (root / "mag" / "split").rename(out / "split")
    found = questions_beside(back, {"path": str(out)}, "test")
    assert [q.id for q in found if q.split != "human"] == ["0", "1", "2", "3"]
    (out / "candidate_ids.txt").write_text("5\n6\n")
    with pytest.raises(UserError, match="some nodes of type paper and not all"):
        open_or_build(source_for("files", path=out), data)


def test_export_never_overwrites(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    out = export_files(toy_graph, tmp_path / "deep" / "out")
    assert sorted(p.name for p in out.parent.iterdir()) == ["out"]
    with pytest.raises(UserError, match="exists already"):
        export_files(toy_graph, out)
    with pytest.raises(UserError, match="candidate_types"):
        export_files(toy_graph, tmp_path / "other", ["plnt"])


def change(name: str, edit: Callable[[str], str]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert edit(text) != text
        (folder / name).write_text(edit(text), encoding="utf-8")

    return apply


MISTAKES = {
    r"nodes\.jsonl, line 2: .*mend that line": change(
        "nodes.jsonl", lambda t: t.replace('"p2"', '"p2', 1)
    ),
    r"nodes\.jsonl, line 1: type is 'None'": change(
        "nodes.jsonl", lambda t: t.replace('"type":"plant",', "", 1)
    ),
    r"nodes\.jsonl, line 1: attribute 'x' is no scalar": change(
        "nodes.jsonl", lambda t: '{"id":1,"type":"t","attrs":{"x":{}}}\n' + t
    ),
    r"nodes\.jsonl: 1 ids occur more than once, first 'p1'": change(
        "nodes.jsonl", lambda t: t.replace('"p2"', '"p1"', 1)
    ),
    r"edges\.tsv, line 3: target 'h9' is no id": change(
        "edges.tsv", lambda t: t.replace("\th3\t", "\th9\t", 1)
    ),
    r"edges\.tsv, line 2: unknown relation 'grow'": change(
        "edges.tsv", lambda t: t.replace("grows in", "grow", 1)
    ),
    r"edges\.tsv, line 3 is not readable .*got 3": change(
        "edges.tsv", lambda t: t.replace("\th3\t", "\th3", 1)
    ),
    r"edges\.tsv lacks relation": change("edges.tsv", lambda t: t.replace("relation", "rel", 1)),
    r"schema\.json is no readable JSON": change("schema.json", lambda t: t[:-4]),
    r"has form 2, this version reads 1": change(
        "schema.json", lambda t: t.replace('"form": 1', '"form": 2')
    ),
    r"schema\.json says content_hash .* were changed": change(
        "nodes.jsonl", lambda t: t.replace("grey leaves", "gray leaves")
    ),
    r"negatives\.tsv, line 2: 'zz' is no id": change(
        "negatives.tsv", lambda t: "\n".join([t.split("\n")[0], "zz\tvisits\tp1", ""])
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_one_line(message: str, toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    out = export_files(toy_graph, tmp_path / "out")
    MISTAKES[message](out)
    with pytest.raises(UserError, match=message) as caught:
        open_or_build(source_for("files", path=out), tmp_path / "data")
    assert "\n" not in str(caught.value)
    graphs = tmp_path / "data" / "graphs"
    assert not graphs.exists() or list(graphs.iterdir()) == []


def test_tables_of_others_by_a_mapping(tmp_path: Path, data: Path) -> None:
    (tmp_path / "kg.csv").write_text('node_id,label,title\n1,film,"Stars, ""again"""\n2,person,\n')
    (tmp_path / "links.tsv").write_text("head\ttail\trel\n1\t2\tb\\t\n1\t2\ta\n")
    files = {"nodes": "kg.csv", "edges": "links.tsv"}
    columns = {"id": "node_id", "type": "label", "name": "title"}
    columns |= {"source": "head", "target": "tail", "relation": "rel"}
    graph = open_or_build(source_for("files", path=tmp_path, files=files, columns=columns), data)
    assert (graph.name(0), graph.name(1), graph.text(0)) == ('Stars, "again"', "2", "")
    assert graph.relations == ("a", "b\\t")
    assert graph.edge(0).relation == "b\\t"
    lines = [{"node_id": 1, "label": "film"}, {"node_id": "2", "label": "x"}]
    (tmp_path / "kg.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "links.jsonl").write_text('{"head": 1, "tail": 2, "rel": "a"}\n')
    files = {"nodes": "kg.jsonl", "edges": "links.jsonl"}
    other = open_or_build(source_for("files", path=tmp_path, files=files, columns=columns), data)
    assert (other.n_nodes, other.n_edges) == (2, 1)
    del columns["relation"]
    with pytest.raises(UserError, match=r"lacks relation; .*graph\.columns="):
        open_or_build(source_for("files", path=tmp_path, files=files, columns=columns), data)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"graph\.columns 'idd'"):
        source_for("files", path=tmp_path, columns={"idd": "x"})
    with pytest.raises(UserError, match=r"lacks nodes\.jsonl"):
        source_for("files", path=tmp_path).key()
    with pytest.raises(UserError, match=r"is missing; give graph\.path=DIR"):
        source_for("files", path=tmp_path / "none").key()
