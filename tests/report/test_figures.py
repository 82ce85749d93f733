"""Figures: what is drawn, where it is said, and the same bytes for the same input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from analysis_runs import A, F, G, N, call, line, question, write_run

from ark.errors import UserError
from ark.report.analysis_load import find_results
from ark.report.figures import FIGURES, budget_figure, cost_figure, tool_figure
from ark.report.figures_budget import _cells, _panels, _quantities, grids_of
from ark.report.figures_cost import CALLS, DOLLARS, MOST, TOKENS, axis_of, labels_of, points_of
from ark.report.figures_style import slug
from ark.report.figures_tools import bars_of

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[figures]'")
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "figures.py"
NO_MODEL = {"backbone": "rule-based controller (no LLM)", "is_llm": False}


def budget(agents: int, steps: int | None, over: str = "truncated", **more: Any) -> dict[str, Any]:
    """One cell of a budget grid; Hit@1 tells which."""
    hit = {"mean": (10 * agents + (steps or 20)) / 100, "low": 0.0, "high": 1.0, "n": 2}
    fusion = None if agents == 1 else {"kind": "voting", "ties": "earliest_position"}
    reading = {"agents": agents, "pool": 3, "steps": steps, "over_budget": over, "fusion": fusion}
    reading |= more.pop("reading", {})
    changed = {"method.agents": agents, "method.max_steps": steps or 20}
    cell = {"changed": changed, **more.pop("cell", {})}
    return {"reading": reading, "measures": {"hit@1": hit}, "cell": cell, **more}


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """Agents 1 to 3 by steps 5, 10 and all 20, in both readings; agents 2 by 5 is missing."""
    cells = [
        budget(n, steps, over)
        for n in (1, 2, 3)
        for steps, over in ((5, "truncated"), (5, "as_published"), (10, "truncated"), (None, ""))
        if (n, steps) != (2, 5)
    ]
    agents = [(line("q1", a, 2), [[call(G)], [call(A), call(F)]]) for a in range(3)]
    return write_run(tmp_path, "grid", [question(1), question(2)], agents, cells)


def test_a_budget_grid_is_one_picture_with_both_readings(grid: Path) -> None:
    (found,) = grids_of(find_results([grid]))
    assert found.title == "toy test · ARK · big model\nn = 2"
    assert found.cells == ([1, 2, 3], [5, 10, 20])
    panels = dict(_panels(found.results))
    assert [label.split(":")[0] for label in panels] == ["truncated", "as published"]
    (_, hit), *_ = _quantities(found.results)
    first, second = (_cells(members, hit) for members in panels.values())
    expected = {(n, t): 10.0 * n + t for n in (1, 2, 3) for t in (5, 10, 20) if (n, t) != (2, 5)}
    assert first == pytest.approx(expected)
    assert set(second) == {(1, 5), (3, 5), (1, 20), (2, 20), (3, 20)}  # all steps: in both


def test_repeats_are_averaged_and_fusions_are_apart(tmp_path: Path) -> None:
    rrf = {"fusion": {"kind": "rrf", "ties": "earliest_position"}}
    cells = [budget(1, 5), budget(2, 5), budget(2, 5, reading=rrf)]
    cells.append(budget(1, 5, cell={"repeat": 1}))
    cells[-1]["measures"] = {"hit@1": {"mean": 0.35, "low": 0.0, "high": 1.0, "n": 2}}
    write_run(tmp_path, "fused", [question(1), question(2)], [], cells)
    grids = grids_of(find_results([tmp_path]))
    assert sorted(g.name for g in grids) == [
        "budget-toy-ark-big-model",
        "budget-toy-ark-big-model-rrf",
    ]
    for found in grids:  # one agent has nothing to fuse: it belongs to each
        (_, hit), *_ = _quantities(found.results)
        assert _cells(found.results, hit) == pytest.approx({(1, 5): 25.0, (2, 5): 25.0})


def test_latency_and_tokens_name_what_they_are(tmp_path: Path) -> None:
    slow = budget(1, 5, timings={"latency_per_query": 3.0})
    write_run(tmp_path / "a", "timed", [question(1), question(2)], [], [slow])
    none = budget(1, 5, usage={"tokens": 0, "cost": 0.0})
    write_run(tmp_path / "b", "silent", [question(1), question(2)], [], [none])
    (timed,) = grids_of(find_results([tmp_path / "a"]))
    labels = [label for label, _ in _quantities(timed.results)]
    assert labels[2].startswith("Latency: slowest agent")
    assert labels[3].startswith("Tokens per question")
    (silent,) = grids_of(find_results([tmp_path / "b"]))
    quantities = dict(_quantities(silent.results))
    labels = list(quantities)
    assert labels[2].startswith("Seconds per question")
    assert labels[3].startswith("Calls per question")
    assert quantities[labels[3]](silent.results[0]) == 8 / 2


@pytest.mark.parametrize(
    ("usages", "expected", "says"),
    [
        ([(880, 4.0), (0, 0.0)], DOLLARS, "US dollars"),
        ([(880, None), (0, 0.0)], TOKENS, "a price is unknown"),
        ([(880, 0.0), (0, 0.0)], TOKENS, "Tokens"),
        ([(0, 0.0), (0, 0.0)], CALLS, "no row used a token"),
    ],
)
def test_the_cost_axis_is_the_best_that_is_known(
    tmp_path: Path, usages: list[tuple[int, float | None]], expected: str, says: str
) -> None:
    cells = [
        {"usage": {"tokens": tokens, "cost": cost}, "cell": {"method": f"m{i}"}}
        for i, (tokens, cost) in enumerate(usages)
    ]
    write_run(tmp_path, "priced", [question(1), question(2)], [], cells)
    results = find_results([tmp_path])
    what, label = axis_of(results)
    assert what == expected
    assert says in label
    points = points_of(results, what)
    used = {DOLLARS: [2.0, 0.0], TOKENS: [440.0, 0.0], CALLS: [4.0, 4.0]}[what]
    assert [p.x for p in points] == used
    assert [(p.y, p.low, p.high, p.n) for p in points] == [(50.0, 40.0, 60.0, 2)] * 2


def test_labels_say_no_llm_and_tell_rows_apart(tmp_path: Path, grid: Path) -> None:
    cells = [
        {"cell": {"backbone": "scripted", "is_llm": False}},
        {"reading": {"agents": 1, "fusion": None}},
        {},
    ]
    write_run(tmp_path / "x", "labels", [question(1)], [], cells)
    assert labels_of(find_results([tmp_path / "x"])) == [
        "ARK · scripted (no LLM)",
        "ARK · big model",
        "ARK · big model (2 agents, voting)",
    ]
    results = find_results([grid])
    many = labels_of([*results, *find_results([tmp_path / "x"])])
    assert len(set(many)) <= MOST
    assert sum("10 steps, truncated" in label for label in labels_of(results)) == 3
    crowd = [budget(1, steps) for steps in range(1, MOST + 2)]
    write_run(tmp_path / "y", "crowd", [question(1), question(2)], [], crowd)
    shown = labels_of(find_results([tmp_path / "y"]))
    assert set(shown) == {f"ARK · big model ({MOST + 1} readings)"}


def test_bars_are_whole_and_leave_out_runs_without_calls(tmp_path: Path, grid: Path) -> None:
    walk = [[call(G)], [call(N), call("common_neighbors")], [call(A), call(F)]]
    write_run(tmp_path, "walked", [question(1)], [(line("q1", 0, 3), walk)], [{"cell": NO_MODEL}])
    bm25 = {"cell": {"method": "BM25", "backbone": None}}
    write_run(tmp_path, "bm25", [question(1)], [(line("q1", 0, 0), [])], [bm25])
    bars = bars_of([tmp_path])
    assert [(b.label, b.calls, b.agents) for b in bars] == [
        ("ARK · big model", 9, 3),
        ("ARK · rule-based controller (no LLM)", 5, 1),
    ]
    for bar in bars:
        shares = [v.value or 0.0 for k, v in bar.shares.items() if k != "global share of searches"]
        assert sum(shares) == pytest.approx(1)
    with pytest.raises(UserError, match="called a tool"):
        tool_figure([tmp_path / "runs" / "bm25"], tmp_path / "out")


def test_files_are_equal_for_equal_input(grid: Path, tmp_path: Path) -> None:
    for figure in (budget_figure, cost_figure, tool_figure):
        first = figure([grid], tmp_path / "first")
        again = figure([grid], tmp_path / "again")
        assert [p.suffix for p in first] == [".png", ".pdf"]
        assert [p.name for p in first] == [p.name for p in again]
        for one, other in zip(first, again, strict=True):
            data = one.read_bytes()
            assert data == other.read_bytes()
            assert data.startswith(b"\x89PNG" if one.suffix == ".png" else b"%PDF")
            assert b"CreationDate" not in data
            assert b"Software" not in data


def test_names_of_strangers_are_only_text(tmp_path: Path) -> None:
    cell = {"cell": {"method": "$x^{2$ \\frac", "backbone": "../../_etc & <b>"}}
    write_run(tmp_path, "odd", [question(1)], [(line("q1", 0, 1), [[call(F)]])], [cell])
    for figure in FIGURES.values():
        for path in figure([tmp_path], tmp_path / "out"):
            assert path.parent == tmp_path / "out"
    assert slug("../a", "Ünï b//c") == "a-n-b-c"
    assert slug("…") == "figure"


def test_mistakes_are_one_line_with_the_fix(grid: Path, tmp_path: Path) -> None:
    def script(code: str, *words: str) -> subprocess.CompletedProcess[str]:
        start = f"import sys, runpy; sys.argv = ['figures.py', *sys.argv[1:]]; {code}; "
        start += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
        return subprocess.run(
            [sys.executable, "-c", start, *words], capture_output=True, text=True, check=False
        )

    words = ("cost", str(grid), "--out", str(tmp_path / "out"))
    fine = script("pass", *words)
    assert fine.stdout.split() == [
        str(tmp_path / "out" / f"cost.{form}") for form in ("png", "pdf")
    ]
    absent = script("sys.modules['matplotlib'] = None", *words)
    assert absent.returncode == 2
    assert absent.stderr.count("\n") == 1
    assert "pip install 'ark-harness[figures]'" in absent.stderr
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="holds none"):
        cost_figure([tmp_path / "nowhere"], tmp_path)
    with pytest.raises(UserError, match="give another --out"):
        cost_figure([grid], tmp_path / "file")


def test_methods_without_a_budget_are_refused(tmp_path: Path) -> None:
    cell = {"cell": {"method": "BM25", "identity": {"method": {"target": "x:Y"}}}}
    write_run(tmp_path, "bm25", [question(1)], [], [cell])
    with pytest.raises(UserError, match="step budget"):
        budget_figure([tmp_path], tmp_path / "out")


def test_importing_figures_does_not_import_matplotlib() -> None:
    code = "import sys, ark.report.figures, ark.api; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
