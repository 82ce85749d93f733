"""Experiments: every file composes, the user's words win, and a demo leaves its tables."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ark.cli.console import jobs_of
from ark.cli.experiments import load, split_off
from ark.cli.help import experiments
from ark.errors import UserError
from ark.run.jobs import Job, plan

REPOSITORY = Path(__file__).resolve().parents[2]
CELLS = {
    "paper_main": 9,
    "paper_backbones": 12,
    "paper_ablation": 12,
    "paper_aggregation": 4,
    "paper_budget": 90,
    "paper_tool_use": 3,
    "prompt_sensitivity": 9,
    "reproduce_open": 3,
    "demo_main": 14,
    "demo_backbones": 4,
    "demo_ablation": 8,
    "demo_aggregation": 8,
    "demo_budget": 60,
    "demo_tool_use": 4,
    "demo_prompts": 6,
    "demo_family": 32,
    "demo_family_dense": 48,
    "demo_rerank": 26,
    "demo_metaqa": 18,
}
TOY = ["graph=toy", "split=all", "limit=4"]


def jobs(*arguments: str) -> list[Job]:
    return jobs_of(["-m", *arguments])[0]


def test_each_experiment_is_counted_here() -> None:
    assert set(experiments()) == set(CELLS)
    for name, title in experiments().items():
        assert title.endswith("."), name
        twin = {"prompt_sensitivity": "demo_prompts", "reproduce_open": "demo_main"}
        assert twin.get(name, name.replace("paper_", "demo_")) in CELLS


@pytest.mark.parametrize("name", sorted(CELLS))
def test_an_experiment_composes_with_and_without_overrides(name: str) -> None:
    overrides = ["graph=hpo", "limit=5"] if name.startswith(("paper", "rep")) else ["limit=5"]
    if name == "paper_main":  # its BM25 row asks STaRK's index of STaRK's types
        overrides = ["limit=5"]
    if name == "demo_metaqa":
        overrides = ["limit=5", "graph.root=a_download"]
    found = jobs(f"experiment={name}", *overrides)
    graphs = 1 if "graph=hpo" in overrides and name != "paper_aggregation" else None
    assert len(found) == (CELLS[name] // 3 if graphs else CELLS[name])
    assert {job.spec.limit for job in found} == {5}
    free = {"lexical", "random"}
    assert all(job.spec.backbone.name in free for job in found) == name.startswith("demo_")


def test_the_users_words_win() -> None:
    found = jobs("experiment=paper_ablation", "graph=toy", "backbone=lexical", "split=all")
    assert [job.spec.graph.source for job in found] == ["toy"] * 4
    assert {job.spec.backbone.name for job in found} == {"lexical"}  # and its model is dropped
    found = jobs("experiment=paper_ablation", "graph=toy", "backbone.model=other")
    assert {job.spec.backbone.settings["model"] for job in found} == {"other"}
    found = jobs("experiment=demo_ablation", "ablation=no_filter,full", "graph=toy")
    assert len(found) == 2
    rows = jobs("experiment=paper_backbones", "graph=toy", "backbone=lexical")
    assert len(rows) == 1  # alternatives that have become equal are one


def test_budget_cells_are_readings_of_one_run_a_graph() -> None:
    planned = [job.spec for job in plan(jobs("experiment=paper_budget"))]
    assert {s.method.settings["max_steps"] for s in planned} == {20}
    assert {(s.pool or s.method.settings["agents"]) for s in planned} == {3}
    assert Counter(s.steps for s in planned) == {5: 18, 7: 18, 10: 18, 15: 18, None: 18}


def test_mistakes_are_one_line() -> None:
    with pytest.raises(UserError, match="did you mean demo_ablation"):
        jobs("experiment=demo_ablatoin")
    with pytest.raises(UserError, match="is a sweep; add -m"):
        jobs_of(["experiment=demo_ablation"])
    with pytest.raises(UserError, match="one experiment at a time"):
        split_off(["experiment=a,b"])
    with pytest.raises(UserError, match="one experiment at a time"):
        split_off(["experiment=a", "experiment=b"])
    assert split_off(["a=1"]) == (None, ["a=1"])
    assert load("demo_main").report.baseline == "bm25"


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "run.py", "-m", *arguments, f"results_dir={folder}", "progress=false"]


@pytest.fixture
def env(data_root_path: Path) -> dict[str, str]:
    return {**os.environ, "ARK_DATA": str(data_root_path)}


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=env, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_demo_leaves_tables_and_counts_its_calls(env: dict[str, str], tmp_path: Path) -> None:
    first = run(env, *command(tmp_path, "experiment=demo_aggregation", *TOY))
    assert first.returncode == 0, first.stderr
    assert "4 results read from 1 run." in first.stdout
    assert "This command made 0 calls" not in first.stdout
    (folder,) = (tmp_path / "sweeps").iterdir()
    record = json.loads((folder / "sweep.json").read_text())
    assert [job["state"] for job in record["jobs"]] == ["done"] * 4
    for job in record["jobs"]:
        assert (folder / job["result"]).is_file()
    tables = {f.name: f.read_bytes() for f in folder.iterdir() if f.stem == "table"}
    assert set(tables) == {"table.md", "table.tex", "table.csv"}
    assert "agents' lists" in first.stdout
    again = run(env, *command(tmp_path, "experiment=demo_aggregation", *TOY))
    assert "This command made 0 calls (0 tokens, $0.00)." in again.stdout
    assert tables == {f.name: f.read_bytes() for f in folder.iterdir() if f.stem == "table"}


def test_a_killed_sweep_resumes_to_the_same_tables(env: dict[str, str], tmp_path: Path) -> None:
    words = ["experiment=demo_ablation", "graph=toy", "split=all", "n_jobs=1"]
    whole = run(env, *command(tmp_path / "a", *words))
    assert whole.returncode == 0, whole.stderr
    rng = random.Random(os.environ.get("ARK_KILL_SEED", "5"))
    for _ in range(2):
        process = subprocess.Popen(
            command(tmp_path / "b", *words), env=env, cwd=REPOSITORY, start_new_session=True
        )
        time.sleep(rng.uniform(1.0, 4.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = run(env, *command(tmp_path / "b", *words))
    assert done.returncode == 0, done.stderr
    for form in ("md", "tex", "csv"):
        (one,) = (tmp_path / "a" / "sweeps").glob(f"*/table.{form}")
        (two,) = (tmp_path / "b" / "sweeps").glob(f"*/table.{form}")
        assert one.read_bytes() == two.read_bytes()
    for journal in (tmp_path / "b" / "runs").glob("*/journal.jsonl"):
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        ended = Counter((x["query"], x["agent"]) for x in lines if x["kind"] == "agent")
        assert set(ended.values()) == {1}  # nothing that had ended was done again
