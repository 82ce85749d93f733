"""Time opening a built graph in a fresh process: python scripts/bench_open.py [GRAPH]."""

from __future__ import annotations

import subprocess
import sys

from ark.graph import data_root, graph_folder, open_or_build, source_for

CHILD = """
import resource, sys, time
from pathlib import Path
from ark.graph import KnowledgeGraph
start = time.perf_counter()
graph = KnowledgeGraph.open(Path(sys.argv[1]))
graph.neighbors(0)
seconds = time.perf_counter() - start
unit = 2**20 if sys.platform == "darwin" else 2**10
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
print(f"{graph.n_nodes} nodes, {graph.n_edges} edges: {seconds:.3f} s, peak {peak:.0f} MB RSS")
"""


def main() -> None:
    """Build if needed, then measure three fresh processes."""
    source = source_for(sys.argv[1] if len(sys.argv) > 1 else "hpo")
    open_or_build(source, data_root())
    folder = graph_folder(source, data_root())
    for _ in range(3):
        subprocess.run([sys.executable, "-c", CHILD, str(folder)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
