"""What is measured on our side. Each job runs in a process of its own and returns numbers."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ark.graph import KnowledgeGraph, build_graph, graph_folder
from ark.scoring import judge, parse_measure, score_row
from ark.search import BM25
from ark.search.settings import BM25Settings
from stark_bench.made import SEED, MadeSource, Size
from stark_bench.peer import median_ms, memory

FOUR = [parse_measure(name) for name in ("hit@1", "hit@5", "recall@20", "mrr")]
SETTINGS = BM25Settings(k1=1.5, b=0.75, tokenizer="bm25s", stopwords="english", documents="text")
CANDIDATES = 957_192  # AMAZON's products
QUESTIONS = 2_665  # of MAG's test split
K = 100
QUERY_WORDS = 10
Numbers = dict[str, Any]


@contextmanager
def watched(into: Numbers) -> Iterator[None]:
    """Seconds, those of CPU, and the peaks of RssAnon and of the whole resident set in MB."""
    done, start, cpu = threading.Event(), time.perf_counter(), sum(os.times()[:4])

    def watch() -> None:
        while not done.wait(0.05):
            into["anon_mb"] = max(into.get("anon_mb", 0.0), memory("RssAnon"))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        into["seconds"] = time.perf_counter() - start
        into["cpu_seconds"] = sum(os.times()[:4]) - cpu  # children that have ended too
        done.set()
        thread.join()
        into["anon_mb"] = max(into.get("anon_mb", 0.0), memory("RssAnon"))
        into["peak_mb"] = memory("VmHWM")


def ranking(candidates: int = CANDIDATES) -> tuple[list[int], list[int]]:
    """100 candidates and 4 gold answers, three of them ranked."""
    ranked = np.random.default_rng(SEED).permutation(candidates)[:K].tolist()
    return ranked, [ranked[6], ranked[2], ranked[40], (ranked[0] + 1) % candidates]


def folder_of(work: Path, scale: float) -> Path:
    """Where the MAG-size graph lies."""
    return graph_folder(MadeSource(Size("mag", scale), work), work)


def build(work: Path, scale: float) -> Numbers:
    """Draw the MAG-size graph and store it."""
    out: Numbers = {}
    with watched(out):
        build_graph(MadeSource(Size("mag", scale), work), work)
    graph = KnowledgeGraph.open(folder_of(work, scale))
    return out | {"nodes": graph.n_nodes, "edges": graph.n_edges}


def index(work: Path, scale: float) -> Numbers:
    """Build the BM25 index over every document."""
    graph = KnowledgeGraph.open(folder_of(work, scale))
    out: Numbers = {}
    with watched(out):
        BM25.open_or_build(graph, work, SETTINGS)
    stored = sum(f.stat().st_size for f in (work / "indexes").rglob("*") if f.is_file())
    return out | {"documents": graph.n_nodes, "stored_mb": stored / 2**20}


def score(_work: Path, _scale: float) -> Numbers:
    """``judge`` and four measures, as a run scores a question."""
    ranked, gold = ranking()

    def kept(node: int) -> bool:
        return 0 <= node < CANDIDATES

    def call() -> dict[str, float | None]:
        return score_row(judge(ranked, gold, keep=kept), FOUR)

    call()
    return {"ms": median_ms(call, 2_000), "values": call()}


def nodes_of(size: Size, count: int) -> list[int]:
    """Rows drawn evenly over all nodes."""
    drawn: list[int] = np.random.default_rng(SEED).integers(0, len(size.types), count).tolist()
    return drawn


def neighbours(work: Path, scale: float) -> Numbers:
    """``neighbors`` of 20,000 nodes drawn evenly, warm, and of the hub."""
    size = Size("mag", scale)
    graph = KnowledgeGraph.open(folder_of(work, scale))
    nodes = nodes_of(size, 20_000)
    took = np.empty(len(nodes))
    for _ in range(2):  # the first time reads pages
        for i, node in enumerate(nodes):
            start = time.perf_counter()
            graph.neighbors(node)
            took[i] = time.perf_counter() - start
    p50, p99 = np.quantile(took, (0.5, 0.99)) * 1000
    hub = median_ms(lambda: graph.neighbors(size.hub), 20)
    return {"p50_ms": p50, "p99_ms": p99, "hub_ms": hub, "hub": len(graph.neighbors(size.hub))}


def queries(graph: KnowledgeGraph, count: int) -> list[tuple[str, int]]:
    """(words of a paper's abstract, the paper): what a question that finds it would hold."""
    rng = np.random.default_rng(SEED + 3)
    papers = rng.choice(graph.of_type("paper"), count).tolist()
    texts = []
    for paper in papers:
        body = graph.text(paper).partition("abstract: ")[2].split("\n")[0].split()
        texts.append(" ".join(rng.choice(body, min(QUERY_WORDS, len(body)), replace=False)))
    return list(zip(texts, papers, strict=True))


def open_graph(work: Path, scale: float) -> Numbers:
    """Open, make 1,000 tool calls without a query."""
    return _tools(work, scale, searching=False)


def open_both(work: Path, scale: float) -> Numbers:
    """Open graph and index, make 1,000 tool calls, 200 of them searches, 200 ranked by a query."""
    return _tools(work, scale, searching=True)


def _tools(work: Path, scale: float, *, searching: bool) -> Numbers:
    from ark.agent.toolbox import Toolbox
    from ark.agent.tools import ToolOptions
    from ark.records import ToolCall
    from ark.search.keyword import Keyword

    start = time.perf_counter()
    graph = KnowledgeGraph.open(folder_of(work, scale))
    graph.neighbors(0)
    seconds, anon = time.perf_counter() - start, memory("RssAnon")
    words = queries(graph, 200)
    start = time.perf_counter()
    search: Any = BM25.open_or_build(graph, work, SETTINGS) if searching else Keyword(graph)
    index_seconds = time.perf_counter() - start
    size = Size("mag", scale)
    nodes = [size.hub, *nodes_of(size, 2_000)]
    box = Toolbox(graph, search, ToolOptions(details=True, intersection=True))
    box.handles.show(nodes)
    calls: list[tuple[str, dict[str, Any]]] = []
    for i in range(200):
        one, two, three, four = (box.handles.of(node) for node in nodes[4 * i : 4 * i + 4])
        asked = {"query": words[i][0]} if searching else {}
        calls += [
            ("search_in_graph", asked) if searching else ("show_node", {"node_index": three}),
            ("search_in_neighborhood", {"node_index": one, **asked}),
            ("search_in_neighborhood", {"node_index": four}),
            ("show_node", {"node_index": two}),
            ("common_neighbors", {"node_indices": [one, two]}),
        ]
    offered = {schema["function"]["name"] for schema in box.schemas}
    assert all(name in offered for name, _ in calls), offered
    start = time.perf_counter()
    valid = sum(
        box.execute(ToolCall(str(i), name, json.dumps(arguments))).valid
        for i, (name, arguments) in enumerate(calls)
    )
    return {
        "seconds": seconds,
        "index_seconds": index_seconds,
        "calls_seconds": time.perf_counter() - start,
        "valid": valid,
        "opened_anon_mb": anon,
        "anon_mb": memory("RssAnon"),
        "mapped_mb": memory("RssFile"),
    }


def _in_turns(asked: dict[str, Callable[[str], Any]], texts: list[str]) -> Numbers:
    """Milliseconds a query, median: in turns, so that what else runs here hits all alike."""
    took: dict[str, list[float]] = {name: [] for name in asked}
    for turn in range(6):
        for name, ask in asked.items():
            for text in texts:
                start = time.perf_counter()
                ask(text)
                if turn:  # the first one pages in and compiles
                    took[name].append((time.perf_counter() - start) * 1000)
    return {name: {"ms": float(np.median(all_))} for name, all_ in took.items()}


def search(work: Path, scale: float, *more: str) -> Numbers:
    """The same queries and index: ours, bm25s' numpy backend and ``more`` of its backends."""
    import bm25s

    from ark.search.kernel import numba_available
    from ark.search.stored import StoredIndex
    from ark.search.tokenizers import tokenizer

    graph = KnowledgeGraph.open(folder_of(work, scale))
    texts = [text for text, _ in queries(graph, 40)]
    ours = BM25.open_or_build(graph, work, SETTINGS)
    cut = tokenizer(SETTINGS.tokenizer, SETTINGS.stopwords)
    asked: dict[str, Callable[[str], Any]] = {"ours": lambda text: ours.search(text, K)}
    (folder,) = (work / "indexes").glob(f"{graph.content_hash[:12]}/bm25-*")
    stored = StoredIndex.open(folder)
    arrays = {name: getattr(stored, name) for name in ("data", "indices", "indptr")}
    numbers = {word: i for i, word in enumerate(stored.vocabulary)}
    for backend in ("numpy", *(more if numba_available() else ())):
        peer = bm25s.BM25(k1=SETTINGS.k1, b=SETTINGS.b, method=SETTINGS.method, backend=backend)
        peer.scores = {**arrays, "num_docs": stored.documents}
        peer.vocab_dict, peer.unique_token_ids_set = numbers, set(numbers.values())
        peer.nonoccurrence_array = None
        if backend == "numba":
            peer.activate_numba_scorer()

        def ask(text: str, peer: Any = peer, backend: str = backend) -> Any:
            chosen = "auto" if backend == "numpy" else "numba"
            return peer.retrieve(
                [cut(text)], k=K, show_progress=False, n_threads=0, backend_selection=chosen
            )

        asked[backend] = ask
        theirs = ask(texts[0]).scores[0].tolist()
        assert np.allclose([hit.score for hit in ours.search(texts[0], K)], theirs, atol=1e-5)
    return _in_turns(asked, texts)


def first(work: Path, scale: float) -> Numbers:
    """Graph, index and one answer; the imports of this process are told apart."""
    start = time.perf_counter()
    graph = KnowledgeGraph.open(folder_of(work, scale))
    ranked = BM25.open_or_build(graph, work, SETTINGS)
    opened = time.perf_counter() - start
    text = queries(graph, 1)[0][0]
    start = time.perf_counter()
    hits = ranked.search(text, K)
    answer = time.perf_counter() - start
    whole = time.time() - _process_start()
    return {"open_s": opened, "answer_s": answer, "process_s": whole, "hits": len(hits)}


def _process_start() -> float:
    """When this process began, as ``time.time`` counts (Linux; else now, and 0 s come out)."""
    stat = Path("/proc/self/stat")
    if not stat.is_file():
        return time.time()
    ticks = int(stat.read_text().rpartition(")")[2].split()[19])
    boot = next(
        int(line.split()[1])
        for line in Path("/proc/stat").read_text().splitlines()
        if line.startswith("btime")
    )
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def split(work: Path, scale: float) -> Numbers:
    """As many questions as MAG's test split: search, keep papers, score four measures."""
    graph = KnowledgeGraph.open(folder_of(work, scale))
    asked = queries(graph, max(10, round(QUESTIONS * scale)))
    ranked = BM25.open_or_build(graph, work, SETTINGS)
    start, rows = time.perf_counter(), []
    for text, paper in asked:
        nodes = [hit.node for hit in ranked.search(text, K)]
        judged = judge(nodes, [paper], keep=lambda node: graph.type(node) == "paper")
        rows.append(score_row(judged, FOUR))
    seconds = time.perf_counter() - start
    hit = sum(float(row["hit@1"] or 0) for row in rows) / len(rows)
    return {"seconds": seconds, "questions": len(asked), "hit@1": hit}


JOBS: dict[str, Callable[..., Numbers]] = {
    **{job.__name__: job for job in (build, index, score, neighbours, open_graph, open_both)},
    **{job.__name__: job for job in (search, first, split)},
}
