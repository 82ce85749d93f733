"""Time a first start in an empty cache: graph, index, questions, first and second run.

python scripts/bench_start.py [GRAPH]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ark.graph import open_or_build, source_for
from ark.queries import questions_for
from ark.search import BM25

T = TypeVar("T")
RUN = Path(__file__).resolve().parents[1] / "run.py"


def timed(what: str, work: Callable[[], T]) -> T:
    """Print the seconds that ``work`` takes."""
    start = time.perf_counter()
    out = work()
    print(f"{what:<28} {time.perf_counter() - start:7.1f} s", flush=True)
    return out


def main() -> None:
    """Build everything once, then run the main job twice."""
    name = sys.argv[1] if len(sys.argv) > 1 else "hpo"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        start = time.perf_counter()
        graph = timed("graph build", lambda: open_or_build(source_for(name), root))
        timed("index build", lambda: BM25.open_or_build(graph, root))
        timed("questions composed", lambda: questions_for(graph, name, root))
        print(f"{'together':<28} {time.perf_counter() - start:7.1f} s")
        command = [sys.executable, str(RUN), f"graph={name}", f"results_dir={root / 'results'}"]
        env = {**os.environ, "ARK_DATA": str(root)}

        def job() -> None:
            subprocess.run(command, check=True, env=env, capture_output=True)  # noqa: S603

        timed("python run.py", job)
        timed("python run.py, second time", job)


if __name__ == "__main__":
    main()
