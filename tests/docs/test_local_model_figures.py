"""Figures of docs/local_models.md follow from the questions in results/reference/local_model."""

from __future__ import annotations

import csv
import itertools
from collections import defaultdict
from pathlib import Path

from ark.scoring.statistics import holm

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results" / "reference" / "local_model"
PAGE = (ROOT / "docs" / "local_models.md").read_text(encoding="utf-8")
SHARES = ("valid", "empty", "repeated")


def read(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def flipped(differences: list[float]) -> float:
    """p of the exact two-sided sign-flip test."""
    seen = abs(sum(differences)) - 1e-9
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [abs(sum(s * d for s, d in zip(sign, differences, strict=True))) for sign in signs]
    return sum(total >= seen for total in sums) / len(signs)


def test_the_rows_of_the_switches_and_what_is_beyond_chance() -> None:
    rows: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for line in read("switches_val"):
        counts = {name: int(line[name]) for name in (*SHARES, "calls", "selects")}
        rows[line["changed"]][line["query"]] = counts
    for changed, questions in rows.items():
        calls = sum(q["calls"] for q in questions.values())
        start = f"| `{changed}` |" if changed else "| nothing |"
        (line,) = [x for x in PAGE.splitlines() if x.startswith(start)]
        cells = [cell.split(" [")[0].strip() for cell in line.split("|")[2:]]
        found = [100 * sum(q[name] for q in questions.values()) / calls for name in SHARES]
        selects = 100 * sum(q["selects"] for q in questions.values()) / len(questions)
        assert cells[:5] == [str(calls), *(f"{x:.1f}" for x in (*found, selects))]
    base = rows.pop("")
    tests = {}
    for changed, questions in rows.items():
        for name in (*SHARES, "selects"):
            of = "calls" if name in SHARES else None
            values = [
                questions[q][name] / (questions[q][of] if of else 1)
                - base[q][name] / (base[q][of] if of else 1)
                for q in base
            ]
            tests[changed, name] = flipped(values)
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    beyond = {key: round(p, 2) for key, p in corrected.items() if p is not None and p < 0.05}
    forced = "method.forced_answer=false"
    assert beyond == {(forced, "selects"): 0.01, (forced, "empty"): 0.04}
    assert "p = 0.01" in PAGE
    assert "p = 0.04" in PAGE


def test_the_rows_of_the_test_questions() -> None:
    names = {
        "ark_1.5b": "ARK, 1.5B",
        "ark_plus_1.5b": "ARK plus, 1.5B",
        "bm25": "BM25",
        "ark_rules_no_llm": "ARK, rule-based controller (no LLM)",
        "ark_plus_rules_no_llm": "ARK plus, rule-based controller (no LLM)",
    }
    for file, name in names.items():
        rows = read(file)
        (line,) = [x for x in PAGE.splitlines() if x.startswith(f"| {name} | 30 |")]
        cells = [cell.split(" [")[0].strip() for cell in line.split("|")[3:5]]
        means = [100 * sum(float(r[m]) for r in rows) / 30 for m in ("hit@1", "recall@20")]
        assert len(rows) == 30
        assert cells == [f"{mean:.1f}" for mean in means]
