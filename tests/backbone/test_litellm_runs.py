"""Whole runs on ``backbone=litellm`` against a real HTTP server that thinks with our rules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from chat_server import NAME, ChatServer, Request, dead_url, reply, serving, think

REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = "c0ffee0123456789c0ffee"
MODEL = "openai/rules"

# Runs before anything else in a process on whose path it lies: notes every host but loopback.
WATCH = """
import os, socket
open(os.environ["WATCH_FILE"], "a").close()
_resolve, _connect = socket.getaddrinfo, socket.socket.connect
def _note(host):
    if str(host) not in ("127.0.0.1", "localhost", "::1", "None"):
        with open(os.environ["WATCH_FILE"], "a") as file:
            file.write(f"{host}\\n")
        raise OSError("refused by the test")
def getaddrinfo(host, *rest, **more):
    _note(host)
    return _resolve(host, *rest, **more)
def connect(self, address):
    if self.family != socket.AF_UNIX:
        _note(address[0])
    _connect(self, address)
socket.getaddrinfo, socket.socket.connect = getaddrinfo, connect
"""


@pytest.fixture
def command(
    outside: list[str], monkeypatch: pytest.MonkeyPatch, data_root_path: Path
) -> ModuleType:
    """``run.py`` as a module: its main is what the command line runs."""
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-servers-of-ones-own")
    monkeypatch.syspath_prepend(str(REPOSITORY))
    import run

    return run


def cell(results: Path, url: str, *more: str, backbone: str = "litellm") -> list[str]:
    return [
        "graph=toy",
        "split=all",
        "method.agents=1",
        f"backbone={backbone}",
        f"backbone.model={MODEL}",
        f"backbone.api_base={url}",
        f"results_dir={results}",
        *more,
    ]


def result(output: str) -> dict[str, Any]:
    last = output.splitlines()[-1]
    data: dict[str, Any] = json.loads(Path(last.removeprefix("result: ")).read_text())
    return data


def measures(data: dict[str, Any]) -> str:
    return json.dumps([data["measures"], data["strata"]])


def lexical(
    command: ModuleType, capsys: pytest.CaptureFixture[str], results: Path
) -> dict[str, Any]:
    arguments = ["graph=toy", "split=all", "method.agents=1", f"results_dir={results}"]
    assert command.main(arguments) == 0
    return result(capsys.readouterr().out)


def test_a_whole_run_over_http_equals_the_rules_in_process(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = lexical(command, capsys, tmp_path / "lexical")
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    watched = tmp_path / "watched"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "watch"), str(REPOSITORY)]),
        "WATCH_FILE": str(watched),
        "MY_KEY": SECRET,
    }
    more = ["backbone.api_key_env=MY_KEY", "backbone.params={top_k: 3}", "backbone.timeout=60"]
    with serving() as server:
        done = subprocess.run(
            [sys.executable, "run.py", *cell(tmp_path / "results", server.url, *more)],
            cwd=REPOSITORY,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert f"ARK · {MODEL}" in done.stdout
    assert watched.read_text() == ""  # it watched, and saw no other host
    data = result(done.stdout)
    assert measures(data) == measures(wanted)
    assert data["counts"] == wanted["counts"]
    _check_usage(data, server, wanted)
    _check_requests(server, data)
    written = [p for p in (tmp_path / "results").rglob("*") if p.is_file()]
    assert len(written) > 5
    texts = [done.stdout, done.stderr, *(p.read_text(errors="replace") for p in written)]
    assert not any(SECRET in t or server.url in t or "sk-not-for" in t for t in texts)


def _check_usage(data: dict[str, Any], server: ChatServer, wanted: dict[str, Any]) -> None:
    calls = len(server.requests)
    assert data["usage"]["calls"] == calls == wanted["usage"]["calls"]
    assert data["usage"]["prompt_tokens"] == 11 * calls
    assert data["usage"]["completion_tokens"] == 7 * calls
    assert data["usage"]["cost"] is None
    assert (data["lost"]["calls"], data["lost"]["tokens"]) == (0, 0)


def _check_requests(server: ChatServer, data: dict[str, Any]) -> None:
    assert data["cell"]["identity"]["backbone"]["model"] == MODEL
    for request in server.requests:
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        assert set(request.body) == {"model", "messages", "tools", "tool_choice", "top_k"}
        assert request.body["tool_choice"] == "required"
        names = [t["function"]["name"] for t in request.body["tools"]]
        assert {"search_in_graph", "finish"} < set(names)


def test_the_other_client_makes_the_same_run(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = lexical(command, capsys, tmp_path / "lexical")
    with serving() as server:
        assert command.main(cell(tmp_path / "results", server.url, backbone="openai")) == 0
    data = result(capsys.readouterr().out)
    assert measures(data) == measures(wanted)
    _check_usage(data, server, wanted)
    assert {line["model"] for line in journal(tmp_path / "results") if "model" in line} == {NAME}


def trajectories(results: Path) -> list[list[dict[str, Any]]]:
    """Messages of each question; names of calls left out."""
    (file,) = results.glob("runs/*/trajectories.jsonl")
    lines = [json.loads(line)["messages"] for line in file.read_text().splitlines()]
    for message in (m for messages in lines for m in messages):
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            del call["id"]
    return sorted(lines, key=str)


@pytest.mark.parametrize("mode", ["schema", "prompt"])
def test_calls_written_as_text_leave_the_same_trajectories(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path, mode: str
) -> None:
    said: dict[tuple[str, int], str] = {}

    def place(request: Request) -> tuple[str, int]:
        entries = request.body["messages"]
        return entries[1]["content"], sum(m["role"] == "assistant" for m in entries)

    with serving() as server:
        assert command.main(cell(tmp_path / "a", server.url, backbone="openai")) == 0
        for request in server.requests:
            (choice,) = think(request.body)["choices"]
            calls = [c["function"] for c in choice["message"]["tool_calls"]]
            said[place(request)] = "\n".join(map(json.dumps, calls))

    def write(request: Request, _number: int) -> Any:
        assert "tools" not in request.body
        return reply({"role": "assistant", "content": said[place(request)]})

    with serving(write) as server:
        words = cell(tmp_path / "b", server.url, f"backbone.tool_mode={mode}", backbone="openai")
        assert command.main(words) == 0
    assert trajectories(tmp_path / "a") == trajectories(tmp_path / "b")
    assert len({str(t) for t in trajectories(tmp_path / "b")}) > 5


def questions(results: Path) -> list[dict[str, Any]]:
    (file,) = results.glob("runs/*/queries.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def journal(results: Path) -> list[dict[str, Any]]:
    (file,) = results.glob("runs/*/journal.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def asked(request: Request) -> str:
    (question,) = [m["content"] for m in request.body["messages"] if m["role"] == "user"]
    return str(question)


def test_failed_calls_fail_their_questions_and_are_made_again_when_the_server_recovers(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = lexical(command, capsys, tmp_path / "lexical")
    results = tmp_path / "results"
    faults = [(429, "Slow down"), (500, "Oops"), "reset", {"choices": []}]
    texts: list[str] = [q["text"] for q in questions(tmp_path / "lexical")]
    bad = dict(zip(texts[::3], faults, strict=False))
    assert len(bad) >= 3

    def plan(request: Request, _number: int) -> Any:
        return bad.get(asked(request))

    with serving(plan) as server:
        arguments = cell(results, server.url, "retry.attempts=1")
        assert command.main(arguments) == 1
        first = result(capsys.readouterr().out)
        assert first["counts"]["failed"] == len(bad)
        assert first["measures"]["hit@1"]["n"] == len(texts)  # failures stay in the mean
        lines = {line["query"]: line for line in journal(results) if line["kind"] == "query"}
        errors = [line["error"] for line in lines.values() if line["status"] == "failed"]
        assert len(errors) == len(bad)
        assert all(e.startswith("RetryableError: openai/rules: ") for e in errors)
        assert any("429" in e for e in errors)
        once = len(server.requests)
        answered = once - len(bad)  # one call each, and none was made twice
        assert first["usage"]["calls"] in (answered, once)
        bad.clear()
        assert command.main(arguments) == 0
        captured = capsys.readouterr()
        assert "resuming" in captured.err
        second = result(captured.out)
    assert measures(second) == measures(wanted)
    assert second["usage"]["calls"] == wanted["usage"]["calls"]
    assert len(server.requests) - once == wanted["usage"]["calls"] - answered


def test_the_server_sees_no_question_ids(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with serving() as server:
        assert command.main(cell(tmp_path, server.url, "limit=3", "method.agents=2")) == 0
    asked_for = questions(tmp_path)
    assert {asked(r) for r in server.requests} == {q["text"] for q in asked_for}
    for query in asked_for:
        whole = re.compile(rf"(?<![\w-]){re.escape(query['id'])}(?![\w-])")
        assert not any(whole.search(r.text) for r in server.requests)
    assert result(capsys.readouterr().out)["counts"]["ok"] == 3
    models = {line["model"] for line in journal(tmp_path) if line["kind"] == "agent"}
    assert models == {NAME}


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (None, "no server answers at URL: start it"),
        ((401, f"Incorrect API key: {SECRET}"), "check the key in MY_KEY"),
        ((404, "The model `rules` does not exist."), "no model openai/rules"),
        ((400, "tool_choice is not supported"), "tool_choice is not supported"),
    ],
    ids=["dead", "bad key", "unknown model", "bad request"],
)
def test_what_no_question_can_survive_stops_the_run_with_one_line(
    command: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fault: Any,
    wanted: str,
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    with serving(lambda _request, _number: fault) as server:
        url = dead_url() if fault is None else server.url
        code = command.main(cell(tmp_path, url, "backbone.api_key_env=MY_KEY"))
    captured = capsys.readouterr()
    assert code == 4
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("error: ")
    assert wanted.replace("at URL", f"at {url}") in captured.err
    assert SECRET not in captured.err
    assert journal(tmp_path) == []  # no question was failed for it
    assert len(server.requests) <= 4  # those in flight


def complaint(
    command: ModuleType, capsys: pytest.CaptureFixture[str], arguments: Sequence[str]
) -> str:
    assert command.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


def test_mistakes_are_one_line(
    command: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here = ["graph=toy", "backbone=litellm", f"results_dir={tmp_path}"]
    assert "backbone.model=PROVIDER/NAME" in complaint(command, capsys, here)
    wrong = [*here, "backbone.model=openai/x", "backbone.tempratur=1"]
    assert "did you mean backbone.temperature" in complaint(command, capsys, wrong)
    wrong = [*here, "backbone.model=openai/x", "+backbone.params.api_key=x"]
    assert "backbone.api_key_env" in complaint(command, capsys, wrong)
