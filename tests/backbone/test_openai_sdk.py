"""``backbone=openai``: what only this client does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer, always, dead_url, reply
from remote_calls import SECRET, ask, failure, made

from ark.backbone.openai_sdk import OpenAIBackbone
from ark.errors import FatalBackboneError, RetryableError, UserError

pytestmark = pytest.mark.usefixtures("outside")

MODEL = "openai/gpt-4.1-2025-04-14"


@pytest.fixture
def openai(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    """Stands in for api.openai.com."""
    monkeypatch.setattr("ark.backbone.openai_sdk.OPENAI", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", dead_url())  # must not choose the server
    return server


def test_openai_itself_gets_its_key_and_its_names(openai: ChatServer) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007}
    openai.plan = always(reply(usage=usage))
    backbone = OpenAIBackbone(MODEL, max_tokens=50)
    assert backbone.label == MODEL
    assert ask(backbone).usage.cost == pytest.approx(1000 * 2e-6 + 7 * 8e-6)
    (seen,) = openai.requests
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert set(seen.body) == {"model", "messages", "max_completion_tokens"}
    assert seen.body["model"] == "gpt-4.1-2025-04-14"


def test_the_environments_headers_are_for_openai_only(
    openai: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Own: mine\nAuthorization: Bearer {SECRET}x")
    ask(made(openai, "openai"))
    assert "mine" not in str(openai.requests[0].headers)
    assert openai.requests[0].headers["authorization"] == "Bearer no-key"
    ask(OpenAIBackbone(MODEL))
    assert openai.requests[1].headers["openai-organization"] == "org-mine"
    assert openai.requests[1].headers["authorization"] == f"Bearer {SECRET}"


def test_no_key_and_the_key_of_a_file(
    openai: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.chdir(tmp_path)
    error = failure(OpenAIBackbone(MODEL))
    assert type(error) is FatalBackboneError
    assert "set OPENAI_API_KEY" in str(error)
    assert openai.requests == []
    (tmp_path / ".env").write_text(f'OPENAI_API_KEY="{SECRET}"')
    ask(OpenAIBackbone(MODEL))
    assert openai.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("model", ["gpt-4.1", "Qwen/Qwen3-8B", "anthropic/claude-x", "openai/"])
def test_names_are_those_of_litellm(model: str) -> None:
    with pytest.raises(UserError, match=f"write backbone.model=openai/{model}"):
        OpenAIBackbone(model, api_base="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"message": "Slow down", "code": 429}, RetryableError, "rate limit (429)"),
        ({"message": "No credits", "code": 402}, FatalBackboneError, "no credit left"),
        ("Something broke", RetryableError, "Something broke"),
    ],
)
def test_an_error_under_status_200_is_an_error(
    server: ChatServer, error: object, kind: type[Exception], words: str
) -> None:
    server.plan = always({"error": error})
    found = failure(made(server, "openai"))
    assert type(found) is kind
    assert words in str(found)


def test_an_answer_of_a_megabyte(server: ChatServer) -> None:
    server.plan = always(reply({"role": "assistant", "content": "moth " * 200_000}))
    assert len(ask(made(server, "openai")).message.content or "") == 1_000_000


def test_litellm_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['litellm'] = None; "
        "from ark.backbone.openai_sdk import OpenAIBackbone; "
        "print(OpenAIBackbone('openai/x', api_base='http://127.0.0.1:9/v1').label)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "openai/x"
