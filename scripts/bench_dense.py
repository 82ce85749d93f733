"""Time dense retrieval: encoding, file, search, and the stored form against others in numpy.

python scripts/bench_dense.py [GRAPH] [QUESTIONS]
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: one core for each side

import numpy as np

from ark.graph import KnowledgeGraph, data_root, open_or_build, source_for
from ark.queries import questions_for
from ark.search import BM25, Dense, Hybrid, Search, document
from ark.search.ann import FOUND, PACKAGE, Neighbours
from ark.search.encoder import Encoder, encoder_of
from ark.search.vectors import Vectors, to_grid, to_query

SAMPLE, LARGE, TURNS, BEST = 200, 300_000, 5, 10
Work = Callable[[Any], Any]


def row(what: str, value: str) -> None:
    """One line."""
    print(f"{what:<56} {value}", flush=True)


def median_ms(work: Work, items: Sequence[Any]) -> float:
    """Milliseconds of one call."""
    times = []
    for item in items:
        start = time.perf_counter()
        work(item)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def in_turns(kinds: dict[str, tuple[Work, Sequence[Any]]]) -> dict[str, float]:
    """Medians of several turns of each, so that a busy moment hits all."""
    times: dict[str, list[float]] = {what: [] for what in kinds}
    for _ in range(TURNS):
        for what, (work, items) in kinds.items():
            times[what].append(median_ms(work, items[:20]))
    return {what: statistics.median(found) for what, found in times.items()}


def encoding(graph: KnowledgeGraph, encoder: Encoder, questions: Sequence[str]) -> None:
    """Speed on this graph's texts, and what the grid changes of their cosines."""
    size = min(SAMPLE, graph.n_nodes)
    chosen = np.random.default_rng(0).choice(graph.n_nodes, size, replace=False)
    texts = [document(graph, int(i)) for i in chosen]
    start, cpu = time.perf_counter(), time.process_time()
    raw = encoder.encode(texts).astype(np.float64)
    wall, used = time.perf_counter() - start, time.process_time() - cpu
    row(f"encoding {size} texts of nodes", f"{size / wall:.0f} a second")
    row("  in a second of one core's time", f"{size / used:.0f}")
    row("encoding a question", f"{median_ms(lambda q: encoder.encode([q]), questions):.1f} ms")
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    error = [Vectors(to_grid(raw)).scores(to_query(q)) - raw @ q for q in raw[:20]]
    row("cosine, grid against double precision", f"{np.abs(error).max():.1e} apart at most")


def searching(graph: KnowledgeGraph, root: Path, questions: Sequence[str]) -> Dense:
    """A new question each time: its vector, all scores, the 100 best."""
    start = time.perf_counter()
    dense = Dense.open_or_build(graph, root)
    row(f"opening, or making, {graph.n_nodes:,} vectors", f"{time.perf_counter() - start:.2f} s")
    row("size of their file", f"{dense.vectors.grid.nbytes / 1e6:.1f} MB")
    searches: dict[str, Search] = {
        "dense": dense,
        "hybrid": Hybrid.open_or_build(graph, root),
        "bm25": BM25.open_or_build(graph, root),
    }
    for name, search in searches.items():
        asked = median_ms(partial(search.search, k=100), questions)
        row(f"{name}: 100 best, new question", f"{asked:.1f} ms")
    return dense


def scoring(vectors: Vectors, queries: Sequence[Any]) -> None:
    """The product alone: whole numbers against floating point of both widths."""
    single = vectors.grid.astype(np.float32) / 32767
    half = single.astype(np.float16)
    units = [(q / 2.0**30).astype(np.float32) for q in queries]
    kinds: dict[str, tuple[Work, Sequence[Any]]] = {
        "int16, exact sums (this)": (vectors.scores, queries),
        "float32": (lambda q: single @ q, units),
        "float16, widened in blocks": (lambda q: _widened(half, q), units),
    }
    for what, ms in in_turns(kinds).items():
        row(f"scoring {len(vectors):,}, {what}", f"{ms:.1f} ms")


def _widened(stored: Any, query: Any) -> Any:
    """Halves have no fast product in numpy."""
    out = np.empty(len(stored), np.float32)
    for start in range(0, len(stored), 512):
        out[start : start + 512] = stored[start : start + 512].astype(np.float32) @ query
    return out


def large() -> None:
    """As many vectors as a large graph has, at random."""
    rng = np.random.default_rng(0)
    stored = Vectors(rng.integers(-4000, 4000, (LARGE, 384), dtype=np.int16))
    queries = [to_query(q) for q in rng.standard_normal((10, 384))]
    row(f"scoring {LARGE:,}, int16", f"{median_ms(stored.scores, queries):.0f} ms")


def neighbours(vectors: Vectors, queries: Sequence[Any]) -> None:
    """The index for graphs that are larger still, on these vectors."""
    if importlib.util.find_spec(PACKAGE) is None:
        row("approximate neighbours", f"{PACKAGE} is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        index = Neighbours.open_or_build(vectors.grid, Path(folder) / "vectors")
        row("approximate neighbours, building", f"{time.perf_counter() - start:.1f} s")
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        row("  size of the file", f"{size / 1e6:.1f} MB")
        row(f"  {FOUND} nearest", f"{median_ms(lambda q: index.near(q, FOUND), queries):.1f} ms")
        for best in (BEST, 100):
            found = [np.argsort(-vectors.scores(q), kind="stable")[:best] for q in queries]
            kept = [np.isin(a, index.near(q, FOUND)) for a, q in zip(found, queries, strict=True)]
            row(f"  of the {best} best, found", f"{np.mean(kept):.4f}")


def main() -> None:
    """Build if needed, then measure."""
    name = sys.argv[1] if len(sys.argv) > 1 else "hpo"
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    root, encoder = data_root(), encoder_of("minilm", None, 256)
    graph = open_or_build(source_for(name), root)
    questions = [q.text for q in questions_for(graph, name, root) if q.split == "test"][:most]
    queries = [to_query(vector) for vector in encoder.encode(questions)]
    encoding(graph, encoder, questions)
    dense = searching(graph, root, questions)
    scoring(dense.vectors, queries)
    large()
    neighbours(dense.vectors, queries)


if __name__ == "__main__":
    main()
