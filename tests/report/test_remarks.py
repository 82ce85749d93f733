"""Remarks below short and long tables."""

from __future__ import annotations

from typing import Any

from ark.report.remarks import remarks, unequal


def cell(target: str, graph: str = "hpo", **more: Any) -> dict[str, Any]:
    return {"graph": graph, "method": "M", "identity": {"method": {"target": target}}, **more}


KG_AGENT = "baselines.kg_agent.method:KGAgent"


def test_composed_questions_are_named_beside_kg_agent_only() -> None:
    assert remarks([cell("baselines.bm25:BM25Baseline")]) == []
    (line,) = remarks([cell(KG_AGENT), cell(KG_AGENT, "cwe"), cell(KG_AGENT, "mag")])
    assert line.startswith("cwe and hpo: the questions are made from programs")


def test_rows_that_know_the_gold_are_named() -> None:
    for target in ("ark.agent.oracle:Oracle", "baselines.kg_agent.gold:KGAgentGold"):
        assert remarks([cell(target)]) == [
            "Rows that know the gold are no systems: they are never ranked."
        ]


def test_rows_of_vectors_say_which_model() -> None:
    dense = cell("baselines.dense:DenseBaseline")
    dense["identity"]["method"] |= {
        "max_tokens": 256,
        "vectors": {"name": "all-MiniLM-L6-v2 int8", "model": "8199be6f"},
    }
    (line,) = remarks([dense])
    assert "vectors of all-MiniLM-L6-v2 int8 (8199be6f, 256 tokens)" in line


def test_what_stands_outside_the_method_is_compared() -> None:
    alike = [cell("x", treatment={"backfill": "none", "rerank": None, "seeds": "question"})] * 2
    assert unequal(alike) == []
    other = cell("x", treatment={"backfill": "bm25", "rerank": {"name": "listwise"}})
    (line,) = unequal([alike[0], other])
    assert "backfill differs (none, bm25)" in line
    assert "rerank differs (none, listwise)" in line
    assert "seeds differs (question, none)" in line
