"""Slices of the measures: bands, completeness, and what is said of those not shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_runs import HIT, MISS, line, numbers, question, write_run

from ark.report.analysis import analysis_table
from ark.report.analysis_slices import SLICES


def test_slices_hold_every_question_once(tmp_path: Path) -> None:
    sizes = [1, 2, 5, 6, 20, 21]
    asked = [
        question(
            i,
            answer_ids=[f"a{k}" for k in range(size)],
            text=" ".join(["word"] * (5 * i + 5)),
            hops=1 + i % 2,
            textual=None if i == 0 else i % 2 == 0,
            answer_type=f"type {i % 3}",
        )
        for i, size in enumerate(sizes)
    ]
    agents = [(line(f"q{i}", a, 1), None) for i in range(6) for a in range(2)]
    values = {f"q{i}": HIT if i < 3 else MISS for i in range(6)}
    found = numbers(write_run(tmp_path, "sliced", asked, agents, values=values), "slices")
    n = {(k, group): v for (k, group, what), v in found.items() if what == "n"}
    hits = {(k, group): v for (k, group, what), v in found.items() if what == "Hit@1"}
    expected = {"1": 1, "2-5": 2, "6-20": 2, ">20": 1}
    assert {g: v for (k, g), v in n.items() if k == "answers"} == expected
    expected = {"1-10": 2, "11-20": 2, ">20": 2}  # 5, 10 | 15, 20 | 25, 30 words
    assert {g: v for (k, g), v in n.items() if k == "words"} == expected
    for kind in SLICES:
        of_kind = [(v, hits[k, g]) for (k, g), v in n.items() if k == kind]
        assert sum(v for v, _ in of_kind) == (5 if kind == "textual" else 6)
        if kind != "textual":
            assert sum(v * hit for v, hit in of_kind) == pytest.approx(3)
    assert hits["answers", "1"] == 1
    assert hits["answers", "6-20"] == 0


def test_large_kinds_show_their_largest_slices_and_say_so(tmp_path: Path) -> None:
    asked = [question(i, answer_type=f"type {i:02}") for i in range(23)]
    values = dict.fromkeys((f"q{i}" for i in range(23)), HIT)
    folder = write_run(tmp_path, "wide", asked, [], values=values)
    text = analysis_table([folder], ["answer_type"])
    assert text.count("| type ") == 20
    assert "3 smaller slices not shown" in text
