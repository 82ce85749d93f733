"""Run folders written by hand, so that every number of an analysis is known beforehand."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ark.records import AgentLine, Call, Outcome, Status, Step, Trajectory, Usage
from ark.report.analysis import analysis_table
from ark.run.journal import JournalWriter

TAG = "ark.step"
G, N, A, F = "search_in_graph", "search_in_neighborhood", "add_to_answer", "finish"
HIT = {"hit@1": 1.0, "hit@5": 1.0, "recall@20": 0.5, "mrr": 1.0}
MISS = dict.fromkeys(HIT, 0.0)


def call(
    tool: str, offered: Sequence[str] = ("x",), selected: Sequence[str] = (), *, valid: bool = True
) -> dict[str, Any]:
    """One executed call as the loop writes it."""
    offered = offered if tool not in (A, F) else ()
    state = {"tool": tool, "arguments": "{}", "offered": [*offered], "selected": [*selected]}
    return {**state, "valid": valid}


def question(number: int, **changed: Any) -> dict[str, Any]:
    """One stored question; its answer is ``gold``."""
    row = {"id": f"q{number}", "text": f"what is {number}?", "answer_ids": ["gold"]}
    row |= {"cluster": f"c{number}", "hops": 1, "answer_type": "gene", "textual": False}
    return {**row, "wording": "name", **changed}


def line(
    query: str,
    agent: int,
    n_calls: int,
    *,
    nodes: Sequence[str] = (),
    answers: int | None = None,
    status: Status = "ok",
    cost: float | None = 0.5,
    invalid: int = 0,
    keeps_calls: bool = True,
) -> AgentLine:
    """An agent of ``n_calls`` calls, each of 100 + 10 tokens, ``cost`` dollars and 2 seconds."""
    total = None if cost is None else cost * n_calls
    used = Usage(n_calls, 100 * n_calls, 10 * n_calls, total, invalid, 0)
    calls = tuple(Call(TAG, 100, 10, cost, 2.0) for _ in range(n_calls)) if keeps_calls else ()
    return AgentLine(
        query,
        agent,
        status,
        tuple(nodes),
        len(nodes) if answers is None else answers,
        steps=n_calls,
        usage={TAG: used},
        seconds=2.0 * n_calls,
        calls=calls,
    )


def write_run(
    root: Path,
    name: str,
    questions: Sequence[Mapping[str, Any]],
    agents: Sequence[tuple[AgentLine, Sequence[Sequence[Mapping[str, Any]]] | None]],
    results: Sequence[Mapping[str, Any]] = ({},),
    values: Mapping[str, Mapping[str, float]] | None = None,
    graph: str = "toy",
) -> Path:
    """A run folder: agents with the calls of each of their steps (None: no trajectory written)."""
    folder = root / "runs" / name
    folder.mkdir(parents=True)
    identity = {
        "graph": {"source": graph, "content_hash": "a" * 64},
        "questions": {"split": "test", "sha256": "b" * 64},
        "method": {"target": "ark.agent.method:Ark", "max_steps": 20},
        "seed": 0,
    }
    (folder / "run.json").write_text(json.dumps(identity))
    rows = "".join(json.dumps(q) + "\n" for q in questions)
    (folder / "queries.jsonl").write_text(rows)
    with JournalWriter(folder) as journal:
        for one, steps in agents:
            offset = None
            if steps is not None:
                walk = tuple(
                    Step(i, TAG, {"kind": "walk", "calls": [*calls]})
                    for i, calls in enumerate(steps, start=1)
                )
                offset = journal.trajectory(one.query, one.agent, Trajectory((), walk))
            journal.agent(_at(one, offset))
        for q in questions:
            journal.query(Outcome(q["id"], "ok", (), Usage(), 0.0))
    for number, result in enumerate(results):
        _write_result(folder, identity, f"cell{number}", result, len(questions), values or {})
    return folder


def _at(one: AgentLine, offset: int | None) -> AgentLine:
    fields = {name: getattr(one, name) for name in AgentLine.__slots__}
    return AgentLine(**{**fields, "trajectory": offset})


def _write_result(
    folder: Path,
    identity: Mapping[str, Any],
    cell_id: str,
    changed: Mapping[str, Any],
    n: int,
    values: Mapping[str, Mapping[str, float]],
) -> None:
    place = folder / "readings" / cell_id
    place.mkdir(parents=True)
    reading = {
        "fusion": {"kind": "voting", "ties": "earliest_position"},
        "agents": 2,
        "pool": None,
        "steps": None,
        "over_budget": "truncated",
        "backfill": "none",
        "cut": 20,
        "candidates": "graph",
        "candidate_types": None,
        **changed.get("reading", {}),
    }
    cell = {
        "run_id": folder.name,
        "cell_id": cell_id,
        "graph": identity["graph"]["source"],
        "split": "test",
        "method": "ARK",
        "backbone": "big model",
        "is_llm": True,
        "changed": {},
        "identity": identity,
        "reading": reading,
        **changed.get("cell", {}),
    }
    shares = {m: sum(row[m] for row in values.values()) / n if values else 0.5 for m in HIT}
    estimates = {
        m: {"mean": x, "low": max(0.0, x - 0.1), "high": min(1.0, x + 0.1), "n": n}
        for m, x in shares.items()
        if values or m in ("hit@1", "recall@20")
    }
    result = {
        "cell": cell,
        "counts": {"queries": n, "ok": n, "limit": 0, "failed": 0, "missing": 0},
        "measures": {**estimates, **changed.get("measures", {})},
        "usage": {"calls": 8, "tokens": 880, "cost": 4.0, **changed.get("usage", {})},
        "timings": {"seconds_per_query": 2.0, **changed.get("timings", {})},
        "environment": {"commit": "0123456789abcdef"},
    }
    (place / "result.json").write_text(json.dumps(result))
    if not values:
        return
    table = "query,status," + ",".join(HIT) + ",ranked\n"
    for query, row in values.items():
        table += f"{query},ok," + ",".join(repr(row[m]) for m in HIT) + ",[]\n"
    (place / "per_query.csv").write_text(table)


def rows(text: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """A CSV by table, group and quantity."""
    found = csv.DictReader(io.StringIO(text))
    return {(r["table"], r["group"], r["quantity"]): r for r in found}


def numbers(run: Path, *kinds: str, success: str = "hit@1") -> dict[tuple[str, str, str], float]:
    text = analysis_table([run], kinds or None, form="csv", success=success)
    return {k: float(r["value"]) for k, r in rows(text).items() if r["value"]}
