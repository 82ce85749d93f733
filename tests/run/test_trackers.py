"""Trackers tell what happened and nothing more, and no fault of theirs reaches the run."""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.records import Json
from ark.run.trackers import Careful, NoTracker, TensorboardTracker, WandbTracker
from ark.run.trackers.public import MOST_ROWS, config, per_query, scalars
from ark.run.trackers.wandb import mode

REPOSITORY = Path(__file__).resolve().parents[2]
PLANTED = {
    "WANDB_API_KEY": "f00dfeed" * 5,
    "OPENAI_API_KEY": "planted-openai-7f3a",
    "SOME_TOKEN": "planted-token-91bc",
    "DATABASE_PASSWORD": "planted-password-55",
}
# A tracker that never answers, and also holds the process with a thread and an exit hook.
HANGING = """
import atexit, threading
class Hanging:
    start_timeout = 0.2
    def start(self, cell):
        for_ever = threading.Event()
        atexit.register(for_ever.wait)
        threading.Thread(target=for_ever.wait).start()
        for_ever.wait()
    def finish(self, result):
        raise AssertionError("called again")
"""


def run(
    tmp_path: Path, data: Path, *arguments: str, code: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB")}
    env |= {"ARK_DATA": str(data), "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), **variables}
    command = [sys.executable, str(REPOSITORY / "run.py"), "graph=toy", "split=all", *arguments]
    done = subprocess.run(
        [*command, "method=bm25", "results_dir=results"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def result_of(done: subprocess.CompletedProcess[str]) -> tuple[Path, dict[str, Json]]:
    """The run folder and the result, by the last line of standard output."""
    path = Path(done.stdout.splitlines()[-1].removeprefix("result: "))
    return path.parents[2], json.loads(path.read_text())


# -- W&B, for real, offline ------------------------------------------------------------------------


def wandb_records(path: Path) -> Iterator[Any]:
    """Records of a .wandb file: protocol buffers in blocks of 32 KiB (the log form of LevelDB)."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or last part
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


def test_wandb_offline_holds_the_numbers_and_nothing_secret(
    tmp_path: Path, data_root_path: Path
) -> None:
    done = run(tmp_path, data_root_path, "tracker=wandb", WANDB_MODE="offline", **PLANTED)
    folder, result = result_of(done)
    (offline,) = (folder / "wandb").glob("offline-run-*")
    (file,) = offline.glob("run-*.wandb")
    records = list(wandb_records(file))
    (started,) = [r.run for r in records if r.WhichOneof("record_type") == "run"]
    assert started.run_id == result["cell"]["cell_id"]
    assert started.resume
    settings = {u.key: json.loads(u.value_json) for u in started.config.update}
    assert settings["graph"] == "toy"
    assert settings["identity"] == result["cell"]["identity"]
    items = [i for r in records for i in r.history.item]
    logged = {(i.key or "/".join(i.nested_key)): json.loads(i.value_json) for i in items}
    for name, estimate in result["measures"].items():
        assert [logged[name], logged[f"{name}/low"], logged[f"{name}/high"]] == [
            estimate["mean"],
            estimate["low"],
            estimate["high"],
        ]
    assert logged["counts/queries"] == result["counts"]["queries"]
    assert logged["usage/tokens"] == 0
    (table,) = (offline / "files" / "media" / "table").glob("*.json")
    table_data = json.loads(table.read_text())
    assert table_data["columns"][:3] == ["query", "status", "hit@1"]
    assert len(table_data["data"]) == result["counts"]["queries"]

    sent = b"".join(f.read_bytes() for f in (file, *(offline / "files").rglob("*")) if f.is_file())
    machine = [str(tmp_path), str(REPOSITORY), sys.executable, "run.py", "HOME"]
    if len(socket.gethostname()) > 3:  # shorter names are found by chance
        machine.append(socket.gethostname())
    for word in machine:
        assert word.encode() not in sent, word
    everything = b"".join(f.read_bytes() for f in folder.rglob("*") if f.is_file())
    for value in PLANTED.values():
        assert value.encode() not in everything
        assert value not in done.stdout + done.stderr


def test_wandb_without_a_key_is_offline_and_names_the_upload(
    tmp_path: Path, data_root_path: Path
) -> None:
    done = run(tmp_path, data_root_path, "tracker=wandb")
    folder, _ = result_of(done)
    (offline,) = (folder / "wandb").glob("offline-run-*")
    (line,) = [line for line in done.stderr.splitlines() if "wandb" in line]
    assert line.endswith(f"wandb sync {offline}")
    assert not (tmp_path / "wandb").exists()
    assert "artifacts" not in {p.name for p in tmp_path.rglob("*")}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "offline"),
        ({"WANDB_MODE": ""}, "offline"),
        ({"WANDB_API_KEY": "k"}, "online"),
        ({"WANDB_API_KEY": "k", "WANDB_MODE": "offline"}, "offline"),
        ({"WANDB_MODE": "online"}, "online"),
        ({"WANDB_MODE": "disabled"}, "disabled"),
    ],
)
def test_mode(environment: dict[str, str], expected: str) -> None:
    assert mode(environment) == expected


def test_timeouts_must_be_positive() -> None:
    with pytest.raises(UserError, match="must be > 0"):
        WandbTracker(start_timeout=0)


# -- TensorBoard -----------------------------------------------------------------------------------


def tensorboard_scalars(path: Path) -> dict[str, float]:
    """Scalars of an event file: length, its checksum, a protocol buffer, its checksum; repeated."""
    from tensorboardX.proto.event_pb2 import Event

    data, at, found = path.read_bytes(), 0, {}
    while at < len(data):
        (length,) = struct.unpack("<Q", data[at : at + 8])
        event = Event.FromString(data[at + 12 : at + 12 + length])
        at += 16 + length
        values = event.summary.value
        found |= {v.tag: v.simple_value for v in values if v.HasField("simple_value")}
    return found


def test_tensorboard_is_told_the_same(tmp_path: Path, data_root_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="pip install 'ark-harness[tensorboard]'")
    done = run(tmp_path, data_root_path, "tracker=tensorboard", **PLANTED)
    folder, result = result_of(done)
    (file,) = (folder / "tensorboard" / result["cell"]["cell_id"]).iterdir()
    assert file.name.removeprefix("events.out.tfevents.").isdigit()  # no host name
    found = tensorboard_scalars(file)
    expected = scalars(result)
    assert found.keys() == expected.keys() >= {"hit@1", "hit@1/low", "hit@1/high"}
    for name, value in expected.items():
        assert math.isclose(found[name], value, rel_tol=1e-6)  # single precision
    assert b'"graph": "toy"' in file.read_bytes()
    for value in PLANTED.values():
        assert value.encode() not in file.read_bytes()


# -- the guard -------------------------------------------------------------------------------------


class Bad:
    """Fails in the way that is asked for."""

    start_timeout = 0.05
    finish_timeout = 0.05

    def __init__(self, start: str = "", finish: str = "") -> None:
        self.ways = {"start": start, "finish": finish}
        self.calls: list[str] = []

    def start(self, cell: Mapping[str, Json]) -> None:
        self._do("start", cell)

    def finish(self, result: Mapping[str, Json]) -> None:
        self._do("finish", result)

    def _do(self, call: str, told: Mapping[str, Json]) -> None:
        self.calls.append(call)
        way = self.ways[call]
        if way == "raise":
            raise RuntimeError("no\nnetwork for https://me:pw@host with sk-0123456789")
        if way == "exit":
            sys.exit(3)
        if way == "interrupt":
            raise KeyboardInterrupt
        if way == "hang":
            threading.Event().wait()
        if way == "change":
            assert isinstance(told, dict)
            told["deep"]["value"] = 2
            told.clear()


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("raise", "RuntimeError: no network for https://[hidden]host with [hidden]"),
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt:"),
        ("change", ""),
    ],
)
def test_every_fault_costs_one_line(
    way: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Bad(way, way)
    guard = Careful(bad)
    told: dict[str, Json] = {"deep": {"value": 1}}
    guard.start(told)
    guard.finish(told)
    assert told == {"deep": {"value": 1}}
    assert bad.calls == ["start", "finish"]
    lines = capsys.readouterr().err.splitlines()
    assert lines == ([f"tracker: Bad: {said}; the run goes on"] * 2 if said else [])


@pytest.mark.parametrize("call", ["start", "finish"])
def test_a_hung_tracker_is_given_up_for_the_whole_sweep(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    abandoned = threading.Event()
    first, second = Bad(**{call: "hang"}), Bad()
    for tracker in (first, second):
        guard = Careful(tracker, abandoned)
        guard.start({})
        guard.finish({})
    assert first.calls == (["start"] if call == "start" else ["start", "finish"])
    assert second.calls == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "tracker: Bad: no answer in 0.05 s, not asked again; the run goes on"


def test_a_hung_tracker_cannot_hold_the_process(tmp_path: Path, data_root_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    done = run(tmp_path, data_root_path, "tracker=none", "tracker.target=hanging:Hanging")
    _, result = result_of(done)
    assert result["counts"]["ok"] == result["counts"]["queries"] > 0
    assert done.stderr.count("no answer in 0.2 s") == 1
    assert "called again" not in done.stderr


@pytest.mark.parametrize(
    ("tracker", "package"), [(WandbTracker(), "wandb"), (TensorboardTracker(), "tensorboardX")]
)
def test_a_missing_package_is_a_warning(
    tracker: WandbTracker | TensorboardTracker,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # Python's own way to say that it is absent
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    guard = Careful(tracker)
    guard.start({"cell_id": "c", "folder": str(tmp_path)})
    guard.finish({"measures": {}})
    (line,) = capsys.readouterr().err.splitlines()
    assert f"not installed: python -m pip install {package}; the run goes on" in line
    assert list(tmp_path.iterdir()) == []


def test_no_tracker_needs_no_thread() -> None:
    before = threading.active_count()
    Careful(NoTracker()).start({})
    assert threading.active_count() == before


# -- what may leave --------------------------------------------------------------------------------

SECRET = "planted/Secret+42="
plain = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=9)
)
trees = st.recursive(
    plain,
    lambda t: st.lists(t, max_size=3) | st.dictionaries(st.text(max_size=6), t, max_size=3),
    max_leaves=8,
)


@given(tree=trees, before=st.text(max_size=5), depth=st.integers(0, 3))
def test_no_secret_of_the_environment_survives_anywhere(
    tree: Json, before: str, depth: int
) -> None:
    os.environ["ARK_TEST_API_KEY"] = SECRET
    try:
        value: Json = [before + SECRET, {before + SECRET: tree}]
        for _ in range(depth):
            value = {"inner": [value, tree]}
        cleaned = json.dumps(config({"changed": value}))
    finally:
        del os.environ["ARK_TEST_API_KEY"]
    assert "Secret+42" not in cleaned


@pytest.mark.parametrize(
    "key",
    "api_key apiKey API_KEY key hf_token token password db-passwd Authorization extra_headers "
    "client_secret credentials environment env cookie".split(),
)
def test_keys_that_look_like_secrets_are_left_out(key: str) -> None:
    assert config({"identity": {key: "x", "k1": 1.2}}) == {"identity": {"k1": 1.2}}


@pytest.mark.parametrize("key", ["max_tokens", "tokens", "keyed", "monkey", "author", "envelope"])
def test_other_keys_stay(key: str) -> None:
    assert config({key: 5}) == {key: 5}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://me:pw@host:8000/v1", "http://host:8000/v1"),
        ("http://me:p@w@host/v1?api_key=abc#x y", "http://host/v1 y"),
        ("see https://a@b/c, d", "see https://b/c, d"),
        ("Bearer abcdef", "[hidden]"),
        ("openai/gpt-4.1", "openai/gpt-4.1"),
        ("/home/jane doe/runs/a.trec", "a.trec"),
        ("~/runs/a.trec", "a.trec"),
        ("C:\\Users\\jane\\a.trec", "a.trec"),
        ("read /home/jane/a.trec twice", "read a.trec twice"),
        ("and/or 1/2", "and/or 1/2"),
    ],
)
def test_texts_lose_credentials_and_folders(value: str, shown: str) -> None:
    assert config({"setting": value, "folder": "/x", "results": "/y"}) == {"setting": shown}


def test_unknown_numbers_are_left_out() -> None:
    result = {
        "measures": {"mrr": {"mean": 0.5, "low": math.nan, "high": None, "n": 3}},
        "counts": {"queries": 3, "agents_differ": None},
        "usage": {"cost": None, "calls": 0, "by_tag": {"x": {"calls": 9}}},
        "environment": {"cores": 2},
    }
    assert scalars(result) == {"mrr": 0.5, "counts/queries": 3, "usage/calls": 0}
    assert scalars({}) == {}


def test_the_table_has_a_limit_and_no_ranked_ids(tmp_path: Path) -> None:
    lines = [f'q{i},ok,{i % 2}.0,,"[""n1"", ""n2""]"' for i in range(MOST_ROWS + 5)]
    text = "\n".join(["query,status,hit@1,mrr,ranked", *lines])
    (tmp_path / "per_query.csv").write_text(text)
    columns, rows = per_query({"results": str(tmp_path)})
    assert columns == ["query", "status", "hit@1", "mrr"]
    assert len(rows) == MOST_ROWS
    assert rows[1] == ["q1", "ok", 1.0, None]


@pytest.mark.parametrize("cell", [{}, {"results": None}, {"results": "nowhere"}])
def test_without_a_file_there_is_no_table(cell: dict[str, Json]) -> None:
    assert per_query(cell) == ([], [])
