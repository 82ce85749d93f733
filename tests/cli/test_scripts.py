"""The scripts on a real run folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def done(data_root_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    spec = CellSpec(
        GraphSpec("toy"),
        PluginSpec("ark", "ark.agent.method:Ark"),
        PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone"),
        split="all",
    )
    os.environ["ARK_DATA"] = str(data_root_path)
    try:
        return run_cell(spec, Transport(tmp_path_factory.mktemp("results"), progress=False))
    finally:
        del os.environ["ARK_DATA"]


def script(name: str, *arguments: str, code: int = 0) -> str:
    run = subprocess.run(
        [sys.executable, str(REPOSITORY / "scripts" / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert run.returncode == code, run.stderr
    return run.stdout if code == 0 else run.stderr


def test_show_prints_the_walk(done: Done) -> None:
    text = script("show.py", str(done.path), "toy-01", "--agent", "0")
    assert "agent 0" in text
    assert "agent 1" not in text
    assert "step 1 · ark.step" in text
    assert "search_in_graph" in text
    assert "★" in text
    full = script("show.py", str(done.path.parents[2]), "toy-01", "--full")
    assert "You answer questions by finding nodes" in full
    assert "agent 2" in full


def test_show_names_mistakes_in_a_line(done: Done, tmp_path: Path) -> None:
    assert "for example toy-" in script("show.py", str(done.path), "toy-9999", code=2)
    assert "is no run folder" in script("show.py", str(tmp_path), "q", code=2)
    assert "no agent has ended" in script(
        "show.py", str(done.path), "toy-01", "--agent", "7", code=2
    )


def test_analyse_reads_a_real_run(done: Done, tmp_path: Path) -> None:
    text = script("analyse.py", str(done.path.parents[2]), "--only", "tools")
    row = next(line for line in text.splitlines() if line.startswith("| toy "))
    shares = [float(cell) for cell in row.split("|")[6:-2] if cell.strip() != "-"]
    assert abs(sum(shares) - 100) < 0.5
    assert "search_in_graph" in text
    assert "missing" not in text
    whole = script("analyse.py", str(done.path))
    assert "no LLM" in whole
    assert whole.count("## ") == 14
    assert "is no run folder" in script("analyse.py", str(tmp_path), code=2)


def test_tables_read_a_folder(done: Done, tmp_path: Path) -> None:
    results = str(done.path.parents[4])
    text = script("tables.py", results)
    assert text.count("\n| ARK ") == 1
    assert "toy (all) Recall@20" in text.splitlines()[0]
    assert "One run, single agents alone: toy (all) Hit@1" in text
    by = script("tables.py", results, "--by", "hops", "--measures", "mrr")
    assert "hops=1" in by
    assert "textual" not in by
    assert "Hit@1 |" not in by.splitlines()[0]
    rows = script("tables.py", results, "--format", "csv").splitlines()
    assert rows[0].startswith("method,backbone,preset,settings,graph,split,measure,mean,low,high,n")
    assert len(rows) == 5
    assert r"\begin{tabular}" in script("tables.py", results, "--format", "tex")
    again = script("tables.py", str(done.path), "--reference", "published")
    assert "Nothing is published for these rows" in again
    assert again == script("tables.py", "--reference", "published", str(done.path))


def test_tables_long_has_one_row_a_result(done: Done) -> None:
    results = str(done.path.parents[4])
    assert script("tables.py", results, "--long").count("| toy ") == 1
    assert "hops=1" in script("tables.py", results, "--long", "--by", "hops")
    csv = script("tables.py", results, "--long", "--format", "csv")
    assert csv.startswith("graph,split,method,n,Hit@1")
    assert "--long has no tex" in script("tables.py", results, "--long", "--format", "tex", code=2)


def test_tables_name_mistakes_in_a_line(done: Done, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}")
    assert "is no result.json" in script("tables.py", str(tmp_path), code=2)
    (tmp_path / "result.json").unlink()
    assert "run a cell first" in script("tables.py", str(tmp_path), code=2)
    assert "does not exist" in script("tables.py", str(tmp_path / "no"), code=2)
    results = str(done.path.parents[4])
    for options in (["--baseline", "bm25"], ["--measures", "hit@2"], ["--by", "colour"]):
        error = script("tables.py", results, *options, code=2)
        assert error.startswith("error: unknown ")
        assert error.count("\n") == 1
    assert "write published" in script("tables.py", results, "--reference", "mine", code=2)
    csv = ("--by", "hops", "--format", "csv")
    assert "--by is for --format md" in script("tables.py", results, *csv, code=2)
