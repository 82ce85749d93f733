"""Figures of docs/faults.md: runs through a server that misbehaves, kills, memory.

``python scripts/bench_faults.py [plan] [budget] [fatal] [kills] [memory]``; everything by default.
Takes minutes; needs no network and no model. The server is that of ``tests/faults``.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests" / "faults")]

QUESTIONS, IN_FLIGHT, KILLS, MANY = 500, 64, 20, 10_000
LATENCY = 0.4  # seconds: enough that 64 calls are in flight on one machine
SHARE = 0.33  # of first requests; 30 % of all, as accidents pass
TWO: dict[str, Any] = {"agents": 2, "send_seed": True}
plans: Any = importlib.import_module("fault_plan")
runs: Any = importlib.import_module("fault_runs")
servers: Any = importlib.import_module("fault_server")


def plan(room: Path) -> None:
    """500 questions, two agents each, 64 in flight, 30 % of calls misbehave, both clients."""
    ark_run: Any = importlib.import_module("ark.run")
    graph = runs.make_graph(room / "graph", QUESTIONS)
    quiet = tuple(k for k in plans.ACCIDENTS if not k.startswith("rate_limit"))
    chosen = {
        "all faults": plans.FaultPlan(1, SHARE),
        "no 429": plans.FaultPlan(1, SHARE, accidents=quiet),
    }
    for client in ("openai", "litellm"):
        clean = room / f"clean-{client}"
        with servers.serving(None, LATENCY) as server:
            ark_run.run_cell(runs.cell(graph, server.url, client, **TWO), runs.transport(clean))
            print(f"| {client}, no faults | {_figures(server, clean)} |")
        for name, faults in chosen.items():
            results = room / f"{client}-{name}"
            with servers.serving(faults, LATENCY) as server:
                spec = runs.cell(graph, server.url, client, timeout=10, **TWO)
                began = time.monotonic()
                done = ark_run.run_cell(spec, runs.transport(results))
                seconds = time.monotonic() - began
            print(f"| {client}, {name} | {_figures(server, results)} |")
            counts = {k: done.data["counts"][k] for k in ("ok", "limit", "failed", "missing")}
            print(f"  {seconds:.0f} s, {counts}, {_equal(server, results, clean)}")
            print(f"  faults: {dict(sorted(server.faults().items()))}")


def _figures(server: Any, results: Path) -> str:
    journal, ledger = runs.journal(results), runs.ledger(results)
    agree = (journal.requests, journal.prompt, journal.completion) == (
        ledger.requests,
        ledger.prompt,
        ledger.completion,
    )
    prompt, completion = server.told()
    same = agree and (journal.prompt, journal.completion) == (prompt, completion)
    same = same and journal.requests == len(server.requests)
    share = sum(server.faults().values()) / len(server.requests)
    return (
        f"{len(server.requests)} requests | {journal.requests} calls + retries | "
        f"{share:.1%} misbehave | {prompt + completion} tokens told | "
        f"{'books agree' if same else 'BOOKS DIFFER'} | {server.untold()} tokens untold | "
        f"{server.most_in_flight} in flight"
    )


def _equal(server: Any, results: Path, clean: Path) -> str:
    answers = set(plans.ANSWERS) - set(plans.HARMLESS)
    hard = {r.question for r in server.requests if r.fault in answers}
    met = {r.question for r in server.requests if r.fault in plans.ACCIDENTS} - hard
    wanted, found = runs.per_query(clean), runs.per_query(results)
    equal = sum(found[q] == wanted[q] for q in met)
    return f"{equal} of {len(met)} questions with accidents only are equal to the run without"


def budget(room: Path) -> None:
    """How far money passes its limit."""
    errors: Any = importlib.import_module("ark.errors")
    ark_run: Any = importlib.import_module("ark.run")
    specs: Any = importlib.import_module("ark.run.spec")
    graph = runs.make_graph(room / "graph", QUESTIONS)
    for share in (0.0, 0.3):
        results = room / f"budget-{share}"
        with servers.serving(plans.FaultPlan(2, share), 0.05) as server:
            spec = runs.cell(graph, server.url, "openai", timeout=10)
            limit = runs.transport(results, IN_FLIGHT, budget=specs.Limits(cost=0.5))
            try:
                ark_run.run_cell(spec, limit)
            except errors.BudgetReachedError as error:
                print(f"  {error}")
        lines = runs.rows(runs.run_folder(results) / "ledger.jsonl")
        costs = sorted((x["cost"] for x in lines), reverse=True)
        print(
            f"| {share:.0%} misbehave | limit $0.50 | spent ${sum(costs):.4f} | "
            f"{server.most_in_flight} in flight at most, the dearest so many calls "
            f"${sum(costs[: server.most_in_flight]):.4f} |"
        )


def fatal(room: Path) -> None:
    """From the first refusal to the end of the run."""
    errors: Any = importlib.import_module("ark.errors")
    ark_run: Any = importlib.import_module("ark.run")
    graph = runs.make_graph(room / "graph", QUESTIONS)
    for kind in ("bad_key", "no_model", "no_quota"):
        broke: list[float] = []

        def misbehave(
            _conversation: str, _attempt: int, kind: str = kind, broke: list[float] = broke
        ) -> str | None:
            if server.received < 1_000:
                return None
            broke.append(time.monotonic())
            return kind

        results = room / f"fatal-{kind}"
        with servers.serving(misbehave, 0.05) as server:
            try:
                spec = runs.cell(graph, server.url, "openai")
                ark_run.run_cell(spec, runs.transport(results, IN_FLIGHT))
            except errors.FatalBackboneError as error:
                seconds, line = time.monotonic() - broke[0], str(error)
                told = sum(server.told())
            kept = runs.ledger(results)
            agents = [
                x
                for x in runs.rows(runs.run_folder(results) / "journal.jsonl")
                if x["kind"] == "agent"
            ]
            print(
                f"| {kind} | {len(broke)} refused | stopped after {seconds:.1f} s | "
                f"{len(agents)} questions kept | tokens in the ledger "
                f"{kept.prompt + kept.completion} of {told} told | {line} |"
            )


def kills(room: Path) -> None:
    """``kill -9`` at 20 random moments, with and without a cache."""
    module: Any = importlib.import_module("test_kills")
    graph = runs.make_graph(room / "kill-graph", 100)
    data = Path(os.environ["ARK_DATA"])
    with servers.serving(module.PLAN, 0.02) as server:
        given = runs.arguments(graph, server.url, room / "whole", "cache.mode=off")
        code, out, err = runs.finish(runs.start(given, data))
        if code:
            raise SystemExit(err)
        whole, requests = runs.result_of(out), len(server.requests)
    print(f"  undisturbed: {requests} requests, {whole['usage']['calls']} calls")
    for cache in ("off", "read_write"):
        results = room / f"killed-{cache}"
        inspector = module.Inspector(results)
        with servers.serving(module.PLAN, 0.02) as server:
            given = runs.arguments(graph, server.url, results, f"cache.mode={cache}")
            moments = runs.moments(1, KILLS, requests)
            done = runs.kill_again_and_again(server, given, data, moments, inspector)
        inspector()
        module.check_books(done.data, runs.run_folder(results), cached=cache != "off")
        told = Counter(r.conversation for r in server.requests if r.told)
        print(
            f"| cache={cache} | {done.kills} kills | result "
            f"{'identical' if runs.pure(done.data) == runs.pure(whole) else 'DIFFERS'} | "
            f"{len(server.requests)} requests | "
            f"{sum(n - 1 for n in told.values())} answers given again | "
            f"lost {done.data['lost']} | replayed {done.data['requests']['replayed']} |"
        )


def memory(room: Path) -> None:
    """Resident memory over 10,000 questions on ``scripted``."""
    ark_run: Any = importlib.import_module("ark.run")
    module: Any = importlib.import_module("fault_memory")
    graph = runs.make_graph(room / "memory-graph", MANY)
    every = MANY // 10
    spec = module.memory_cell(graph, every)
    # Another process would open a graph that is there; building it leaves its traces in memory.
    ark_run.run_cell(replace(spec, limit=1), ark_run.Transport(room / "first", progress=False))
    ark_run.run_cell(spec, ark_run.Transport(room / "memory", progress=False))
    samples = module.Sampled.samples
    shown = " ".join(f"{s / 1e6:.1f}" for s in samples)
    print(f"  MB at every {every}th question: {shown}")
    print(f"| first to last thousand | {samples[-1] / samples[1] - 1:+.1%} |")


PARTS: dict[str, Callable[[Path], None]] = {
    "plan": plan,
    "budget": budget,
    "fatal": fatal,
    "kills": kills,
    "memory": memory,
}


def main(chosen: list[str]) -> None:
    """Run the chosen parts in a scratch folder."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["ARK_DATA"] = str(Path(scratch) / "data")
        for name in chosen or PARTS:
            print(f"## {name}", flush=True)
            PARTS[name](Path(scratch))


if __name__ == "__main__":
    main(sys.argv[1:])
