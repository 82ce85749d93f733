"""What fails on the way to a model: each failure sorted, on one line, without a key in it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from chat_server import ChatServer, always, dead_url, reply, serving
from remote_calls import ASK, PLAIN_SECRET, SECRET, ask, failure, made

from ark.backbone.keys import one_line, shown_url
from ark.backbone.litellm import LiteLLMBackbone
from ark.errors import ArkError, FatalBackboneError, QueryFailedError, RetryableError

pytestmark = pytest.mark.usefixtures("outside")


# -- what fails ----------------------------------------------------------------------------------

FAULTS = [
    ((401, "Incorrect API key provided"), FatalBackboneError, "backbone.api_key_env=NAME"),
    ((403, "No access to this model"), FatalBackboneError, "backbone.api_key_env=NAME"),
    ((403, "Your input was flagged by moderation"), QueryFailedError, "flagged"),
    ((402, "Insufficient credits"), FatalBackboneError, "no credit left"),
    ((404, "The model does not exist"), FatalBackboneError, "no model openai/tiny"),
    ((400, "Unknown field: top_kk"), FatalBackboneError, "Unknown field: top_kk"),
    ((422, "body.messages: wrong"), FatalBackboneError, "body.messages: wrong"),
    (
        (400, "This model's maximum context length is 4096 tokens. You requested 9000 tokens."),
        QueryFailedError,
        "too long",
    ),
    ((413, "Payload too large"), QueryFailedError, "too long"),
    ((429, "Slow down"), RetryableError, "rate limit (429): Slow down"),
    ((429, "You exceeded your current quota, check your plan"), FatalBackboneError, "credit"),
    ((408, "Too slow"), RetryableError, "timed out"),
    ((409, "Conflict"), RetryableError, "409"),
    ((500, "Out of memory"), RetryableError, "Out of memory"),
    ((502, "Bad gateway"), RetryableError, "502"),
    ((503, "Loading model"), RetryableError, "Loading model"),
    ((504, "Upstream"), RetryableError, "timed out"),
    ((529, "Overloaded"), RetryableError, "Overloaded"),
    ("html", RetryableError, "invalid response|<!doctype html>"),
    ("html_as_json", RetryableError, "(500)|<html>Sign in"),
    ("empty", RetryableError, "(500)|an empty body"),
    ("broken_json", RetryableError, "(500)|no JSON object"),
    ("invalid_utf8", RetryableError, "(500)|no JSON object"),
    ("reset", RetryableError, "Connection error"),
    ("cut_body", RetryableError, "(500)|the connection was lost"),
    (reply(choices=[]), RetryableError, "no message"),
    (reply(choices=None), RetryableError, "'choices' that is not|no message"),
    (reply(choices=[None]), RetryableError, "unreadable answer|no message"),
    (reply(choices=[{"index": 0, "message": None}]), RetryableError, "no chat comp|no message"),
    (reply(choices=[{"index": 0, "message": "hello"}]), RetryableError, "no chat comp|no message"),
    ([1, 2], RetryableError, "invalid response|no JSON object"),
    (
        {"error": {"message": "Provider is down", "code": 502}},
        RetryableError,
        "Provider is down",
    ),
    (reply({"role": "assistant", "content": None}), RetryableError, "neither text nor calls"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS, ids=lambda v: str(v)[:40])
def test_each_failure_is_sorted_after_one_request(
    server: ChatServer, client: str, fault: Any, kind: type[ArkError], words: str
) -> None:
    server.plan = always(fault)
    error = failure(made(server, client))
    assert type(error) is kind, error
    assert any(word in str(error) for word in words.split("|")), error
    assert len(server.requests) == 1
    assert "Traceback" not in str(error)
    assert "site-packages" not in str(error)
    assert "litellm" not in str(error).lower()


def test_a_refused_request_loses_one_question_once_the_settings_have_worked(
    server: ChatServer, client: str
) -> None:
    backbone = made(server, client)
    ask(backbone)
    server.plan = always((400, "Cannot read this"))
    assert type(failure(backbone)) is QueryFailedError
    server.plan = always((401, "Key revoked"))
    assert type(failure(backbone)) is FatalBackboneError


@pytest.mark.parametrize("fault", ["reset", "cut_body"])
def test_a_connection_lost_on_its_second_use_is_not_asked_again_behind_our_back(
    server: ChatServer, client: str, fault: str
) -> None:
    backbone = made(server, client)
    server.plan = lambda _, number: reply() if number == 1 else fault

    async def twice() -> None:
        await backbone.complete(ASK, tag="t")
        with pytest.raises(RetryableError):
            await backbone.complete(ASK, tag="t")

    asyncio.run(twice())
    assert len(server.requests) == 2


def test_a_dead_server_is_fatal_until_it_has_answered(client: str) -> None:
    error = failure(made(dead_url(), client))
    assert type(error) is FatalBackboneError
    assert str(error).startswith("no server answers at http://127.0.0.1:")
    assert "or set backbone.api_base=URL" in str(error)
    with serving(always(reply())) as server:
        backbone = made(server, client)
        ask(backbone)
    assert type(failure(backbone)) is RetryableError


def test_an_unknown_host_is_fatal_and_what_follows_the_path_hidden(
    outside: list[str], client: str
) -> None:
    error = failure(made("http://nowhere.invalid:8000/v1?code=open-sesame", client))
    assert type(error) is FatalBackboneError
    assert "no server answers at http://nowhere.invalid:8000/v1:" in str(error)
    assert "sesame" not in str(error)
    assert set(outside) == {"nowhere.invalid"}
    outside.append("expected")


@pytest.mark.parametrize("model", ["groq/llama-3.1-8b-instant", "anthropic/claude-sonnet-4-5"])
def test_no_network_is_fatal(
    monkeypatch: pytest.MonkeyPatch, outside: list[str], model: str
) -> None:
    monkeypatch.setenv(f"{model.partition('/')[0].upper()}_API_KEY", SECRET)
    error = failure(LiteLLMBackbone(model))
    assert type(error) is FatalBackboneError
    assert "no server answers at" in str(error)
    assert outside
    outside.append("expected")


def test_the_time_out_is_of_the_whole_call(server: ChatServer, client: str) -> None:
    server.plan = always("dribble")  # ten seconds without a gap
    error = failure(made(server, client, timeout=0.7))
    assert type(error) is RetryableError
    assert "0.7 s (backbone.timeout)" in str(error)


def test_an_unsupported_setting_is_fatal_and_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    error = failure(LiteLLMBackbone("openai/o3", temperature=0.3))
    assert type(error) is FatalBackboneError
    assert "temperature" in str(error)


# -- keys ----------------------------------------------------------------------------------------


def test_a_key_goes_to_its_own_server_only(
    server: ChatServer, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MY_KEY", PLAIN_SECRET)
    ask(made(server, client))
    ask(made(server, client, api_key_env="MY_KEY"))
    assert [r.headers["authorization"] for r in server.requests] == [
        "Bearer no-key",
        f"Bearer {PLAIN_SECRET}",
    ]
    assert SECRET not in "".join(r.text + str(r.headers) for r in server.requests)


@pytest.mark.parametrize("key", [SECRET, PLAIN_SECRET])
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_server_that_echoes_the_key_does_not_get_it_into_an_error(
    server: ChatServer, client: str, monkeypatch: pytest.MonkeyPatch, key: str, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    server.plan = lambda request, _: (status, f"bad\nkey {request.headers['authorization']} {key}")
    backbone = made(server, client, api_key_env="MY_KEY")
    error = failure(backbone)
    for text in (str(error), repr(error), repr(backbone), repr(vars(backbone))):
        assert key not in text
    assert "[hidden]" in str(error)


def test_a_missing_key_names_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    for model, wanted in (
        ("gpt-4.1-mini", "set OPENAI_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "set ANTHROPIC_API_KEY"),
    ):
        error = failure(LiteLLMBackbone(model))
        assert type(error) is FatalBackboneError
        assert wanted in str(error)
    error = failure(made(dead_url(), api_key_env="MY_KEY"))
    assert type(error) is FatalBackboneError
    assert "set MY_KEY in the environment" in str(error)


def test_a_cancelled_call_is_cancelled(server: ChatServer, client: str) -> None:
    server.plan = always("dribble")

    async def stopped() -> None:
        task = asyncio.create_task(made(server, client).complete(ASK, tag="t"))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())


def test_lines_are_clipped_and_printable() -> None:
    text = one_line("a\x1b[31m\n\tb\u202e " + "x" * 1000)
    assert len(text) == 240
    assert text.isprintable()
    assert text.startswith("a [31m b")
    assert one_line("key AIzaSyA0123456789012345 and Bearer abc") == "key [hidden] and [hidden]"
    assert shown_url("https://a:b@host:1/v1?x=y#z") == "https://host:1/v1"
