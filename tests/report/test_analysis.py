"""Every number of an analysis against a count by hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from analysis_runs import HIT, MISS, A, F, G, N, call, line, numbers, question, rows, write_run

from ark.errors import UserError
from ark.report.analysis import KINDS, TABLES, analysis_table
from ark.report.analysis_load import find_results, find_runs, name_of

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "analyse.py"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two questions, two agents: 12 calls by hand, one agent right, one right at its second node.

    q1/0: G, N, N(empty), A+F  right        q1/1: G, G(invalid), A+F  first wrong, second right
    q2/0: N, F                 nothing      q2/1: show_node, made_up(invalid), by limit
    """
    agents = [
        (
            line("q1", 0, 4, nodes=["gold"]),
            [[call(G)], [call(N)], [call(N, [])], [call(A, selected=["gold"]), call(F)]],
        ),
        (
            line("q1", 1, 3, nodes=["wrong", "gold"], invalid=1),
            [[call(G)], [call(G, valid=False)], [call(A), call(F)]],
        ),
        (line("q2", 0, 2), [[call(N)], [call(F)]]),
        (
            line("q2", 1, 2, status="limit", invalid=1),
            [[call("show_node")], [call("made_up", valid=False)]],
        ),
    ]
    values = {"q1": HIT, "q2": MISS}
    return write_run(tmp_path, "one", [question(1), question(2)], agents, values=values)


def test_tool_shares_are_counts_over_all_executed_calls(run: Path) -> None:
    found = numbers(run, "tools")
    expected = {"agents": 4, "calls": 13, G: 3 / 13, N: 3 / 13, A: 2 / 13, F: 3 / 13}
    expected |= {"extensions": 1 / 13, "unknown tools": 1 / 13, "global share of searches": 0.5}
    assert found == pytest.approx({("tools", "", k): v for k, v in expected.items()})


def test_first_calls_and_global_search_only(run: Path) -> None:
    found = numbers(run, "first")
    assert found["first", "", f"first: {G}"] == 0.5
    assert found["first", "", f"first: {N}"] == 0.25
    assert found["first", "", "first: extensions"] == 0.25
    assert found["first", "", "global search only"] == 0.25  # only the second agent of q1
    assert found["first", "", "no search"] == 0.25  # show_node looks, it does not search


def test_outcomes_of_calls_by_both_definitions_of_success(run: Path) -> None:
    found = numbers(run, "outcomes")
    assert found["outcomes", "successful", "agents"] == 1
    assert found["outcomes", "successful", "calls"] == 5
    assert found["outcomes", "successful", "empty, %"] == pytest.approx(1 / 5)
    assert found["outcomes", "successful", "empty of searches, %"] == pytest.approx(1 / 3)
    assert found["outcomes", "failed", "invalid, %"] == pytest.approx(2 / 8)
    assert found["outcomes", "failed", "valid, %"] == pytest.approx(6 / 8)
    other = numbers(run, "outcomes", success="any")
    assert other["outcomes", "successful", "agents"] == 2
    assert other["outcomes", "failed", "calls"] == 4
    assert "any node that the agent committed to" in analysis_table(
        [run], ["outcomes"], success="any"
    )


def test_nodes_behind_the_committed_ones_are_no_success(tmp_path: Path) -> None:
    seen = line("q1", 0, 1, nodes=["wrong", "gold"], answers=1)
    folder = write_run(tmp_path, "seen", [question(1)], [(seen, [[call(G)]])])
    assert numbers(folder, "outcomes", success="any")["outcomes", "failed", "agents"] == 1


def test_neighbour_calls_of_successes_and_failures(tmp_path: Path) -> None:
    counts = {True: [1, 2, 3, 11], False: [0, 12, 12, 40]}
    agents, asked = [], []
    for right, numbers_ in counts.items():
        for count in numbers_:
            number = len(asked)
            asked.append(question(number))
            calls = [[call(N)] for _ in range(count)] + [[call(F)]]
            nodes = ["gold" if right else "wrong"]
            agents.append((line(f"q{number}", 0, count + 1, nodes=nodes), calls))
    found = numbers(write_run(tmp_path, "many", asked, agents), "neighbors")
    good = {k[2]: v for k, v in found.items() if k[1] == "successful"}
    bad = {k[2]: v for k, v in found.items() if k[1] == "failed"}
    assert good == {
        "agents": 4,
        "mean": 4.25,
        "median": 2,
        "90 %": 11,
        "most": 11,
        "above 10, %": 0.25,
    }
    assert (bad["mean"], bad["median"], bad["90 %"], bad["above 10, %"]) == (16, 12, 40, 0.75)


def test_steps_and_agents_that_the_limit_ended(run: Path) -> None:
    found = {k[2]: v for k, v in numbers(run, "steps").items()}
    assert found == {
        "agents": 4,
        "mean": 2.75,
        "median": 2,
        "90 %": 4,
        "most": 4,
        "ended by limit, %": 0.25,
        "broke off": 0,
    }


def test_usage_per_question_sums_agents(run: Path) -> None:
    found = {k[2]: v for k, v in numbers(run, "usage").items()}
    assert found == {
        "questions": 2,
        "calls": 5.5,
        "prompt tokens": 550,
        "completion tokens": 55,
        "cost": 2.75,
        "seconds": 11,
        "slowest agent, s": 6,
    }


def test_usage_of_fewer_agents_and_fewer_steps(tmp_path: Path) -> None:
    agents = [(line("q1", a, n), None) for a, n in enumerate((1, 3, 8))]
    reading = {"agents": 2, "pool": 3, "steps": 4}
    folder = write_run(tmp_path, "pool", [question(1)], agents, [{"reading": reading}])
    found = {k[2]: v for k, v in numbers(folder, "usage").items()}
    assert found["calls"] == pytest.approx((1 + 3 + 4) * 2 / 3)
    assert found["cost"] == pytest.approx(0.5 * (1 + 3 + 4) * 2 / 3)
    assert found["slowest agent, s"] == pytest.approx((6 + 8 + 8) / 3)  # pairs of 2, 6 and 8 s
    assert "2 of 3 agents, voting, 4 steps, truncated" in analysis_table([folder], ["usage"])


def test_usage_leaves_out_what_the_journal_cannot_tell(tmp_path: Path) -> None:
    agents = [
        (line("q1", 0, 8, keeps_calls=False), None),
        (line("q1", 1, 2, keeps_calls=False), None),
        (line("q2", 0, 1, keeps_calls=False), None),
        (line("q2", 1, 2, keeps_calls=False), None),
        (line("q3", 0, 1), None),
    ]
    asked = [question(i) for i in (1, 2, 3)]
    folder = write_run(tmp_path, "old", asked, agents, [{"reading": {"steps": 4}}])
    found = {k[2]: v for k, v in numbers(folder, "usage").items()}
    assert (found["questions"], found["left out"], found["calls"]) == (1, 2, 3)


def test_an_unknown_price_is_unknown_and_never_nothing(tmp_path: Path) -> None:
    agents = [(line("q1", 0, 1, cost=None), None), (line("q1", 1, 1), None)]
    folder = write_run(tmp_path, "unpriced", [question(1)], agents)
    text = analysis_table([folder], ["usage"], form="csv")
    assert rows(text)["usage", "2 agents, voting", "cost"]["value"] == "unknown"


def test_failures_by_tag(run: Path) -> None:
    found = {k[2]: v for k, v in numbers(run, "failures").items()}
    assert found == {
        "calls": 11,
        "invalid": 2,
        "invalid per 100": pytest.approx(200 / 11),
        "fallbacks": 0,
        "fallbacks per 100": 0,
    }


def test_cut_and_missing_trajectories_are_counted_and_said(run: Path) -> None:
    file = run / "trajectories.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    text = analysis_table([run])
    assert "2 trajectories are missing or damaged" in text
    assert numbers(run, "tools")["tools", "", "agents"] == 2
    file.write_bytes(lines[0].replace(b'"tool":', b'"loot":') + b"".join(lines[1:]))
    assert "1 trajectories are missing or damaged" in analysis_table([run], ["tools"])
    file.unlink()
    text = analysis_table([run], ["tools", "steps"])
    assert "4 trajectories are missing or damaged" in text
    assert "no calls" in text
    assert numbers(run, "steps")["steps", "", "mean"] == 2.75


def test_agents_that_broke_off_are_told_apart(tmp_path: Path) -> None:
    agents = [(line("q1", 0, 1, status="failed"), None), (line("q1", 1, 1), [[call(F)]])]
    folder = write_run(tmp_path, "broken", [question(1)], agents)
    text = analysis_table([folder], ["tools", "steps"])
    assert "1 agents broke off; not in these numbers" in text
    found = numbers(folder, "steps")
    assert (found["steps", "", "agents"], found["steps", "", "broke off"]) == (1, 1)


def test_methods_without_calls_say_so_in_every_table(tmp_path: Path) -> None:
    agents = [(line("q1", 0, 0, nodes=["gold"]), [])]
    cell = {"cell": {"method": "BM25", "backbone": None}, "reading": {"agents": 1, "fusion": None}}
    folder = write_run(tmp_path, "bm25", [question(1)], agents, [cell], {"q1": HIT})
    for kind in TABLES:
        text = analysis_table([folder], [kind])
        assert ("| no calls " in text) == (kind != "usage"), kind
    assert "NaN" not in analysis_table([folder])


def test_unfinished_runs_are_analysed_as_far_as_they_go(run: Path) -> None:
    shutil.rmtree(run / "readings")
    text = analysis_table([run])
    assert "not finished" in text
    assert "| Ark " in text
    with pytest.raises(UserError, match="same command again"):
        find_results([run])


def test_rows_without_a_model_say_so_and_alike_ones_are_told_apart(tmp_path: Path) -> None:
    cell = {"cell": {"backbone": "scripted", "is_llm": False}}
    for name in ("first-run", "second-run"):
        write_run(tmp_path, name, [question(1)], [(line("q1", 0, 1), [[call(F)]])], [cell])
    names = [run.where[2] for run in find_runs([tmp_path])]
    assert names == [f"ARK · scripted (no LLM) · {n}" for n in ("first-run", "second-run")]


def test_names_tell_presets_ablations_settings_and_repeats() -> None:
    cell = {"method": "ARK", "backbone": "m", "preset": "ark_code", "ablation": "no_query"}
    cell |= {"changed": {"queries": "/some/where/q.jsonl"}, "repeat": 2}
    assert name_of(cell) == "ARK · m · preset ark_code · no_query · queries=q.jsonl · repeat 2"
    assert name_of({"method": "BM25", "backbone": None, "preset": "bm25"}) == "BM25"


def test_settings_that_differ_between_readings_are_no_part_of_the_run(tmp_path: Path) -> None:
    cells = [
        {"cell": {"changed": {"method.max_steps": t, "seed": 7}}, "reading": {"steps": t}}
        for t in (5, 10)
    ]
    agents = [(line("q1", a, 1), [[call(F)]]) for a in range(2)]
    folder = write_run(tmp_path, "grid", [question(1)], agents, cells, {"q1": HIT})
    (found,) = find_runs([folder])
    assert found.where[2] == "ARK · big model · seed=7"
    text = analysis_table([folder], ["hops"])
    assert "(2 agents, voting, 5 steps, truncated)" in text


def test_paths_of_every_kind_lead_to_the_same_run(run: Path, tmp_path: Path) -> None:
    result = run / "readings" / "cell0" / "result.json"
    sweep = tmp_path / "sweeps" / "s1"
    sweep.mkdir(parents=True)
    jobs = [
        {"result": str(result.relative_to(tmp_path)), "state": "done"},
        {"result": None, "error": "no", "state": "failed"},
    ]
    (sweep / "sweep.json").write_text(json.dumps({"jobs": jobs}))
    other = tmp_path / "sweeps" / "s2"
    other.mkdir()
    jobs[0]["result"] = f"../../{result.relative_to(tmp_path)}"
    (other / "sweep.json").write_text(json.dumps({"jobs": jobs}))
    paths = [run, result, result.parent, run.parent, tmp_path, sweep, other]
    assert len({analysis_table([path]) for path in paths}) == 1
    assert analysis_table(paths) == analysis_table([run])  # each once


def test_mistakes_are_one_line(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean tools"):
        analysis_table([run], ["tool"])
    with pytest.raises(UserError, match="success"):
        analysis_table([run], success="luck")
    with pytest.raises(UserError, match="format"):
        analysis_table([run], form="html")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="is no run folder and holds none"):
        analysis_table([tmp_path / "empty"])
    with pytest.raises(UserError, match=r"is no result\.json"):
        analysis_table([run / "run.json"])
    (run / "readings" / "cell0" / "per_query.csv").write_text("query,hit@1\nq1,much\n")
    with pytest.raises(UserError, match=r"per_query\.csv is damaged"):
        analysis_table([run], ["hops"])
    (run / "readings" / "cell0" / "per_query.csv").unlink()
    with pytest.raises(UserError, match="written anew"):
        analysis_table([run], ["hops"])
    (run / "readings" / "cell0" / "result.json").write_text('{"cell": {}}')
    with pytest.raises(UserError, match=r"as run\.py writes it: counts is missing"):
        analysis_table([run])
    (run / "queries.jsonl").write_text("{")
    shutil.rmtree(run / "readings")
    with pytest.raises(UserError, match="written anew"):
        analysis_table([run], ["tools"])


def test_the_script_prints_or_fails_in_a_line(run: Path, tmp_path: Path) -> None:
    def script(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
        )

    shown = script(str(run), "--only", "tools", "--by", "hops", "words")
    assert shown.returncode == 0, shown.stderr
    headings = [x for x in shown.stdout.splitlines() if x.startswith("## ")]
    assert headings == ["## Tool use", "## By hops", "## By words in the question"]
    assert shown.stdout == analysis_table([run], ["tools", "hops", "words"])
    assert "run one, 2 questions, graph aaaaaaaaaaaa, questions bbbbbbbbbbbb, code" in shown.stdout
    wrong = script(str(tmp_path / "nowhere"))
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_every_kind_has_a_table_in_both_forms(run: Path) -> None:
    assert analysis_table([run]).count("## ") == len(KINDS)
    assert {k[0] for k in rows(analysis_table([run], form="csv"))} == set(KINDS)


def test_validity_counts_calls_repeats_and_agents_that_select(tmp_path: Path) -> None:
    agents = [
        (line("q1", 0, 3), [[call(G)], [call(G, offered=())], [call(A, selected=["x"])]]),
        (line("q2", 0, 2), [[call(N, valid=False)], [call(A, valid=False)]]),
    ]
    folder = write_run(tmp_path, "calls", [question(1), question(2)], agents)
    found = {k[2]: v for k, v in numbers(folder, "validity").items()}
    assert (found["agents"], found["calls"]) == (2, 5)
    assert found["valid"] == pytest.approx(3 / 5)
    assert found["empty"] == pytest.approx(1 / 5)
    assert found["repeated"] == pytest.approx(1 / 5)  # the second search is the first once more
    assert found["agents that select"] == pytest.approx(1 / 2)
