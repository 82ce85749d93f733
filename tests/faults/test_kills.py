"""``kill -9`` at random moments: the resumed run is the undisturbed one, nothing is paid twice."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fault_plan import SILENT, FaultPlan
from fault_runs import (
    arguments,
    cell,
    finish,
    kill_again_and_again,
    make_graph,
    moments,
    pure,
    result_of,
    run_folder,
    start,
    transport,
)
from fault_server import FaultServer, serving

from ark.run import run_cell
from ark.run.journal import read_journal, read_trajectory
from ark.run.meter import paid_by_agent

# Answers that are paid and thrown away would be paid again after a kill: they are not in here.
PLAN = FaultPlan(7, accidents=tuple(kind for kind in SILENT if kind != "stall"))
Agent = tuple[str, int]


class Inspector:
    """After each kill: no file is damaged, and no agent that had ended has been paid since."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._ended: dict[Agent, int] = {}
        self.agents = 0

    def __call__(self) -> None:
        if not (self._results / "runs").is_dir():
            return
        folder = run_folder(self._results)
        entries = read_journal(folder)
        for line in entries.agents.values():
            assert read_trajectory(folder, line)["messages"]
        cache = self._results / "cache.sqlite"
        if cache.is_file():
            base = sqlite3.connect(f"{cache.absolute().as_uri()}?mode=ro", uri=True)
            assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            for (answer,) in base.execute("SELECT answer FROM answers"):
                assert json.loads(answer)["model"]
            base.close()
        paid = {key: usage.calls for key, usage in paid_by_agent(folder).items()}
        for agent, calls in self._ended.items():
            assert paid.get(agent, 0) == calls
        self._ended = {a: paid.get(a, 0) for a in entries.agents if entries.ended(*a)}
        self.agents = len(self._ended)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("graph"), 24)


@pytest.fixture(scope="module")
def whole(
    graph: Path, tmp_path_factory: pytest.TempPathFactory, data_root_path: Path
) -> dict[str, Any]:
    """The undisturbed run, and how many requests it took."""
    results = tmp_path_factory.mktemp("whole")
    with serving(PLAN, 0.01) as server:
        given = arguments(graph, server.url, results, "cache.mode=off")
        code, out, err = finish(start(given, data_root_path))
        assert (code, err) == (0, "")
        return {"data": result_of(out), "requests": len(server.requests)}


@pytest.mark.parametrize(
    ("cache", "kills"),
    [
        ("off", 3),
        ("read_write", 3),
        pytest.param("off", 20, marks=pytest.mark.slow),
        pytest.param("read_write", 20, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_again_and_again_is_the_undisturbed_one(
    graph: Path,
    whole: dict[str, Any],
    tmp_path: Path,
    data_root_path: Path,
    cache: str,
    kills: int,
) -> None:
    inspector = Inspector(tmp_path)
    when = moments(kills, kills, whole["requests"])
    with serving(PLAN, 0.01) as server:
        given = arguments(graph, server.url, tmp_path, f"cache.mode={cache}")
        done = kill_again_and_again(server, given, data_root_path, when, inspector)
        inspector()
    assert done.kills >= min(kills, 2)
    assert pure(done.data) == pure(whole["data"])
    folder = run_folder(tmp_path)
    assert inspector.agents == done.data["counts"]["queries"] * 2
    check_books(done.data, folder, cached=cache != "off")
    check_server(server, folder, done.kills, cached=cache != "off")


def check_books(data: dict[str, Any], folder: Path, *, cached: bool) -> None:
    """The ledger holds what the journal holds, and what killed agents had paid."""
    paid = list(paid_by_agent(folder).values())
    tokens = sum(p.prompt_tokens + p.completion_tokens for p in paid)
    if cached:  # what killed agents had paid was used again
        assert tokens <= data["usage"]["tokens"]
        assert data["requests"]["replayed"] > 0
        return
    assert tokens == data["usage"]["tokens"] + data["lost"]["tokens"]
    assert sum(p.calls for p in paid) == data["usage"]["calls"] + data["lost"]["calls"]


def check_server(server: FaultServer, folder: Path, kills: int, *, cached: bool) -> None:
    """The server was asked what the ledger says, and what was in flight at the kills."""
    paid = list(paid_by_agent(folder).values())
    in_flight = kills * 8
    answered = Counter(r.conversation for r in server.requests if r.told)
    calls = sum(p.calls for p in paid)
    assert calls <= sum(answered.values()) <= calls + in_flight
    if cached:
        assert sum(n - 1 for n in answered.values()) <= in_flight


@pytest.mark.parametrize("seed", range(3))
def test_files_cut_at_any_byte_lose_no_more_than_the_cut_line(
    graph: Path, tmp_path: Path, data_root_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What a kill inside a write leaves: the end of a line is missing, in one file or several."""
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    rng = random.Random(seed)
    with serving() as server:
        spec = cell(graph, server.url, "openai", agents=2, send_seed=True)
        first = run_cell(spec, transport(tmp_path, 8, cache="off"))
        folder = run_folder(tmp_path)
        for name in ("journal.jsonl", "ledger.jsonl", "trajectories.jsonl"):
            content = (folder / name).read_bytes()
            (folder / name).write_bytes(content[: rng.randrange(len(content) // 2, len(content))])
        before = (folder / "ledger.jsonl").read_bytes()
        again = run_cell(spec, transport(tmp_path, 8, cache="off"))
    assert pure(again.data) == pure(first.data)
    after = (folder / "ledger.jsonl").read_bytes()
    kept = before[: before.rfind(b"\n") + 1]
    assert after.startswith(kept)
    assert len(after) > len(kept)
    for line in after.splitlines():
        assert json.loads(line)["calls"] == 1
