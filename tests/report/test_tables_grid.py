"""Rows, columns, marks and refusals of the tables over runs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from made_results import FUSED, ark, write

from ark.errors import UserError
from ark.report import (
    Options,
    footer,
    main_rows,
    main_table,
    result_table,
    sweep_table,
)
from ark.report.cells import find, load_all
from ark.report.grid import grid
from ark.report.marks import against, ranked
from ark.scoring.statistics import compare_paired, holm, two_level

ONES = [1.0] * 12 + [0.0] * 8
FEW = [1.0] * 2 + [0.0] * 18
ZERO = [0.0] * 20


def table(root: Path, fmt: str = "md", **options: Any) -> str:
    return result_table(load_all(find([root])), Options(**options), fmt)


def records(root: Path, **options: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table(root, "csv", **options))))


def line(text: str, start: str) -> str:
    (found,) = [x for x in text.splitlines() if x.startswith(start)]
    return found


def test_rows_are_methods_and_columns_graphs_with_measures(tmp_path: Path) -> None:
    for graph in ("hpo", "cwe"):
        write(tmp_path, FEW, graph=graph)
        ark(tmp_path, ONES, graph=graph)
    text = table(tmp_path)
    head, _, *rows = [x for x in text.splitlines() if x.startswith("|")]
    assert len(rows) == 2
    assert head.index("cwe (test) Hit@1") < head.index("cwe (test) MRR") < head.index("hpo (test)")
    assert "3 agents, voting" in rows[1]
    assert "60.0 [38.7, 78.1]" in rows[1].replace("**", "")
    assert "cwe (test): n 20, 20 clusters, design effect 1.0" in text


def test_a_measure_that_no_result_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    assert "Hit@10" in table(tmp_path, measures=("hit@10",))
    with pytest.raises(UserError, match="unknown measure 'hit@2'; did you mean hit@"):
        table(tmp_path, measures=("hit@2",))


def test_a_difference_is_marked_by_its_test_after_holm(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES)
    write(tmp_path, [0.0, 0.0, 1.0, *[0.0] * 17], method="String match")
    rows = [r for r in records(tmp_path, baseline="bm25") if r["measure"] == "hit@1"]
    by_name = {r["method"]: r for r in rows}
    alone = [""] * 20
    wanted = [compare_paired(x, FEW, alone, binary=True) for x in (ONES, [0, 0, 1, *[0] * 17])]
    corrected = holm([w.p_value for w in wanted])
    for method, one, p in zip(("ARK", "String match"), wanted, corrected, strict=True):
        row = by_name[method]
        assert float(row["difference"]) == pytest.approx(one.difference)
        assert float(row["diff_low"]) == one.low
        assert float(row["p"]) == one.p_value
        assert float(row["p_holm"]) == p
        assert row["test"] == "exact McNemar"
    assert by_name["ARK"]["mark"] == "above"
    assert by_name["String match"]["mark"] == ""
    assert by_name["BM25"]["baseline"] == ""
    text = table(tmp_path, baseline="bm25")
    assert line(text, "| ARK").count("▲") == 4
    assert "▲ above and ▼ below BM25: paired by question" in text
    assert "exact McNemar for Hit@1 and Hit@5; sign-flip permutation for Recall@20" in text
    below = table(tmp_path, baseline="ARK")
    assert line(below, "| BM25").count("▼") == 4


def test_shared_clusters_take_another_test(tmp_path: Path) -> None:
    clusters = [f"c{i // 2}" for i in range(20)]
    write(tmp_path, FEW, clusters=clusters)
    ark(tmp_path, ONES, clusters=clusters)
    row = next(r for r in records(tmp_path, baseline="bm25") if r["method"] == "ARK")
    assert row["test"] == "cluster sign-flip permutation"
    assert row["clusters"] == "10"
    assert float(row["design_effect"]) > 1.5
    assert "n 20, 10 clusters" in table(tmp_path)


def test_best_and_second_are_marked_by_column(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES)
    write(tmp_path, [1.0] * 3 + [0.0] * 17, method="String match")
    text = table(tmp_path)
    assert line(text, "| ARK").count("**60.0**") == 4
    assert line(text, "| String").count("*15.0*") == 4
    assert "*" not in line(text, "| BM25")
    assert "that is no claim that the difference is beyond chance" in " ".join(text.split())


@pytest.mark.parametrize(
    ("means", "places"),
    [
        ({0: 0.5, 1: 0.4, 2: 0.3}, {0: 1, 1: 2}),
        ({0: 0.5, 1: 0.5, 2: 0.3}, {0: 1, 1: 1, 2: 2}),
        ({0: 0.5, 1: 0.3, 2: 0.3}, {0: 1, 1: 2, 2: 2}),
        ({0: 0.5, 1: 0.5}, {}),
        ({0: 0.5, 1: 0.0, 2: 0.0}, {0: 1}),
        ({0: 0.0, 1: 0.0}, {}),
        ({}, {}),
    ],
)
def test_places_are_shared(means: dict[int, float], places: dict[int, int]) -> None:
    assert ranked(means) == places


def test_no_winner_where_failure_rates_differ(tmp_path: Path) -> None:
    write(tmp_path, ONES, failed=range(10))
    ark(tmp_path, ONES)
    text = table(tmp_path, baseline="bm25")
    assert "**" not in text
    assert "▲" not in line(text, "| ARK")
    said = " ".join(text.split())
    assert "no best mark, failure rates differ beyond chance (10 and 0 failed" in said
    assert "no mark: failure rates differ beyond chance (0 failed, 10 of BM25" in said
    assert "10 of 20 questions failed or are missing; Hit@1 20.0" in said


def test_a_failure_within_chance_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, FEW, failed=[19])
    ark(tmp_path, ONES)
    text = table(tmp_path, baseline="bm25")
    assert line(text, "| ARK").count("▲") == 4
    assert "**60.0**" in text


def test_unequal_treatment_is_not_tested_unless_allowed(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES, reading={"backfill": "bm25"})
    text = table(tmp_path, baseline="bm25")
    assert "▲" not in line(text, "| ARK")
    assert "not compared: backfill differs (bm25, none)" in text
    assert "no best mark, backfill differs (none, bm25)" in text
    assert "backfill bm25" in line(text, "| ARK")
    assert "**" not in text
    allowed = table(tmp_path, baseline="bm25", allow_unequal=True)
    assert "▲" in line(allowed, "| ARK")
    assert "compared although backfill differs (bm25, none)" in allowed
    assert "Unequal on hpo (test): backfill differs (none, bm25): BM25 against ARK" in allowed
    rows = records(tmp_path, baseline="bm25")
    assert {r["compared"] for r in rows if r["method"] == "ARK"} == {
        "no: backfill differs (bm25, none)"
    }


def test_the_baseline_with_the_same_treatment_is_taken(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    write(tmp_path, FEW, reading={"backfill": "bm25"})
    ark(tmp_path, ONES, reading={"backfill": "bm25"})
    ark(tmp_path, ONES)
    rows = [r for r in records(tmp_path, baseline="bm25") if r["measure"] == "hit@1"]
    found = {r["settings"]: r["baseline"] for r in rows if r["method"] == "ARK"}
    assert found == {
        "3 agents, voting": "BM25",
        "3 agents, voting, backfill bm25": "BM25 (backfill bm25)",
    }


def test_ablations_are_set_against_the_full_method(tmp_path: Path) -> None:
    ark(tmp_path, ONES)
    ark(tmp_path, FEW, ablation="no_query", changed={"neighbor_query": False})
    write(tmp_path, ZERO)
    for name in ("ark", "full", "ARK · rule-based controller (no LLM)"):
        rows = [r for r in records(tmp_path, baseline=name) if r["measure"] == "hit@1"]
        found = {r["settings"]: r["baseline"] for r in rows if r["method"] == "ARK"}
        assert found["3 agents, voting"] == ""
        assert found["3 agents, voting, no_query"].startswith("ARK · rule-based controller")


def test_fusions_are_set_against_the_default_one(tmp_path: Path) -> None:
    ark(tmp_path, ONES)
    for kind in ("random", "rrf"):
        ark(tmp_path, FEW, reading={"fusion": {"kind": kind, "ties": "earliest_position"}})
    for name in ("ark", "voting"):
        rows = [r for r in records(tmp_path, baseline=name) if r["measure"] == "hit@1"]
        assert [bool(r["baseline"]) for r in rows] == [False, True, True]


def test_an_ambiguous_baseline_is_not_tested(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES)
    ark(tmp_path, ONES, model="openai/gpt-4.1")
    text = table(tmp_path, baseline="ark")
    assert "the baseline has several backbones" in text
    made = grid(load_all(find([tmp_path])))
    assert all(t.difference.found is None for t in against(made, "ark").values())
    named = table(tmp_path, baseline="ARK · openai/gpt-4.1")
    assert line(named, "| BM25").count("▼") == 4


def test_an_unknown_baseline_is_refused_or_said(tmp_path: Path) -> None:
    path = write(tmp_path, FEW)
    with pytest.raises(UserError, match="unknown --baseline 'bm26'; did you mean BM25"):
        table(tmp_path, baseline="bm26")
    assert "unknown --baseline 'bm26'" in sweep_table([path], baseline="bm26")


def test_a_baseline_that_nothing_is_like_lists_names(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    with pytest.raises(UserError, match=r"unknown --baseline 'zzz' \(choices: BM25, full\)"):
        table(tmp_path, baseline="zzz")
    for steps in range(1, 25):
        ark(tmp_path, FEW, changed={"max_steps": steps})
    with pytest.raises(UserError, match=r"unknown --baseline 'zzz' \(some choices: ARK, BM25, "):
        table(tmp_path, baseline="zzz")
    with pytest.raises(UserError, match="did you mean ARK"):
        table(tmp_path, baseline="arkk")


def test_a_mean_of_0_is_never_second_best(tmp_path: Path) -> None:
    write(tmp_path, ZERO)
    ark(tmp_path, ONES)
    assert "**60.0**" in table(tmp_path)
    assert "*" not in line(table(tmp_path), "| BM25")


def test_measures_named_twice_are_one_column(tmp_path: Path) -> None:
    path = write(tmp_path, FEW)
    assert sweep_table([path], measures=("hit@1", "hit@1")).count("Hit@1") == 1


@pytest.mark.parametrize("name", ["two\nlines", "a\r\x1b[31mb", "x\u2028y", "a|b\tc"])
def test_a_label_of_strangers_stays_in_its_cell(tmp_path: Path, name: str) -> None:
    path = ark(tmp_path, ONES, model=name, changed={"prompt": f"{name}.txt", "x": [name]})
    write(tmp_path, FEW, method=name)
    results = [cell.data for cell in load_all(find([tmp_path]))]
    assert path.is_file()
    for text in (main_table(results), table(tmp_path), footer(results)):
        for one in text.split("\n"):
            assert one.isprintable()
    head, *rows = main_table(results).split("\n")
    assert len(rows) == 3
    assert {len(re.split(r"(?<!\\)\|", row)) for row in (head, *rows)} == {11}


def test_questions_that_failed_in_part_are_said(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES, reading={"agents": 2, "pool": 3}, counts={"partly_failed": 4})
    said = "4 questions failed under some choices of agents, which score 0 there."
    assert said in table(tmp_path)
    text = footer([cell.data for cell in load_all(find([tmp_path]))])
    assert text.count(said) == 1


def test_forced_settings_are_a_note_and_no_row(tmp_path: Path) -> None:
    ark(tmp_path, ONES, graph="mag", fingerprint="f2")
    ark(tmp_path, ONES, graph="amazon", forced={"handles": "opaque"})
    text = table(tmp_path)
    assert len([x for x in text.splitlines() if x.startswith("| ARK")]) == 1
    assert "amazon (test): handles=opaque whatever is asked for" in text
    assert "fingerprints differ" not in text
    assert "handles=opaque" in footer([c.data for c in load_all(find([tmp_path]))])


def test_candidates_of_older_versions_do_not_tear_a_row(tmp_path: Path) -> None:
    for graph, types in (("mag", ["paper"]), ("amazon", ["product"])):
        write(tmp_path, FEW, graph=graph, changed={"candidates": types[0], "search.types": types})
    write(tmp_path, FEW, graph="mag", changed={"candidates": "every node"})
    text = table(tmp_path)
    assert len([x for x in text.splitlines() if x.startswith("| BM25")]) == 2
    assert "candidates=every node" in text


def test_unlike_data_are_refused_with_both_names(tmp_path: Path) -> None:
    a = write(tmp_path, FEW)
    b = ark(tmp_path, ONES, graph_hash="b" * 64)
    with pytest.raises(UserError) as error:
        table(tmp_path)
    said = str(error.value)
    assert str(a) in said
    assert str(b) in said
    assert "graph content (" in said
    assert "--allow-unequal" in said
    marked = table(tmp_path, baseline="bm25", allow_unequal=True)
    assert "other data than the rest of hpo (test)" in marked
    assert "no best mark, the data differ" in marked
    assert "not compared: the data differ" in marked
    assert "not compared: the data differ" in sweep_table([a, b], baseline="bm25")


@pytest.mark.parametrize("other", [{"questions": "others"}, {"gold": "answer_ids_source"}])
def test_other_questions_and_gold_are_unlike_too(tmp_path: Path, other: dict[str, Any]) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES, **other)
    with pytest.raises(UserError, match="unlike data in one column"):
        table(tmp_path)


def test_splits_are_columns_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    write(tmp_path, FEW[:10], split="val")
    text = table(tmp_path)
    assert "hpo (test) Hit@1" in text
    assert "hpo (val) Hit@1" in text


def test_repeats_are_one_row(tmp_path: Path) -> None:
    draws = [ONES, [0.0] * 8 + [1.0] * 12, FEW]
    for k, hits in enumerate(draws):
        ark(tmp_path, hits, repeat=k, model="openai/gpt-4.1")
    rows = records(tmp_path, measures=("recall@20",))
    assert len(rows) == 1
    wanted = two_level(draws, [""] * 20)
    assert rows[0]["repeats"] == "3"
    assert rows[0]["settings"].endswith("3 repeats")
    assert float(rows[0]["mean"]) == pytest.approx(wanted.mean)
    assert (float(rows[0]["low"]), float(rows[0]["high"])) == pytest.approx(
        (wanted.low, wanted.high)
    )
    assert len(rows[0]["run_ids"].split()) == 3
    assert "two-level bootstrap" in table(tmp_path)


def test_one_run_shows_the_spread_of_its_agents(tmp_path: Path) -> None:
    ark(tmp_path, ONES, single_agents={"hit@1": [0.4, 0.55, 0.45]})
    write(tmp_path, FEW, single_agents={})
    text = table(tmp_path)
    assert "One run, single agents alone: hpo (test) Hit@1 40.0 to 55.0 (3 agents) (ARK" in text
    assert text.count("One run") == 1


def test_code_versions_and_fingerprints_are_said(tmp_path: Path) -> None:
    write(tmp_path, FEW)
    ark(tmp_path, ONES, commit="deadbeef")
    ark(tmp_path, ONES, graph="cwe", commit="deadbeef", fingerprint="f2")
    text = table(tmp_path)
    assert "Code versions differ: c0ffee: BM25 on hpo (test); deadbeef: ARK" in text
    assert "behaviour fingerprints differ between its cells (f1, f2)" in text


def test_two_code_versions_of_a_row_are_two_rows(tmp_path: Path) -> None:
    ark(tmp_path, ONES)
    ark(tmp_path, FEW, fingerprint="f2")
    assert [r["settings"] for r in records(tmp_path, measures=("mrr",))] == [
        "3 agents, voting, code f1",
        "3 agents, voting, code f2",
    ]


def test_settings_of_readings_are_named(tmp_path: Path) -> None:
    ark(tmp_path, ONES, reading={"agents": 2, "pool": 3, "steps": 5, "over_budget": "as_published"})
    ark(tmp_path, ONES, reading={"fusion": None, "agents": 1, "pool": 3, "cut": 50})
    ark(tmp_path, ONES, preset="mine", changed={"prompt": "dir/terse.jinja"})
    text = table(tmp_path, allow_unequal=True)
    assert "2 of 3 agents, voting, 5 steps (longer counts as empty)" in text
    assert "1 of 3 agents, cut 50" in text
    assert "prompt=terse.jinja" in line(text, "| ARK    | rule-based controller (no LLM) | mine")


def test_long_tables_name_every_setting(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [
        {"reading": {"agents": 2, "pool": 3, "steps": 5, "over_budget": "as_published"}},
        {"reading": {"backfill": "bm25", "cut": 50}},
        {"repeat": 2, "preset": "mine", "gold": "answer_ids_source"},
        {"ablation": "no_filter", "changed": {"neighbor_filters": False, "handles": "opaque"}},
    ]
    results = [json.loads(ark(tmp_path, ONES, **one).read_text()) for one in given]
    names = [row[2].partition("(no LLM) ")[2] for row in main_rows(results)[1:]]
    assert names == [
        "(2 of 3 agents, voting, 5 steps (longer counts as empty))",
        "(3 agents, voting, backfill bm25, cut 50)",
        "(preset mine, 3 agents, voting, gold answer_ids_source, repeat 2)",
        "(3 agents, voting, no_filter, handles=opaque)",
    ]


def test_results_of_older_versions_are_read(tmp_path: Path) -> None:
    for make, hits in ((write, FEW), (ark, ONES)):
        path = make(tmp_path, hits)
        data = json.loads(path.read_text())
        new = ("preset", "backbone_model", "is_llm", "ablation", "gold", "repeat", "treatment")
        for key in (*new, "tuned", "seed"):
            del data["cell"][key]
        for key in ("pool", "steps", "over_budget", "backfill"):
            del data["cell"]["reading"][key]
        for measure in data["measures"].values():
            del measure["clusters"], measure["design_effect"]
        del data["single_agents"]
        path.write_text(json.dumps(data))
    text = table(tmp_path, baseline="bm25")
    assert line(text, "| ARK").count("▲") == 4
    assert "n 20, 20 clusters, design effect not stored" in text


def test_without_questions_there_is_a_table_but_no_test(tmp_path: Path) -> None:
    write(tmp_path, FEW, files=False)
    ark(tmp_path, ONES)
    text = table(tmp_path, baseline="bm25")
    assert "not compared: a per_query.csv is missing" in text
    assert "*10.0* [" in text


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, FEW)
    csv_file = path.with_name("per_query.csv")
    whole = csv_file.read_text()
    for damage in (whole.replace("1.0", "x", 1), whole.replace("[]", "[", 1), whole[:-40]):
        csv_file.write_text(damage)
        ark_path = ark(tmp_path, ONES, questions=damage)
        with pytest.raises(UserError, match=r"per_query\.csv (is damaged|does not belong)"):
            table(path.parent, baseline="bm25") and load_all([path])[0].per_query
        assert ark_path.is_file()
    path.write_text("{")
    with pytest.raises(UserError, match=r"is no result\.json"):
        load_all([path])


def test_one_cell_twice_is_one_row_unless_it_says_two_things(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", FEW), write(tmp_path / "b", FEW)
    assert len(load_all([a, b])) == 1
    data = json.loads(b.read_text())
    data["measures"]["hit@1"]["low"] = 0.0
    b.write_text(json.dumps(data))
    with pytest.raises(UserError, match="one cell with two results"):
        load_all([a, b])


def test_find_takes_runs_sweeps_and_files(tmp_path: Path) -> None:
    a, b = write(tmp_path, FEW), ark(tmp_path, ONES)
    reference = tmp_path / "reference/example"
    write(reference, ONES, graph="other")
    assert set(find([tmp_path])) == {a, b}
    assert find([a.parents[2]]) == [a]
    sweep = tmp_path / "sweeps/s1"
    sweep.mkdir(parents=True)
    jobs = [{"result": str(b.relative_to(tmp_path))}, {"result": None}]
    (sweep / "sweep.json").write_text(json.dumps({"jobs": jobs}))
    assert find([sweep]) == [b]
    (sweep / "sweep.json").write_text("[]")
    with pytest.raises(UserError, match="no record of a sweep"):
        find([sweep])
    with pytest.raises(UserError, match=r"no result\.json there"):
        find([tmp_path / "sweeps"])
    with pytest.raises(UserError, match="does not exist"):
        find([tmp_path / "nothing"])


@pytest.mark.parametrize("fmt", ["md", "tex", "csv"])
def test_the_order_of_files_does_not_matter(tmp_path: Path, fmt: str) -> None:
    paths = [write(tmp_path, FEW), ark(tmp_path, ONES), ark(tmp_path, FEW, model="openai/gpt-4.1")]
    paths += [ark(tmp_path, ONES, graph="cwe"), ark(tmp_path, ONES, repeat=1)]
    options = Options(baseline="bm25", reference="published")
    forward = result_table(load_all(paths), options, fmt)
    assert forward == result_table(load_all(paths[::-1]), options, fmt)
    assert forward.endswith("\n")
    assert not forward.endswith("\n\n")


def test_a_sweep_table_takes_paths(tmp_path: Path) -> None:
    paths = [write(tmp_path, FEW), ark(tmp_path, ONES, reading=FUSED)]
    assert sweep_table(paths, baseline="bm25") == table(tmp_path, baseline="bm25", lenient=True)
    assert sweep_table(paths, reference=True, fmt="csv").startswith("method,backbone")
    with pytest.raises(UserError, match="unknown --format"):
        sweep_table(paths, fmt="html")
