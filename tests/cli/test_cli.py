"""The command line as users and scripts meet it: real processes, exit codes, last lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = REPOSITORY / "run.py"


@pytest.fixture
def env(data_root_path: Path) -> dict[str, str]:
    return {**os.environ, "ARK_DATA": str(data_root_path), "PYTHONPATH": str(REPOSITORY)}


def run(env: dict[str, str], *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(RUN), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def complaint(env: dict[str, str], *arguments: str) -> str:
    done = run(env, *arguments, code=2)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def results(text: str) -> list[Path]:
    lines = [x for x in text.splitlines() if x.startswith("result: ")]
    return [Path(x.removeprefix("result: ")) for x in lines]


@pytest.fixture
def toy(tmp_path: Path) -> list[str]:
    return ["graph=toy", "split=all", f"results_dir={tmp_path / 'results'}"]


def test_one_cell_ends_with_its_result(env: dict[str, str], toy: list[str]) -> None:
    done = run(env, *toy)
    last = done.stdout.splitlines()[-1]
    (path,) = results(done.stdout)
    assert last == f"result: {path}"
    assert path.is_absolute()
    data = json.loads(path.read_text())
    assert data["cell"]["backbone"] == "rule-based controller (no LLM)"
    assert "rule-based controller (no LLM)" in done.stdout
    assert "Toy garden graph" in done.stdout  # the credit line
    assert f"| {data['counts']['queries']} " in done.stdout


def test_help_names_every_choice_without_hydra(env: dict[str, str]) -> None:
    done = run(env, "--help")
    for word in ("hpo", "table", "ark", "bm25", "lexical", "no_neighbors", "rrf", "results_dir"):
        assert word in done.stdout
    code = (
        "import sys, run; run.main(['--help']); "
        "print(sorted({'hydra', 'omegaconf', 'numpy', 'pyarrow', 'litellm', 'wandb', 'pandas'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_loads_no_heavy_library(env: dict[str, str], toy: list[str]) -> None:
    # bm25s imports numba by itself where the fast extra is installed, so it is not asked for here.
    code = (
        f"import sys, run; run.main({toy!r}); "
        "print(sorted({'litellm', 'wandb', 'torch', 'pronto'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["graph=hop"], "did you mean hpo"),
        (["method=arc"], "did you mean ark"),
        (["backbone=lexcal"], "did you mean lexical"),
        (["graph=toy", "splt=test"], "did you mean split"),
        (["graph=toy", "method.agent=2"], "did you mean method.agents"),
        (["graph=toy", "split=tset"], "no questions in split 'tset'; there are: "),
        (["graph=toy", "limit=0"], "limit=0"),
        (["graph=toy", "limit=many"], "limit='many' must be a whole number or null"),
        (["graph=toy", "cut=500"], "cut=500"),
        (["graph=toy", "fusion.ties=first"], "fusion.ties"),
        (["graph=toy", "method=bm25", "ablation=no_neighbors"], "method.neighbors"),
        (["method=tog", "ablation=no_query"], "method=tog has not; it is for method=ark|ark_plus"),
        (["rerank.k=5"], "no setting of rerank=none; rerank=listwise|pointwise have it"),
        (["method=kg_agent", "method.agents=3"], "no setting of method=kg_agent; method=ark|"),
        (["method.promt=ours"], "did you mean method.prompt"),
        (["max_steps=5"], "unknown setting 'max_steps'; did you mean method.max_steps?"),
        (["relevance=dense"], "did you mean search.relevance?"),
        (["graph=toy", "method.prompt=nofile.jinja"], "no such file"),
        (["graph=toy", "method.target=nowhere:X"], "no module 'nowhere'"),
        (["graph=toy", "backbone=scripted"], "backbone.script=FILE"),
        (["graph=toy", "queries=none.csv"], "none.csv"),
        (["graph=table"], "add graph.path=DIR"),
        (["graph=table", "graph.path=nowhere"], "nowhere"),
        (["fusion=voting,rrf"], "add -m"),
        (["graph=toy", "nonsense"], "cannot read 'nonsense'; write setting=value"),
        (["bm25"], "did you mean method=bm25 or search=bm25?"),
        (["graph=toy", "=1"], "cannot compose the configuration"),
        (["graph=toy", "~method"], "method is missing"),
        (["graph=toy", "~seed"], "seed is missing"),
        (["graph=toy", "~method.target"], "method.target is missing"),
        (["graph=toy", "~tracker.target"], "tracker.target is missing"),
        (["graph=toy", "+backbone.seed=[1]"], "backbone.seed=[1] must be a whole number"),
        (["graph=toy", "hydra.run.dir=x"], "Hydra only composes here"),
        (["graph=toy", "method.max_tokens=-5"], "must be >= 1"),
        (["graph=toy", "+x=1"], "unknown setting 'x'"),
        (["graph=toy", "split=null"], "split=None must be a text"),
        (["graph=toy", "queries=''"], "queries= must be a path or null"),
        (["graph=toy", "method.neighbors='\"false\"'"], "must be true or false"),
        (["graph=toy", "method.temperature=hot"], "must be a number or null"),
        (["graph=toy", "seed=true"], "seed=True must be a whole number"),
        (["graph=toy", "search.k1=high"], "search.k1='high' must be a number"),
        (["graph=toy", "search.k1=inf"], "search.k1=inf must be a number"),
        (["graph=toy", "method.target=ark.errors:UserError"], "is no plug-in"),
        (["graph=toy", "method.target=..:x"], "cannot be imported"),
        (["graph=table", "graph.path=5"], "must be the path of a folder"),
        (["graph=toy", "backbone=scripted", "backbone.script=[1]"], "backbone.script: a list"),
        (["graph=toy", "a=[1"], "cannot read the command"),
        (["--dry"], "unknown option --dry"),
        (["graph=toy", "candidates=type"], "did you mean answer_type"),
        (["graph=toy", "graph.candidate_types=[plants]"], "did you mean plant"),
    ],
)
def test_each_mistake_is_one_line(
    env: dict[str, str], tmp_path: Path, arguments: list[str], wanted: str
) -> None:
    assert wanted in complaint(env, *arguments, f"results_dir={tmp_path}")


def table(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "nodes.csv": "id,type,name,text\na,thing,Apple,a red fruit\nb,thing,Basket,holds fruit\n",
        "edges.csv": "source,target,type\na,b,lies in\n",
        "queries.csv": 'id,query,answer_ids\nq1,What lies in the Basket?,"[""a""]"\n',
    }
    for name, text in {**content, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_graph_of_ones_own(env: dict[str, str], tmp_path: Path) -> None:
    folder = table(tmp_path / "mine")
    done = run(env, "graph=table", f"graph.path={folder}", f"results_dir={tmp_path}")
    (path,) = results(done.stdout)
    assert json.loads(path.read_text())["measures"]["hit@1"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"nodes.csv": "id,name\na,A\n"}, "type"),
        ({"nodes.csv": "id,type,name,text\na,t,A,x\na,t,B,x\n"}, "more than once"),
        ({"edges.csv": "source,target,type\na,zz,r\n"}, "zz"),
        ({"edges.csv": 'source,target,type\n"a,b\n'}, "edges.csv"),
        ({"queries.csv": "id,query\nq,x\n"}, "answer_ids"),
        ({"queries.csv": "id,query,answer_ids\nq,x,a;b\n"}, "q"),
        ({"queries.csv": 'id,query,answer_ids\nq,x,"[""zz""]"\n'}, "zz"),
    ],
)
def test_a_broken_table_is_one_line(
    env: dict[str, str], tmp_path: Path, files: dict[str, str], wanted: str
) -> None:
    folder = table(tmp_path / "mine", **files)
    text = complaint(env, "graph=table", f"graph.path={folder}", f"results_dir={tmp_path}")
    assert wanted in text


def test_a_sweep_is_one_table_and_a_line_a_job(env: dict[str, str], toy: list[str]) -> None:
    done = run(env, "-m", *toy, "fusion=voting,rrf", "method.agents=2,3")
    paths = results(done.stdout)
    assert len(set(paths)) == 4
    assert len({p.parents[2] for p in paths}) == 1  # readings of one run
    assert done.stdout.count("| toy ") == 4
    assert "3 agents, rrf" in done.stdout


def test_a_failing_job_is_a_row_and_not_the_end(env: dict[str, str], toy: list[str]) -> None:
    done = run(env, "-m", *toy, "ablation=no_query,full", "method=bm25,ark", code=1)
    assert len(results(done.stdout)) == 3
    assert "1 of 4 jobs failed" in done.stdout
    assert "method.neighbor_query" in done.stdout


def test_max_failures_decides_the_exit_code(
    env: dict[str, str], toy: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"calls": [{"name": "search_in_graph", "arguments": {"query": "a"}}]}]')
    arguments = [*toy, "backbone=scripted", f"backbone.script={script}"]
    done = run(env, *arguments, code=1)
    (path,) = results(done.stdout)
    failed = json.loads(path.read_text())["counts"]["failed"]
    assert failed > 0
    run(env, *arguments, f"max_failures={failed}")


def test_a_fatal_backbone_is_exit_code_4(
    env: dict[str, str], toy: list[str], tmp_path: Path
) -> None:
    (tmp_path / "fatal_backbone.py").write_text(
        "from ark.errors import FatalBackboneError\n"
        "class Dead:\n"
        "    label = 'dead'\n"
        "    identity = {'backbone': 'dead'}\n"
        "    async def complete(self, messages, **how):\n"
        "        raise FatalBackboneError('the key was refused: set EXAMPLE_API_KEY')\n"
    )
    env = {**env, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"}
    done = run(env, *toy, "backbone.target=fatal_backbone:Dead", code=4)
    assert done.stderr.splitlines()[-1] == ("error: the key was refused: set EXAMPLE_API_KEY")


SLOW = """
import asyncio
from ark.backbone import LexicalBackbone
class Slow(LexicalBackbone):
    async def complete(self, messages, **how):
        await asyncio.sleep(0.02)
        return await super().complete(messages, **how)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_resumes_to_the_same_result(
    env: dict[str, str], tmp_path: Path, how: signal.Signals
) -> None:
    (tmp_path / "slow_backbone.py").write_text(SLOW)
    env = {**env, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"}

    def command(results_dir: Path) -> list[str]:
        return [
            "graph=toy",
            "split=all",
            "backbone.target=slow_backbone:Slow",
            f"results_dir={results_dir}",
        ]

    (whole,) = results(run(env, *command(tmp_path / "whole")).stdout)
    arguments = command(tmp_path / "killed")
    process = subprocess.Popen(
        [sys.executable, str(RUN), *arguments], env=env, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        journals = list((tmp_path / "killed").glob("runs/*/journal.jsonl"))
        if journals and journals[0].stat().st_size > 2000:
            break
        time.sleep(0.01)
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    assert results(output) == []
    if how is signal.SIGINT:
        assert process.returncode == 130
        last = output.splitlines()[-1]
        assert last.startswith("resume: python run.py ")
        assert f"results_dir={tmp_path / 'killed'}" in last
    (again,) = results(run(env, *arguments).stdout)
    parts = ("cell", "counts", "measures", "usage")
    a, b = (json.loads(p.read_text()) for p in (whole, again))
    assert [json.dumps(a[p]) for p in parts] == [json.dumps(b[p]) for p in parts]


def test_the_budget_of_a_sweep_holds_for_one_cell_too(env: dict[str, str], toy: list[str]) -> None:
    done = run(env, *toy, "sweep_budget.calls=5", code=3)
    assert "sweep_budget.calls is spent" in done.stderr
    assert done.stdout.startswith("resume: python run.py ")
    done = run(env, *toy, "budget.calls=5", code=3)
    assert "budget.calls is spent" in done.stderr
    run(env, *toy)


def test_quotes_around_a_choice(env: dict[str, str], toy: list[str]) -> None:
    done = run(env, "-m", *toy, "limit=2", 'fusion=voting,"rrf"', "cut=5,5")
    assert len(results(done.stdout)) == 2  # two readings, each once
