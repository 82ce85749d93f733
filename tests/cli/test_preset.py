"""``preset=stark`` is ``search=stark`` under the name that the benchmark's users look for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ark.cli.compose import compose_jobs, expand
from ark.errors import UserError
from ark.run import CellSpec

REPOSITORY = Path(__file__).resolve().parents[2]
GRAPHS = (["graph=mag"], ["graph=prime"], ["graph=amazon", "graph.version=paper"], ["graph=toy"])


def composed(*words: str) -> CellSpec:
    (job,), _ = compose_jobs(words)
    return job.spec


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda words: words[0])
def test_it_composes_the_same_cell(graph: list[str]) -> None:
    words = [*graph, "method=bm25"]
    preset, search, plain = (
        composed(*words, *more) for more in (["preset=stark"], ["search=stark"], [])
    )
    assert preset == search
    assert preset.search != plain.search
    assert preset.search.types == preset.graph.candidate_types
    for neutral in ("preset=none", "~preset"):
        assert composed(*words, neutral) == plain


def test_what_the_user_says_besides_goes_before_it() -> None:
    def searched(*more: str) -> object:
        return composed("graph=mag", "method=bm25", *more).search

    assert searched("preset=stark", "search.k1=0.5") == searched("search=stark", "search.k1=0.5")
    assert searched("preset=stark", "search=bm25") == searched()
    assert searched("preset=stark", "ablation=no_filter") == searched("search=stark")


def test_a_wrong_one_is_one_line() -> None:
    with pytest.raises(UserError, match="unknown preset 'strak'; did you mean stark"):
        expand(["preset=strak"], sweep=False)
    with pytest.raises(UserError, match=r"unknown setting 'preset\.k1'"):
        composed("preset.k1=1")


def test_the_run_has_the_same_id(data_root_path: Path, tmp_path: Path) -> None:
    ids = []
    for chosen in ("preset=stark", "search=stark"):
        words = ["graph=toy", "split=all", "method=bm25", chosen, f"results_dir={tmp_path}"]
        done = subprocess.run(
            [sys.executable, str(REPOSITORY / "run.py"), *words],
            env={**os.environ, "ARK_DATA": str(data_root_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        file = Path(done.stdout.splitlines()[-1].removeprefix("result: "))
        ids.append(json.loads(file.read_text())["cell"]["run_id"])
    assert ids[0] == ids[1]
    assert len(list((tmp_path / "runs").iterdir())) == 1
