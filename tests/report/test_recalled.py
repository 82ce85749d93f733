"""Rows with a model on the questions that the model's closed-book run knows, and on the rest."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_results import ark, write

from ark.report import Options, recalled_table, result_table
from ark.report.cells import find, load_all
from ark.report.grid import grid
from ark.report.recalled import TARGET, parts
from ark.scoring.statistics import estimate_mean

MODEL = "gpt-x"
KNOWN = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
HITS = [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]
NOTE = "recalled questions are not told apart"


def book(root: Path, hits: Sequence[float] = KNOWN, model: str | None = MODEL, **more: Any) -> Path:
    backbone = model or "rule-based controller (no LLM)"
    return write(
        root,
        hits,
        method="Closed book",
        preset="closed_book",
        target=TARGET,
        backbone=backbone,
        model=model,
        **more,
    )


def table(root: Path, fmt: str = "md", **options: Any) -> str:
    return result_table(load_all(find([root])), Options(**options), fmt)


def row(text: str, name: str) -> list[str]:
    (line,) = [x for x in text.splitlines() if x.startswith(f"| {name}") and "hpo (test)" in x]
    return [cell.strip() for cell in line.strip("| ").split(" | ")]


def test_both_parts_of_a_row(tmp_path: Path) -> None:
    book(tmp_path)
    ark(tmp_path, HITS, model=MODEL)
    text = table(tmp_path)
    name, graph, n, known, others, rest = row(text, "ARK")
    assert (name.split(" (")[0], graph, n, others) == ("ARK · gpt-x", "hpo (test)", "4", "6")
    assert known.startswith("75.0 [")
    assert rest.startswith("16.7 [")
    assert "n recalled" in text
    assert NOTE not in text
    assert "the answer at its first rank (Hit@1 = 1)" in text


def test_intervals_are_those_of_each_part_by_its_clusters(tmp_path: Path) -> None:
    clusters = ["a", "a", "b", "", "b", "c", "c", "", "d", "d"]
    book(tmp_path, clusters=clusters)
    ark(tmp_path, HITS, model=MODEL, clusters=clusters)
    made = grid(load_all(find([tmp_path])))
    (both,) = [p for p in parts(made).values() if p is not None]
    assert both.recalled == estimate_mean(HITS[:4], clusters[:4], rate=True)
    assert both.rest == estimate_mean(HITS[4:], clusters[4:], rate=True)


def test_questions_are_matched_by_id_and_failed_ones_are_not_recalled(tmp_path: Path) -> None:
    book(tmp_path, failed=[0])
    ark(tmp_path, HITS, model=MODEL)
    _, _, n, known, others, rest = row(table(tmp_path), "ARK")
    assert (n, others) == ("3", "7")
    assert known.startswith("66.7 [")
    assert rest.startswith("28.6 [")


def test_an_empty_part_has_no_mean(tmp_path: Path) -> None:
    book(tmp_path, [0] * 10)
    ark(tmp_path, HITS, model=MODEL)
    _, _, n, known, others, _ = row(table(tmp_path), "ARK")
    assert (n, known, others) == ("0", "-", "10")


def no_run(root: Path) -> None:
    pass


def another_model(root: Path) -> None:
    book(root, model="gpt-y")


def no_model(root: Path) -> None:
    book(root, model=None)


def another_graph(root: Path) -> None:
    book(root, graph="cwe")


def another_split(root: Path) -> None:
    book(root, split="val")


def with_backfill(root: Path) -> None:
    book(root, reading={"backfill": "bm25"})


def without_questions(root: Path) -> None:
    book(root, files=False)


@pytest.mark.parametrize(
    "given",
    [
        no_run,
        another_model,
        no_model,
        another_graph,
        another_split,
        with_backfill,
        without_questions,
    ],
)
def test_no_table_without_a_run_that_can_flag(tmp_path: Path, given: Any) -> None:
    given(tmp_path)
    ark(tmp_path, HITS, model=MODEL)
    text = table(tmp_path)
    assert "n recalled" not in text
    (line,) = [x for x in text.splitlines() if NOTE in x]
    assert "method=closed" in line
    assert "gpt-x" in line
    assert recalled_table(find([tmp_path])) == ""


def test_other_gold_is_other_data(tmp_path: Path) -> None:
    book(tmp_path, gold="all")
    ark(tmp_path, HITS, model=MODEL)
    text = table(tmp_path, allow_unequal=True)
    assert "n recalled" not in text
    assert NOTE in text


def test_rows_without_a_model_say_nothing_of_it(tmp_path: Path) -> None:
    book(tmp_path, model=None)
    ark(tmp_path, HITS)
    write(tmp_path, HITS)
    text = table(tmp_path)
    assert "n recalled" not in text
    assert NOTE not in text


def test_of_several_runs_the_plainest_flags(tmp_path: Path) -> None:
    book(tmp_path)
    book(tmp_path, [1] * 10, changed={"several": "all"})
    ark(tmp_path, HITS, model=MODEL)
    assert row(table(tmp_path), "ARK")[2] == "4"


def test_csv_and_tex_have_it_too(tmp_path: Path) -> None:
    book(tmp_path)
    ark(tmp_path, HITS, model=MODEL)
    rows = list(csv.DictReader(io.StringIO(table(tmp_path, "csv"))))
    flagged = [r for r in rows if r["recalled_n"]]
    assert [(r["method"], r["measure"]) for r in flagged] == [("ARK", "hit@1")]
    assert float(flagged[0]["recalled_mean"]) == 0.75
    assert flagged[0]["rest_n"] == "6"
    assert r"n recalled" in table(tmp_path, "tex")


def test_csv_is_as_before_where_there_is_none(tmp_path: Path) -> None:
    ark(tmp_path, HITS, model=MODEL)
    header = table(tmp_path, "csv").splitlines()[0]
    assert "recalled" not in header
    assert "framed" not in header


def test_a_sweep_prints_the_same_rows(tmp_path: Path) -> None:
    book(tmp_path)
    ark(tmp_path, HITS, model=MODEL)
    assert row(recalled_table(find([tmp_path])), "ARK") == row(table(tmp_path), "ARK")
