"""The peer's side: stark-qa's evaluator and graph class, in an environment that has them.

Run by ``bench_stark.py`` with that environment's interpreter; prints one JSON line. Imports nothing
of this package but the worker file that loads the evaluator.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any


def memory(field: str) -> float:
    """A line of /proc/self/status in MB; 0 where there is none."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024


def median_ms(work: Any, calls: int) -> float:
    """Milliseconds of a call, median."""
    took = []
    for _ in range(calls):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return sorted(took)[len(took) // 2] * 1000


def score(worker: str, candidates: int, ranked: list[int], gold: list[int]) -> dict[str, Any]:
    """One call of the evaluator with four measures, on one thread and on the default number."""
    spec = importlib.util.spec_from_file_location("official_worker", worker)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch = importlib.import_module("torch")
    evaluator = module.load_evaluator()(list(range(candidates)))
    scores = {node: float(100 - rank) for rank, node in enumerate(ranked)}
    measures = ["hit@1", "hit@5", "recall@20", "mrr"]
    answer: dict[str, float] = {}

    def call() -> None:
        answer.update(evaluator(scores, torch.LongTensor(gold), measures))

    call()
    took = [median_ms(call, 7)]
    torch.set_num_threads(1)
    took.append(median_ms(call, 7))
    return {"ms": min(took), "values": {k: float(v) for k, v in answer.items()}}


def base_class() -> Any:
    """stark-qa's ``SKB``, without the imports of its package."""
    package = importlib.util.find_spec("stark_qa")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'stark_qa'")
    root = Path(package.submodule_search_locations[0])
    for name in ("stark_qa", "stark_qa.skb", "stark_qa.tools"):  # their imports are not wanted
        bare = ModuleType(name)
        bare.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = bare
    return importlib.import_module("stark_qa.skb.knowledge_base").SKB


def graph_class() -> dict[str, Any]:
    """Whether it can be used here: three nodes, one edge. Raises where a package is missing."""
    torch = importlib.import_module("torch")
    kinds, edge = torch.zeros(3, dtype=torch.int64), torch.tensor([[0], [2]])
    skb = base_class()(
        range(3),
        edge,
        node_type_dict={0: "0"},
        edge_type_dict={0: "0"},
        node_types=kinds,
        edge_types=kinds[:1],
    )
    found = [int(node) for node in skb.get_neighbor_nodes(2)]
    if found != [0]:
        raise ValueError(f"neighbours of node 2 are {found}, not [0]")
    return {}


def neighbours(folder: str, relations: int, nodes: list[int], hub: int) -> dict[str, Any]:
    """Load the stored edges into stark-qa's own base class and ask for neighbours."""
    torch, numpy = importlib.import_module("torch"), importlib.import_module("numpy")
    base = base_class()
    read = {
        name: torch.from_numpy(numpy.load(Path(folder) / f"{name}.npy").astype("int64"))
        for name in ("edge_source", "edge_target", "edge_relation", "type_ids")
    }
    before, start = memory("RssAnon"), (time.perf_counter(), time.process_time())
    skb = base(
        range(len(read["type_ids"])),
        torch.stack([read.pop("edge_source"), read.pop("edge_target")]),
        node_type_dict={i: str(i) for i in range(int(read["type_ids"].max()) + 1)},
        edge_type_dict={i: str(i) for i in range(relations)},
        node_types=read["type_ids"],
        edge_types=read.pop("edge_relation"),
    )
    seconds, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    held, peak = memory("RssAnon") - before, memory("VmHWM")
    took = [median_ms(lambda node=node: skb.get_neighbor_nodes(node), 1) for node in nodes]
    return {
        "ms": sorted(took)[len(took) // 2],
        "worst_ms": max(took),
        "hub_ms": median_ms(lambda: skb.get_neighbor_nodes(hub), 3),
        "hub": len(skb.get_neighbor_nodes(hub)),
        "edges": skb.num_edges(),
        "seconds": seconds,
        "cpu": cpu,
        "held_mb": held,
        "peak_mb": peak,
    }


def main() -> None:
    """``peer.py JOB REQUEST``, the request as a JSON file; none for a job without arguments."""
    answers, sys.stdout = sys.stdout, sys.stderr
    jobs: dict[str, Any] = {"score": score, "neighbours": neighbours, "graph_class": graph_class}
    given = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[2:]]
    found = jobs[sys.argv[1]](**(given[0] if given else {}))
    packages = ("stark-qa", "torch", "torchmetrics")
    found["versions"] = {name: importlib.metadata.version(name) for name in packages}
    answers.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
