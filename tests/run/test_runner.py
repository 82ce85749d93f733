"""A cell from start to end: equal results after any stop, failures counted, nothing swallowed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.errors import FatalBackboneError, QueryFailedError, UserError
from ark.protocols import Context
from ark.records import Attempt, Completion, Json, Message, Ranking, Trajectory, Usage
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.journal import JOURNAL, TRAJECTORIES, read_journal, read_trajectory

HERE = "test_runner"
ARK = PluginSpec("ark", "ark.agent.method:Ark")
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
SPEC = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all")
PURE = ("cell", "counts", "measures", "usage", "strata")


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def transport(tmp_path: Path, **settings: Any) -> Transport:
    return Transport(results_dir=tmp_path, progress=False, **settings)


def pure(data: Mapping[str, Json]) -> str:
    return json.dumps({k: data[k] for k in PURE})


def test_a_cell_leaves_a_folder_that_can_be_read(tmp_path: Path) -> None:
    done = run_cell(SPEC, transport(tmp_path))
    folder = done.path.parents[2]
    data = json.loads(done.path.read_text())
    assert data["counts"]["failed"] == 0
    assert data["counts"]["ok"] == data["counts"]["queries"] > 0
    assert set(PURE) < set(data)
    assert data["environment"]["packages"]["numpy"]
    assert 0 <= data["measures"]["hit@1"]["low"] <= data["measures"]["hit@1"]["mean"]
    assert json.loads((folder / "run.json").read_text()) == data["cell"]["identity"]
    questions = (folder / "queries.jsonl").read_text().splitlines()
    assert len(questions) == data["counts"]["queries"]
    rows = (done.path.parent / "per_query.csv").read_text().splitlines()
    assert len(rows) == data["counts"]["queries"] + 1
    entries = read_journal(folder)
    assert len(entries.agents) == 3 * len(questions)
    line = next(iter(entries.agents.values()))
    assert line.trajectory is not None
    trajectory = read_trajectory(folder, line)
    assert trajectory["query"] == line.query
    assert trajectory["messages"][1]["role"] == "user"


def test_running_again_calls_nobody_and_gives_the_same(tmp_path: Path) -> None:
    first = run_cell(SPEC, transport(tmp_path))
    size = (first.path.parents[2] / JOURNAL).stat().st_size
    second = run_cell(SPEC, transport(tmp_path))
    assert second.path == first.path
    assert pure(second.data) == pure(first.data)
    assert (first.path.parents[2] / JOURNAL).stat().st_size == size


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.83, 0.999])
def test_any_cut_of_the_files_resumes_to_the_same_result(tmp_path: Path, kept: float) -> None:
    whole = run_cell(SPEC, transport(tmp_path / "a"))
    done = run_cell(SPEC, transport(tmp_path / "b"))
    folder = done.path.parents[2]
    for name in (JOURNAL, TRAJECTORIES):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(kept * len(content))])
    done.path.unlink()
    again = run_cell(SPEC, transport(tmp_path / "b", concurrency=2))
    assert pure(again.data) == pure(whole.data)


def test_concurrency_does_not_change_the_result(tmp_path: Path) -> None:
    one = run_cell(SPEC, transport(tmp_path / "a", concurrency=1))
    many = run_cell(SPEC, transport(tmp_path / "b", concurrency=16))
    assert pure(one.data) == pure(many.data)


def test_readings_share_one_run(tmp_path: Path) -> None:
    voting = run_cell(SPEC, transport(tmp_path))
    size = (voting.path.parents[2] / JOURNAL).stat().st_size
    rrf = run_cell(replace(SPEC, fusion=Fusion("rrf")), transport(tmp_path))
    fewer = replace(SPEC, method=PluginSpec("ark", ARK.target, {"agents": 2}))
    two = run_cell(fewer, transport(tmp_path))
    assert len({voting.path, rrf.path, two.path}) == 3
    assert {d.path.parents[2] for d in (voting, rrf, two)} == {voting.path.parents[2]}
    assert (voting.path.parents[2] / JOURNAL).stat().st_size == size
    assert two.data["usage"]["calls"] < voting.data["usage"]["calls"]


def test_more_agents_add_to_the_same_run(tmp_path: Path) -> None:
    two = replace(SPEC, method=PluginSpec("ark", ARK.target, {"agents": 2}))
    run_cell(two, transport(tmp_path / "grown"))
    grown = run_cell(SPEC, transport(tmp_path / "grown"))
    fresh = run_cell(SPEC, transport(tmp_path / "fresh"))
    assert pure(grown.data) == pure(fresh.data)
    entries = read_journal(grown.path.parents[2])
    assert {len(o.lists) for o in entries.outcomes.values()} == {3}


@dataclass(frozen=True)
class Flaky:
    """A method that fails on questions with an odd length until a file appears."""

    marker: str
    label: ClassVar[str] = "Flaky"
    reading_fields: ClassVar[frozenset[str]] = frozenset({"marker"})
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        if len(question) % 2 and not Path(self.marker).exists():
            raise QueryFailedError("odd")
        hits = ctx.search.search(question, 5)
        return Attempt(Ranking(tuple(h.node for h in hits)), "ok", Trajectory())


def test_failures_are_counted_then_resumed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    spec = replace(SPEC, method=PluginSpec("flaky", f"{HERE}:Flaky", {"marker": str(marker)}))
    broken = run_cell(spec, transport(tmp_path))
    assert broken.failed > 0
    assert broken.data["counts"]["failed"] == broken.failed
    assert broken.data["counts"]["ok"] > 0
    entries = read_journal(broken.path.parents[2])
    errors = {o.error for o in entries.outcomes.values()}
    assert errors == {None, "QueryFailedError: odd"}
    marker.touch()
    mended = run_cell(spec, transport(tmp_path))
    assert mended.failed == 0
    marker_spec = replace(spec)
    fresh = run_cell(marker_spec, transport(tmp_path / "fresh"))
    assert pure(mended.data) == pure(fresh.data)


class Paid:
    """A backbone with prices that dies for good after some calls."""

    label = "paid test backbone"
    identity: ClassVar[Mapping[str, Json]] = {"backbone": "paid"}

    def __init__(self, budget: str) -> None:
        self._budget = Path(budget)

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        left = int(self._budget.read_text())
        if left == 0:
            raise FatalBackboneError("the key was refused")
        self._budget.write_text(str(left - 1))
        from ark.backbone import LexicalBackbone

        done = await LexicalBackbone().complete(messages, **how)
        return replace(done, usage=Usage(1, 100, 10, 0.01), model="paid-1")


def test_a_fatal_error_stops_and_lost_money_is_in_the_ledger(tmp_path: Path) -> None:
    budget = tmp_path / "budget"
    budget.write_text("20")
    spec = replace(SPEC, backbone=PluginSpec("paid", f"{HERE}:Paid", {"budget": str(budget)}))
    with pytest.raises(FatalBackboneError, match="refused"):
        run_cell(spec, transport(tmp_path, concurrency=3))
    budget.write_text("1000000")
    done = run_cell(spec, transport(tmp_path, concurrency=3))
    used = done.data["usage"]
    assert used["tokens"] == 110 * used["calls"]
    assert used["cost"] == pytest.approx(0.01 * used["calls"])
    paid = 1000000 - int(budget.read_text()) + 20
    assert done.data["lost"]["calls"] == paid - used["calls"] > 0
    assert done.data["lost"]["cost"] == pytest.approx(0.01 * done.data["lost"]["calls"])
    entries = read_journal(done.path.parents[2])
    assert {line.model for line in entries.agents.values()} == {"paid-1"}


BAD_RANKINGS: dict[str, Any] = {
    "a row too far": Ranking((10**6,)),
    "a negative row": Ranking((-1,)),
    "a float": Ranking((1.5,)),  # type: ignore[arg-type]
    "twice": Ranking((1, 1)),
    "too many": Ranking(tuple(range(101))),
    "answers": Ranking((1,), answers=3),
}


@dataclass(frozen=True)
class Broken:
    """Fails in a way of its own on every question but those of even length."""

    how: str
    label: ClassVar[str] = "Broken"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        if len(question) % 2 == 0:
            return Attempt(Ranking((0,)))
        if self.how == "none":
            return None  # type: ignore[return-value]
        if self.how == "status":
            return Attempt(Ranking((0,)), "weird")  # type: ignore[arg-type]
        if self.how == "raise":
            raise ZeroDivisionError("by zero")
        return Attempt(BAD_RANKINGS[self.how])


@pytest.mark.parametrize("how", ["none", "status", "raise", *BAD_RANKINGS])
def test_a_broken_method_loses_its_questions_only(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = replace(SPEC, method=PluginSpec("broken", f"{HERE}:Broken", {"how": how}))
    done = run_cell(spec, transport(tmp_path))
    counts = done.data["counts"]
    assert counts["failed"] > 0
    assert counts["ok"] > 0
    assert done.reason
    assert capsys.readouterr().err.count("a question failed: ") == 1
    assert "Traceback" in (done.path.parents[2] / "errors.log").read_text()


class BrokenBackbone:
    """Answers with something that is no completion."""

    label = "broken"
    identity: ClassVar[Mapping[str, Json]] = {"backbone": "broken"}

    def __init__(self, how: str) -> None:
        self._how = how

    async def complete(self, messages: Sequence[Message], **how: Any) -> Any:
        message = Message("assistant", "x")
        answers = {
            "none": None,
            "usage": Completion(message, None, "stop", "m"),  # type: ignore[arg-type]
            "tokens": Completion(message, Usage(1, "5"), "stop", "m"),  # type: ignore[arg-type]
            "cost": Completion(message, Usage(1, 1, 1, float("nan")), "stop", "m"),
            "bytes": Completion(Message("assistant", b"x"), Usage(1), "stop", "m"),  # type: ignore[arg-type]
        }
        return answers[self._how]


@pytest.mark.parametrize("how", ["none", "usage", "tokens", "cost", "bytes"])
def test_a_broken_backbone_fails_its_questions(tmp_path: Path, how: str) -> None:
    backbone = PluginSpec("broken", f"{HERE}:BrokenBackbone", {"how": how})
    done = run_cell(replace(SPEC, backbone=backbone, limit=2), transport(tmp_path))
    assert done.data["counts"]["failed"] == 2
    assert done.data["usage"]["calls"] == 0


def test_run_files_are_written_again_when_damaged(tmp_path: Path) -> None:
    done = run_cell(SPEC, transport(tmp_path))
    folder = done.path.parents[2]
    whole = (folder / "queries.jsonl").read_bytes()
    (folder / "queries.jsonl").write_text("{")
    (folder / "run.json").unlink()
    run_cell(SPEC, transport(tmp_path))
    assert (folder / "queries.jsonl").read_bytes() == whole
    assert (folder / "run.json").is_file()
    again = replace(SPEC, queries=folder / "queries.jsonl")
    assert run_cell(again, transport(tmp_path)).data["measures"] == done.data["measures"]


class Complaining:
    """A tracker that always fails."""

    def start(self, cell: Mapping[str, Json]) -> None:
        raise RuntimeError("no network")

    def finish(self, result: Mapping[str, Json]) -> None:
        raise RuntimeError("no network")


def test_a_tracker_never_harms_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_cell(SPEC, transport(tmp_path), Complaining())
    assert done.path.is_file()
    assert capsys.readouterr().err.count("RuntimeError: no network") == 2


def test_results_dir_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="results_dir: cannot write"):
        run_cell(SPEC, transport(tmp_path / "file"))


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"max_failures": -1}])
def test_wrong_transport_is_a_user_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        Transport(**wrong)
