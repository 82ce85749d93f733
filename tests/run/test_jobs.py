"""Sweeps: which jobs are readings of one run, failures as rows, jobs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.errors import QueryFailedError
from ark.records import Completion, Message, Usage
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.jobs import Job, plan, run_jobs, sweep_id
from ark.run.spec import Limits

LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
BASE = CellSpec(
    GraphSpec("toy"), PluginSpec("ark", "ark.agent.method:Ark"), LEXICAL, split="all", limit=6
)
PURE = ("counts", "measures", "usage", "strata", "single_agents")


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def ark(**settings: Any) -> CellSpec:
    return replace(BASE, method=replace(BASE.method, settings=settings))


def jobs(folder: Path, *specs: CellSpec) -> list[Job]:
    made = Transport(folder, progress=False)
    tracker = {"target": "ark.run.trackers:NoTracker"}
    return [Job((f"job={i}",), spec, made, tracker) for i, spec in enumerate(specs)]


def grid(folder: Path) -> list[Job]:
    return jobs(folder, *(ark(agents=n, max_steps=t) for n in (1, 2, 3) for t in (1, 2, 20)))


def states(ends: Sequence[Any]) -> list[str]:
    return ["not run" if end is None else end.state for end in ends]


def test_agents_and_steps_become_readings_of_the_largest(tmp_path: Path) -> None:
    planned = [job.spec for job in plan(grid(tmp_path))]
    assert [s.pool for s in planned] == [3, 3, 3, 3, 3, 3, None, None, None]
    assert [s.steps for s in planned] == [1, 2, None] * 3
    assert {s.method.settings["max_steps"] for s in planned} == {20}
    ends = run_jobs(plan(grid(tmp_path)))
    done = [end.done for end in ends if end and end.done]
    assert len({one.path for one in done}) == 9
    assert len({one.path.parents[2] for one in done}) == 1
    assert done[0].made.calls > 0
    assert [one.made.calls for one in done[1:]] == [0] * 8


def test_a_reading_of_fewer_steps_is_what_a_smaller_budget_gives(tmp_path: Path) -> None:
    ends = run_jobs(plan(jobs(tmp_path / "a", ark(max_steps=2), ark(max_steps=20))))
    read = ends[0].done  # type: ignore[union-attr]
    real = run_cell(ark(max_steps=2), Transport(tmp_path / "b", progress=False))
    assert read is not None
    assert read.data["cell"]["reading"]["steps"] == 2
    assert real.data["cell"]["reading"]["steps"] is None
    for key in PURE:
        assert read.data[key] == real.data[key]


def test_budgets_that_the_model_sees_make_runs_of_their_own(tmp_path: Path) -> None:
    plus = PluginSpec("ark_plus", "ark.agent.method:ArkPlus")
    specs = [
        replace(BASE, method=replace(plus, settings={"max_steps": t, "budget_notice": notice}))
        for t in (2, 20)
        for notice in (True, False)
    ]
    planned = [job.spec for job in plan(jobs(tmp_path, *specs))]
    # ArkPlus keeps what was seen as a last tier, which depends on the budget too.
    assert [s.steps for s in planned] == [None] * 4
    (end,) = run_jobs(jobs(tmp_path, replace(specs[0], steps=1)))
    assert end is not None
    assert "set method.max_steps instead" in end.reason


def test_fusions_share_one_run(tmp_path: Path) -> None:
    kinds = ("voting", "ordering", "random", "rrf")
    ends = run_jobs(jobs(tmp_path, *(replace(BASE, fusion=Fusion(k)) for k in kinds)))
    made = [end.done.made.calls for end in ends if end and end.done]
    assert made[0] > 0
    assert made[1:] == [0, 0, 0]


def test_repeats_draw_anew_in_folders_of_their_own(tmp_path: Path) -> None:
    ends = run_jobs(jobs(tmp_path, *(replace(BASE, repeat=k) for k in range(3))))
    done = [end.done for end in ends if end and end.done]
    assert len({one.path.parents[2] for one in done}) == 3
    again = run_cell(replace(BASE, repeat=1), Transport(tmp_path, progress=False))
    assert again.path == done[1].path
    assert again.made.calls == 0
    random = PluginSpec("random", "ark.backbone.random_calls:RandomBackbone")
    drawn = [replace(BASE, backbone=random, repeat=k) for k in (0, 1)]
    lists = [
        (end.done.path.parent / "per_query.csv").read_text()
        for end in run_jobs(jobs(tmp_path, *drawn))
        if end and end.done
    ]
    assert lists[0] != lists[1]


def test_a_failed_job_is_told_and_stops_no_other(tmp_path: Path) -> None:
    wrong = replace(BASE, graph=GraphSpec("table", {"path": str(tmp_path / "none")}))
    ends = run_jobs(jobs(tmp_path, wrong, BASE))
    assert states(ends) == ["failed", "done"]
    assert ends[0] is not None
    assert ends[0].reason.startswith("UserError: ")
    assert ends[0].trace == ""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_budget_of_a_sweep_counts_all_its_runs(tmp_path: Path, n_jobs: int) -> None:
    three = jobs(tmp_path, *(ark(agents=1, global_k=k) for k in (3, 4, 5)))
    bm25 = replace(BASE, method=PluginSpec("bm25", "baselines.bm25:BM25Baseline"))
    every = [*three, *jobs(tmp_path, bm25)]
    free = jobs(tmp_path / "free", *(job.spec for job in every))
    calls = [end.done.made.calls for end in run_jobs(free) if end and end.done]
    ends = run_jobs(every, n_jobs=n_jobs, limits=Limits(calls=calls[0] + 1))
    assert sorted(states(ends[:3])) in (["done", "stopped", "stopped"], ["stopped"] * 3)
    assert states(ends[3:]) == ["done"]  # asks nobody
    # A rerun knows what the first one spent, and raising the budget ends the work.
    again = run_jobs(every, n_jobs=n_jobs, limits=Limits(calls=calls[0] + 1))
    assert states(again) == states(ends)
    assert states(run_jobs(every, n_jobs=n_jobs, limits=Limits(calls=10_000))) == ["done"] * 4


def test_side_by_side_gives_the_same_results(tmp_path: Path) -> None:
    def specs() -> list[CellSpec]:
        return [*(ark(agents=n) for n in (1, 2)), ark(neighbors=False), ark(global_k=4)]

    one = run_jobs(plan(jobs(tmp_path / "a", *specs())))
    two = run_jobs(plan(jobs(tmp_path / "b", *specs())), n_jobs=2)
    assert states(two) == ["done"] * 4
    for a, b in zip(one, two, strict=True):
        assert a is not None
        assert b is not None
        assert a.done is not None
        assert b.done is not None
        assert {k: a.done.data[k] for k in PURE} == {k: b.done.data[k] for k in PURE}


def test_the_id_of_a_sweep_is_that_of_its_jobs(tmp_path: Path) -> None:
    two = jobs(tmp_path, BASE, ark(global_k=4))
    assert sweep_id(two) == sweep_id(two[::-1])
    assert sweep_id(two) != sweep_id(two[:1])
    assert sweep_id(jobs(tmp_path, BASE)) != sweep_id(
        jobs(tmp_path, replace(BASE, fusion=Fusion("rrf")))
    )


@dataclass
class Failing:
    """Agent 2 always fails; with ``once`` only the first time, with ``leave`` by sys.exit."""

    once: bool = False
    leave: bool = False
    identity: ClassVar[dict[str, str]] = {"backbone": "failing"}
    label: ClassVar[str] = "failing"
    is_llm: ClassVar[bool] = False
    failures: ClassVar[list[int]] = [0]

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        if how["draw"] == 2 and not (self.once and self.failures[0]):
            self.failures[0] += 1
            if self.leave:
                raise SystemExit(3)
            raise QueryFailedError("no")
        return Completion(Message("assistant", "hm"), Usage(1), "stop", "m")


def failing(**settings: bool) -> CellSpec:
    Failing.failures[0] = 0
    method = replace(BASE.method, settings={"max_steps": 2})
    return replace(BASE, method=method, backbone=PluginSpec("f", "test_jobs:Failing", settings))


def readings(spec: CellSpec) -> list[CellSpec]:
    return [replace(spec, fusion=Fusion(kind)) for kind in ("voting", "ordering", "rrf")]


def test_failed_agents_are_done_again_once_a_command(tmp_path: Path) -> None:
    ends = run_jobs(jobs(tmp_path, *readings(failing())))
    assert Failing.failures == [6]  # six questions, not three readings of them
    assert [end.done.failed for end in ends if end and end.done] == [6, 6, 6]
    run_jobs(jobs(tmp_path, *readings(failing())))
    assert Failing.failures == [6]  # the next command tries again


def test_readings_of_one_command_see_one_run(tmp_path: Path) -> None:
    ends = run_jobs(jobs(tmp_path, *readings(failing(once=True))))
    assert [end.done.failed for end in ends if end and end.done] == [1, 1, 1]
    spec = failing(once=True)
    Failing.failures[0] = 1  # it has failed already
    ends = run_jobs(jobs(tmp_path, *readings(spec)))
    assert [end.done.failed for end in ends if end and end.done] == [0, 0, 0]


def test_a_plug_in_that_leaves_loses_its_question_only(tmp_path: Path) -> None:
    (end,) = run_jobs(jobs(tmp_path, failing(leave=True)))
    assert end is not None
    assert end.done is not None
    assert end.done.data["counts"]["failed"] == 6
    assert "SystemExit" in end.done.reason


def test_cells_that_turn_out_to_be_one_run_do_not_collide(tmp_path: Path) -> None:
    bm25 = replace(BASE, method=PluginSpec("bm25", "baselines.bm25:BM25Baseline"))
    random = PluginSpec("random", "ark.backbone.random_calls:RandomBackbone")
    same = [bm25, replace(bm25, backbone=random), replace(bm25, limit=6, cut=5), BASE]
    ends = run_jobs(jobs(tmp_path, *same), n_jobs=2)
    assert states(ends) == ["done"] * 4
    assert len(list((tmp_path / "runs").iterdir())) == 2
