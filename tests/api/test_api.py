"""The Python entry gives what the command line gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ark
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.records import ToolCall
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


def bm25(query: str, graph: KnowledgeGraph) -> list[str]:
    return [graph.id(hit.node) for hit in ark.load_graph("toy").search.search(query, 100)]


async def bm25_later(query: str, graph: KnowledgeGraph) -> list[str]:
    return bm25(query, graph)


def test_the_same_retriever_scores_the_same_as_on_the_command_line(tmp_path: Path) -> None:
    spec = CellSpec(
        GraphSpec("toy"),
        PluginSpec("bm25", "baselines.bm25:BM25Baseline"),
        PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone"),
        split="all",
    )
    cli = run_cell(spec, Transport(tmp_path, progress=False))
    for rank in (bm25, bm25_later):
        mine = ark.evaluate(rank, graph="toy", split="all")
        assert mine.data["measures"] == cli.data["measures"]
        assert mine.data["counts"] == cli.data["counts"]
        assert json.loads(mine.path.read_text())["cell"]["method"] == rank.__name__


def test_run_files(tmp_path: Path) -> None:
    loaded = ark.load_graph("toy")
    questions = loaded.questions("all")
    rankings = {q.id: bm25(q.text, loaded.graph) for q in questions}
    (tmp_path / "run.json").write_text(json.dumps(rankings))
    trec = [
        f"{q} Q0 {node} {rank} {1000 - rank} tag"
        for q, nodes in rankings.items()
        for rank, node in enumerate(nodes)
    ]
    (tmp_path / "run.trec").write_text("\n".join(trec) + "\n")
    wanted = ark.evaluate(bm25, graph="toy", split="all").data["measures"]
    for name in ("run.json", "run.trec"):
        found = ark.evaluate(tmp_path / name, graph="toy", split="all")
        assert found.data["measures"] == wanted


def test_a_question_that_a_run_file_lacks_counts_as_failed(tmp_path: Path) -> None:
    questions = ark.load_graph("toy").questions("all")
    (tmp_path / "run.json").write_text(json.dumps({questions[0].id: []}))
    found = ark.evaluate(tmp_path / "run.json", graph="toy", split="all")
    assert found.data["counts"]["failed"] == len(questions) - 1
    assert found.data["measures"]["hit@1"]["n"] == len(questions)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ('{"nope": []}', "1 question ids are not in the questions of toy"),
        ('{"x": 3}', "must have a list"),
        ("{", "not valid JSON"),
        ("a b c\n", "line 1: expected"),
        ("a Q0 n 1 high t\n", "line 1: expected"),
    ],
)
def test_broken_run_files_are_one_line(tmp_path: Path, content: str, wanted: str) -> None:
    (tmp_path / "run").write_text(content)
    with pytest.raises(UserError, match=wanted) as caught:
        ark.evaluate(tmp_path / "run", graph="toy", split="all")
    assert "\n" not in str(caught.value)


def test_wrong_answers_of_a_retriever_are_named() -> None:
    with pytest.raises(UserError, match="'nowhere', which is no node id"):
        ark.evaluate(lambda _q, _g: ["nowhere"], graph="toy", split="all")
    with pytest.raises(UserError, match="return a list of node ids"):
        ark.evaluate(lambda _q, _g: "p1", graph="toy", split="all")
    with pytest.raises(UserError, match="rank returned None"):
        ark.evaluate(lambda _q, _g: None, graph="toy", split="all")  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match="rank must be a function"):
        ark.evaluate(None, graph="toy")  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        ark.evaluate(lambda _q, _g: [str(1 / 0)], graph="toy", split="all")
    with pytest.raises(UserError, match="did you mean toy"):
        ark.evaluate(bm25, graph="tou")
    with pytest.raises(UserError, match="cannot be read"):
        ark.evaluate("no-such-run.json", graph="toy")


def test_duplicates_and_generators_are_fine() -> None:
    found = ark.evaluate(lambda _q, g: (g.id(i) for i in (0, 0, 1)), graph="toy", split="all")
    assert found.data["counts"]["ok"] == found.data["counts"]["queries"]


def test_a_kept_folder_resumes_while_the_source_stays(tmp_path: Path) -> None:
    asked = []

    def rank(query: str, graph: KnowledgeGraph) -> list[str]:
        asked.append(query)
        return [graph.id(0)]

    with pytest.raises(UserError, match="give it a name"):  # a closure: its text is not all of it
        ark.evaluate(rank, graph="toy", split="all", results_dir=tmp_path)
    kept = {"graph": "toy", "split": "all", "results_dir": tmp_path, "name": "counting"}
    first = ark.evaluate(rank, **kept)  # type: ignore[arg-type]
    made = len(asked)
    second = ark.evaluate(rank, **kept)  # type: ignore[arg-type]
    assert len(asked) == made > 0
    assert first.path == second.path
    fresh = ark.evaluate(rank, graph="toy", split="all")
    assert len(asked) == 2 * made
    assert fresh.path != first.path


def test_load_graph_gives_graph_search_and_tools(tmp_path: Path) -> None:
    loaded = ark.load_graph("toy")
    assert loaded.graph.n_nodes == 13
    tools = loaded.tools()
    seen = tools.execute(ToolCall("1", "search_in_graph", '{"query": "copper"}'))
    assert len(seen.offered) == 2
    (tmp_path / "nodes.csv").write_text("id,type,name,text\na,t,Ant,small\nb,t,Bee,busy\n")
    (tmp_path / "edges.csv").write_text("source,target,type\na,b,knows\n")
    (tmp_path / "queries.csv").write_text('id,query,answer_ids\nq,busy?,"[""b""]"\n')
    own = ark.load_graph(tmp_path)
    assert [q.id for q in own.questions()] == ["q"]
    found = ark.evaluate(lambda _q, _g: ["b"], graph=tmp_path)
    assert found.data["measures"]["hit@1"]["mean"] == 1.0
    assert "| table | test" in ark.table(found)


def test_import_is_light_and_names_are_checked() -> None:
    code = (
        "import sys, ark; print(sorted({'numpy', 'pyarrow', 'hydra', 'litellm'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = ark.evaluat


def test_candidate_types_are_those_of_the_configs() -> None:
    from omegaconf import OmegaConf

    from ark.api import CANDIDATE_TYPES

    for file in (Path(__file__).resolve().parents[2] / "configs" / "graph").glob("*.yaml"):
        types = OmegaConf.load(file).get("candidate_types")
        assert CANDIDATE_TYPES.get(file.stem) == (None if types is None else tuple(types))


async def in_a_loop() -> None:
    """What a notebook does: a loop is running already."""
    assert ark.evaluate(bm25, graph="toy", split="all").failed == 0


def test_a_running_loop_is_no_obstacle() -> None:
    import asyncio

    asyncio.run(in_a_loop())
