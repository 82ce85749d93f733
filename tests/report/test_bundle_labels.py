"""Labels that follow from the identity pass for every honest run, and only as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ark.report.bundle import pack
from ark.report.bundle_archive import SUMS, read_archive, sums, write_archive
from ark.report.verify import verify
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.search import BM25Settings

ARK, PLUS = "ark.agent.method:Ark", "ark.agent.method:ArkPlus"
PROMPT = Path(__file__).resolve().parents[2] / "ark/agent/prompts"


def spec_of(target: str, settings: dict[str, Any], **more: Any) -> CellSpec:
    method = PluginSpec("m", target, settings)
    rules = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
    spec = CellSpec(GraphSpec("toy"), method, rules, split="all", limit=6)
    return replace(spec, **more)


RUNS: list[tuple[CellSpec, dict[str, Any]]] = [
    (spec_of(ARK, {}), {}),
    (spec_of(ARK, {"neighbors": False, "max_steps": 7}), {"neighbors": False, "max_steps": 7}),
    (spec_of(ARK, {"agents": 2, "temperature": 0.5}), {"temperature": 0.5}),
    (spec_of(ARK, {"prompt": "FILE"}), {"prompt": "…/own.jinja"}),
    (spec_of(ARK, {"prompt": "SAME"}), {"prompt": "…/same.jinja"}),
    (spec_of(PLUS, {"handles": "index"}), {"handles": "index"}),
    (spec_of(ARK, {}, seed=3, repeat=1), {"seed": 3}),
    (
        spec_of(ARK, {}, search=BM25Settings(k1=1.5, types=("plant",))),
        {"search.k1": 1.5, "search.types": ["plant"]},
    ),
    (spec_of(ARK, {}, graph=GraphSpec("toy", {}, ("plant",))), {"candidates": "plant"}),
    (spec_of("baselines.bm25:BM25Baseline", {}), {}),
    (spec_of("baselines.string_match:StringMatch", {"min_characters": 4}), {"min_characters": 4}),
]


@pytest.mark.parametrize(("spec", "changed"), RUNS)
def test_an_honest_label_passes_and_one_less_does_not(
    spec: CellSpec,
    changed: dict[str, Any],
    tmp_path: Path,
    data_root_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    text = next(PROMPT.rglob("ours*")).read_text(encoding="utf-8")
    (tmp_path / "same.jinja").write_text(text, encoding="utf-8")
    (tmp_path / "own.jinja").write_text(text + "\nBe brief.\n", encoding="utf-8")
    files = {"FILE": "own.jinja", "SAME": "same.jinja"}
    settings = dict(spec.method.settings)
    if settings.get("prompt") in files:
        settings["prompt"] = str(tmp_path / files[settings["prompt"]])
    spec = replace(spec, method=replace(spec.method, settings=settings))
    done = run_cell(spec, Transport(results_dir=tmp_path / "results", progress=False))
    file = tmp_path / "b.zip"
    file.write_bytes(pack(done.path.parents[2]).data)
    members = read_archive(file)
    (name,) = [n for n in members if n.endswith("result.json")]
    stored = json.loads(members[name])
    assert stored["cell"]["changed"] == changed
    assert verify(file).differences == []

    def differences(labels: dict[str, Any]) -> list[str]:
        data = json.loads(members[name])
        data["cell"]["changed"] = labels
        forged = {**members, name: json.dumps(data).encode()}
        forged[SUMS] = sums(forged)
        file.write_bytes(write_archive(forged))
        return verify(file).differences

    for key in changed:
        less = {k: v for k, v in changed.items() if k != key}
        if settings.get("prompt", "").endswith("same.jinja"):
            continue  # the same prompt by another name: either is right
        # Whether candidates are the graph's own only the graph can say: here the card tells first.
        place = "card.md" if key == "candidates" else f"cell.changed.{key}"
        assert place in differences(less)[0]
    (found,) = differences({**changed, "global_k": 9})
    assert "cell.changed.global_k" in found


@pytest.mark.parametrize(
    "labels",
    [{"backbone": "gpt-4.1"}, {"is_llm": True}, {"backbone_model": "gpt-4.1"}, {"forced": []}],
)
def test_rules_cannot_be_sold_as_a_model(
    labels: dict[str, Any],
    tmp_path: Path,
    data_root_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    done = run_cell(spec_of(ARK, {}), Transport(results_dir=tmp_path / "r", progress=False))
    file = tmp_path / "b.zip"
    members = dict(read_archive(_written(file, pack(done.path.parents[2]).data)))
    (name,) = [n for n in members if n.endswith("result.json")]
    data = json.loads(members[name])
    data["cell"].update(labels)
    members[name] = json.dumps(data).encode()
    members[SUMS] = sums(members)
    found = verify(_written(file, write_archive(members))).differences
    assert f"cell.{next(iter(labels))}" in found[0]


def _written(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file
