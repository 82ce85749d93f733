"""Vectors from an endpoint, against a real server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import ChatServer, Plan, Request, always, serving
from tenacity import RetryCallState, Retrying

from ark.backbone import embeddings
from ark.backbone.embeddings import ATTEMPTS, BATCH, LONGEST_WAIT, LiteLLMEncoder
from ark.backbone.library_litellm import _close_plain, import_quietly
from ark.cli.compose import compose_one
from ark.errors import FatalBackboneError, QueryFailedError, RetryableError, UserError
from ark.graph import KnowledgeGraph
from ark.run import run_cell
from ark.run.dryrun import dry_run
from ark.search import Dense, DenseSettings
from ark.search.encoder import encoder_of
from ark.search.sent import sent, since

pytestmark = pytest.mark.usefixtures("outside")

SECRET = "sk-test-embeddings-1234567890"


@pytest.fixture(autouse=True)
def litellm_leaves_an_open_loop() -> Iterator[None]:
    """Its call without a loop makes one and leaves it, and a client for each address that it was
    sent to: closed here, before another test sees them.
    """
    yield
    litellm, _ = import_quietly()
    _close_plain(litellm.in_memory_llm_clients_cache.cache_dict.values())
    litellm.in_memory_llm_clients_cache.flush_cache()
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):  # there may be none
        warnings.simplefilter("ignore", DeprecationWarning)
        asyncio.get_event_loop_policy().get_event_loop().close()
    asyncio.set_event_loop(None)


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(text.count("a"))]


def answer(request: Request, number: int) -> dict[str, Any]:
    """In an order of its own, as servers may."""
    rows = [
        {"object": "embedding", "index": i, "embedding": vector(text)}
        for i, text in enumerate(request.body["input"])
    ]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"object": "list", "data": rows[::-1], "model": "tiny", "usage": usage}


@pytest.fixture
def encoder() -> LiteLLMEncoder:
    return LiteLLMEncoder("openai/tiny")


def run(monkeypatch: pytest.MonkeyPatch, plan: Plan, encoder: Any, texts: list[str]) -> Any:
    with serving(plan) as server:
        point_at(monkeypatch, server)
        return encoder.encode(texts), server


def point_at(monkeypatch: pytest.MonkeyPatch, server: ChatServer) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def test_texts_go_out_in_batches_and_vectors_come_back_in_order(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    texts = [f"{'a' * (i % 7)} text {i}" for i in range(BATCH + 3)]
    found, server = run(monkeypatch, answer, encoder, texts)
    assert found.dtype == np.float32
    assert found.tolist() == [vector(text) for text in texts]
    assert [len(request.body["input"]) for request in server.requests] == [BATCH, 3]
    (request, _) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body["model"] == "tiny"
    assert request.headers["authorization"] == f"Bearer {SECRET}"


def test_a_refusal_that_passes_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    def at_first(request: Request, number: int) -> Any:
        return (500, "busy") if number == 1 else answer(request, number)

    found, server = run(monkeypatch, at_first, encoder, ["a"])
    assert found.tolist() == [vector("a")]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "plan", [always((401, f"wrong key {SECRET}")), always({"object": "list", "data": [{}]})]
)
def test_what_cannot_succeed_stops_and_names_no_key(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder, plan: Plan
) -> None:
    with pytest.raises(FatalBackboneError) as caught:
        run(monkeypatch, plan, encoder, ["a"])
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_this_layer_asks_again(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    monkeypatch.setattr(embeddings, "_wait", lambda state: 0.0)

    def once(request: Request, number: int) -> Any:
        return answer(request, number) if number == 1 else (500, "busy")

    with serving(always((500, "busy"))) as server:
        point_at(monkeypatch, server)
        with pytest.raises(FatalBackboneError, match=r"6 attempts.*OPENAI_API_BASE"):
            encoder.encode(["a"])
        assert len(server.requests) == ATTEMPTS
    with serving(once) as server:
        point_at(monkeypatch, server)
        encoder.encode(["a"])
        with pytest.raises(QueryFailedError):  # it has answered: only this question is lost
            encoder.encode(["b"])
        assert len(server.requests) == ATTEMPTS + 1


def test_no_server_stops_at_once(monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder) -> None:
    with serving(answer) as server:
        point_at(monkeypatch, server)
    with pytest.raises(FatalBackboneError, match=r"no server answers.*OPENAI_API_BASE") as raised:
        encoder.encode(["a"])
    assert server.url in str(raised.value)


def test_the_documented_address_goes_first(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    with serving(answer) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        found, server = run(monkeypatch, answer, encoder, ["a"])
        assert found.tolist() == [vector("a")]
        assert (len(server.requests), len(other.requests)) == (1, 0)
        monkeypatch.delenv("OPENAI_API_BASE")
        LiteLLMEncoder("openai/tiny").encode(["a"])
        assert len(other.requests) == 1


@pytest.mark.parametrize(
    ("plan", "error", "message"),
    [
        ((401, "no"), FatalBackboneError, "check the key in OPENAI_API_KEY"),
        ((404, "no such model"), FatalBackboneError, r"model openai/tiny \(404\): check its name"),
        (
            (400, "maximum context length is 512 tokens"),
            QueryFailedError,
            "a model that reads more",
        ),
    ],
)
def test_messages_name_what_an_encoder_has(
    monkeypatch: pytest.MonkeyPatch,
    encoder: LiteLLMEncoder,
    plan: tuple[int, str],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message) as raised:
        run(monkeypatch, always(plan), encoder, ["a"])
    assert "backbone." not in str(raised.value)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(("told", "seconds"), [(None, 1), (0.2, 1), (77, 77), (1e9, LONGEST_WAIT)])
def test_a_wait_that_a_server_asks_for_is_kept(told: float | None, seconds: float) -> None:
    state = RetryCallState(Retrying(), None, (), {})
    error = RetryableError("slow down", retry_after=told)
    state.set_exception((RetryableError, error, None))
    assert embeddings._wait(state) == seconds


def test_too_few_vectors_are_no_answer(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    def short(request: Request, number: int) -> Any:
        made = answer(request, number)
        return {**made, "data": made["data"][:1]}

    with pytest.raises(FatalBackboneError, match="1 vectors came back for 2 texts"):
        run(monkeypatch, short, encoder, ["a", "b"])


def lying(**changed: Any) -> Plan:
    """Every row with these values in place of its own; a list has one for each row."""

    def plan(request: Request, number: int) -> dict[str, Any]:
        made = answer(request, number)
        for name, value in changed.items():
            for i, row in enumerate(made["data"]):
                row[name] = value[i] if name == "index" else value
        return made

    return plan


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lying(index=[0, 0]), "0 to 1 as 'index', each once"),
        (lying(index=[0, 2]), "0 to 1 as 'index', each once"),
        (lying(index=[1, 2]), "0 to 1 as 'index', each once"),
        (lying(index=[0, None]), "0 to 1 as 'index', each once"),
        (lying(embedding=[]), "vectors of 0 numbers"),
        (lying(embedding=[1.0, float("nan")]), "not finite in single precision"),
        (lying(embedding=[1.0, float("inf")]), "not finite in single precision"),
        (lying(embedding=[1.0, 1e39]), "not finite in single precision"),
        (lying(embedding=[0.0, 0.0]), "a vector of zeros"),
        (lying(embedding=None), "holds no vectors"),
    ],
)
def test_vectors_that_cannot_be_are_one_line(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder, plan: Plan, message: str
) -> None:
    with pytest.raises(FatalBackboneError, match=message) as raised:
        run(monkeypatch, plan, encoder, ["a", "b"])
    assert "\n" not in str(raised.value)


def test_vectors_of_two_lengths_are_named(
    monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder
) -> None:
    def shrinking(request: Request, number: int) -> dict[str, Any]:
        made = answer(request, number)
        for row in made["data"][number - 1 :]:
            row["embedding"] = row["embedding"][:2]
        return made

    with pytest.raises(FatalBackboneError, match="of 2 and of 3 numbers came back"):
        run(monkeypatch, lambda r, n: shrinking(r, 2), LiteLLMEncoder("openai/tiny"), ["a", "b"])

    def later(request: Request, number: int) -> dict[str, Any]:
        return answer(request, number) if number == 1 else shrinking(request, 1)

    with pytest.raises(FatalBackboneError, match="of 3 and of 2 numbers came back"):
        run(monkeypatch, later, encoder, ["a"] * (BATCH + 1))


def test_a_key_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoder: LiteLLMEncoder
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        encoder.encode(["a"])
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={SECRET}\n")
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        found = LiteLLMEncoder("openai/tiny").encode(["a"])
    assert found.tolist() == [vector("a")]
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_an_unknown_provider_is_named() -> None:
    with pytest.raises(UserError, match="model=tiny-no-such"):
        LiteLLMEncoder("tiny-no-such").encode(["a"])


def test_a_graph_is_searched_through_it(
    monkeypatch: pytest.MonkeyPatch, toy_graph: KnowledgeGraph, tmp_path: Path
) -> None:
    settings = DenseSettings("litellm", "openai/tiny")
    assert settings.made() is encoder_of("litellm", "openai/tiny", 256)
    with serving(answer) as server:
        point_at(monkeypatch, server)
        search = Dense.open_or_build(toy_graph, tmp_path, settings)
        asked = len(server.requests)
        assert len(search.search("a banana", 5)) == 5
        search.rank("a banana", np.array([3]), 1)
        assert len(server.requests) == asked + 1  # the query once
    assert search.identity["vectors"] == {"client": "litellm", "model": "openai/tiny"}
    assert server.url not in str(search.identity)


def test_what_was_sent_is_counted(monkeypatch: pytest.MonkeyPatch, encoder: LiteLLMEncoder) -> None:
    before = sent()
    run(monkeypatch, answer, encoder, ["a"] * (BATCH + 1))
    counts = {"requests": 2, "texts": BATCH + 1, "tokens": 6}
    assert since(before) == {"openai/tiny": counts}

    def silent(request: Request, number: int) -> dict[str, Any]:
        return {k: v for k, v in answer(request, number).items() if k != "usage"}

    before = sent()
    run(monkeypatch, silent, encoder, ["a"])
    assert since(before) == {"openai/tiny": {"requests": 1, "texts": 1, "tokens": None}}
    assert since(sent()) == {}


def test_a_run_says_what_it_sent_and_an_endpoint_that_is_down_leaves_no_id(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")  # nobody listens there
    words = ["graph=toy", "split=all", "limit=3", "method=dense", "method.encoder=litellm"]
    job = compose_one([*words, "method.model=openai/tiny-told"])
    transport = replace(job.transport, results_dir=tmp_path / "results", progress=False)
    with pytest.raises(FatalBackboneError, match="OPENAI_API_BASE"):
        run_cell(job.spec, transport)
    with serving(answer) as server:
        point_at(monkeypatch, server)
        words += ["search=dense", "search.encoder=litellm", "search.model=openai/tiny-dry"]
        said = dry_run(
            [compose_one([*words, "method.model=openai/tiny-dry"]).spec], ["dry"], transport
        )
        texts = sum(len(request.body["input"]) for request in server.requests)
        assert f"For vectors {texts} texts were sent to openai/tiny-dry" in said
    with serving(answer) as server:
        point_at(monkeypatch, server)
        done = run_cell(job.spec, transport)
        first = len(server.requests)
        again = run_cell(job.spec, transport)
        assert len(server.requests) == first
    told = {"requests": first, "texts": sum(len(r.body["input"]) for r in server.requests)}
    assert done.data["embeddings"] == {"openai/tiny-told": {**told, "tokens": 3 * first}}
    assert "embeddings" not in again.data
    stored = [f.read_text() for f in (tmp_path / "data" / "fingerprints").iterdir()]
    assert len(set(stored)) == 1
