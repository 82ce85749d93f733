"""Which row a row is set against where a baseline's name means several."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from made_results import ark, write

from ark.report import Options, result_table
from ark.report.cells import find, load_all

ONES = [1.0] * 12 + [0.0] * 8
FEW = [1.0] * 2 + [0.0] * 18


def records(root: Path, baseline: str) -> list[dict[str, str]]:
    text = result_table(load_all(find([root])), Options(baseline=baseline), "csv")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_baseline_that_asks_nobody_serves_every_backbone(tmp_path: Path) -> None:
    """Its reranked twin asks a model and is for reranked rows only."""
    behind = {"treatment": {"rerank": {"name": "listwise"}}, "preset": "bm25"}
    rules = "rule-based controller (no LLM)"
    write(tmp_path, FEW)
    write(tmp_path, FEW, method="BM25 + listwise rerank", backbone=rules, **behind)
    write(
        tmp_path,
        ONES,
        method="BM25 + one hop + listwise rerank",
        backbone=rules,
        **{**behind, "preset": "propagate"},
    )
    ark(tmp_path, ONES)
    ark(tmp_path, ONES, model="openai/gpt-4.1")
    rows = [r for r in records(tmp_path, baseline="bm25") if r["measure"] == "hit@1"]
    found = {(r["method"], r["baseline"], r["compared"]) for r in rows if r["baseline"]}
    reranked = f"BM25 + listwise rerank · {rules}"
    assert {(method, name) for method, name, _ in found} == {
        ("ARK", "BM25"),
        ("BM25 + one hop + listwise rerank", reranked),
    }
    assert not any(why.startswith("no") for _, _, why in found)
