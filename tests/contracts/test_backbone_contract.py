"""What every backbone must do: each file in ``configs/backbone`` that needs no provider."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ark.agent.tools import ToolOptions, tool_schemas
from ark.errors import UserError
from ark.protocols import Backbone
from ark.records import Completion, Json, Message
from ark.run.identity import canonical_json
from ark.run.locate import build, locate, setting_names

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "backbone"
NEEDS = {"scripted": {"script": [{"content": "first"}, {"content": "second"}]}}
ASKED = (Message("system", "Use the tools."), Message("user", "Which moth visits Night bell?"))
HOSTILE = (Message("system", "\x00{{}}"), Message("user", 'x"}]} \u202e ' * 300))
CHOICES = {"type": "array", "items": {"type": "integer"}}


class BackboneContract:
    """Override ``make`` to say which backbone: a function that builds a new one each time."""

    @pytest.fixture
    def make(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def tools(self) -> list[dict[str, Json]]:
        return tool_schemas(ToolOptions())

    def test_identity_is_stable_json(self, make: Any) -> None:
        first: Backbone = make()
        assert canonical_json(dict(first.identity)) == canonical_json(dict(make().identity))
        assert first.identity
        ask(first, ASKED)
        assert first.identity == make().identity

    def test_has_a_label(self, make: Any) -> None:
        assert make().label.strip()

    @pytest.mark.parametrize("messages", [ASKED, HOSTILE])
    @pytest.mark.parametrize("draw", [0, 7])
    def test_an_answer_is_one_call_and_repeats(
        self, make: Any, tools: list[dict[str, Json]], messages: tuple[Message, ...], draw: int
    ) -> None:
        one, other = make(), make()
        for how in ({"tools": tools, "tool_choice": "required"}, {"schema": CHOICES}):
            done = ask(one, messages, draw=draw, **how)
            assert (
                done
                == ask(one, messages, draw=draw, **how)
                == ask(other, messages, draw=draw, **how)
            )
            assert done.usage.calls == 1
            assert done.message.role == "assistant"
            assert done.finish
            assert done.model
            assert all(isinstance(call.arguments, str) for call in done.message.tool_calls)
            json.dumps(done.message.to_json(), allow_nan=False)

    def test_calls_use_the_tools_that_are_offered(
        self, make: Any, tools: list[dict[str, Json]]
    ) -> None:
        done = ask(make(), ASKED, tools=tools, tool_choice="required")
        offered = {tool["function"]["name"] for tool in tools}
        assert {call.name for call in done.message.tool_calls} <= offered

    def test_an_unknown_setting_is_refused(self, target: str) -> None:
        with pytest.raises(UserError, match=r"backbone\.no_such_setting"):
            build(target, "backbone", {"no_such_setting": 1})


def ask(backbone: Backbone, messages: tuple[Message, ...], **how: Any) -> Completion:
    return asyncio.run(backbone.complete(messages, tag="ark.step", **how))


class TestShippedBackbones(BackboneContract):
    """Those that ask a model are held to the contract by tests of their own."""

    @pytest.fixture(params=sorted(path.stem for path in CONFIGS.glob("*.yaml")))
    def config(self, request: pytest.FixtureRequest) -> dict[str, Any]:
        config: Any = OmegaConf.to_container(OmegaConf.load(CONFIGS / f"{request.param}.yaml"))
        return {**config, **NEEDS.get(request.param, {})}

    @pytest.fixture
    def target(self, config: dict[str, Any]) -> str:
        return str(config["target"])

    @pytest.fixture
    def make(self, config: dict[str, Any]) -> Any:
        if getattr(locate(config["target"], "backbone"), "is_llm", True):
            pytest.skip("it asks a model")
        if "run" in config:
            pytest.skip("it plays a recorded run: tests/backbone/test_replay.py")
        settings = {k: v for k, v in config.items() if k != "target"}
        return lambda: build(config["target"], "backbone", settings)

    def test_the_config_names_settings_that_exist(self, config: dict[str, Any]) -> None:
        known = setting_names(locate(config["target"], "backbone"))
        assert set(config) - {"target"} <= set(known)
