"""An honest run of every shipped method, and of other settings of a cell, packs and verifies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ark.cli.compose import compose_one
from ark.report.bundle import pack
from ark.report.verify import verify
from ark.run import run_cell

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
METHODS = sorted(path.stem for path in (CONFIGS / "method").glob("*.yaml"))
ENCODED = ("dense", "hybrid")  # the model is a download: a tiny encoder stands in
CELLS = [
    "method=bm25 rerank=listwise",
    "method=bm25 rerank=pointwise rerank.k=5 backfill=bm25",
    "method=ark rerank=listwise rerank.reverse=true method.agents=2 fusion=rrf",
    "method=ark backbone=random agent_limits.calls=3",
    "method=tog seeds=oracle",
    "method=tog backbone=random rerank=listwise",
    "method=tog2 backbone=random backfill=bm25",
    "method=tog_r rerank=listwise seeds=oracle",
    "method=kg_agent backbone=random",
    "method=closed_book rerank=listwise",
    "method=af_retriever backbone=random seeds=oracle",
]


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1]))


def packed(overrides: list[str], tmp_path: Path) -> list[str]:
    """What verification finds different after a run of the toy graph."""
    job = compose_one(["graph=toy", "split=all", "limit=6", *overrides])
    transport = replace(job.transport, results_dir=tmp_path, progress=False)
    done = run_cell(job.spec, transport)
    assert done.failed == 0
    file = tmp_path / "bundle.zip"
    file.write_bytes(pack(done.path.parents[2]).data)
    return [str(difference) for difference in verify(file).differences]


@pytest.mark.parametrize("method", METHODS)
def test_a_run_of_each_method_is_verified(method: str, tmp_path: Path) -> None:
    tiny = ["method.encoder=tiny_encoder:TinyEncoder"] if method in ENCODED else []
    assert packed([f"method={method}", *tiny], tmp_path) == []


@pytest.mark.parametrize("cell", CELLS)
def test_a_run_of_each_kind_of_cell_is_verified(cell: str, tmp_path: Path) -> None:
    assert packed(cell.split(), tmp_path) == []
