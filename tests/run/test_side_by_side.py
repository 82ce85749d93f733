"""Jobs in processes of their own: a killed one loses itself only, Ctrl-C starts no other."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.records import Completion, Message, Usage

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass
class Slow:
    """A tenth of a second a call."""

    identity: ClassVar[dict[str, str]] = {"backbone": "slow"}
    label: ClassVar[str] = "slow"
    is_llm: ClassVar[bool] = False

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        await asyncio.sleep(0.1)
        return Completion(Message("assistant", "hm"), Usage(1), "stop", "m")


@pytest.fixture
def sweep(tmp_path: Path, data_root_path: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(REPOSITORY), str(HERE)])
    env = {**os.environ, "ARK_DATA": str(data_root_path), "PYTHONPATH": path}
    words = "graph=toy split=all backbone=random backbone.target=test_side_by_side:Slow n_jobs=2"
    command = [sys.executable, "run.py", "-m", *words.split(), "seed=0,1,2,3"]
    command += ["method.max_steps=3", f"results_dir={tmp_path}"]
    process = subprocess.Popen(
        command,
        env=env,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    waited = time.monotonic() + 120
    while len(list(tmp_path.glob("runs/*/journal.jsonl"))) < 2 and time.monotonic() < waited:
        time.sleep(0.05)
    return process


def children(process: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not listed.is_file():
        pytest.skip("this system does not list a process's children")
    found = [int(pid) for pid in listed.read_text().split()]
    return [p for p in found if b"spawn_main" in Path(f"/proc/{p}/cmdline").read_bytes()]


def test_a_killed_process_loses_its_own_job_only(sweep: subprocess.Popen[str]) -> None:
    os.kill(children(sweep)[0], signal.SIGKILL)
    output = sweep.communicate(timeout=180)[0]
    assert sweep.returncode == 1
    assert "3 results read from 3 runs." in output
    assert "1 of 4 jobs failed" in output
    assert "its process ended without a word" in output


def test_ctrl_c_starts_no_other_job(sweep: subprocess.Popen[str], tmp_path: Path) -> None:
    os.killpg(sweep.pid, signal.SIGINT)
    output = sweep.communicate(timeout=180)[0]
    assert sweep.returncode == 130, output
    assert "resume: python run.py -m " in output
    assert len(list(tmp_path.glob("runs/*/journal.jsonl"))) == 2


def test_nobody_goes_on_when_the_main_process_dies(sweep: subprocess.Popen[str]) -> None:
    workers = children(sweep)
    assert len(workers) == 2
    os.kill(sweep.pid, signal.SIGKILL)
    sweep.communicate()
    waited = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < waited:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
