"""``backbone=local`` with a real model: SmolLM2, where ``scripts/get_model.py`` has fetched it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import struct
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ark.agent.tools import ToolOptions, tool_schemas
from ark.backbone.local import DEFAULT_MODEL, LocalBackbone
from ark.backbone.local_engine import engine_for
from ark.backbone.schema_mode import contract
from ark.errors import FatalBackboneError, QueryLimitError
from ark.graph import data_root
from ark.records import Completion, Message

MODEL = data_root() / "models" / DEFAULT_MODEL
pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="no engine: pip install 'ark-harness[local]'",
    ),
    pytest.mark.skipif(not MODEL.is_file(), reason="no model: python scripts/get_model.py smollm2"),
]
CONTEXT = 768
OFFERED = ("search_in_graph", "add_to_answer")
TOOLS = [t for t in tool_schemas(ToolOptions()) if t["function"]["name"] in OFFERED]
SYSTEM = 'Node types: ["moth", "plant"]\nEdge types: ["visits"]'
ASKED = (Message("system", SYSTEM), Message("user", "Which plants does the copper moth visit?"))
ROWS = (
    '2 nodes match, the best 2:\n[5] "Copper moth" | moth | score 9\n[7] "Fern" | plant | score 1'
)


def made(**settings: Any) -> LocalBackbone:
    plain: dict[str, Any] = {"context": CONTEXT, "threads": 1, "example": False, "max_tokens": 60}
    return LocalBackbone(str(MODEL), **{**plain, **settings})


def ask(backbone: LocalBackbone, messages: Any = ASKED, **how: Any) -> Completion:
    return asyncio.run(backbone.complete(messages, tag="ark.step", **how))


def test_two_steps_leave_the_trajectory_of_native_mode() -> None:
    backbone = made()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    async def first() -> Completion:
        ticking = asyncio.create_task(tick())
        done = await backbone.complete(ASKED, tag="ark.step", tools=TOOLS, tool_choice="required")
        ticking.cancel()
        return done

    done = asyncio.run(first())
    assert ticks > 5  # the event loop went on while the model worked
    (call,) = done.message.tool_calls
    assert (call.id, call.name, done.message.content) == ("call_0_0", "search_in_graph", None)
    assert json.loads(call.arguments)["query"]
    assert done.finish == "tool_calls"
    assert done.model == DEFAULT_MODEL
    assert done.system_fingerprint.startswith("xllamacpp ")
    assert (done.usage.calls, done.usage.cost) == (1, 0.0)
    assert done.usage.prompt_tokens > 80
    assert done.usage.completion_tokens > 5

    then = [*ASKED, done.message, Message("tool", ROWS, tool_call_id=call.id)]
    second = ask(backbone, then, tools=TOOLS, tool_choice="required")
    # The prompt grew at its end: most of it was in the engine's memory, the reply included.
    assert second.usage.cached_tokens >= done.usage.prompt_tokens
    (call,) = second.message.tool_calls
    assert call.id == "call_1_0"
    value = {"name": call.name, "arguments": json.loads(call.arguments)}
    jsonschema.validate(value, contract(then, TOOLS)[1])


def test_schemas_of_other_methods_and_plain_answers() -> None:
    shape = {
        "type": "object",
        "properties": {"picks": {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2}},
        "required": ["picks"],
        "additionalProperties": False,
    }
    done = ask(made(temperature=0), [Message("user", "1) moth 2) fern")], schema=shape)
    assert set(json.loads(done.message.content or "")["picks"]) <= {1, 2}
    assert done.message.tool_calls == ()
    plain = ask(made(), [Message("user", "Say hello.")], max_tokens=4)
    assert plain.message.content
    assert plain.finish == "length"
    assert plain.usage.completion_tokens == 4


def test_a_conversation_beyond_the_context_ends_with_what_it_has() -> None:
    ask(made(), [Message("user", "Hi.")], max_tokens=1)
    with pytest.raises(QueryLimitError, match=rf"backbone\.context is {CONTEXT}"):
        ask(made(), [Message("user", "moth " * 1200)])


def test_nobody_else_can_use_the_model() -> None:
    ask(made(), [Message("user", "Hi.")], max_tokens=1)
    server: Any = engine_for(MODEL, None, CONTEXT, 1)._server
    body = json.dumps({"messages": [{"role": "user", "content": "Hi."}], "max_tokens": 1})
    request = urllib.request.Request(
        f"{server.listening_address}/v1/chat/completions",
        data=body.encode(),
        headers={"Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=30)
    assert caught.value.code == 401
    caught.value.close()


def test_an_adapter_is_applied_and_the_same_call_repeats(tmp_path: Path) -> None:
    adapter = tmp_path / "tuned.gguf"
    say = [Message("user", "Name a colour.")]
    exact = {"max_tokens": 8, "temperature": 0.0, "prefix_cache": False}
    plain = ask(made(**exact), say)
    assert plain.usage.cached_tokens == 0
    ask(made(), ASKED, max_tokens=1)
    assert ask(made(**exact), say) == plain
    for scale, same in ((0.0, True), (40.0, False)):
        write_adapter(adapter, scale)
        done = ask(made(lora_path=str(adapter), **exact), say)
        engine_for(MODEL, None, CONTEXT, 1)  # lets go of the engine that has read the old file
        assert (done.message.content == plain.message.content) is same
    assert done.model == f"{DEFAULT_MODEL} + tuned.gguf"


def test_what_is_no_model_stops_the_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(FatalBackboneError, match=r"cannot load broken\.gguf") as caught:
        ask(LocalBackbone(str(broken), threads=1))
    assert str(tmp_path) not in str(caught.value)


def write_adapter(path: Path, scale: float) -> None:
    """A LoRA of rank 1 on one matrix of SmolLM2 (576 x 576), in GGUF version 3."""
    width, align = 576, 32

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def pair(key: str, value: str | float) -> bytes:
        if isinstance(value, str):
            return text(key) + struct.pack("<I", 8) + text(value)
        return text(key) + struct.pack("<If", 6, value)

    values = {
        "general.type": "adapter",
        "general.architecture": "llama",
        "adapter.type": "lora",
        "adapter.lora.alpha": 1.0,
    }
    name = "blk.0.attn_q.weight"
    ones = struct.pack(f"<{width}f", *([1.0] * width))
    scaled = struct.pack(f"<{width}f", *[scale * (-1) ** i for i in range(width)])
    tensors = ((f"{name}.lora_a", (width, 1), ones), (f"{name}.lora_b", (1, width), scaled))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    head += b"".join(pair(k, v) for k, v in values.items())
    at = 0
    for label, shape, data in tensors:
        head += text(label) + struct.pack("<IQQIQ", len(shape), *shape, 0, at)
        at += len(data)
    head += bytes(-len(head) % align)
    path.write_bytes(head + b"".join(data for _, _, data in tensors))
