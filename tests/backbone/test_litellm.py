"""Models behind HTTP against a real server: settings, what is sent, what comes back."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from typing import Any

import pytest
from chat_server import ChatServer, always, dead_url, reply
from remote_calls import ASK, SECRET, ask, made

from ark.backbone.litellm import LiteLLMBackbone
from ark.errors import UserError
from ark.records import Completion, Message, ToolCall

pytestmark = pytest.mark.usefixtures("outside")

TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}


# -- what is sent --------------------------------------------------------------------------------


def test_the_request_is_what_was_asked_and_nothing_else(server: ChatServer, client: str) -> None:
    backbone = made(server, client, temperature=0.5, top_p=0.9, max_tokens=50, params={"top_k": 3})
    ask(backbone, tools=[TOOL], tool_choice="required", temperature=0.25, draw=2)
    (seen,) = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "tiny",
        "messages": [m.to_json() for m in ASK],
        "tools": [TOOL],
        "tool_choice": "required",
        "temperature": 0.25,  # the method's own goes before the backbone's
        "top_p": 0.9,
        "max_tokens": 50,
        "top_k": 3,
    }


def test_defaults_are_the_servers(server: ChatServer, client: str) -> None:
    ask(made(server, client))
    assert set(server.requests[0].body) == {"model", "messages"}


def test_a_draw_is_sent_only_as_a_seed_and_only_if_wanted(server: ChatServer, client: str) -> None:
    for seed, draw in ((0, 0), (0, 1), (1, 0), (0, 1)):
        ask(made(server, client, send_seed=True, seed=seed), draw=draw)
    seeds = [r.body["seed"] for r in server.requests]
    assert len(set(seeds[:3])) == 3
    assert seeds[3] == seeds[1]
    assert all(0 <= s < 2**31 for s in seeds)


def test_a_schema_is_sent_where_there_are_no_tools(server: ChatServer, client: str) -> None:
    schema = {"type": "object", "properties": {"picks": {"type": "array"}}}
    ask(made(server, client), schema=schema)
    ask(made(server, client), schema=schema, tools=[TOOL])
    without, with_tools = (r.body for r in server.requests)
    assert without["response_format"]["type"] == "json_schema"
    assert without["response_format"]["json_schema"] == {"name": "ark_step", "schema": schema}
    assert "response_format" not in with_tools
    assert "tool_choice" not in with_tools


def test_broken_calls_of_the_past_are_sent_well_formed(server: ChatServer, client: str) -> None:
    calls = (
        ToolCall("a", "look", '{"q": "moth"}'),
        ToolCall("b", "look", '{"q": '),
        ToolCall("c", "look at it!", "[1]"),
    )
    past = [*ASK, Message("assistant", None, calls), Message("tool", "x", tool_call_id="a")]
    ask(made(server, client), past)
    sent = [c["function"] for c in server.requests[0].body["messages"][2]["tool_calls"]]
    assert sent[0] == {"name": "look", "arguments": '{"q": "moth"}'}
    assert sent[1]["name"] == "look"
    assert json.loads(sent[1]["arguments"]) == {"malformed": '{"q": '}
    assert sent[2]["name"] == "unknown_tool"
    assert past[2].tool_calls == calls


# -- what comes back -----------------------------------------------------------------------------


def test_an_answer_becomes_a_record(server: ChatServer, client: str) -> None:
    done = ask(made(server, client))
    assert done.message == Message("assistant", "fine")
    assert (done.usage.calls, done.usage.prompt_tokens, done.usage.completion_tokens) == (1, 11, 7)
    assert done.usage.cost is None  # nobody knows what a server of one's own costs
    assert done.model == "rules-on-http"
    assert done.finish == "stop"


def test_tool_calls_of_every_shape(server: ChatServer, client: str) -> None:
    calls = [
        {"id": "kept", "type": "function", "function": {"name": "look", "arguments": "{bad"}},
        {"type": "function", "function": {"name": "look", "arguments": {"q": "ü"}}},
        {"id": "", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        {"id": "kept", "type": "function", "function": {"name": None, "arguments": None}},
        {"id": "old", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    server.plan = always(reply(message, finish="tool_calls"))
    past = [*ASK, Message("assistant", None, (ToolCall("old", "look", "{}"),))]
    past.append(Message("tool", "nothing", tool_call_id="old"))
    first, second = ask(made(server, client), past), ask(made(server, client), past)
    assert first.message.content is None
    assert [c.id for c in first.message.tool_calls] == [
        "kept",
        "call_1_1",
        "call_1_2",
        "call_1_3",
        "call_1_4",
    ]
    assert [c.name for c in first.message.tool_calls] == ["look", "look", "look", "", "look"]
    assert first.message.tool_calls[0].arguments == "{bad"
    assert json.loads(first.message.tool_calls[1].arguments) == {"q": "ü"}
    assert first.message == second.message  # no random ids
    assert first.finish == "tool_calls"


def test_an_answer_without_anything_in_it_is_an_answer(server: ChatServer, client: str) -> None:
    server.plan = always(reply({"role": "assistant", "content": None}, finish="content_filter"))
    done = ask(made(server, client))
    assert done.message == Message("assistant", None)
    assert done.finish == "content_filter"


def test_missing_token_counts_make_the_cost_unknown(server: ChatServer, client: str) -> None:
    server.plan = always(reply(usage={}))
    done = ask(made(server, client, price=[1, 2]))
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (0, 0)
    assert done.usage.cost is None


def test_a_price_of_ones_own(server: ChatServer, client: str) -> None:
    assert ask(made(server, client, price=[1, 2])).usage.cost == pytest.approx(25e-6)
    assert (
        ask(made(server, client, price=[0, 0])).usage.cost == 0.0
    )  # said by the user, not made up


@pytest.mark.parametrize(
    ("model", "cached", "cost"),
    [
        ("openai/gpt-4.1-mini", 0, 1000 * 0.4e-6 + 7 * 1.6e-6),
        ("openai/gpt-4.1-mini", 600, 400 * 0.4e-6 + 600 * 0.1e-6 + 7 * 1.6e-6),
        ("openai/nobody-knows-it", 0, None),
    ],
)
def test_known_prices_are_read_from_the_local_list(
    server: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    cached: int,
    cost: float | None,
) -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 7,
        "total_tokens": 1007,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    server.plan = always(reply(usage=usage))
    monkeypatch.setattr("ark.backbone.litellm.OPENAI", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", dead_url())  # must not choose the server
    done = ask(LiteLLMBackbone(model))
    assert done.usage.cost == (None if cost is None else pytest.approx(cost))
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": None}, "backbone.model=PROVIDER/NAME"),
        ({"model": " "}, "backbone.model=PROVIDER/NAME"),
        ({"model": "tiny"}, "openai/tiny"),
        ({"model": "tiny", "api_base": None}, "openai/tiny"),
        ({"temperature": -1}, "backbone.temperature=-1"),
        ({"temperature": "hot"}, "backbone.temperature=hot"),
        ({"top_p": 2}, "backbone.top_p=2"),
        ({"max_tokens": 1.5}, "backbone.max_tokens=1.5"),
        ({"timeout": 0}, "backbone.timeout=0"),
        ({"api_base": "localhost:8000"}, "http://HOST:PORT/v1"),
        ({"api_base": "http://host:port/v1"}, "http://HOST:PORT/v1"),
        ({"api_base": "http://me:pass0123456789@host/v1"}, "backbone.api_key_env=NAME"),
        ({"api_key_env": "sk-abc-0123456789"}, "never the key itself"),
        ({"price": 3}, "backbone.price=[0.4,1.6]"),
        ({"price": [1, -1]}, "backbone.price=[0.4,1.6]"),
        ({"params": [1]}, "must be a mapping"),
        ({"params": {"temperature": 1}}, "backbone.params.temperature"),
        ({"params": {"num_retries": 3}}, "backbone.params.num_retries"),
        ({"params": {"extra_body": {"model": "other"}}}, "backbone.params.model"),
        ({"params": {"extra_body": "x"}}, "must be a mapping"),
        ({"params": {"aws_secret_access_key": "x"}}, "backbone.api_key_env"),
        ({"params": {"extra_body": {"x": [{"api_key": "x"}]}}}, "backbone.api_key_env"),
        ({"params": {"user": SECRET}}, "backbone.api_key_env"),
        ({"tool_mode": "magic"}, "native or schema or prompt"),
        ({"tool_choice": "look"}, "required or auto"),
    ],
)
def test_each_mistake_is_one_line_with_its_fix(
    client: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError) as caught:
        made("http://127.0.0.1:9/v1", client, **settings)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "0123456789" not in str(caught.value)


def test_transport_stays_out_of_the_identity_and_the_rest_is_in_it(client: str) -> None:
    base = made("http://127.0.0.1:1/v1", client).identity
    transport = {
        "api_base": "http://127.0.0.1:2/v1",
        "api_key_env": "MY_KEY",
        "timeout": 3,
        "price": [1, 2],
    }
    for name, value in transport.items():
        assert made("http://127.0.0.1:1/v1", client, **{name: value}).identity == base
    changed = {
        "model": "openai/other",
        "temperature": 0.1,
        "top_p": 0.5,
        "max_tokens": 9,
        "send_seed": True,
        "params": {"top_k": 3},
        "tool_mode": "prompt",
        "tool_choice": "auto",
    }
    found = [
        json.dumps(made("http://127.0.0.1:1/v1", client, **{name: value}).identity, sort_keys=True)
        for name, value in changed.items()
    ]
    assert len({*found, json.dumps(base, sort_keys=True)}) == len(changed) + 1
    seeded = made("http://127.0.0.1:1/v1", client, send_seed=True, seed=1).identity
    assert seeded != made("http://127.0.0.1:1/v1", client, send_seed=True, seed=2).identity
    assert base["model"] == made("http://127.0.0.1:1/v1", client).label == "openai/tiny"
    assert "127.0.0.1" not in json.dumps(base)


def test_one_backbone_serves_several_loops(server: ChatServer, client: str) -> None:
    backbone = made(server, client)

    async def several() -> list[Completion]:
        calls = [backbone.complete(ASK, tag="t", draw=n) for n in range(8)]
        return await asyncio.gather(*calls)

    for _ in range(3):
        assert len(asyncio.run(several())) == 8
        gc.collect()  # a connection that was left open becomes a warning here, and so an error
    assert len(server.requests) == 24


def test_the_price_list_is_never_fetched() -> None:
    made("http://127.0.0.1:9/v1")
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
