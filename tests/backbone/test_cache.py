"""The cache: every field changes the key, first answers stay, processes and kills do no harm."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ark.backbone.cache import Cache, key_of
from ark.backbone.limiter import Limiter
from ark.backbone.reliable import Reliable
from ark.errors import UserError
from ark.records import Completion, Message, ToolCall, Usage

_OPEN: list[Cache] = []


def opened(path: Path, mode: str = "read_write") -> Cache:
    """A cache that is closed when its test ends."""
    _OPEN.append(Cache(path, mode))
    return _OPEN[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


ANSWER = Completion(
    Message("assistant", None, (ToolCall("c1", "finish", "{}"),)),
    Usage(1, 100, 7, 0.25, cached_tokens=64, reasoning_tokens=3),
    "tool_calls",
    "model-2026-01-01",
    "fp_1",
)


class Counting:
    """Counts its calls; the answer names the draw."""

    label = "counting"

    def __init__(self, **identity: Any) -> None:
        self.identity: Mapping[str, Any] = {"model": "m", "temperature": 0.7, **identity}
        self.calls = 0

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        self.calls += 1
        text = f"answer {self.calls} to draw {how['draw']}"
        return Completion(Message("assistant", text), Usage(1, 10, 2, 0.5), "stop", "m-1")


BASE: dict[str, Any] = {
    "tag": "ark.step",
    "tools": [{"type": "function", "function": {"name": "finish", "parameters": {}}}],
    "tool_choice": "required",
    "schema": None,
    "draw": 0,
    "max_tokens": 100,
    "temperature": 0.7,
}
SAID = (Message("system", "be brief"), Message("user", "who?"))
OTHER: dict[str, tuple[dict[str, Any], tuple[Message, ...]]] = {
    "messages": ({}, (Message("system", "be brief."), Message("user", "who?"))),
    "order": ({}, SAID[::-1]),
    "tag": ({"tag": "tog.prune"}, SAID),
    "tools": ({"tools": None}, SAID),
    "tool_choice": ({"tool_choice": "auto"}, SAID),
    "schema": ({"schema": {"type": "object"}}, SAID),
    "draw": ({"draw": 1}, SAID),
    "max_tokens": ({"max_tokens": 101}, SAID),
    "temperature": ({"temperature": 0.0}, SAID),
}


def ask(backbone: Reliable, messages: Sequence[Message] = SAID, **how: Any) -> Completion:
    return asyncio.run(backbone.complete(messages, **{**BASE, **how}))


def reliable(inner: Counting, cache: Cache, seed: int = 0) -> Reliable:
    return Reliable(inner, Limiter(4), cache=cache, salt={"seed": seed})


@pytest.mark.parametrize("field", sorted(OTHER))
def test_every_field_of_a_call_changes_the_key(tmp_path: Path, field: str) -> None:
    inner = Counting()
    backbone = reliable(inner, opened(tmp_path / "c.sqlite"))
    first = ask(backbone)
    again = ask(backbone)
    assert inner.calls == 1
    assert again.message == first.message
    assert (first.usage.replayed, again.usage.replayed) == (0, 1)
    assert again.usage.cost == first.usage.cost == 0.5  # what it was worth, not what it costs now
    how, said = OTHER[field]
    ask(backbone, said, **how)
    assert inner.calls == 2


def test_model_sampling_and_seed_change_the_key(tmp_path: Path) -> None:
    cache = opened(tmp_path / "c.sqlite")
    for inner, seed in (
        (Counting(), 0),
        (Counting(), 1),
        (Counting(model="n"), 0),
        (Counting(temperature=0.0), 0),
        (Counting(params={"reasoning_effort": "low"}), 0),
    ):
        ask(reliable(inner, cache, seed))
        assert inner.calls == 1
    assert cache.counters.hits == 0
    assert cache.counters.written == 5


def test_an_answer_comes_back_whole_and_the_first_one_stays(tmp_path: Path) -> None:
    cache = opened(tmp_path / "deep" / "c.sqlite")
    key = key_of({"a": 1})
    assert cache.get(key) is None
    cache.put(key, ANSWER)
    cache.put(key, Completion(Message("assistant", "later"), Usage(), "stop", "m"))
    found = opened(tmp_path / "deep" / "c.sqlite").get(key)
    assert found is not None
    assert found.message == ANSWER.message
    assert (found.model, found.system_fingerprint) == ("model-2026-01-01", "fp_1")
    assert (found.usage.cost, found.usage.cached_tokens, found.usage.replayed) == (0.25, 64, 1)
    lone = Completion(Message("assistant", "half \ud83d"), Usage(1), "stop", "m")
    cache.put("surrogate", lone)
    assert cache.get("surrogate") is not None


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with pytest.raises(UserError, match="is not there, and cache.mode=read_only"):
        Cache(path, "read_only")
    with pytest.raises(UserError, match="did you mean read_only"):
        Cache(path, "readonly")
    opened(path).put("k", ANSWER)
    reader = opened(path, "read_only")
    reader.put("new", ANSWER)
    assert reader.get("k") is not None
    assert reader.get("new") is None
    off = opened(tmp_path / "none.sqlite", "off")
    off.put("k", ANSWER)
    assert off.get("k") is None
    assert not (tmp_path / "none.sqlite").exists()


def test_what_is_no_cache_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    with pytest.raises(UserError, match="cannot be used .*cache.mode=off") as caught:
        Cache(path)
    assert "\n" not in str(caught.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be used"):
        Cache(tmp_path / "file" / "c.sqlite")


def _fill(path: str, name: int) -> None:
    cache = Cache(Path(path))  # closed with its process
    for i in range(60):
        cache.put(f"{i % 40}", ANSWER)
        cache.put(f"{name}-{i}", ANSWER)


def test_many_processes_write_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "c.sqlite")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(path, n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert base.execute("SELECT count(*) FROM answers").fetchone() == (40 + 3 * 60,)
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_kill_in_mid_write_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    code = (
        "import itertools, sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_cache import ANSWER; from ark.backbone.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for i in itertools.count():\n"
        "    cache.put(str(i), ANSWER); print(i, flush=True)\n"
    )
    here = str(Path(__file__).parent)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), here], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < 25:
        pass
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    said = 25 + sum(1 for line in process.stdout if line.strip())
    process.stdout.close()
    process.wait()
    cache = opened(path)
    assert all(cache.get(str(i)) is not None for i in range(26))
    assert said >= 25
    cache.put("after", ANSWER)
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
