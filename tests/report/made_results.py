"""Result folders made of given values, as a run leaves them, for tests of tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ark.run.identity import digest
from ark.scoring import DEFAULT_MEASURES, summarise

NAMES = [m.name for m in DEFAULT_MEASURES]
RULES = "ark.backbone.lexical:LexicalBackbone"
MODEL = "ark.backbone.litellm:LiteLLMBackbone"
READING = {
    "fusion": None,
    "agents": 1,
    "pool": None,
    "steps": None,
    "over_budget": "truncated",
    "backfill": "none",
    "cut": 20,
    "candidates": "graph",
    "candidate_types": None,
}
FUSED = {"fusion": {"kind": "voting", "ties": "earliest_position"}, "agents": 3}


def write(
    root: Path,
    hits: Sequence[float],
    *,
    method: str = "BM25",
    backbone: str | None = None,
    model: str | None = None,
    graph: str = "hpo",
    split: str = "test",
    failed: Sequence[int] = (),
    clusters: Sequence[str] = (),
    graph_hash: str = "a" * 64,
    reading: Mapping[str, Any] | None = None,
    treatment: Mapping[str, Any] | None = None,
    single_agents: Mapping[str, Any] | None = None,
    changed: Mapping[str, Any] | None = None,
    commit: str | None = "c0ffee",
    fingerprint: str = "f1",
    tokens: int = 0,
    files: bool = True,
    counts: Mapping[str, int] | None = None,
    target: str | None = None,
    backbone_target: str | None = None,
    **labels: Any,
) -> Path:
    """A finished run whose every measure is ``hits``; the path of its result.json.

    A backbone without ``model`` is the rule-based controller.
    """
    ids = [f"q{i:03d}" for i in range(len(hits))]
    names = list(clusters) or [""] * len(ids)
    values = [0.0 if i in failed else float(hit) for i, hit in enumerate(hits)]
    read = {**READING, **(reading or {})}
    run: dict[str, Any] = {
        "graph": {"source": graph, "content_hash": graph_hash},
        "questions": {"split": split, "sha256": digest([ids, names, labels.pop("questions", "")])},
        "search": {"relevance": "bm25", "k1": 1.2},
        "method": {"target": target or method, **({"prompt": "0"} if backbone else {})},
        "backbone": (
            {"target": backbone_target or (MODEL if model else RULES), "model": model}
            if backbone
            else None
        ),
        "seed": 0,
        "fingerprint": fingerprint,
        "changed": dict(changed or {}),
        "extra": labels,
        "commit": commit,
    }
    if labels.get("repeat"):
        run["repeat"] = labels["repeat"]
    run_id = digest(run)
    cell = {
        "run_id": run_id,
        "cell_id": digest([run_id, read]),
        "graph": graph,
        "method": method,
        "preset": "".join(c for c in method.lower() if c.isalnum()),
        "backbone": backbone,
        "backbone_model": model or ("lexical" if backbone else None),
        "is_llm": model is not None,
        "changed": dict(changed or {}),
        "ablation": "full",
        "split": split,
        "candidates": "graph",
        "gold": "answer_ids",
        "seed": 0,
        "repeat": 0,
        "treatment": {
            "backfill": read["backfill"],
            "relevance": run["search"],
            "candidates": "graph",
            "candidate_types": None,
            "rerank": None,
            "seeds": "question",
            "token_budget": None,
            **(treatment or {}),
        },
        "tuned": "",
        "credit": "",
        "identity": {k: v for k, v in run.items() if k not in ("extra", "commit", "changed")},
        "reading": read,
        **labels,
    }
    rows = [dict.fromkeys(NAMES, v) for v in values]
    measures = {m: e.to_json() for m, e in summarise(rows, names, DEFAULT_MEASURES).items()}
    if failed:
        kept = [i for i in range(len(ids)) if i not in failed]
        some = summarise([rows[i] for i in kept], [names[i] for i in kept], DEFAULT_MEASURES)
        for m, e in some.items():
            measures[m]["answered_only"] = e.to_json()
    data = {
        "cell": cell,
        "counts": {
            "queries": len(ids),
            "ok": len(ids) - len(failed),
            "limit": 0,
            "failed": len(failed),
            "missing": 0,
            "agents_differ": None,
            "orders": 1,
            **(counts or {}),
        },
        "measures": measures,
        "single_agents": dict(single_agents or {}),
        "usage": {"calls": 1, "tokens": tokens, "cost": None},
        "strata": {},
        "environment": {"commit": commit, "selfcheck": None},
    }
    folder = root / "runs" / f"{graph}-{cell['preset']}-{run_id}"
    result = folder / "readings" / str(cell["cell_id"]) / "result.json"
    result.parent.mkdir(parents=True)
    result.write_text(json.dumps(data), encoding="utf-8")
    if files:
        texts = [
            {"id": q, "text": f"question {q}", "cluster": c, "answer_ids": ["n1", "n2"]}
            for q, c in zip(ids, names, strict=True)
        ]
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
        with result.with_name("per_query.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["query", "status", *NAMES, "ranked"])
            for i, (q, v) in enumerate(zip(ids, values, strict=True)):
                status = "failed" if i in failed else "ok"
                writer.writerow([q, status, *[repr(v)] * len(NAMES), "[]"])
    return result


def ark(root: Path, hits: Sequence[float], *, model: str | None = None, **more: Any) -> Path:
    """ARK with three agents: rule-based, or with a model."""
    backbone = model or "rule-based controller (no LLM)"
    given: dict[str, Any] = {"reading": FUSED, **more}
    given["reading"] = {**FUSED, **given["reading"]}
    return write(root, hits, method="ARK", backbone=backbone, model=model, **given)
