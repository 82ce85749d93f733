"""Record what the real stark-qa prints for invented nodes: the fixtures of the document tests.

Needs an environment of its own (1.2 GB), never the one that the tests run in:

    python3.11 -m venv ENV
    ENV/bin/pip install torch==2.13.0 torch_geometric tqdm pandas huggingface_hub
    ENV/bin/pip install --no-deps stark-qa==1.1.0
    ENV/bin/pip install --no-deps --target ENV/stark-0.1.3 stark-qa==0.1.3
    ENV/bin/python scripts/record_stark_documents.py ENV/stark-0.1.3 [OUT]
    ENV/bin/python scripts/record_stark_documents.py ENV/stark-0.1.3 [OUT] --folders TINY

The second form records all documents of folders that are there already into OUT/tiny.json; TINY is
what ``make_tiny_stark.py TINY`` wrote. OUT is tests/graph/stark_documents by default.

The invented graphs are written as folders in the official form, loaded offline by the unmodified
classes of stark-qa 1.1.0 and of 0.1.3 (the last release whose AMAZON documents have no dimensions:
version ``paper``), and ``get_doc_info`` is called with and without relations. NumPy's vector
instructions are switched off, so the order of reviews with equal votes comes from its portable sort
and does not depend on the processor; more than 16 reviews with equal votes have no defined order
even then, and are marked.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.machinery
import importlib.metadata
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

_FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "graph" / "stark_documents"
Graph = dict[str, Any]
_PLACES = {
    "prime": "processed",
    "mag": "processed",
    "amazon": "processed/cache/brand-category-color",
}
_CLASSES = {"prime": "PrimeSKB", "mag": "MagSKB", "amazon": "AmazonSKB"}
# Imported by the package, called only where it builds graphs from raw data.
_RAW_DATA_ONLY = {"tdc", "ogb", "gdown", "langdetect", "nltk", "bs4", "langchain"}
_RAW_DATA_ONLY |= {"langchain_text_splitters"}
_SHOWN = 5_000  # characters; a longer text is recorded as its length and hash


def graphs() -> dict[str, Graph]:
    """The invented graphs by name; the folder of this script has their modules."""
    from stark_examples import amazon, mag, prime

    return {"prime": prime.prime(), "mag": mag.mag(), "amazon": amazon.amazon()}


class _Hollow(types.ModuleType):
    """A module whose every name is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _HollowFinder:
    """Finds the modules that the package only needs for raw data."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name.split(".", maxsplit=1)[0] not in _RAW_DATA_ONLY:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> types.ModuleType:
        module = _Hollow(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def write_folders(root: Path) -> None:
    """The three graphs in the official on-disk form."""
    from stark_examples.parts import expanded

    torch: Any = importlib.import_module("torch")
    for name, graph in graphs().items():
        place = root / name / _PLACES[name]
        place.mkdir(parents=True)
        kinds = {kind: number for number, kind in graph["node_type_dict"].items()}
        edges = graph["edges"]
        tables = {
            "node_info": dict(enumerate(expanded(graph["node_info"]))),
            "node_type_dict": graph["node_type_dict"],
            "edge_type_dict": graph["edge_type_dict"],
        }
        tensors = {
            "edge_index": [[edge[0] for edge in edges], [edge[1] for edge in edges]],
            "edge_types": [edge[2] for edge in edges],
            "node_types": [kinds[kind] for kind in graph["types"]],
        }
        for key, table in tables.items():
            (place / f"{key}.pkl").write_bytes(pickle.dumps(table))
        for key, numbers in tensors.items():
            torch.save(torch.tensor(numbers, dtype=torch.int64), place / f"{key}.pt")
    (root / "mag" / "schema").mkdir()
    (root / "amazon" / "category_list.json").write_text("[]")


def documents(root: Path, name: str) -> list[dict[str, Any]]:
    """What the real class gives for every node: text, relation text, neighbours by relation."""
    module = importlib.import_module(f"stark_qa.skb.{name}")
    skb: Any = getattr(module, _CLASSES[name])(root=str(root / name))
    found = []
    for node in range(len(skb)):
        neighbors = {rel: skb.get_neighbor_nodes(node, rel) for rel in skb.rel_type_lst()}
        seen: dict[str, Any] = {"neighbors": {rel: ids for rel, ids in neighbors.items() if ids}}
        try:
            text = skb.get_doc_info(node, add_rel=False, compact=False)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            seen["raises"] = type(error).__name__
        else:
            both = skb.get_doc_info(node, add_rel=True, compact=False)
            assert both.startswith(text)
            seen |= {"text": _shown(text), "relations": both.removeprefix(text)}
        found.append(seen)
    return found


def _shown(text: str) -> Any:
    if len(text) <= _SHOWN:
        return text
    return {"length": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def child(package: Path, root: Path, out: Path) -> None:
    """Run in a process of its own: the documents of all graphs by the package in ``package``."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.meta_path.append(_HollowFinder())
    bare = types.ModuleType("stark_qa")  # its own __init__ would import every model
    bare.__path__ = [str(package / "stark_qa")]
    sys.modules["stark_qa"] = bare
    out.write_text(json.dumps({name: documents(root, name) for name in _CLASSES}))


def run_child(package: Path, root: Path, out: Path) -> dict[str, list[dict[str, Any]]]:
    """``child`` with NumPy's portable sort."""
    features: Any = importlib.import_module("numpy._core._multiarray_umath")
    portable = {"NPY_DISABLE_CPU_FEATURES": " ".join(features.__cpu_dispatch__)}
    command = [sys.executable, __file__, str(package), str(out), "--child", str(root)]
    subprocess.run(command, check=True, env={**os.environ, **portable})  # noqa: S603
    recorded: dict[str, list[dict[str, Any]]] = json.loads(out.read_text())
    return recorded


def fixture(graph: Graph, now: list[dict[str, Any]], then: list[dict[str, Any]]) -> dict[str, Any]:
    """One graph's records beside what the two releases print for them."""
    nodes = []
    for number, (info, kind) in enumerate(zip(graph["node_info"], graph["types"], strict=True)):
        assert {**now[number], "text": 0} == {**then[number], "text": 0}
        node = {"id": number, "type": kind, "info": info, **now[number]}
        if then[number].get("text") != now[number].get("text"):
            node["paper_text"] = then[number]["text"]
        votes = [str(review["vote"]) for review in info.get("review", [])]
        if len(votes) > 16 and len(set(votes)) < len(votes):
            node["order"] = "undefined"
        nodes.append(node)
    shared = {key: graph[key] for key in ("node_type_dict", "edge_type_dict", "edges")}
    return {**shared, "nodes": nodes}


def versions() -> dict[str, str]:
    """What the outputs come from."""
    packages = ("stark-qa", "torch", "torch_geometric", "numpy", "pandas")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {**found, "python": platform.python_version(), "paper": "stark-qa 0.1.3"}


def write(file: Path, recorded: dict[str, Any], command: str) -> None:
    """Write one fixture and say so."""
    recorded = {"recorded_with": {**versions(), "command": command}, **recorded}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{file}: {file.stat().st_size:,} bytes")


def main() -> None:
    """Write the fixtures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("paper", type=Path, help="folder that holds stark_qa of release 0.1.3")
    parser.add_argument("out", type=Path, nargs="?", default=_FIXTURES)
    parser.add_argument("--folders", type=Path, help="record these folders instead")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.paper, given.child, given.out)
        return
    installed = Path(str(importlib.metadata.distribution("stark-qa").locate_file("")))
    command = "python scripts/record_stark_documents.py ENV/stark-0.1.3"
    with tempfile.TemporaryDirectory() as folder:
        root, out = given.folders or Path(folder), Path(folder) / "out.json"
        if given.folders:
            found = run_child(installed, root, out)
            write(given.out / "tiny.json", found, f"{command} --folders TINY")
            return
        write_folders(root)
        now, then = run_child(installed, root, out), run_child(given.paper, root, out)
    for name, graph in graphs().items():
        write(given.out / f"{name}.json", fixture(graph, now[name], then[name]), command)


if __name__ == "__main__":
    main()
