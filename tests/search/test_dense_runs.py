"""Cells with ``search=dense`` or ``hybrid``: configs, ids, labels, backfill, bundles."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ark.cli.compose import compose_one
from ark.errors import UserError
from ark.report.bundle import pack
from ark.report.verify import verify
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.fingerprint import fingerprint
from ark.run.session import Session, open_session
from ark.search import BM25, BM25Settings, Dense, DenseSettings, Hybrid, HybridSettings
from ark.search.encoder import MiniLM
from ark.search.hybrid import LEXICAL
from baselines.dense import DenseBaseline, HybridBaseline

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
TINY = "tiny_encoder:TinyEncoder"
PPR = PluginSpec("ppr", "baselines.ppr:PersonalizedPageRank", {"seeds": 1, "max_iterations": 1})
RULES = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
BASE = CellSpec(GraphSpec("toy"), PPR, RULES, split="all", limit=6)
DENSE, HYBRID = DenseSettings(TINY), HybridSettings(TINY, k1=0.4, tokenizer="bm25s")


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


def opened(folder: Path, **changes: Any) -> Session:
    return open_session(replace(BASE, **changes), folder)


def plain(path: str) -> dict[str, Any]:
    found: Any = OmegaConf.to_container(OmegaConf.load(CONFIGS / path))
    return found


@pytest.mark.parametrize("settings", [DenseSettings(), HybridSettings()])
def test_configs_hold_every_field_at_its_default(settings: DenseSettings) -> None:
    file = plain(f"search/{settings.relevance}.yaml")
    assert file == {"relevance": settings.relevance, **settings.key}
    lexical = plain("search/bm25.yaml")
    assert not isinstance(settings, HybridSettings) or all(
        file[name] == lexical[name] for name in LEXICAL
    )


@pytest.mark.parametrize("cls", [DenseBaseline, HybridBaseline])
def test_configs_of_methods_are_their_defaults(cls: type[DenseBaseline]) -> None:
    own = plain(f"method/{cls().wanted.relevance}.yaml")
    assert own.pop("target") == f"baselines.dense:{cls.__name__}"
    assert own == {f.name: f.default for f in fields(cls)}


def test_a_command_chooses_the_search() -> None:
    assert compose_one(["search=bm25"]).spec.search == BM25Settings()
    assert compose_one(["search=dense"]).spec.search == DenseSettings()
    chosen = compose_one(["search=hybrid", "search.k=9", "search.k1=0.9", "search.types=[a]"])
    assert chosen.spec.search == HybridSettings(k=9, k1=0.9, types=("a",))
    for wrong, match in (
        (["search=dense", "search.k1=1"], r"search\.k1"),
        (["search=bm25", "search.encoder=minilm"], r"search\.encoder"),
        (["search=dense", "search.max_tokens=many"], r"search\.max_tokens"),
        (["search=dense", "search.relevance=bm26"], "did you mean bm25"),
        (["search=dens"], "did you mean dense"),
    ):
        with pytest.raises(UserError, match=match):
            compose_one(wrong)


def test_the_search_is_part_of_the_run_id(tmp_path: Path) -> None:
    every: list[Any] = [
        BM25Settings(),
        DENSE,
        replace(DENSE, max_tokens=128),
        HYBRID,
        replace(HYBRID, k=1),
        replace(HYBRID, k1=0.5),
    ]
    ids = {opened(tmp_path, search=settings).identity.run_id for settings in every}
    assert len(ids) == len(every)
    own = PluginSpec("dense", "baselines.dense:DenseBaseline", {"encoder": TINY})
    other = PluginSpec("dense", own.target, {"encoder": TINY, "max_tokens": 99})
    assert len({opened(tmp_path, method=m).identity.run_id for m in (own, other)}) == 2


def test_rows_do_not_look_like_those_of_bm25(tmp_path: Path) -> None:
    bm25 = opened(tmp_path).labels()
    dense, hybrid = (opened(tmp_path, search=s).labels() for s in (DENSE, HYBRID))
    assert not any(name.startswith("search.") for name in bm25["changed"])
    shown = {k: v for k, v in dense["changed"].items() if k.startswith("search.")}
    assert shown == {"search.relevance": "dense", "search.encoder": TINY}
    assert hybrid["changed"]["search.relevance"] == "hybrid"
    assert hybrid["changed"]["search.k1"] == 0.4
    relevance = [labels["treatment"]["relevance"] for labels in (bm25, dense, hybrid)]
    assert [found["relevance"] for found in relevance] == ["bm25", "dense", "hybrid"]
    assert relevance[1]["vectors"] == {"model": "tiny"}
    types = opened(
        tmp_path,
        search=replace(DENSE, types=("plant",)),
        graph=GraphSpec("toy", {}, ("plant",)),
    )
    assert "search.types" not in types.labels()["changed"]  # those of the candidates


def ranked(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["query"]: line["nodes"] for line in lines if "agent" in line}


@pytest.mark.parametrize("settings", [DENSE, HYBRID])
def test_backfill_is_bm25_inside_any_relevance(settings: DenseSettings, tmp_path: Path) -> None:
    """A bundle's verification finds the lists anew with a BM25 of the stored settings."""
    spec = replace(BASE, search=settings, backfill="bm25")
    done = run_cell(spec, Transport(results_dir=tmp_path, progress=False))
    file = tmp_path / "b.zip"
    file.write_bytes(pack(done.path.parents[2]).data)
    report = verify(file)
    assert report.differences == []
    assert any("6 lists are what BM25 finds" in line for line in report.passed)
    session = open_session(spec, tmp_path)
    assert isinstance(session.search, Dense | Hybrid)
    assert isinstance(session.search.lexical, BM25)
    assert session.search.lexical.settings == settings.lexical


@pytest.mark.parametrize("name", ["bm25:BM25Baseline", "bm25_rel:BM25Relations"])
def test_methods_that_are_bm25_stay_so(name: str, tmp_path: Path) -> None:
    method = PluginSpec("m", f"baselines.{name}")
    lists = []
    for settings in (BM25Settings(), DENSE):
        spec = replace(BASE, method=method, search=settings)
        done = run_cell(spec, Transport(results_dir=tmp_path, progress=False))
        lists.append(ranked(done.path.parents[2] / "journal.jsonl"))
    assert lists[0] == lists[1]
    assert len(lists[0]) == 6


def test_a_missing_model_ends_the_command_and_leaves_no_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"get_model\.py minilm|ark-harness\[dense\]"):
        fingerprint(DenseBaseline(), tmp_path)
    assert not list((tmp_path / "fingerprints").glob("*"))
    with pytest.raises(UserError, match=r"get_model\.py minilm|ark-harness\[dense\]"):
        opened(tmp_path / "results", search=DenseSettings())
    assert DenseBaseline().identity["vectors"] == MiniLM().identity  # without the files
