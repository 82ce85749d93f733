"""A full disk, a folder that became read-only: one line, nothing lost, and on it goes."""

from __future__ import annotations

import importlib
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_runs import (
    REPOSITORY,
    arguments,
    finish,
    ledger,
    make_graph,
    pure,
    result_of,
    rows,
    run_folder,
    start,
)
from fault_server import FaultServer, serving

BALLAST = "ballast"
LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
sys.argv[0] = "run.py"
runpy.run_path("run.py", run_name="__main__")
"""


def mount(folder: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount(folder, "size=1m")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_graph(tmp_path_factory.mktemp("graph"), 16)


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving() as running:
        yield running


class Command:
    """``run.py`` with these arguments, in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, given: list[str]) -> tuple[int, str, str]:
        code = importlib.import_module("run").main(given)
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def result(self, given: list[str]) -> dict[str, Any]:
        code, out, err = self(given)
        assert code == 0, err
        return result_of(out)

    def complaint(self, given: list[str]) -> str:
        """The one line of a run that cannot write."""
        code, out, err = self(given)
        assert (code, out) == (2, ""), err
        # A run that goes on says so first.
        return one_complaint([x for x in err.splitlines() if not x.startswith("resuming ")])


def one_complaint(lines: list[str]) -> str:
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data_root_path: Path
) -> Command:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(REPOSITORY))
    return Command(capsys)


@pytest.fixture
def whole(command: Command, graph: Path, server: FaultServer, tmp_path: Path) -> dict[str, Any]:
    """The undisturbed run."""
    return command.result(arguments(graph, server.url, tmp_path / "whole", "cache.mode=off"))


def fill(folder: Path, room: int) -> None:
    """Leave so many bytes free."""
    free = os.statvfs(folder)
    (folder / BALLAST).write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - room)))


@pytest.mark.parametrize("cache", ["off", "read_write"])
def test_a_full_disk_is_one_line_and_the_run_goes_on_once_there_is_space(
    command: Command,
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
    cache: str,
) -> None:
    more = [f"cache.mode={cache}", f"cache.path={tmp_path / 'cache.sqlite'}"]
    given = arguments(graph, server.url, small / "results", *more)
    fill(small, 150_000)
    err = command.complaint(given)
    assert "No space left on device" in err
    assert "free space" in err
    assert "run the same command again" in err
    folder = run_folder(small / "results")
    ended = [x for x in rows(folder / "journal.jsonl") if x["kind"] == "agent"]
    assert ended  # it got somewhere
    paid = ledger(small / "results")
    (small / BALLAST).unlink()
    data = command.result(given)
    assert pure(data) == pure(whole)
    assert ledger(small / "results").requests >= paid.requests  # what was paid stays in the books
    books = Counter((x["query"], x["agent"]) for x in rows(folder / "ledger.jsonl"))
    for line in ended:  # none was paid twice
        assert books[line["query"], line["agent"]] == line["steps"]
    assert not list((small / "results").rglob("*.new"))


def test_a_full_disk_at_the_cache_is_one_line_too(
    command: Command,
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
) -> None:
    more = ["cache.mode=read_write", f"cache.path={small / 'cache.sqlite'}"]
    given = arguments(graph, server.url, tmp_path / "results", *more)
    fill(small, 80_000)
    asked = len(server.requests)
    err = command.complaint(given)
    assert str(small / "cache.sqlite") in err
    assert "free space" in err
    assert "cache.mode=off" in err
    paid = ledger(tmp_path / "results").requests
    assert len(server.requests) - asked - 8 <= paid <= len(server.requests) - asked
    (small / BALLAST).unlink()
    data = command.result(given)
    assert pure(data) == pure(whole)


def test_no_space_for_the_result_keeps_the_run(
    command: Command,
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
) -> None:
    """The journal is whole, the table cannot be written: nothing is asked again."""
    given = arguments(graph, server.url, small / "results", "cache.mode=off")
    data = command.result(given)
    (result,) = run_folder(small / "results").glob("readings/*/result.json")
    result.unlink()
    fill(small, 0)
    asked = len(server.requests)
    err = command.complaint(given)
    assert "No space left on device" in err
    assert "run the same command again" in err
    (small / BALLAST).unlink()
    assert pure(command.result(given)) == pure(data) == pure(whole)
    assert len(server.requests) == asked
    assert not list((small / "results").rglob("*.new"))


def test_a_folder_that_became_read_only_is_one_line(
    command: Command,
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
) -> None:
    cache = small / "cache.sqlite"
    results = tmp_path / "results"
    write = ["cache.mode=read_write", f"cache.path={cache}"]
    subprocess.run(["mount", "-o", "remount,size=20m", str(small)], check=True)
    data = command.result(arguments(graph, server.url, results, *write))
    assert pure(data) == pure(whole)
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    others = tmp_path / "others"
    asked = len(server.requests)
    err = command.complaint(arguments(graph, server.url, others, *write))
    assert str(cache) in err
    assert "make it writable" in err
    err = command.complaint(arguments(graph, server.url, small / "results", "cache.mode=off"))
    assert str(small / "results") in err
    # What is only read is enough for ``read_only``: the same run, and nobody is asked.
    read = ["cache.mode=read_only", f"cache.path={cache}"]
    data = command.result(arguments(graph, server.url, others, *read))
    assert pure(data) == pure(whole)
    assert data["cache"]["misses"] == 0
    assert len(server.requests) == asked


def test_a_limit_on_the_size_of_files_is_one_line_and_the_run_goes_on_without_it(
    command: Command,
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    tmp_path: Path,
    data_root_path: Path,
) -> None:
    """A quota, where no file system can be mounted: ``write`` fails in the middle of a line."""
    given = arguments(graph, server.url, tmp_path / "results", "cache.mode=off")
    code, out, err = finish(start(given, data_root_path, ("-c", LIMITED)))
    assert (code, out) == (2, "")
    assert "File too large" in one_complaint(err.splitlines())
    folder = run_folder(tmp_path / "results")
    assert (folder / "trajectories.jsonl").stat().st_size == 70_000
    assert pure(command.result(given)) == pure(whole)
    for name in ("trajectories.jsonl", "journal.jsonl", "ledger.jsonl"):
        assert rows(folder / name)
