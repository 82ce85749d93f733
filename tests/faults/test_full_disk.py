"""A full disk, a folder that became read-only: one line, nothing lost, and on it goes."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_runs import (
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


@pytest.fixture(scope="module")
def whole(
    graph: Path,
    server: FaultServer,
    tmp_path_factory: pytest.TempPathFactory,
    data_root_path: Path,
) -> dict[str, Any]:
    given = arguments(graph, server.url, tmp_path_factory.mktemp("whole"), "cache.mode=off")
    code, out, err = finish(start(given, data_root_path))
    assert (code, err) == (0, "")
    return result_of(out)


def complaint(given: list[str], data: Path) -> str:
    """The one line of a run that cannot write."""
    code, out, err = finish(start(given, data))
    assert (code, out) == (2, ""), err
    assert len(err.splitlines()) == 1, err
    assert err.startswith("error: ")
    return err


def fill(folder: Path, room: int) -> None:
    """Leave so many bytes free."""
    free = os.statvfs(folder)
    (folder / BALLAST).write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - room)))


@pytest.mark.parametrize("cache", ["off", "read_write"])
def test_a_full_disk_is_one_line_and_the_run_goes_on_once_there_is_space(
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
    data_root_path: Path,
    cache: str,
) -> None:
    more = [f"cache.mode={cache}", f"cache.path={tmp_path / 'cache.sqlite'}"]
    given = arguments(graph, server.url, small / "results", *more)
    fill(small, 150_000)
    err = complaint(given, data_root_path)
    assert "No space left on device" in err
    assert "free space" in err
    assert "run the same command again" in err
    folder = run_folder(small / "results")
    ended = [x for x in rows(folder / "journal.jsonl") if x["kind"] == "agent"]
    assert ended  # it got somewhere
    paid = ledger(small / "results")
    (small / BALLAST).unlink()
    code, out, _ = finish(start(given, data_root_path))
    assert code == 0
    assert pure(result_of(out)) == pure(whole)
    assert ledger(small / "results").requests >= paid.requests  # what was paid stays in the books
    books = Counter((x["query"], x["agent"]) for x in rows(folder / "ledger.jsonl"))
    for line in ended:  # none was paid twice
        assert books[line["query"], line["agent"]] == line["steps"]
    assert not list((small / "results").rglob("*.new"))


def test_a_full_disk_at_the_cache_is_one_line_too(
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
    data_root_path: Path,
) -> None:
    more = ["cache.mode=read_write", f"cache.path={small / 'cache.sqlite'}"]
    given = arguments(graph, server.url, tmp_path / "results", *more)
    fill(small, 80_000)
    asked = len(server.requests)
    err = complaint(given, data_root_path)
    assert str(small / "cache.sqlite") in err
    assert "free space" in err
    assert "cache.mode=off" in err
    paid = ledger(tmp_path / "results").requests
    assert len(server.requests) - asked - 8 <= paid <= len(server.requests) - asked
    (small / BALLAST).unlink()
    code, out, _ = finish(start(given, data_root_path))
    assert code == 0
    assert pure(result_of(out)) == pure(whole)


def test_no_space_for_the_result_keeps_the_run(
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    data_root_path: Path,
) -> None:
    """The journal is whole, the table cannot be written: nothing is asked again."""
    given = arguments(graph, server.url, small / "results", "cache.mode=off")
    code, out, _ = finish(start(given, data_root_path))
    assert code == 0
    data = result_of(out)
    (result,) = run_folder(small / "results").glob("readings/*/result.json")
    result.unlink()
    fill(small, 0)
    asked = len(server.requests)
    err = complaint(given, data_root_path)
    assert "No space left on device" in err
    assert "run the same command again" in err
    (small / BALLAST).unlink()
    code, out, _ = finish(start(given, data_root_path))
    assert code == 0
    assert pure(result_of(out)) == pure(data) == pure(whole)
    assert len(server.requests) == asked
    assert not list((small / "results").rglob("*.new"))


def test_a_folder_that_became_read_only_is_one_line(
    graph: Path,
    server: FaultServer,
    whole: dict[str, Any],
    small: Path,
    tmp_path: Path,
    data_root_path: Path,
) -> None:
    cache = small / "cache.sqlite"
    results = tmp_path / "results"
    write = ["cache.mode=read_write", f"cache.path={cache}"]
    subprocess.run(["mount", "-o", "remount,size=20m", str(small)], check=True)
    code, out, _ = finish(start(arguments(graph, server.url, results, *write), data_root_path))
    assert code == 0
    assert pure(result_of(out)) == pure(whole)
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    others = tmp_path / "others"
    asked = len(server.requests)
    err = complaint(arguments(graph, server.url, others, *write), data_root_path)
    assert str(cache) in err
    assert "make it writable" in err
    err = complaint(arguments(graph, server.url, small / "results", "cache.mode=off"), data_root_path)
    assert str(small / "results") in err
    # What is only read is enough for ``read_only``: the same run, and nobody is asked.
    read = ["cache.mode=read_only", f"cache.path={cache}"]
    code, out, err = finish(start(arguments(graph, server.url, others, *read), data_root_path))
    assert (code, err) == (0, "")
    data = result_of(out)
    assert pure(data) == pure(whole)
    assert data["cache"]["misses"] == 0
    assert len(server.requests) == asked
