"""Rows between floor and ceiling: (row - floor) / (ceiling - floor)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import ark, write

from ark.report import Options, result_table
from ark.report.cells import find, load_all
from ark.report.entry import ORACLE
from ark.report.frame import FLOOR, UNDEFINED, Framed, _limits, frames
from ark.report.grid import Column, grid
from ark.scoring.bca import expanded_quantile, percentile_ranks
from ark.scoring.intervals import bootstrap_means, cluster_sums

RANDOM = "ark.backbone.random_calls:RandomBackbone"
LOW = [0, 0, 0, 1, 0, 0, 0, 0]
MID = [1, 0, 1, 1, 0, 1, 0, 0]
TOP = [1, 1, 1, 1, 1, 1, 1, 0]


def floor(root: Path, hits: Sequence[float] = LOW, **more: Any) -> Path:
    return write(
        root,
        hits,
        method="ARK",
        target=FLOOR,
        backbone="random calls (no LLM)",
        backbone_target=RANDOM,
        **more,
    )


def ceiling(root: Path, hits: Sequence[float] = TOP, **more: Any) -> Path:
    return write(root, hits, method="Oracle", preset="oracle", target=ORACLE, **more)


def framed(root: Path, **options: Any) -> dict[str, dict[str, Framed]]:
    made = grid(load_all(find([root])))
    found = frames(made, **options)
    out: dict[str, dict[str, Framed]] = {}
    for (i, _, measure), value in found.values.items():
        out.setdefault(made.rows[i].method, {})[measure] = value
    return out


def table(root: Path, fmt: str = "md", **options: Any) -> str:
    return result_table(load_all(find([root])), Options(frame=True, **options), fmt)


def test_the_share_of_the_way_from_floor_to_ceiling(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    write(tmp_path, MID)
    found = framed(tmp_path)
    assert set(found) == {"BM25"}  # neither end is framed
    one = found["BM25"]["hit@1"]
    assert (one.floor, one.ceiling) == (1 / 8, 7 / 8)
    assert one.share == pytest.approx((4 - 1) / (7 - 1))
    assert one.low is not None
    assert one.high is not None
    assert one.low <= 0.5 <= one.high
    text = table(tmp_path)
    assert "| BM25   | hpo (test) | 0.50 [" in text
    assert "hpo (test): floor ARK · random calls (no LLM), ceiling Oracle" in text
    assert "Hit@1 12.5 to 87.5" in text
    assert "Framed" not in result_table(load_all(find([tmp_path])), Options())


def test_the_interval_takes_whole_questions_of_all_three_rows(tmp_path: Path) -> None:
    """A row that is the ceiling question by question is at 1 in every resample: no spread."""
    floor(tmp_path)
    ceiling(tmp_path)
    write(tmp_path, TOP)
    write(tmp_path, LOW, method="Low")
    found = framed(tmp_path)
    assert found["BM25"]["mrr"] == Framed(1 / 8, 7 / 8, 1.0)
    assert found["Low"]["mrr"] == Framed(1 / 8, 7 / 8, 0.0)


def test_the_interval_is_the_percentile_of_the_ratio(tmp_path: Path) -> None:
    clusters = ["a", "a", "b", "", "c", "c", "", "d"]
    for make in (floor, ceiling):
        make(tmp_path, clusters=clusters)
    write(tmp_path, MID, clusters=clusters)
    one = framed(tmp_path)["BM25"]["mrr"]
    codes = np.array([0, 0, 1, 2, 3, 3, 4, 5])
    sums, sizes = cluster_sums(np.column_stack([MID, LOW, TOP]).astype(float), codes)
    shares = sorted((a - b) / (c - b) for a, b, c in bootstrap_means(sums, sizes) if c > b)
    first, last = percentile_ranks(len(shares), expanded_quantile(6, 0.95))
    assert (one.low, one.high) == (shares[first - 1], shares[last - 1])


def test_rows_may_lie_outside(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path, [1, 1, 1, 1, 0, 0, 0, 0])
    write(tmp_path, TOP)
    write(tmp_path, [0] * 8, method="Low")
    found = framed(tmp_path)
    assert found["BM25"]["hit@1"].share == pytest.approx(2.0)
    assert found["Low"]["hit@1"].share == pytest.approx(-1 / 3)


@pytest.mark.parametrize("top", [LOW, [0] * 8])
def test_a_ceiling_that_is_no_higher_frames_nothing(tmp_path: Path, top: list[float]) -> None:
    floor(tmp_path)
    ceiling(tmp_path, top)
    write(tmp_path, MID)
    one = framed(tmp_path)["BM25"]["hit@1"]
    assert (one.share, one.low, one.high) == (None, None, None)
    assert f"| BM25   | hpo (test) | {UNDEFINED}" in table(tmp_path)


def test_a_gap_that_resamples_often_lose_has_no_interval(tmp_path: Path) -> None:
    floor(tmp_path, [0] * 8)
    ceiling(tmp_path, [1, 0, 0, 0, 0, 0, 0, 0])  # a third of the resamples miss its only hit
    write(tmp_path, [0] * 8)
    one = framed(tmp_path)["BM25"]["hit@1"]
    assert one.share == 0
    assert (one.low, one.high) == (None, None)


def test_one_cluster_has_no_interval(tmp_path: Path) -> None:
    for make in (floor, ceiling):
        make(tmp_path, clusters=["a"] * 8)
    write(tmp_path, MID, clusters=["a"] * 8)
    assert framed(tmp_path)["BM25"]["hit@1"].low is None


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    write(tmp_path, MID)
    text = table(tmp_path)
    assert "not framed: no run of method=ark backbone=random and no run of method=oracle" in text
    floor(tmp_path)
    assert "not framed: no run of method=oracle." in table(tmp_path)
    ceiling(tmp_path, split="val")
    assert "hpo (test): not framed: no run of method=oracle." in table(tmp_path)


def test_unequal_settings_are_not_framed(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    write(tmp_path, MID, reading={"backfill": "bm25"})
    assert framed(tmp_path) == {}
    assert "backfill differs (bm25, none)" in table(tmp_path)
    assert framed(tmp_path, allow_unequal=True)["BM25"]["hit@1"].share == pytest.approx(0.5)


def test_ends_with_the_rows_own_settings_are_taken(tmp_path: Path) -> None:
    backfill = {"backfill": "bm25"}
    floor(tmp_path)
    ceiling(tmp_path)
    floor(tmp_path, [1, 0, 0, 1, 0, 0, 0, 0], reading=backfill)
    ceiling(tmp_path, [1, 1, 1, 1, 1, 1, 1, 1], reading=backfill)
    write(tmp_path, MID, reading=backfill)
    one = framed(tmp_path)["BM25"]["hit@1"]
    assert (one.floor, one.ceiling) == (0.25, 1.0)


def test_of_several_oracles_the_plainest_is_the_ceiling(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    ceiling(tmp_path, [1] * 8, ablation="no_query", changed={"neighbor_query": False})
    write(tmp_path, MID)
    assert framed(tmp_path)["BM25"]["hit@1"].ceiling == 7 / 8


def test_another_method_on_random_calls_is_framed(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    write(tmp_path, MID, method="ToG", backbone="random calls (no LLM)", backbone_target=RANDOM)
    ark(tmp_path, MID)
    assert set(framed(tmp_path)) == {"ToG", "ARK"}


def test_csv_has_the_values(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    write(tmp_path, MID)
    rows = list(csv.DictReader(io.StringIO(table(tmp_path, "csv"))))
    (row,) = [r for r in rows if r["method"] == "BM25" and r["measure"] == "hit@1"]
    assert [float(row[k]) for k in ("floor", "ceiling", "framed")] == [0.125, 0.875, 0.5]
    assert all(r["framed"] == "" for r in rows if r["method"] != "BM25")
    assert r"0.50 [" in table(tmp_path, "tex")


def test_graphs_are_framed_by_themselves(tmp_path: Path) -> None:
    floor(tmp_path)
    ceiling(tmp_path)
    for graph in ("hpo", "cwe"):
        write(tmp_path, MID, graph=graph)
    made = grid(load_all(find([tmp_path])))
    found = frames(made)
    assert {column for _, column, _ in found.values} == {Column("hpo", "test")}
    assert list(found.reasons) == [Column("cwe", "test")]


def test_the_oracle_is_never_the_best(tmp_path: Path) -> None:
    ceiling(tmp_path)
    write(tmp_path, MID)
    text = table(tmp_path)
    assert "**" not in text  # a row alone has no rival
    write(tmp_path, LOW, method="Low")
    text = table(tmp_path)
    assert "**50.0**" in text
    assert "**87.5**" not in text
    assert "never ranked" in text


def test_questions_without_a_program_are_said(tmp_path: Path) -> None:
    path = ceiling(tmp_path)
    assert "no program" not in table(tmp_path)  # the file does not say
    questions = path.parents[2] / "queries.jsonl"
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    for i, row in enumerate(rows):
        row["program"] = 'end(type("x"))' if i else None
    questions.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert "hpo (test): 1 of 8 questions have no program" in table(tmp_path)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=40, max_size=80))
def test_limits_are_ordered_numbers(means: list[tuple[float, float, float]]) -> None:
    low, high = _limits(np.array(means), clusters=9)
    assert (low is None) == (high is None)
    if low is not None and high is not None:
        assert math.isfinite(low)
        assert low <= high
