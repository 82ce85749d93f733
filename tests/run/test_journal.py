"""The journal survives torn lines, and refuses what it cannot trust."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.records import AgentLine, Message, Outcome, Step, Trajectory, Usage
from ark.run.journal import JOURNAL, TRAJECTORIES, JournalWriter, read_journal, read_trajectory

LINE = AgentLine(
    query="q1",
    agent=0,
    status="ok",
    nodes=("a", "b"),
    answers=2,
    picked_at=(1, 3),
    steps=3,
    usage={"ark.step": Usage(3, 10, 5, 0.25)},
    seconds=1.5,
    model="m",
    trajectory=0,
)
OUTCOME = Outcome("q1", "ok", (("a", "b"),), Usage(3, 10, 5, 0.25), 1.5)
TRAJECTORY = Trajectory((Message("user", "line\nbreak é"),), (Step(1, "t", {"kind": "walk"}),))


def write(folder: Path) -> None:
    with JournalWriter(folder) as writer:
        assert writer.trajectory("q1", 0, TRAJECTORY) == 0
        writer.agent(LINE)
        writer.query(OUTCOME)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    entries = read_journal(tmp_path)
    assert entries.agents == {("q1", 0): LINE}
    assert entries.outcomes == {"q1": OUTCOME}
    assert entries.ended("q1", 0)
    assert not entries.ended("q1", 1)
    found = read_trajectory(tmp_path, LINE)
    assert found["messages"][0]["content"] == "line\nbreak é"


@given(st.integers(1, 400))
def test_any_torn_tail_loses_only_the_torn_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    write(folder)
    write_more(folder)
    whole = (folder / JOURNAL).read_bytes()
    cut = min(cut, len(whole))
    (folder / JOURNAL).write_bytes(whole[:-cut])
    kept = whole[:-cut].count(b"\n")
    entries = read_journal(folder)
    assert len(entries.agents) + len(entries.outcomes) == kept
    with JournalWriter(folder) as writer:  # cuts the torn line off and goes on
        writer.agent(AgentLine("q9", 0, "ok"))
    assert (folder / JOURNAL).read_bytes().startswith(whole[: whole[:-cut].rfind(b"\n") + 1])
    assert ("q9", 0) in read_journal(folder).agents


def write_more(folder: Path) -> None:
    with JournalWriter(folder) as writer:
        writer.agent(AgentLine("q2", 0, "failed", error="x"))
        writer.query(Outcome("q2", "failed", ((),), Usage(), 0.0, "x"))


def test_offsets_go_on_after_a_torn_trajectory(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / TRAJECTORIES
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"query": "half')
    with JournalWriter(tmp_path) as writer:
        offset = writer.trajectory("q2", 1, TRAJECTORY)
    assert offset == len(whole)
    line = AgentLine("q2", 1, "ok", trajectory=offset)
    assert read_trajectory(tmp_path, line)["query"] == "q2"
    with pytest.raises(UserError, match="is not in"):
        read_trajectory(tmp_path, replace(line, agent=0))
    path.unlink()
    with pytest.raises(UserError, match="is not in"):
        read_trajectory(tmp_path, line)


def test_a_failed_agent_is_done_again_and_the_last_line_counts(tmp_path: Path) -> None:
    write_more(tmp_path)
    assert not read_journal(tmp_path).ended("q2", 0)
    with JournalWriter(tmp_path) as writer:
        writer.agent(AgentLine("q2", 0, "limit", nodes=("z",)))
    entries = read_journal(tmp_path)
    assert entries.ended("q2", 0)
    assert entries.agents["q2", 0].nodes == ("z",)


BROKEN = (
    "nonsense",
    '{"kind": "x"}',
    '{"kind": "agent"}',
    "[]",
    "5",
    "null",
    '{"kind":"agent","query":"q","agent":0,"status":"weird","nodes":[],"picked_at":[],"usage":{}}',
    '{"kind":"agent","query":"q","agent":0,"status":"ok","nodes":[null],"picked_at":[],"usage":{}}',
    '{"kind":"agent","query":"q","agent":0,"status":"ok","nodes":[],"picked_at":[],"usage":null}',
    "[" * 100_000,
)


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_damage_before_the_end_is_named(tmp_path: Path, text: str) -> None:
    write(tmp_path)
    path = tmp_path / JOURNAL
    path.write_text(text + "\n" + path.read_text())
    with pytest.raises(UserError, match=r"journal\.jsonl, line 1 is damaged"):
        read_journal(tmp_path)


def test_lone_surrogates_do_not_stop_a_run(tmp_path: Path) -> None:
    odd = Trajectory((Message("assistant", "half \ud83d smile"),))
    with JournalWriter(tmp_path) as writer:
        offset = writer.trajectory("q\udc00", 0, odd)
        writer.agent(AgentLine("q\udc00", 0, "failed", error="\ud83d"))
    line = AgentLine("q?", 0, "failed", trajectory=offset)
    assert read_trajectory(tmp_path, line)["messages"][0]["content"] == "half ? smile"
    assert read_journal(tmp_path).agents["q?", 0].error == "?"


def test_two_writers_are_kept_apart(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="no file locks on this system")
    with JournalWriter(tmp_path), pytest.raises(UserError, match="another process"):
        JournalWriter(tmp_path)
    with JournalWriter(tmp_path):
        pass
