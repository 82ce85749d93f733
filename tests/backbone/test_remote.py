"""What both clients promise alike: waits, lost money, fingerprints, choices, keys in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, always, dead_url, reply
from remote_calls import ASK, PLAIN_SECRET, SECRET, ask, failure, made

from ark.backbone.keys import read_key, secrets
from ark.backbone.waits import told_wait, wait_of_headers
from ark.errors import FatalBackboneError, RetryableError, UserError
from ark.records import Message, ToolCall

pytestmark = pytest.mark.usefixtures("outside")

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Look.",
            "parameters": {
                "type": "object",
                "properties": {"q": {"type": "string"}},
                "required": ["q"],
            },
        },
    }
    for name in ("look", "add_to_answer")
]
COUNTS = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}


# -- waits ---------------------------------------------------------------------------------------

QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("headers", "words", "wait"),
    [
        ({"Retry-After": "7"}, "Slow down", 7.0),
        ({"Retry-After": "0.5"}, "Slow down", 0.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, "Slow down", 0.25),
        ({}, "Slow down", None),
        ({"Retry-After": "soon"}, "Slow down", None),
        ({}, "Rate limit reached. Please try again in 1.5s.", 1.5),
        ({}, f"{QUOTA} Please retry in 36.25s.", 36.25),  # Gemini's rate limit
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    server: ChatServer, client: str, headers: dict[str, str], words: str, wait: float | None
) -> None:
    server.plan = always((429, words, headers))
    error = failure(made(server, client))
    assert type(error) is RetryableError
    assert error.limited
    assert error.retry_after == wait
    assert error.usage is None
    assert len(server.requests) == 1


def test_other_refusals_wait_without_being_rate_limits(server: ChatServer, client: str) -> None:
    server.plan = always((503, "Loading model", {"Retry-After": "3"}))
    error = failure(made(server, client))
    assert type(error) is RetryableError
    assert (error.retry_after, error.limited) == (3.0, False)


@pytest.mark.parametrize(
    "fault",
    [
        (429, QUOTA, {}, {"code": "insufficient_quota", "type": "insufficient_quota"}),
        (429, QUOTA, {"Retry-After": "5"}),
        (402, "Insufficient credits"),
    ],
)
def test_an_empty_purse_is_fatal(server: ChatServer, client: str, fault: Any) -> None:
    server.plan = always(fault)
    error = failure(made(server, client))
    assert type(error) is FatalBackboneError
    assert "no credit left" in str(error)


def test_dates_count_from_the_servers_clock_and_never_backwards() -> None:
    now = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)

    def headers(after: float) -> dict[str, str]:
        until = format_datetime(now + timedelta(seconds=after), usegmt=True)
        return {"retry-after": until, "date": format_datetime(now, usegmt=True)}

    assert wait_of_headers(headers(90)) == 90
    assert wait_of_headers(headers(-90)) == 0
    past = format_datetime(datetime(2001, 1, 1, tzinfo=UTC), usegmt=True)
    assert wait_of_headers({"Retry-After": past}) == 0  # no date of the server: our clock
    for text in ("", "-", "nan", "inf", "31 Foo 2026", "1e999"):
        assert wait_of_headers({"retry-after": text}) is None
    assert wait_of_headers({"retry-after": "-5"}) == 0
    assert told_wait("try again in 20 ms") == pytest.approx(0.02)
    assert told_wait('{"retryDelay": "36s"}') == 36
    assert told_wait("in 5 s") is None


# -- money ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        reply(usage=COUNTS, choices=[]),
        reply({"role": "assistant", "content": None}, usage=COUNTS),
        reply({"role": "assistant"}, usage=COUNTS),
    ],
)
def test_what_an_unusable_answer_cost_is_in_its_error(
    server: ChatServer, client: str, answer: Any
) -> None:
    server.plan = always(answer)
    error = failure(made(server, client, price=[1, 2]))
    assert isinstance(error, RetryableError)
    assert error.usage is not None
    assert (error.usage.prompt_tokens, error.usage.completion_tokens) == (1000, 50)
    assert error.usage.cost == pytest.approx(1100e-6)


def test_a_filtered_cut_or_refusing_answer_is_an_answer(server: ChatServer, client: str) -> None:
    for finish in ("content_filter", "length"):
        server.plan = always(reply({"role": "assistant", "content": None}, finish=finish))
        done = ask(made(server, client))
        assert (done.message, done.finish) == (Message("assistant", None), finish)
    refused = {"role": "assistant", "content": None, "refusal": "I will not."}
    server.plan = always(reply(refused))
    assert ask(made(server, client)).message.content in ("I will not.", None)


def test_cached_and_reasoning_tokens_are_counted(server: ChatServer, client: str) -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    server.plan = always(reply(usage=COUNTS | details))
    used = ask(made(server, client)).usage
    assert (used.cached_tokens, used.reasoning_tokens) == (600, 40)
    wrong = {
        "prompt_tokens_details": {"cached_tokens": 5000},
        "completion_tokens_details": {"reasoning_tokens": -4},
    }
    server.plan = always(reply(usage=COUNTS | wrong))
    used = ask(made(server, client)).usage
    assert (used.cached_tokens, used.reasoning_tokens) == (1000, 0)  # parts, never more


@pytest.mark.parametrize(("price", "cost"), [([1, 2], None), ([0, 0], 0.0), (None, None)])
def test_tokens_that_were_not_counted_cost_an_unknown_sum(
    server: ChatServer, client: str, price: Any, cost: float | None
) -> None:
    server.plan = always(reply(usage={}))
    used = ask(made(server, client, price=price)).usage
    assert (used.calls, used.prompt_tokens, used.completion_tokens) == (1, 0, 0)
    assert used.cost == cost


# -- what the server says of itself ----------------------------------------------------------------


def test_model_and_fingerprint_are_the_servers_words(server: ChatServer, client: str) -> None:
    server.plan = always(reply(model="tiny-2026-01-02", system_fingerprint="fp_44709d6fcb"))
    done = ask(made(server, client))
    assert (done.model, done.system_fingerprint) == ("tiny-2026-01-02", "fp_44709d6fcb")
    server.plan = always(reply(model=f"a\n{SECRET}", system_fingerprint=None))
    done = ask(made(server, client))
    assert done.model == "a [hidden]"
    assert done.system_fingerprint == ""


def test_half_a_character_does_not_get_into_files(server: ChatServer, client: str) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "look", "arguments": "\ud83d"}}
    server.plan = always(
        reply({"role": "assistant", "content": "moth \ud83d", "tool_calls": [call]})
    )
    done = ask(made(server, client)).message
    assert done.content is not None
    (done.content + done.tool_calls[0].arguments).encode()


# -- tools -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "setting", "sent"),
    [
        ("required", "required", "required"),
        ("required", "auto", "auto"),
        ("look", "required", {"type": "function", "function": {"name": "look"}}),
        ("look", "auto", "auto"),
        (None, "auto", None),
    ],
)
def test_tools_are_forced_where_the_model_allows_it(
    server: ChatServer, client: str, asked: str | None, setting: str, sent: Any
) -> None:
    ask(made(server, client, tool_choice=setting), tools=TOOLS, tool_choice=asked)
    assert server.requests[0].body.get("tool_choice") == sent


def test_several_calls_of_one_turn_are_kept(server: ChatServer, client: str) -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for n in range(3)
    ]
    server.plan = always(reply({"role": "assistant", "tool_calls": calls}, finish="tool_calls"))
    done = ask(made(server, client), tools=TOOLS)
    assert [c.id for c in done.message.tool_calls] == ["c0", "c1", "c2"]


def test_both_clients_send_the_same_and_read_the_same(server: ChatServer) -> None:
    past = [
        *ASK,
        Message("assistant", None, (ToolCall("a", "look", '{"q": "ü"}'),)),
        Message("tool", "nothing", tool_call_id="a"),
    ]
    calls = [
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": {"q": "moth"}}},
        {"type": "function", "function": {"name": "look", "arguments": "{bad"}},
    ]
    message = {"role": "assistant", "content": "So:", "tool_calls": calls}
    server.plan = always(reply(message, finish="tool_calls", system_fingerprint="fp_1"))
    settings = {"temperature": 0.2, "max_tokens": 9, "params": {"top_k": 3}, "send_seed": True}
    done = [
        ask(made(server, name, **settings), past, tools=TOOLS, tool_choice="required", draw=1)
        for name in ("litellm", "openai")
    ]
    first, second = server.requests
    # litellm leaves an empty content out.
    for message in second.body["messages"]:
        if message["content"] is None:
            del message["content"]
    assert first.body == second.body
    assert done[0] == done[1]
    identities = [dict(made(server, n, **settings).identity) for n in ("litellm", "openai")]
    names = [identity.pop("backbone") for identity in identities]
    assert names == ["litellm", "openai"]
    assert identities[0] == identities[1]


@pytest.mark.parametrize("mode", ["schema", "prompt"])
def test_a_model_without_tool_calls_leaves_the_same_record(
    server: ChatServer, client: str, mode: str
) -> None:
    text = 'Sure!\n```json\n{"name": "look", "arguments": {"q": "moth"}}\n```'
    server.plan = always(reply({"role": "assistant", "content": text}))
    done = ask(made(server, client, tool_mode=mode), tools=TOOLS, tool_choice="required")
    (call,) = done.message.tool_calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("call_0_0", "look", {"q": "moth"})
    body = server.requests[0].body
    assert not {"tools", "tool_choice"} & set(body)
    assert "add_to_answer" in body["messages"][0]["content"]
    assert ("response_format" in body) == (mode == "schema")
    if mode == "schema":
        assert body["response_format"]["type"] == "json_schema"
    server.plan = always(reply({"role": "assistant", "content": "I do not know."}))
    done = ask(made(server, client, tool_mode=mode), tools=TOOLS)
    assert done.message == Message("assistant", "I do not know.")


# -- keys in a file --------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MY_KEY", raising=False)
    return tmp_path


def test_a_key_comes_from_the_file_and_goes_nowhere_else(
    server: ChatServer, client: str, here: Path
) -> None:
    lines = ["# mine", f"export MY_KEY='{PLAIN_SECRET}'", "OTHER_TOKEN=another-0123456789", ""]
    (here / ".env").write_text("\n".join(lines))
    backbone = made(server, client, api_key_env="MY_KEY")
    ask(backbone)
    assert server.requests[0].headers["authorization"] == f"Bearer {PLAIN_SECRET}"
    assert not {"MY_KEY", "OTHER_TOKEN"} & set(os.environ)
    assert PLAIN_SECRET not in repr(vars(backbone)) + json.dumps(dict(backbone.identity))
    server.plan = always((500, f"Oops {PLAIN_SECRET} another-0123456789"))
    assert str(failure(backbone)).endswith("Oops [hidden] [hidden]")
    with pytest.raises(UserError, match="must hold no keys"):
        made(server, client, params={"user": PLAIN_SECRET})


def test_the_environment_goes_before_the_file_and_a_change_is_seen(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_key("MY_KEY") == ""
    (here / ".env").write_text("MY_KEY=first$HOME\n")
    assert read_key("MY_KEY") == "first$HOME"  # nothing is put in
    (here / ".env").write_text("MY_KEY=second-one\n")
    assert read_key("MY_KEY") == "second-one"
    monkeypatch.setenv("MY_KEY", "third-one")
    assert read_key("MY_KEY") == "third-one"
    assert {"second-one", "third-one"} <= set(secrets())
    (here / ".env").write_bytes(b"\xff\xfe=1\n")
    assert read_key("OTHER") == ""


def test_litellm_does_not_load_the_file_on_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".env").write_text(f"ANTHROPIC_API_KEY={SECRET}\nGROQ_API_KEY={SECRET}\n")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    code = (
        "import os; from ark.backbone.litellm import LiteLLMBackbone as B\n"
        "made = B('anthropic/claude-opus-4-5-20251101'), B('groq/llama-3.1-8b-instant')\n"
        "print([len(b._own_key()) for b in made], [k for k in os.environ if 'GROQ' in k], "
        "os.environ.get('LITELLM_MODE'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=here, check=True
    )
    assert found.stdout.strip() == f"[{len(SECRET)}, {len(SECRET)}] [] None"


def test_a_missing_key_says_where_it_could_be(here: Path, client: str) -> None:
    error = failure(made(dead_url(), client, api_key_env="MY_KEY"))
    assert type(error) is FatalBackboneError
    assert "set MY_KEY in the environment or in a file .env here" in str(error)
