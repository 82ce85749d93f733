"""All methods without a model: from the command line, on a hub, and small traces."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ark.backbone import LexicalBackbone
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context
from ark.records import MAX_RANKED
from ark.run.locate import build, locate
from ark.search import BM25

REPOSITORY = Path(__file__).resolve().parents[2]
METHODS = ("bm25", "bm25_rel", "propagate", "ppr", "string_match")
LEAVES = 100_000


def config(name: str) -> dict[str, Any]:
    path = REPOSITORY / "configs" / "method" / f"{name}.yaml"
    values: Any = OmegaConf.to_container(OmegaConf.load(path))
    return dict(values)


def test_a_sweep_over_them_is_one_table(tmp_path: Path, data_root_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(REPOSITORY / "run.py"),
            "-m",
            "graph=toy",
            f"method={','.join(METHODS)}",
            "split=all",
            f"results_dir={tmp_path}",
        ],
        env={**os.environ, "ARK_DATA": str(data_root_path), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    paths = [Path(x.removeprefix("result: ")) for x in lines if x.startswith("result: ")]
    assert lines[-5:] == [f"result: {path}" for path in paths]
    assert sum(x.startswith("| graph ") for x in lines) == 1
    assert sum(x.startswith("| toy ") for x in lines) == 5
    results = [json.loads(path.read_text()) for path in paths]
    assert len({r["cell"]["run_id"] for r in results}) == 5
    for name, result in zip(METHODS, results, strict=True):
        settings = {k: v for k, v in config(name).items() if k != "target"}
        assert settings.items() <= result["cell"]["identity"]["method"].items()
        assert result["cell"]["backbone"] is None
        assert result["usage"]["calls"] == 0
        assert result["counts"]["ok"] == result["counts"]["queries"] > 0


@pytest.mark.parametrize("name", METHODS)
def test_the_config_gives_the_defaults(name: str) -> None:
    values = config(name)
    cls: Any = locate(values.pop("target"), "method")
    assert values == {f.name: f.default for f in fields(cls)}


class Hub:
    """One node with a hundred thousand neighbours, all of one name, and one that is isolated."""

    name = "hub"

    def key(self) -> str:
        return "4" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        n = LEAVES + 2
        ids = ["hub", *(f"n{i}" for i in range(LEAVES)), "alone"]
        names = ["Great hub", *(["leaf"] * LEAVES), "alone"]
        leaves = list(range(1, LEAVES + 1))
        return GraphData(
            ids, ["t"] * n, names, [""] * n, [0] * LEAVES, [0] * LEAVES, leaves, ("holds",)
        )


@pytest.fixture(scope="module")
def hub(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Hub(), data_root_path)


@pytest.mark.parametrize("name", METHODS)
def test_a_question_that_names_a_hub(hub: KnowledgeGraph, data_root_path: Path, name: str) -> None:
    values = config(name)
    method = build(values.pop("target"), "method", values)
    search = BM25.open_or_build(hub, data_root_path)
    context = Context(hub, search, LexicalBackbone(), random.Random(0))
    asyncio.run(method.attempt("alone", context, 0))  # indexes are made by the first question
    attempt = asyncio.run(method.attempt("What does the great hub hold?", context, 0))
    nodes = attempt.ranking.nodes
    if name == "bm25":
        assert nodes == (0,)
    else:
        assert len(nodes) == MAX_RANKED
        assert nodes[1:] == tuple(range(nodes[1], nodes[1] + MAX_RANKED - 1))  # ties by number
    (step,) = attempt.trajectory.steps
    shown = [x for value in step.state.values() if isinstance(value, list) for x in value]
    assert 0 < len(shown) <= 30
    assert all(hub.id(hub.index(node_id)) == node_id for node_id in shown)
