"""Long work before the first question: Ctrl-C stops it at once and names the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SLOW = """
import time
from pathlib import Path

import numpy as np


class Slow:
    identity = {"name": "slow"}

    def ready(self):
        pass

    def encode(self, texts):
        here = Path(__file__).parent
        (here / "started").touch()
        for _ in range(600):
            time.sleep(0.1)
        (here / "ended").touch()
        return np.ones((len(texts), 2), dtype=np.float32)
"""


def test_ctrl_c_stops_the_making_of_vectors(tmp_path: Path, data_root_path: Path) -> None:
    (tmp_path / "slow_encoder.py").write_text(SLOW)
    words = ["graph=toy", "split=all", "method=dense", "method.encoder=slow_encoder:Slow"]
    command = [sys.executable, str(REPOSITORY / "run.py"), *words, f"results_dir={tmp_path}"]
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY)])
    env = {**os.environ, "ARK_DATA": str(data_root_path), "PYTHONPATH": path}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "started").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
    assert process.returncode == 130
    assert "resume: python run.py" in said
    assert not (tmp_path / "ended").exists()
