"""Each seeded corruption of a tiny folder makes exactly its line differ."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_stark import GRAPHS, write_all, write_graph

from ark.errors import UserError
from ark.graph import open_or_build, source_for
from ark.graph.export import export_files
from ark.graph.sources.stark import BENCHMARKS
from ark.report.selfcheck import (
    CONVERT,
    FOLLOWS,
    LOAD,
    Line,
    compare,
    graph_facts,
    official,
    question_facts,
    save,
)
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell

REPOSITORY = Path(__file__).resolve().parents[2]
TYPES: Mapping[str, tuple[str, ...] | None] = {
    "prime": None,
    "mag": ("paper",),
    "amazon": ("product",),
}
Edit = Callable[[Path, dict[str, Any]], dict[str, Any] | None]


@pytest.fixture(scope="module", autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(folder))
        yield folder


def spec_of(name: str, root: Path) -> GraphSpec:
    return GraphSpec(name, {"root": str(root)}, TYPES[name])


def facts(name: str, root: Path, data: Path) -> dict[str, Any]:
    spec = spec_of(name, root)
    source = source_for(name, root=root)
    try:
        graph = open_or_build(source, data)
    except UserError as error:
        return {CONVERT: str(error)}
    return graph_facts(spec, source, graph) | question_facts(spec, source, graph)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """A copy, byte for byte: written anew, the archives of tensors would have another time."""
    return Path(shutil.copytree(whole, tmp_path / "stark"))


@pytest.fixture(scope="module")
def good(whole: Path, data: Path) -> dict[str, dict[str, Any]]:
    return {name: facts(name, whole, data) for name in TYPES}


def differing(good: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    return [line.what for line in compare(good, found) if line.verdict == "DIFFERS"]


# -- corruptions: of the parts of a graph, or of a question file -------------------------------


def graph(change: Callable[[dict[str, Any]], None]) -> Edit:
    def edit(folder: Path, parts: dict[str, Any]) -> dict[str, Any]:
        change(parts)
        return parts

    return edit


def text(file: str, old: str, new: str) -> Edit:
    def edit(folder: Path, parts: dict[str, Any]) -> None:
        before = (folder / file).read_text(encoding="utf-8")
        assert old in before
        (folder / file).write_text(before.replace(old, new, 1), encoding="utf-8", newline="")

    return edit


def drop_edge(p: dict[str, Any]) -> None:
    p["edge_index"] = [ends[1:] for ends in p["edge_index"]]
    p["edge_types"] = p["edge_types"][1:]


def swap_edge(p: dict[str, Any]) -> None:
    p["edge_index"][0][0], p["edge_index"][1][0] = p["edge_index"][1][0], p["edge_index"][0][0]


def swap_rows(p: dict[str, Any]) -> None:
    for column in (*p["edge_index"], p["edge_types"]):
        column[0], column[-1] = column[-1], column[0]


def relation(p: dict[str, Any]) -> None:
    p["edge_types"][0] = (p["edge_types"][0] + 1) % len(p["edge_type_dict"])


def node_type(p: dict[str, Any]) -> None:
    p["node_types"][0] = (p["node_types"][0] + 1) % len(p["node_type_dict"])


def swap_types(p: dict[str, Any]) -> None:
    p["node_types"][0], p["node_types"][1] = p["node_types"][1], p["node_types"][0]


def extra_node(p: dict[str, Any]) -> None:
    last = len(p["node_types"]) - 1
    p["node_info"][last + 1] = p["node_info"][last]
    p["node_types"] = [*p["node_types"], p["node_types"][last]]


def rename(p: dict[str, Any]) -> None:
    p["node_info"][0]["name"] = "gravel fever"


def definition(p: dict[str, Any]) -> None:
    p["node_info"][0]["details"]["mondo_definition"] = "Cold stones."


def title(p: dict[str, Any]) -> None:
    p["node_info"][5]["title"] = "Soft stones"


def abstract(p: dict[str, Any]) -> None:
    p["node_info"][5]["abstract"] = "About loud stone."


def citations(p: dict[str, Any]) -> None:
    p["node_info"][0]["CitationCount"] = np.int64(4)


def price(p: dict[str, Any]) -> None:
    p["node_info"][0]["price"] = "$1,249.51"


def review(p: dict[str, Any]) -> None:
    p["node_info"][0]["review"][0]["reviewText"] = "Fine."


def lost_record(p: dict[str, Any]) -> None:
    del p["node_info"][5]


QA, HUMAN = "stark_qa/stark_qa.csv", "stark_qa/stark_qa_human_generated_eval.csv"
EDGES, LOADED = "edges by relation", "edges as stark-qa loads them"
CORRUPTIONS: list[tuple[str, str, str, Edit]] = [
    ("prime", "dropped edge", EDGES, graph(drop_edge)),
    ("prime", "changed relation id", EDGES, graph(relation)),
    ("prime", "swapped edge direction", LOADED, graph(swap_edge)),
    ("prime", "order of edges", "edges", graph(swap_rows)),
    ("prime", "changed node type", "nodes by type", graph(node_type)),
    ("prime", "two types swapped", "node types", graph(swap_types)),
    ("prime", "extra node", "nodes by type", graph(extra_node)),
    ("prime", "lost record", CONVERT, graph(lost_record)),
    ("prime", "renamed node", "names", graph(rename)),
    ("prime", "changed document", "documents", graph(definition)),
    ("prime", "missing question", LOAD, text(QA, "4,Anything grey?,[6]\n", "")),
    ("prime", "changed question", "questions", text(QA, "Anything grey", "Anything gray")),
    ("prime", "changed answer id", "gold", text(QA, "grey?,[6]", "grey?,[7]")),
    ("prime", "greatest answer", "range of gold", text(QA, '"[9, 0, 9]"', '"[8, 0]"')),
    ("prime", "foreign gold", "gold outside candidates", text(QA, "grey?,[6]", "grey?,[66]")),
    ("prime", "changed split", "questions by split", text("split/test-0.1.index", "4", "1")),
    ("prime", "swapped splits", "splits", text("split/train.index", "3", "0")),
    ("prime", "changed human file", "human questions", text(HUMAN, "fever?", "fever!")),
    ("prime", "human answer", "human questions", text(HUMAN, "[3],[3]", "[4],[3]")),
    ("mag", "dropped edge", EDGES, graph(drop_edge)),
    ("mag", "swapped edge direction", "edges", graph(swap_edge)),
    ("mag", "changed title", "names", graph(title)),
    ("mag", "changed abstract", "documents", graph(abstract)),
    ("mag", "changed count", "documents", graph(citations)),
    ("mag", "gold is no paper", "gold outside candidates", text(QA, "[7]", "[0]")),
    ("amazon", "extra node", "nodes by type", graph(extra_node)),
    ("amazon", "changed price", "attributes", graph(price)),
    ("amazon", "changed review", "documents", graph(review)),
    ("amazon", "no test-0.1", "questions by split", lambda f, p: _gone(f)),
]


def _gone(folder: Path) -> None:
    (folder / "split" / "test-0.1.index").unlink()


@pytest.mark.parametrize(
    ("name", "what", "line", "edit"), CORRUPTIONS, ids=[f"{n}: {w}" for n, w, _, _ in CORRUPTIONS]
)
def test_a_corruption_is_its_own_line(
    name: str,
    what: str,
    line: str,
    edit: Edit,
    good: dict[str, dict[str, Any]],
    data: Path,
    root: Path,
) -> None:
    parts = edit(root / name, GRAPHS[name]())
    if what == "swapped splits":
        text("split/val.index", "0", "3")(root / name, {})
    if what == "changed split":  # the tenth becomes another question
        file = root / name / "split" / "test-0.1.index"
        file.write_text("1\n4")
    if parts is not None:
        write_graph(root, name, **parts)
    found = facts(name, root, data)
    assert differing(good[name], found) == [line]


def test_other_bytes_with_the_same_content_are_a_line_of_the_file(
    good: dict[str, dict[str, Any]], data: Path, root: Path
) -> None:
    info = root / "prime" / BENCHMARKS["prime"].folder / "node_info.pkl"
    info.write_bytes(pickle.dumps(GRAPHS["prime"]()["node_info"], protocol=5))
    assert differing(good["prime"], facts("prime", root, data)) == ["file node_info.pkl"]
    (root / "prime" / QA).write_text((root / "prime" / QA).read_text() + "\n")
    found = differing(good["prime"], facts("prime", root, data))
    assert found == ["file node_info.pkl", f"file {QA}"]


def test_the_same_folder_elsewhere_passes(
    good: dict[str, dict[str, Any]], data: Path, root: Path
) -> None:
    for name in TYPES:
        lines = compare(good[name], facts(name, root, data))
        assert {line.verdict for line in lines} == {"PASS"}
        assert len(lines) == len({line.what for line in lines}) > 25
    assert set(FOLLOWS) <= set(good["prime"])


def known(name: str) -> dict[str, Any]:
    return official(source_for(name))


def test_published_figures(good: dict[str, dict[str, Any]]) -> None:
    assert known("toy") == {}
    assert known("amazon")["candidates"]["count"] == 957_192
    assert known("mag")["candidates"]["count"] == 700_244
    assert known("prime")["candidates"]["count"] == 129_375
    by_name = {line.what: line for line in compare(known("prime"), good["prime"])}
    assert by_name["nodes by type"].verdict == "DIFFERS"
    assert by_name["candidates"].verdict == "SKIPPED"
    assert by_name["documents"].verdict == "INFO"
    assert by_name[f"file {QA}"].verdict == "SKIPPED"  # follows from the questions
    assert "disease 17,080" in str(by_name["nodes by type"])


def test_real_questions_have_the_published_figures(shared: Path) -> None:
    from ark.queries.stark import stark_questions

    for name in ("mag", "prime"):
        queries = stark_questions(name, shared / "data" / "stark_qa")
        answers = [int(a) for q in queries if q.split != "human" for a in q.answer_ids]
        assert [min(answers), max(answers)] == known(name)["range of gold"]
        for split in ("train", "val"):
            count = sum(q.split == split for q in queries)
            assert count == known(name)["questions by split"][split]


def test_plain_files_of_a_benchmark_are_held_to_its_figures(
    good: dict[str, dict[str, Any]], data: Path, root: Path, tmp_path: Path
) -> None:
    out = export_files(open_or_build(source_for("mag", root=root), data), tmp_path / "out")
    for part in ("stark_qa", "split"):
        (root / "mag" / part).rename(out / part)
    spec = GraphSpec("files", {"path": str(out)}, ("paper",))
    source = source_for("files", path=out)
    graph_ = open_or_build(source, data)
    found = graph_facts(spec, source, graph_) | question_facts(spec, source, graph_)
    same = {k: v for k, v in good["mag"].items() if not k.startswith("file ")}
    assert differing(same, found) == []
    assert "nodes by type" in differing(official(source), found)
    assert not any(k.startswith("file ") for k in official(source))


def test_its_hash_enters_later_results(data: Path, root: Path, tmp_path: Path) -> None:
    cell = CellSpec(
        spec_of("mag", root),
        PluginSpec("bm25", "baselines.bm25:BM25Baseline"),
        PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone"),
        split="val",
    )
    transport = Transport(tmp_path / "results", progress=False)
    opened = open_or_build(source_for("mag", root=root), data)
    (opened.path / "selfcheck.json").unlink(missing_ok=True)
    assert run_cell(cell, transport).data["environment"]["selfcheck"] is None
    path = save(opened, [Line("PASS", "x")], "nothing")
    assert json.loads(path.read_text())["differs"] == 0
    stamp = run_cell(cell, transport).data["environment"]["selfcheck"]
    assert stamp == hashlib.sha256(path.read_bytes()).hexdigest()
    path.unlink()


def test_the_script_ends_with_what_it_found(
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    import selfcheck

    def script(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["selfcheck.py", *arguments])
        return int(selfcheck.main())

    where = ["graph=amazon", f"root={root}"]
    reference = str(tmp_path / "reference.json")
    assert script(*where, "--tiny", "--bm25", "--write-reference", reference) == 0
    printed = capsys.readouterr().out
    assert "INFO     BM25 beside the published row, test: expected hit@1 44.94" in printed
    human = next(x for x in printed.splitlines() if "row, human" in x)
    assert "mrr" not in human  # the impossible value is left out
    assert script(*where, "--reference", reference) == 0
    assert "DIFFERS" not in capsys.readouterr().out
    assert script(*where) == 1
    capsys.readouterr()
    (root / "amazon" / BENCHMARKS["amazon"].folder / "edge_types.pt").write_bytes(b"torn")
    assert script(*where, "--reference", reference) == 1
    torn = capsys.readouterr().out.splitlines()
    assert len([x for x in torn if x.startswith("DIFFERS  files convert: ")]) == 1
    assert sum(x.startswith("DIFFERS") for x in torn) == 1
    assert script("root=nowhere") == 2
    assert script("graph=amazon", "root=nowhere") == 2
    assert script(*where, "--reference", "nowhere.json") == 2
    assert "--write-reference FILE" in capsys.readouterr().err
