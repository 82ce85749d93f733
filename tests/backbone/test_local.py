"""``backbone=local``: settings, identity and mistakes; nothing here loads a model."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ark.backbone import local_engine
from ark.backbone.local import DEFAULT_MODEL, LocalBackbone
from ark.errors import FatalBackboneError, UserError
from ark.records import Completion, Message

ASK = (Message("user", "Hello?"),)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def model(data: Path) -> Path:
    path = data / "tiny model.gguf"
    path.write_bytes(b"GGUF, but no more of it")
    return path


def ask(backbone: LocalBackbone, **how: Any) -> Completion:
    return asyncio.run(backbone.complete(ASK, tag="t", **how))


def test_without_a_model_the_command_is_named(data: Path) -> None:
    with pytest.raises(UserError, match=r"python scripts/get_model\.py smollm2") as caught:
        LocalBackbone()
    assert "backbone.model_path=FILE" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=r"python scripts/get_model\.py smollm2"):
        LocalBackbone("no/such.gguf")


def test_the_default_model_lies_in_the_data_folder(data: Path) -> None:
    path = data / "data" / "models" / DEFAULT_MODEL
    path.parent.mkdir(parents=True)
    path.write_bytes(b"weights")
    assert LocalBackbone().label == DEFAULT_MODEL


@pytest.mark.parametrize(
    "settings",
    [
        {"context": 10},
        {"context": 2048.0},
        {"temperature": -1},
        {"temperature": None},
        {"top_p": 1.5},
        {"max_tokens": 0},
        {"threads": 0},
        {"lora_path": "no/such.gguf"},
    ],
)
def test_each_mistake_names_its_setting(model: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"backbone\.{next(iter(settings))}=") as caught:
        LocalBackbone(str(model), **settings)
    assert "\n" not in str(caught.value)


def test_the_config_has_every_setting_and_its_default() -> None:
    file = Path(__file__).resolve().parents[2] / "configs" / "backbone" / "local.yaml"
    config: Any = OmegaConf.to_container(OmegaConf.load(file))
    assert config.pop("target") == "ark.backbone.local:LocalBackbone"
    known = inspect.signature(LocalBackbone).parameters
    assert config == {name: p.default for name, p in known.items() if name != "seed"}


def test_identity_is_of_the_content_and_of_all_that_changes_answers(model: Path) -> None:
    base = LocalBackbone(str(model)).identity
    assert base["model"] == f"gguf sha256:{hashlib.sha256(model.read_bytes()).hexdigest()}"
    assert json.loads(json.dumps(base)) == base
    assert str(model.parent) not in json.dumps(base)
    changed: dict[str, Any] = {
        "lora_path": str(model),
        "context": 1024,
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 9,
        "state_schema": False,
        "example": False,
        "constrain": False,
        "prefix_cache": False,
    }
    others = [LocalBackbone(str(model), **{k: v}).identity for k, v in changed.items()]
    assert len({json.dumps(i, sort_keys=True) for i in [base, *others]}) == len(changed) + 1
    assert LocalBackbone(str(model), threads=1).identity == base
    moved = model.with_name("other.gguf")
    moved.write_bytes(model.read_bytes())
    assert LocalBackbone(str(moved)).identity == base
    moved.write_bytes(b"other weights")
    assert LocalBackbone(str(moved)).identity["model"] != base["model"]


def test_labels_are_names_of_files(model: Path) -> None:
    assert LocalBackbone(str(model)).label == "tiny model.gguf"
    adapter = model.with_name("tuned.gguf")
    adapter.write_bytes(b"x")
    both = LocalBackbone(str(model), str(adapter))
    assert both.label == "tiny model.gguf + tuned.gguf"
    assert str(model.parent) not in repr(both)
    assert both.is_llm
    assert both.price.cost(1000, 1000) == 0.0


def test_a_missing_engine_names_the_line_that_installs_it(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_engine, "NAME", "no_engine_of_this_name")
    with pytest.raises(FatalBackboneError, match=r"pip install 'ark-harness\[local\]'"):
        ask(LocalBackbone(str(model)))


def test_what_is_no_default_is_named_in_rows(model: Path) -> None:
    usual = LocalBackbone(str(model), threads=1, seed=3)
    assert LocalBackbone.changed(usual.identity) == {}
    other = LocalBackbone(str(model), state_schema=False, temperature=0.0)
    assert LocalBackbone.changed(other.identity) == {"state_schema": False, "temperature": 0.0}
