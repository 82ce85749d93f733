"""The real stark-qa evaluator, where ARK_OFFICIAL_ENV names an environment that has it."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ark.report.finished import open_finished
from ark.report.official import check_official
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.scoring.judge import judge
from ark.scoring.measures import parse_measure
from ark.scoring.official import MEASURES, SIGN_FILTER, Item, cross_check, release
from ark.scoring.official_process import Question, ask, interpreter

REPOSITORY = Path(__file__).resolve().parents[2]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")


@pytest.fixture(scope="module")
def environment() -> Path:
    if not os.environ.get("ARK_OFFICIAL_ENV"):
        pytest.skip("set ARK_OFFICIAL_ENV to a folder of scripts/official_env.py")
    return Path(os.environ["ARK_OFFICIAL_ENV"])


def test_our_values_are_the_official_ones(environment: Path) -> None:
    """Lists of every length, gold at every rank, gold that is not ranked, and none at all."""
    n = 500
    candidates = range(1000, 1000 + n)
    items = []
    for length in (0, 1, 4, 5, 19, 20, 21, 99, 100):
        for first in (0, 1, 4, 5, 19, 20, 99, n - 1):
            ranked = tuple(candidates[:length])
            gold = (candidates[first], candidates[(7 * first + 3) % n], candidates[n - 2])
            judged = judge(ranked, gold)
            ours = {m: parse_measure(m).score(judged) or 0.0 for m in MEASURES}
            items.append(Item(f"{length}-{first}", ranked, gold, ours))
    report = cross_check(environment, items, {"all": candidates})
    assert report.unexplained == 0
    if release(report.versions["torchmetrics"]) >= SIGN_FILTER:
        assert report.differences == ()
    else:
        assert {d.measure for d in report.differences} == {"mrr"}
        assert all(d.official <= 1 / 101 for d in report.differences)
    assert report.bare.refused == 8


def test_minus_rank_earns_nothing_from_some_version_on(environment: Path) -> None:
    """Specification, L04: what ``scripts/score.py`` warns of."""
    question = Question(number=0, candidates="all", nodes=[7, 8], scores=[0.0, -1.0], gold=[7])
    versions, answers = ask(environment, MEASURES, {"all": range(50)}, [question])
    counted = float(release(versions["torchmetrics"]) < SIGN_FILTER)
    assert answers[0] == {"hit@1": 1, "hit@5": 1, "recall@20": counted, "mrr": counted}


@pytest.mark.parametrize("candidates", ["graph", "answer_type"])
def test_a_finished_run_is_checked(
    environment: Path,
    tmp_path: Path,
    data_root_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    candidates: str,
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    method = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
    spec = CellSpec(GraphSpec("toy"), method, LEXICAL, split="all", candidates=candidates)
    done = run_cell(spec, Transport(tmp_path, progress=False))
    told: list[int] = []
    report = check_official(
        open_finished(done.path), environment, progress=lambda a, _: told.append(a)
    )
    assert report.unexplained == 0
    assert report.queries == done.data["counts"]["queries"]
    assert told == list(range(1, len(told) + 1))
    stored = json.loads((done.path.parent / "official.json").read_text())
    assert stored["ours"]["mrr"] == pytest.approx(done.data["measures"]["mrr"]["mean"])
    assert stored["versions"]["torch"] == report.versions["torch"]


def test_the_run_prints_the_verdict(
    environment: Path, tmp_path: Path, data_root_path: Path
) -> None:
    words = ["graph=toy", "split=all", "method=bm25", f"official={environment}"]
    run = subprocess.run(
        [sys.executable, str(REPOSITORY / "run.py"), *words, f"results_dir={tmp_path}"],
        env={**os.environ, "ARK_DATA": str(data_root_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert any(x.startswith("official evaluator: ") and "torchmetrics" in x for x in lines)
    assert lines[-1].startswith("result: ")


def test_the_script_finds_an_environment_ready(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["official_env.py", str(environment)])
    main = runpy.run_path(str(REPOSITORY / "scripts/official_env.py"))["main"]
    assert main() == 0
    shown = capsys.readouterr().out
    assert "ready: stark-qa " in shown
    assert "no graph class" not in shown, "built before the script installed torch_geometric"


def test_the_benchmark_asks_its_graph_class(environment: Path) -> None:
    peer = REPOSITORY / "scripts/stark_bench/peer.py"
    command = [str(interpreter(environment)), "-I", "-W", "ignore", str(peer), "graph_class"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)["versions"]) == {"stark-qa", "torch", "torchmetrics"}


@pytest.mark.skipif(os.name != "posix", reason="an environment is made of a symbolic link")
def test_an_environment_without_the_graph_class_is_told_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    script = runpy.run_path(str(REPOSITORY / "scripts/official_env.py"))
    assert script["has_graph_class"](tmp_path) is False
    assert "ModuleNotFoundError" in capfd.readouterr().err
