"""One method on two graphs is one row, though each graph has candidates and ids of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_stark import write_all

from ark.report import Options, result_table
from ark.report.bundle import pack
from ark.report.cells import find, load_all
from ark.report.verify import verify
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.search import BM25Settings

BM25 = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
ARK = PluginSpec("ark", "ark.agent.method:Ark")
RULES = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
OWN = {"mag": ("paper",), "amazon": ("product",)}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stark_rows")
    root = str(write_all(folder / "stark"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(folder / "data"))
        for graph, types in OWN.items():
            source = GraphSpec(graph, {"root": root}, types)
            stark = BM25Settings(1.5, 0.75, "lucene", "bm25s", "english", "text", types)
            for spec in (
                CellSpec(source, BM25, RULES, search=stark, split="all"),
                CellSpec(source, ARK, RULES, split="all"),
            ):
                run_cell(spec, Transport(results_dir=folder / "results", progress=False))
    return folder


def test_each_method_is_one_row(results: Path) -> None:
    text = result_table(load_all(find([results / "results"])), Options())
    rows = [x for x in text.splitlines() if x.startswith(("| BM25", "| ARK"))]
    assert len(rows) == 2
    assert not any(" - " in row for row in rows)
    assert "types" not in "".join(rows)
    assert "candidates=" not in "".join(rows)
    assert "handles" not in "".join(rows)
    assert "amazon (all): handles=opaque whatever is asked for" in text
    assert "types=candidates" in text


def test_bundles_of_them_pass(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARK_DATA", str(results / "data"))
    for run in sorted((results / "results/runs").iterdir()):
        (results / "b.zip").write_bytes(pack(run).data)
        assert verify(results / "b.zip").differences == []
