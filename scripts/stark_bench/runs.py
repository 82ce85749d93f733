"""What is measured through the doors that users take: converted folders, and ``run.py`` itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ark.graph import KnowledgeGraph, build_graph, graph_folder, source_for
from ark.search import BM25
from stark_bench import jobs
from stark_bench.jobs import SETTINGS, Numbers, queries, watched
from stark_bench.made import SEED, Size, write_folder

REPOSITORY = Path(__file__).resolve().parents[2]
TENTH = 0.1  # of AMAZON: its records would take 15 GB of memory
CANDIDATES = {"mag": ("paper",), "amazon": ("product",)}
SPLITS = {"train": 7_993, "val": 2_665, "test": 2_665}  # MAG's questions
GOLD = (1, 1, 1, 1, 1, 2, 3, 4, 6, 9)  # answers of a question: half have one, 2.9 on average


def folder(work: Path, scale: float, name: str = "prime") -> Numbers:
    """Write a folder in the official format; not what is measured."""
    write_folder(Size(name, scale * (TENTH if name == "amazon" else 1)), work / "official")
    return {}


def convert(work: Path, _scale: float, name: str = "prime") -> Numbers:
    """Convert that folder: hash, read, documents, store."""
    out: Numbers = {}
    with watched(out):
        built = build_graph(source_for(name, root=str(work / "official")), work)
    graph = KnowledgeGraph.open(built)
    match = graph.manifest["notes"]["counts_match_official"]
    return out | {"nodes": graph.n_nodes, "edges": graph.n_edges, "counts_match": match}


def _converted(work: Path, name: str) -> KnowledgeGraph:
    return KnowledgeGraph.open(graph_folder(source_for(name, root=str(work / "official")), work))


def candidates(work: Path, _scale: float, name: str) -> Numbers:
    """Index the candidates of a converted graph, as ``search=stark`` does."""
    graph = _converted(work, name)
    out: Numbers = {}
    with watched(out):
        BM25.open_or_build(graph, work, replace(SETTINGS, types=CANDIDATES[name]))
    count = sum(len(graph.of_type(kind)) for kind in CANDIDATES[name])
    stored = (work / "indexes" / graph.content_hash[:12]).rglob("*")
    megabytes = sum(f.stat().st_size for f in stored if f.is_file()) / 2**20
    return out | {"documents": count, "stored_mb": megabytes}


def questions(work: Path, scale: float) -> Numbers:
    """Question files as published, with the published counts, for the converted MAG."""
    graph, rng = _converted(work, "mag"), random.Random(SEED)
    counts = {name: max(4, round(count * scale)) for name, count in SPLITS.items()}
    asked = queries(graph, sum(counts.values()))
    papers = graph.of_type("paper")
    place = work / "official" / "mag"
    for name in ("stark_qa", "split"):
        (place / name).mkdir(parents=True, exist_ok=True)
    rows = ["id,query,answer_ids"]
    for i, (text, paper) in enumerate(asked):
        more = rng.choice(GOLD) - 1
        gold = [paper, *(int(papers[rng.randrange(len(papers))]) for _ in range(more))]
        rows.append(f'{i},{text},"{gold}"')
    (place / "stark_qa" / "stark_qa.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    ids = list(range(len(asked)))
    rng.shuffle(ids)
    ends = {name: sum(list(counts.values())[: n + 1]) for n, name in enumerate(counts)}
    parts = {name: ids[end - counts[name] : end] for name, end in ends.items()}
    parts["test-0.1"] = parts["test"][: max(1, counts["test"] // 10)]
    for name, part in parts.items():
        (place / "split" / f"{name}.index").write_text("\n".join(map(str, part)), encoding="utf-8")
    return {"questions": len(asked), "test": counts["test"]}


def run(work: Path, _scale: float) -> Numbers:
    """``python run.py`` on the test split in a process of its own, from nothing to its result."""
    results = work / "results" / f"{time.time_ns()}"  # a new one: a finished run is not run again
    words = ["graph=mag", f"graph.root={work / 'official'}", "method=bm25", "search=stark"]
    command = [sys.executable, str(REPOSITORY / "run.py"), *words, "split=test"]
    start, cpu = time.perf_counter(), sum(os.times()[2:4])
    done = subprocess.run(  # noqa: S603 (our own script, fixed words)
        [*command, f"results_dir={results}", "progress=false"],
        env={**os.environ, "ARK_DATA": str(work)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - start
    file = Path(done.stdout.splitlines()[-1].removeprefix("result: "))
    found = json.loads(file.read_text(encoding="utf-8"))
    measures = found["measures"]
    assert all(measures[name]["low"] <= measures[name]["high"] for name in ("hit@1", "mrr"))
    return {
        "seconds": seconds,
        "cpu_seconds": sum(os.times()[2:4]) - cpu,
        "questions": found["counts"]["queries"],
        "ok": found["counts"]["ok"],
        "hit@1": measures["hit@1"]["mean"],
    }


JOBS: dict[str, Callable[..., Numbers]] = {
    **jobs.JOBS,
    **{job.__name__: job for job in (folder, convert, candidates, questions, run)},
}


def main(name: str, work: Path, scale: float, arguments: list[str]) -> None:
    """Run one job and write its numbers as the last line."""
    os.environ["ARK_DATA"] = str(work)
    sys.stdout.write(json.dumps(JOBS[name](work, scale, *arguments)) + "\n")
