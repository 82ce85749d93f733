"""A run takes the same memory however many questions it has."""

from __future__ import annotations

from pathlib import Path

import fault_memory
import pytest
from fault_memory import memory_cell
from fault_runs import make_graph

from ark.run import Transport, run_cell
from ark.run.journal import read_journal
from ark.run.work import Work


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


def test_what_has_ended_is_on_disk_and_no_longer_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    close = Work._close

    def watched(self: Work, *given: object, **more: object) -> None:
        close(self, *given, **more)  # type: ignore[arg-type]
        held.append(len(self._entries.agents) + len(self._entries.outcomes))

    monkeypatch.setattr(Work, "_close", watched)
    graph = make_graph(tmp_path / "graph", 60)
    done = run_cell(memory_cell(graph, 10), Transport(tmp_path / "results", progress=False))
    assert done.data["counts"]["ok"] == 60
    assert len(held) == 60
    assert max(held) <= 4  # those in flight
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    assert len(read_journal(folder).outcomes) == 60


@pytest.mark.slow
def test_resident_memory_is_flat(tmp_path: Path) -> None:
    graph = make_graph(tmp_path / "graph", 1500)
    transport = Transport(tmp_path / "results", progress=False)
    done = run_cell(memory_cell(graph, 150), transport)
    assert done.data["counts"]["ok"] == 1500
    first, last = fault_memory.Sampled.samples[1], fault_memory.Sampled.samples[-1]
    assert last <= 1.05 * first
