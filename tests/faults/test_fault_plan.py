"""Runs through a server that misbehaves: how questions end, what they say, what the books say."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fault_plan import ACCIDENTS, ANSWERS, HARMLESS, WASTED, FaultPlan
from fault_runs import (
    REPOSITORY,
    Books,
    arguments,
    cell,
    journal,
    ledger,
    make_graph,
    per_query,
    pure,
    result_of,
    rows,
    run_folder,
    transport,
)
from fault_server import FaultServer, serving

from ark.errors import BudgetReachedError, FatalBackboneError
from ark.run import PluginSpec, run_cell
from ark.run.spec import Limits

# What aiohttp thinks of a question with a megabyte of earlier words in it.
pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
TYPED = ("RetryableError: ", "QueryFailedError: ")
# A time-out that is short enough for a test can strike a right answer on a busy machine.
QUICK = tuple(kind for kind in ACCIDENTS if kind != "stall")
ROUNDED = 1e-9  # sums of dollars in another order


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("graph"), 40)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("few"), 3)


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("big"), 500)


def check_books(server: FaultServer, results: Path) -> None:
    """Journal, ledger and server agree on requests, tokens and dollars."""
    prompt, completion = server.told()
    dollars = (prompt + 4 * completion) / 1e6
    wanted = Books(len(server.requests), prompt, completion, dollars)
    for books in (journal(results), ledger(results)):
        assert books.dollars == pytest.approx(dollars, abs=ROUNDED)
        assert dataclasses.replace(books, dollars=dollars) == wanted


def check_faulty_run(server: FaultServer, results: Path, clean: Path, data: dict[str, Any]) -> None:
    check_books(server, results)
    counts = data["counts"]
    assert counts["missing"] == 0
    assert counts["ok"] + counts["limit"] + counts["failed"] == counts["queries"]
    ends = [x for x in rows(run_folder(results) / "journal.jsonl") if x["kind"] == "query"]
    assert len(ends) == counts["queries"]
    for end in ends:
        assert (end["error"] or "").startswith(TYPED) == (end["status"] == "failed")
    # A question that met accidents only ends as it would have without them.
    answers = set(ANSWERS) - set(HARMLESS)
    hard = {r.question for r in server.requests if r.fault in answers}
    wanted, found = per_query(clean), per_query(results)
    easy = set(wanted) - hard
    assert easy & {r.question for r in server.requests if r.fault in ACCIDENTS}
    assert {q: found[q] for q in easy} == {q: wanted[q] for q in easy}


@pytest.mark.parametrize(
    ("client", "which"),
    [
        ("openai", "graph"),
        ("litellm", "graph"),
        pytest.param("openai", "big", marks=pytest.mark.slow),
        pytest.param("litellm", "big", marks=pytest.mark.slow),
    ],
)
def test_with_a_third_of_all_calls_misbehaving(
    request: pytest.FixtureRequest, tmp_path: Path, client: str, which: str
) -> None:
    graph = request.getfixturevalue(which)
    with serving() as server:
        run_cell(cell(graph, server.url), transport(tmp_path / "clean"))
        check_books(server, tmp_path / "clean")
    with serving(FaultPlan(1, accidents=QUICK), 0.02) as server:
        spec = cell(graph, server.url, client)
        done = run_cell(spec, transport(tmp_path / "faulty"))
    assert sum(server.faults().values()) > 0.2 * len(server.requests)
    check_faulty_run(server, tmp_path / "faulty", tmp_path / "clean", done.data)


@pytest.mark.parametrize("kind", [*ACCIDENTS, *ANSWERS])
def test_each_fault_alone(few: Path, tmp_path: Path, kind: str) -> None:
    """Every first request of a conversation meets it: a question ends, and the books agree."""
    most = 3 if kind == "stall" else 1_000  # a time-out each

    def plan(_conversation: str, attempt: int) -> str | None:
        return kind if attempt == 0 and server.received < most else None

    with serving() as calm:
        run_cell(cell(few, calm.url), transport(tmp_path / "clean"))
    with serving(plan) as server:
        spec = cell(few, server.url, timeout=5 if kind == "stall" else 60)
        done = run_cell(spec, transport(tmp_path / "faulty"))
    assert set(server.faults()) == {kind}
    check_books(server, tmp_path / "faulty")
    calls = done.data["usage"]["calls"]
    if kind in ACCIDENTS:
        assert done.data["counts"]["ok"] == 3
        assert per_query(tmp_path / "faulty") == per_query(tmp_path / "clean")
        assert len(server.requests) == calls + server.faults()[kind]
    else:
        assert done.data["counts"]["failed"] == 0
        assert len(server.requests) == calls
    paid_twice = 2 if kind in WASTED else 1
    told = [r for r in server.requests if r.told]
    assert len(told) == paid_twice * calls


@pytest.mark.parametrize("kind", ["error_503", "empty_choices", "reset"])
def test_a_server_that_never_recovers_fails_its_questions_with_a_typed_reason(
    few: Path, tmp_path: Path, kind: str
) -> None:

    def plan(_conversation: str, _attempt: int) -> str | None:
        return kind if server.received > 3 else None

    with serving(plan) as server:
        retries = dataclasses.replace(transport(tmp_path).retries, attempts=2)
        spec = cell(few, server.url)
        done = run_cell(spec, transport(tmp_path, retries=retries))
    assert done.data["counts"]["failed"] == 3
    assert done.reason.startswith("RetryableError: openai/rules: ")
    check_books(server, tmp_path)
    assert Counter(r.attempt for r in server.requests if r.fault) == {0: 3, 1: 3}


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_money_passes_the_budget_by_no_more_than_the_calls_in_flight(
    graph: Path, tmp_path: Path, share: float
) -> None:
    in_flight = 16  # that the limiter lets out so early; 40 agents want to
    with serving(FaultPlan(3, share, accidents=QUICK, answers=()), 0.02) as server:
        spec = cell(graph, server.url)
        with pytest.raises(BudgetReachedError, match="of 40 questions done"):
            run_cell(spec, transport(tmp_path, budget=Limits(cost=0.05)))
        calls = rows(run_folder(tmp_path) / "ledger.jsonl")
        costs = sorted((x["cost"] for x in calls), reverse=True)
        assert sum(costs) >= 0.05
        assert sum(costs) <= 0.05 + sum(costs[:in_flight])
        # All that was paid is in the ledger: in flight calls were let end.
        told = server.told()
        assert ledger(tmp_path) == Books(
            len(server.requests), *told, round((told[0] + 4 * told[1]) / 1e6, 9)
        )
        with pytest.raises(BudgetReachedError):
            run_cell(spec, transport(tmp_path, budget=Limits(cost=0.05)))
        assert len(rows(run_folder(tmp_path) / "ledger.jsonl")) == len(calls)
        done = run_cell(spec, transport(tmp_path))
    assert done.data["counts"]["missing"] == 0


def test_a_run_through_faults_can_be_replayed(few: Path, tmp_path: Path) -> None:
    with serving(FaultPlan(2, 0.6, accidents=QUICK)) as server:
        spec = cell(few, server.url, agents=2, send_seed=True)
        recorded = run_cell(spec, transport(tmp_path / "recorded"))
    assert server.faults()
    target = "ark.backbone.replay:ReplayBackbone"
    settings = {"run": str(run_folder(tmp_path / "recorded"))}
    again = dataclasses.replace(spec, backbone=PluginSpec("replay", target, settings))
    replayed = run_cell(again, transport(tmp_path / "replayed"))
    for part in ("counts", "measures", "single_agents", "strata"):
        assert replayed.data[part] == recorded.data[part]
    assert replayed.data["usage"]["tokens"] == recorded.data["usage"]["tokens"]


class Broken:
    """Well for so many requests, then broken for good until it is mended."""

    def __init__(self, fault: str, after: int) -> None:
        self.fault: str | None = fault
        self._left = after

    def __call__(self, _conversation: str, _attempt: int) -> str | None:
        self._left -= 1
        return self.fault if self._left < 0 else None


FATAL = {
    "bad_key": "backbone.api_key_env=NAME",
    "no_model": "check backbone.model",
    "no_quota": "no credit left",
}


@pytest.mark.parametrize("client", ["openai", "litellm"])
@pytest.mark.parametrize("fault", FATAL)
def test_a_fatal_error_stops_all_calls_in_flight_and_keeps_what_was_done(
    graph: Path, tmp_path: Path, client: str, fault: str
) -> None:
    plan = Broken(fault, 60)
    with serving(plan, 0.02) as server:
        spec = cell(graph, server.url, client, temperature=0.5)
        with pytest.raises(FatalBackboneError, match=FATAL[fault]) as caught:
            run_cell(spec, transport(tmp_path / "run", 16))
        assert "\n" not in str(caught.value)
        assert len(server.requests) <= 60 + 16  # no more than the calls in flight
        assert len(server.requests) == 60 + server.faults()[fault]
        kept = ledger(tmp_path / "run")
        assert (kept.prompt, kept.completion) == server.told()  # answers in flight are counted
        lines = rows(run_folder(tmp_path / "run") / "journal.jsonl")
        ended = [x for x in lines if x["kind"] == "agent"]
        assert ended
        assert {x["status"] for x in lines} == {"ok"}
        plan.fault = None
        done = run_cell(spec, transport(tmp_path / "run"))
        assert done.data["counts"]["ok"] == 40
    calls = Counter(x["query"] for x in rows(run_folder(tmp_path / "run") / "ledger.jsonl"))
    assert all(calls[x["query"]] == x["steps"] for x in ended)  # none was paid twice
    with serving() as server:
        spec = cell(graph, server.url, client, temperature=0.5)
        clean = run_cell(spec, transport(tmp_path / "clean"))
    assert pure(done.data) == pure(clean.data)


def test_a_fatal_error_is_one_line_and_exit_code_4(
    few: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    main = importlib.import_module("run").main
    plan = Broken("bad_key", 4)
    with serving(plan) as server:
        given = arguments(few, server.url, tmp_path, "concurrency=64", "cache.mode=off")
        assert main(given) == 4
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
        assert "refuses access (401)" in captured.err
        plan.fault = None
        assert main(given) == 0
    assert result_of(capsys.readouterr().out)["counts"]["ok"] == 3


def test_a_plan_depends_on_the_conversation_alone() -> None:
    plan = FaultPlan(5)
    keys = [str(i) for i in range(4000)]
    drawn = Counter(plan(key, 0) for key in keys)
    assert drawn[None] == pytest.approx(0.7 * len(keys), rel=0.05)
    assert set(drawn) == {None, *ACCIDENTS, *ANSWERS}
    for key in keys[:200]:
        calm = plan(key, plan.in_a_row)
        assert calm is None or calm in ANSWERS
        assert {plan(key, n) for n in range(20)} <= {calm, *ACCIDENTS}
    assert json.dumps(drawn) == json.dumps(Counter(FaultPlan(5)(key, 0) for key in keys))
