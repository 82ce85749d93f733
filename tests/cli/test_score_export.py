"""``scripts/score.py`` and ``scripts/export.py`` on real run folders."""

from __future__ import annotations

import csv
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_stark

from ark.agent import Fusion
from ark.errors import UserError
from ark.graph import data_root
from ark.records import Json
from ark.report.export import export
from ark.report.finished import open_finished
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell

REPOSITORY = Path(__file__).resolve().parents[2]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
ARK = PluginSpec("ark", "ark.agent.method:Ark", {"max_steps": 6})


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    assert data_root() == data_root_path


@pytest.fixture(scope="module")
def done(data_root_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    spec = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all", cut=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(data_root_path))
        return run_cell(spec, Transport(tmp_path_factory.mktemp("results"), progress=False))


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


class Script:
    """Runs a script in this process: the same main, without a second to start."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = monkeypatch

    def __call__(self, name: str, *arguments: str | Path, code: int = 0) -> str:
        words = [str(a) for a in arguments]
        self._patch.setattr(sys, "argv", [name, *words])
        self._patch.syspath_prepend(str(REPOSITORY))
        main: Any = runpy.run_path(str(REPOSITORY / "scripts" / name))["main"]
        found = main(words) if name == "score.py" else main()
        out, err = self._capsys.readouterr()
        assert found == code, out + err
        return str(out if code < 2 else err)


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(capsys, monkeypatch)


def result(text: str) -> dict[str, Json]:
    last = text.splitlines()[-1]
    assert last.startswith("result: ")
    data: dict[str, Json] = json.loads(Path(last.removeprefix("result: ")).read_text())
    return data


def test_an_exported_run_scores_as_before(done: Done, tmp_path: Path, script: Script) -> None:
    settings = ["graph=toy", "split=all", "cut=2", f"results_dir={tmp_path}", "progress=false"]
    for form in ("trec", "leaderboard"):
        file = tmp_path / form
        text = script("export.py", done.path.parents[2], "--format", form, "--out", file)
        assert text == f"{file}: {file.read_text().count(chr(10))} lines\n"
        scored = script("score.py", file, *settings)
        data = result(scored)
        for name, value in done.data["measures"].items():
            if name not in ("precision", "recall", "f1"):
                assert data["measures"][name] == value
        assert data["counts"]["failed"] == 0
        assert f"run file {form} (" in scored
        assert "cut: lists are scored to rank 2, MRR too; cut=100" in scored
        assert data["cell"]["method"] == form


def test_a_trec_run_falls_strictly_and_holds_what_the_cut_hid(done: Done) -> None:
    finished = open_finished(done.path)
    lines = [line.split(" ") for line in export(finished, "trec").splitlines()]
    by_query: dict[str, list[list[str]]] = {}
    for line in lines:
        assert len(line) == 6
        assert line[1] == "Q0"
        assert line[5] == "ARK"
        by_query.setdefault(line[0], []).append(line)
    assert max(len(rows) for rows in by_query.values()) > finished.reading.cut == 2
    for scored in finished.scored():
        rows = by_query[scored.query.id]
        assert [int(row[3]) for row in rows] == list(range(1, len(rows) + 1))
        scores = [int(row[4]) for row in rows]
        assert scores == list(range(100, 100 - len(rows), -1))
        assert tuple(row[2] for row in rows)[:2] == scored.ranked
        assert len({row[2] for row in rows}) == len(rows)
    assert export(finished, "trec", "mine").splitlines()[0].endswith(" mine")


def test_qrels_hold_every_gold_answer_once(done: Done) -> None:
    finished = open_finished(done.path.parent)
    lines = export(finished, "qrels").splitlines()
    assert len(lines) == len(set(lines))
    assert all(line.split(" ")[1::2] == ["0", "1"] for line in lines)
    golds = {q.id: len(finished.gold(q)) for q in finished.queries}
    assert {q: sum(x.startswith(f"{q} ") for x in lines) for q in golds} == golds
    assert min(golds.values()) >= 1


def test_the_leaderboard_form_is_of_ids_of_candidates(tmp_path: Path, script: Script) -> None:
    tiny_stark.write_graph(tmp_path, "mag")
    tiny_stark.write_questions(tmp_path, "mag")
    graph = GraphSpec("mag", {"root": str(tmp_path)}, ("paper",))
    bm25 = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
    spec = CellSpec(graph, bm25, LEXICAL, split="test")
    run = run_cell(spec, Transport(tmp_path / "results", progress=False))
    finished = open_finished(run.path)
    head, *rows = export(finished, "leaderboard").splitlines()
    assert head == "query_id,pred_rank"
    assert [row.split(",")[0] for row in rows] == ["2", "3"]
    ids = [json.loads(row.split(",", 1)[1].strip('"')) for row in rows]
    assert all(isinstance(i, int) and i in (5, 6, 7) for ranked in ids for i in ranked)
    assert finished.candidates(("paper",)) == [5, 6, 7]
    text = script(
        *("score.py", _written(tmp_path / "board.csv", export(finished, "leaderboard"))),
        *("graph=mag", f"graph.root={tmp_path}", f"results_dir={tmp_path / 'again'}"),
    )
    assert result(text)["measures"]["mrr"] == run.data["measures"]["mrr"]


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_random_fusion_is_exported_in_its_own_order(tmp_path: Path) -> None:
    spec = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all", fusion=Fusion("random"), seed=7)
    run = run_cell(spec, Transport(tmp_path, progress=False))
    finished = open_finished(run.path)
    with (run.path.parent / "per_query.csv").open(newline="") as file:
        stored = [json.loads(row["ranked"]) for row in csv.DictReader(file)]
    assert stored == [list(scored.ranked) for scored in finished.scored(100)]


def test_a_run_with_several_readings_must_be_told(tmp_path: Path) -> None:
    for fusion in ("voting", "rrf"):
        spec = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all", fusion=Fusion(fusion))
        run = run_cell(spec, Transport(tmp_path, progress=False))
    assert open_finished(run.path).reading.fusion.kind == "rrf"
    with pytest.raises(UserError, match="has 2 readings: give one"):
        open_finished(run.path.parents[2])


def test_export_names_mistakes_in_a_line(done: Done, tmp_path: Path, script: Script) -> None:
    assert "is no finished run" in script("export.py", tmp_path, "--format", "trec", code=2)
    (tmp_path / "result.json").write_text("{}")
    assert "is no result.json of a run" in script("export.py", tmp_path, "--format", "trec", code=2)
    text = script(
        "export.py", done.path, "--format", "trec", "--out", "/dev/null/nowhere/run", code=2
    )
    assert text.startswith("error: cannot write")
    with pytest.raises(UserError, match="cannot stand in a TREC file"):
        export(open_finished(done.path), "trec", "two words")


def test_a_graph_that_is_gone_is_named(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"the graph of this run \(toy, content"):
        open_finished(done.path)


def test_score_counts_and_goes_on(tmp_path: Path, script: Script) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text("query_id,pred_rank\ntoy-01,\"['p1', 'p1', 'gone', -1]\"\nnope,[]\ntoy-01,[]\n")
    settings = ["graph=toy", "split=all", f"results_dir={tmp_path}", "progress=false"]
    text = script("score.py", file, *settings, code=1)
    data = result(text)
    assert data["counts"]["failed"] == data["counts"]["queries"] - 1 > 0
    assert data["measures"]["hit@1"]["n"] == data["counts"]["queries"]
    for line in (
        "run file theirs.csv (csv): 4 entries for 1 of ",
        f"missing: {data['counts']['failed']} questions of the split have no list",
        "repeated: 1 questions have more than one list; the first counts: toy-01",
        "unknown: 1 question ids are in no split: nope",
        "foreign: 2 entries are ids of no node and were dropped: gone, -1",
        "duplicates: 1 entries repeat an answer; the first counts",
    ):
        assert f"\n{line}" in text
    script("score.py", file, *settings, f"max_failures={data['counts']['failed']}")


def test_minus_rank_is_warned_of(tmp_path: Path, script: Script) -> None:
    file = tmp_path / "minus.jsonl"
    file.write_text('{"query_id": "toy-01", "scores": {"p1": 0, "p2": -1, "p3": -2}}\n')
    text = script(
        *("score.py", file, "graph=toy", "split=all", f"results_dir={tmp_path}"),
        *("max_failures=999", "progress=false"),
    )
    assert "warning: 1 lists have scores that are zero or negative (as -rank is)" in text


def test_score_takes_a_graph_and_questions_of_ones_own(tmp_path: Path, script: Script) -> None:
    (tmp_path / "nodes.csv").write_text("id,type,name,text\na,t,Ant,small\nb,u,Bee,busy\n")
    (tmp_path / "edges.csv").write_text("source,target,type\na,b,knows\n")
    (tmp_path / "queries.csv").write_text('id,query,answer_ids\nq,busy?,"[""b""]"\n')
    (tmp_path / "other.csv").write_text('id,query,answer_ids\nq,small?,"[""a""]"\n')
    (tmp_path / "run").write_text('{"q": ["a", "b"]}')
    common = ["graph=table", f"graph.path={tmp_path}", f"results_dir={tmp_path}", "progress=false"]
    found = {
        name: result(script("score.py", tmp_path / "run", *common, *more))["measures"]["mrr"][
            "mean"
        ]
        for name, more in {
            "all": [],
            "u": ["graph.candidate_types=[u]"],
            "other": [f"queries={tmp_path / 'other.csv'}"],
        }.items()
    }
    assert found == {"all": 0.5, "u": 1.0, "other": 1.0}


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["none.csv", "graph=toy"], "none.csv: cannot be read"),
        (["{file}", "graph=tou"], "did you mean toy"),
        (["{file}", "graph=toy", "spilt=all"], "did you mean split"),
        (["{file}", "graph=toy", "method=bm25"], "unknown setting of score.py 'method'"),
        (["{file}", "graph=toy", "split=nope"], "no questions in split 'nope'"),
        (["{file}", "graph=toy,hpo"], "is a sweep"),
    ],
)
def test_score_names_mistakes_in_a_line(
    tmp_path: Path, arguments: list[str], wanted: str, script: Script
) -> None:
    file = _written(tmp_path / "run.json", "{}")
    text = script("score.py", *(a.format(file=file) for a in arguments), code=2)
    (line,) = text.splitlines()
    assert line.startswith("error: ")
    assert wanted in line


def test_both_start_from_a_shell(done: Done, tmp_path: Path) -> None:
    file = tmp_path / "run.trec"
    out = process("scripts/export.py", done.path, "--format", "trec", "--out", file)
    assert out.returncode == 0
    assert out.stdout.startswith(f"{file}: ")
    folder = f"results_dir={tmp_path}"
    scored = process("scripts/score.py", file, "graph=toy", "split=all", folder)
    assert scored.returncode == 0, scored.stderr
    assert result(scored.stdout)["counts"]["failed"] == 0
    assert "RUNFILE" in process("scripts/score.py", "--help").stdout


def test_a_wrong_official_environment_is_found_before_the_run(tmp_path: Path) -> None:
    run = process("run.py", "graph=toy", "official=nowhere", f"results_dir={tmp_path}")
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == (
        "error: official=nowhere: no Python environment there; python scripts/official_env.py "
        "nowhere\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_official_env_touches_no_folder_of_others(tmp_path: Path, script: Script) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    text = script("official_env.py", tmp_path, code=2)
    assert text == f"error: {tmp_path} is not empty and no environment: give a new folder\n"
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_official_check_names_mistakes_in_a_line(
    done: Done, tmp_path: Path, script: Script
) -> None:
    text = script("official_check.py", done.path, "--env", tmp_path, code=2)
    assert text.startswith(f"error: official={tmp_path}: no Python environment there")
