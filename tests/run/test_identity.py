"""Identity apart from transport: every field that changes answers changes the id, no other does."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from ark.agent import Fusion
from ark.errors import UserError
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport
from ark.run.fingerprint import behaviour, fingerprint
from ark.run.identity import canonical_json, digest
from ark.run.locate import build
from ark.run.session import Session, open_session
from ark.search import BM25Settings

ARK = PluginSpec("ark", "ark.agent.method:Ark")
BM25 = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
RANDOM = PluginSpec("random", "ark.backbone.random_calls:RandomBackbone")
BASE = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all", limit=3)


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


def opened(spec: CellSpec, tmp_path: Path) -> Session:
    return open_session(spec, tmp_path)


RUN_CHANGES: dict[str, dict[str, Any]] = {
    "split": {"split": "test"},
    "limit": {"limit": 2},
    "seed": {"seed": 1},
    "search": {"search": BM25Settings(k1=1.3)},
    "method": {"method": BM25},
    "method.max_steps": {"method": PluginSpec("ark", ARK.target, {"max_steps": 5})},
    "method.neighbors": {"method": PluginSpec("ark", ARK.target, {"neighbors": False})},
    "backbone": {"backbone": RANDOM},
}
READING_CHANGES: dict[str, dict[str, Any]] = {
    "fusion": {"fusion": Fusion("rrf")},
    "ties": {"fusion": Fusion("voting", "concatenation")},
    "cut": {"cut": 5},
    "agents": {"method": PluginSpec("ark", ARK.target, {"agents": 2})},
    "candidates": {"candidates": "answer_type"},
    "candidate types": {"graph": GraphSpec("toy", {}, ("plant",))},
}


@pytest.mark.parametrize("name", RUN_CHANGES)
def test_what_changes_calls_changes_the_run_id(name: str, tmp_path: Path) -> None:
    base = opened(BASE, tmp_path).identity
    other = opened(replace(BASE, **RUN_CHANGES[name]), tmp_path).identity
    assert other.run_id != base.run_id
    assert other.cell_id != base.cell_id


@pytest.mark.parametrize("name", READING_CHANGES)
def test_a_reading_changes_the_cell_id_only(name: str, tmp_path: Path) -> None:
    base = opened(BASE, tmp_path)
    other = opened(replace(BASE, **READING_CHANGES[name]), tmp_path)
    assert other.identity.run_id == base.identity.run_id
    assert other.folder == base.folder
    assert other.identity.cell_id != base.identity.cell_id


def test_a_method_that_asks_no_backbone_has_none_in_its_id(tmp_path: Path) -> None:
    one = opened(replace(BASE, method=BM25), tmp_path)
    other = opened(replace(BASE, method=BM25, backbone=RANDOM), tmp_path)
    assert one.identity == other.identity
    assert one.labels()["backbone"] is None


def test_transport_is_no_field_of_the_cell() -> None:
    assert not {f.name for f in fields(Transport)} & {f.name for f in fields(CellSpec)}


def test_order_and_limit_without_effect_do_not_change_ids(tmp_path: Path) -> None:
    whole = replace(BASE, limit=None)
    assert opened(whole, tmp_path).identity == opened(replace(BASE, limit=999), tmp_path).identity
    a, b = (
        opened(replace(BASE, graph=GraphSpec("toy", {}, types)), tmp_path).identity
        for types in (("plant", "insect"), ("insect", "plant", "insect"))
    )
    assert a == b


def test_the_fingerprint_does_not_depend_on_what_ran_before(tmp_path: Path) -> None:
    def of(root: Path, agents: int) -> str:
        return fingerprint(build(ARK.target, "method", {"agents": agents}), root)

    assert of(tmp_path / "a", 1) == of(tmp_path / "b", 3)


def test_editing_a_method_of_ones_own_changes_the_run_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        "from dataclasses import dataclass\n"
        "from ark.records import Attempt, Ranking\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    pool: int = 1\n"
        "    label = 'Mine'\n    reading_fields = frozenset()\n    probe = ()\n"
        "    agents = 1\n    identity = {}\n"
        "    async def attempt(self, question, ctx, agent):\n"
        "        return Attempt(Ranking((0,)))\n"
    )
    file = tmp_path / "own_method.py"
    ids = []
    for settings, edit in (({}, ""), ({"pool": 2}, ""), ({}, "# if n > 100: other\n")):
        file.write_text(text + edit)
        spec = replace(BASE, method=PluginSpec("mine", "own_method:Mine", settings))
        ids.append(opened(spec, tmp_path / "results").identity.run_id)
    assert len(set(ids)) == 3


def test_results_dir_does_not_change_ids(tmp_path: Path) -> None:
    a = opened(BASE, tmp_path / "a").identity
    b = opened(BASE, tmp_path / "b").identity
    assert a == b


def test_candidate_types_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean plant"):
        opened(replace(BASE, graph=GraphSpec("toy", {}, ("plants",))), tmp_path)


def test_canonical_json_is_one_text_for_equal_values() -> None:
    assert canonical_json({"b": 1, "a": [1, "é"]}) == canonical_json({"a": [1, "é"], "b": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_the_fingerprint_sees_behaviour(data_root_path: Path) -> None:
    def of(**settings: Any) -> str:
        return fingerprint(build(ARK.target, "method", settings), data_root_path)

    assert of() == of()
    assert of(neighbors=False) != of()
    assert of(agents=2) == of()
    seen = behaviour(build(ARK.target, "method", {}), data_root_path)
    texts = canonical_json(seen)
    for wanted in (
        "Copper moth",
        "also: ",
        "did you mean plant",
        "must be a whole number",
        "Added",
    ):
        assert wanted in texts
    assert [a["status"] for a in seen["attempts"]] == ["ok", "ok"]


def test_the_fingerprint_of_the_extensions_sees_them(data_root_path: Path) -> None:
    plus = build("ark.agent.method:ArkPlus", "method", {})
    texts = canonical_json(behaviour(plus, data_root_path))
    for wanted in ("Common neighbors of", "text: ", "steps left", "ranks 3 to 3"):
        assert wanted in texts


def test_the_fingerprint_differs_between_methods(data_root_path: Path) -> None:
    bm25 = fingerprint(build(BM25.target, "method", {}), data_root_path)
    assert bm25 != fingerprint(build(ARK.target, "method", {}), data_root_path)


@pytest.mark.parametrize(
    ("target", "settings", "wanted"),
    [
        ("ark.agent.method", {}, "write it as package.module:Class"),
        ("ark.agent.metod:Ark", {}, "no module"),
        ("ark.agent.method:Arc", {}, "did you mean Ark"),
        (ARK.target, {"agent": 2}, "did you mean method.agents"),
        (BM25.target, {"agents": 2}, "unknown setting 'method.agents'"),
    ],
)
def test_wrong_plugins_are_one_line(target: str, settings: dict[str, Any], wanted: str) -> None:
    with pytest.raises(UserError, match=wanted) as caught:
        build(target, "method", settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": "x"},
        {"cut": 0},
        {"cut": 101},
        {"seed": "a"},
        {"candidates": "grap"},
    ],
)
def test_wrong_values_of_a_cell_are_user_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        replace(BASE, **wrong)
