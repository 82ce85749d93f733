"""Presets of models: they compose, name dated models, and say what they need."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from remote_calls import SECRET, ask

from ark.backbone.openai_sdk import OpenAIBackbone
from ark.backbone.prices import find_price
from ark.backbone.remote import RemoteBackbone
from ark.cli.console import jobs_of
from ark.run.locate import build, setting_names

pytestmark = pytest.mark.usefixtures("outside")

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "backbone"
PAID = ("gpt_4_1", "gpt_4o", "gpt_5", "claude", "gemini")
OWN = ("qwen3_8b_vllm", "ollama")
EVERY = (*PAID, *OWN, "openrouter")
UNDATED = ("gemini", *OWN, "openrouter")  # nobody dates these


def settings(name: str, *more: str) -> tuple[str, dict[str, Any]]:
    ((job,), _, _) = jobs_of(["graph=toy", f"backbone={name}", *more])
    return job.spec.backbone.target, dict(job.spec.backbone.settings)


def preset(name: str, **changes: Any) -> RemoteBackbone:
    target, values = settings(name)
    made = build(target, "backbone", values | changes)
    assert isinstance(made, RemoteBackbone)
    return made


@pytest.mark.parametrize("name", [*EVERY, "litellm", "openai"])
def test_a_preset_composes_and_holds_every_field(name: str) -> None:
    _, values = settings(name, "backbone.temperature=0.5")
    assert values["temperature"] == 0.5
    assert set(values) == set(setting_names(OpenAIBackbone)) - {"seed"}


@pytest.mark.parametrize("name", EVERY)
def test_a_preset_names_one_dated_model(name: str) -> None:
    _, values = settings(name)
    dated = re.search(r"-(\d{4}-\d\d-\d\d|\d{8})$", values["model"])
    assert bool(dated) == (name not in UNDATED)
    assert not re.search(r"latest|preview", values["model"])
    assert values["api_key_env"] is None


@pytest.mark.parametrize("name", PAID)
def test_paid_presets_are_known_with_tools_and_a_price(name: str) -> None:
    backbone = preset(name)
    assert backbone.price is not None
    found = find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    listed = json.loads(path.read_text(encoding="utf-8"))
    model = backbone.label
    entry = listed.get(model) or listed[model.partition("/")[2]]
    assert entry["supports_function_calling"]
    assert entry["supports_tool_choice"]
    assert entry.get("supports_forced_tool_use", True)
    assert entry.get("deprecation_date", "9999") > "2026-12-31"
    assert find_price(model) == backbone.price


@pytest.mark.parametrize("name", [*OWN, "openrouter"])
def test_nobody_here_knows_what_the_others_cost(name: str) -> None:
    assert preset(name).price is None


@pytest.mark.parametrize("name", [*OWN, "openrouter"])
def test_what_these_presets_send(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", SECRET)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    ask(preset(name, api_base=server.url), tools=[tool], tool_choice="required")
    (seen,) = server.requests
    assert SECRET not in seen.headers["authorization"]  # another server than the provider's
    body = {k: v for k, v in seen.body.items() if k not in ("messages", "tools")}
    assert (
        body
        == {
            "qwen3_8b_vllm": {
                "model": "Qwen/Qwen3-8B",
                "tool_choice": "required",
                "chat_template_kwargs": {"enable_thinking": False},
            },
            "ollama": {"model": "qwen3:8b", "tool_choice": "auto"},
            "openrouter": {
                "model": "qwen/qwen3-8b",
                "tool_choice": "required",
                "provider": {"require_parameters": True, "allow_fallbacks": False},
                "usage": {"include": True},
            },
        }[name]
    )


def test_the_vllm_preset_holds_the_whole_server_command() -> None:
    text = (CONFIGS / "qwen3_8b_vllm.yaml").read_text(encoding="utf-8")
    (line,) = re.findall(r"vllm serve .*", text)
    _, values = settings("qwen3_8b_vllm")
    assert values["model"].removeprefix("openai/") in line
    assert f"--port {values['api_base'].rpartition(':')[2].partition('/')[0]}" in line
    assert "--enable-auto-tool-choice --tool-call-parser hermes" in line
