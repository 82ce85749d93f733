"""A recorded run plays again without its model, and any difference stops it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.backbone.replay import ReplayBackbone
from ark.errors import FatalBackboneError, UserError
from ark.records import Completion, Message, Usage
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.spec import AgentLimits

RANDOM = PluginSpec("random", "ark.backbone.random_calls:RandomBackbone")
SPEC = CellSpec(
    GraphSpec("toy"),
    PluginSpec("ark", "ark.agent.method:Ark", {"max_steps": 4}),
    RANDOM,
    split="all",
    limit=5,
)


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def run(folder: Path, spec: CellSpec, **transport: Any) -> Done:
    return run_cell(spec, Transport(folder, progress=False, **transport))


def replay(done: Done, spec: CellSpec = SPEC) -> CellSpec:
    settings = {"run": str(done.path.parents[2])}
    plugin = PluginSpec("replay", "ark.backbone.replay:ReplayBackbone", settings)
    return replace(spec, backbone=plugin)


@pytest.mark.parametrize("repeat", [0, 2])
def test_a_replay_gives_the_same_numbers(tmp_path: Path, repeat: int) -> None:
    spec = replace(SPEC, repeat=repeat)
    first = run(tmp_path / "a", spec)
    again = run(tmp_path / "b", replay(first, spec))
    assert again.data["measures"] == first.data["measures"]
    assert again.data["counts"] == first.data["counts"]
    assert again.data["cell"]["backbone"] == "replay of random (no LLM)"
    assert again.data["cell"]["is_llm"] is False


def test_a_difference_is_named(tmp_path: Path) -> None:
    first = run(tmp_path / "a", SPEC)
    method = replace(SPEC.method, settings={"max_steps": 4, "neighbor_k": 1, "global_k": 1})
    with pytest.raises(FatalBackboneError, match="no recorded answer for call ark.step") as caught:
        run(tmp_path / "b", replace(replay(first), method=method))
    assert "equal up to message" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_replayed_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"backbone.run=results/runs/NAME"):
        ReplayBackbone()
    with pytest.raises(UserError, match="no run folder that can be replayed"):
        ReplayBackbone(tmp_path)
    bm25 = replace(SPEC, method=PluginSpec("bm25", "baselines.bm25:BM25Baseline"))
    folder = run(tmp_path, bm25).path.parents[2]
    with pytest.raises(UserError, match="cannot be replayed|no recorded conversations|that can be"):
        ReplayBackbone(folder)


@dataclass
class Named:
    """Says each time which model it is: another one from the n-th call on."""

    changes_at: int = 0
    fingerprint: bool = False
    identity: ClassVar[dict[str, str]] = {"backbone": "named"}
    label: ClassVar[str] = "named"
    calls: ClassVar[list[int]] = [0]

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        self.calls[0] += 1
        new = self.changes_at and self.calls[0] >= self.changes_at
        model = "m-2026-02" if new and not self.fingerprint else "m-2026-01"
        system = "fp_2" if new and self.fingerprint else "fp_1"
        answer = Message("assistant", "thinking")
        return Completion(answer, Usage(1, 10, 5, 0.01), "stop", model, system)


def named(**settings: Any) -> CellSpec:
    Named.calls[0] = 0
    one = PluginSpec("ark", "ark.agent.method:Ark", {"max_steps": 4, "agents": 1})
    return replace(SPEC, method=one, backbone=PluginSpec("named", "test_replay:Named", settings))


@pytest.mark.parametrize("fingerprint", [False, True])
def test_another_model_in_mid_run_stops_the_cell(tmp_path: Path, fingerprint: bool) -> None:
    spec = named(changes_at=9, fingerprint=fingerprint)
    with pytest.raises(FatalBackboneError, match="the server answers as .* earlier in this run"):
        run(tmp_path, spec, concurrency=1)
    # On resume the journal knows what answered before.
    with pytest.raises(FatalBackboneError, match="on_model_change=note"):
        run(tmp_path, spec, concurrency=1)
    done = run(tmp_path, spec, concurrency=1, on_model_change="note")
    assert done.data["counts"]["missing"] == 0


def test_limits_of_an_agent_end_it_with_what_it_has(tmp_path: Path) -> None:
    for limit, calls in ((AgentLimits(calls=2), 2), (AgentLimits(tokens=31), 3)):
        done = run(tmp_path, replace(named(), agent_limits=limit))
        assert done.data["counts"]["limit"] == 5
        assert done.data["usage"]["calls"] == 5 * calls
        assert "agent_limits" in json.dumps(done.data["cell"]["identity"])
    done = run(tmp_path, replace(named(), agent_limits=AgentLimits(cost=0.015)))
    assert done.data["usage"]["calls"] == 10
    done = run(tmp_path, replace(named(), agent_limits=AgentLimits(seconds=1e-9)))
    assert done.data["usage"]["calls"] == 0
    assert done.data["counts"]["limit"] == 5
    with pytest.raises(UserError, match=r"agent_limits.calls=0"):
        AgentLimits(calls=0)


def test_a_cached_run_pays_nobody_twice(tmp_path: Path) -> None:
    spec = named()
    first = run(tmp_path, spec, cache="read_write")
    made = Named.calls[0]
    assert first.data["cache"] == {"mode": "read_write", "hits": 0, "misses": made, "written": made}
    again = run(tmp_path / "other", spec, cache="read_only", cache_path=tmp_path / "cache.sqlite")
    assert Named.calls[0] == made
    for key in ("counts", "measures", "usage"):
        if key == "usage":
            plain = {k: v for k, v in again.data[key].items() if k not in ("replayed", "by_tag")}
            assert plain == {k: v for k, v in first.data[key].items() if k in plain}
        else:
            assert again.data[key] == first.data[key]
    assert again.data["cache"]["hits"] == made
    assert not (again.path.parents[2] / "ledger.jsonl").exists()  # nothing was paid
