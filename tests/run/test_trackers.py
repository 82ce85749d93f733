"""W&B offline, for real: one run for each cell, inside the run folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_wandb_offline_leaves_its_files_in_the_run_folder(
    tmp_path: Path, data_root_path: Path
) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB")}
    env |= {"ARK_DATA": str(data_root_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [
            sys.executable,
            str(REPOSITORY / "run.py"),
            "graph=toy",
            "split=all",
            "method=bm25",
            "tracker=wandb",
            "results_dir=results",
        ],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tracker:" not in done.stderr
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    (cell,) = (folder / "readings").iterdir()
    (offline,) = (folder / "wandb").glob("offline-run-*")
    assert offline.name.endswith(cell.name)
    assert not (tmp_path / "wandb").exists()
