"""How the tests of models behind HTTP make a backbone, ask it, and look at what it raises."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from chat_server import ChatServer

from ark.backbone.litellm import LiteLLMBackbone
from ark.backbone.openai_sdk import OpenAIBackbone
from ark.backbone.remote import RemoteBackbone
from ark.errors import ArkError
from ark.records import Completion, Message

ASK = [Message("system", "Be brief."), Message("user", "Which moth?")]
SECRET = "sk-verysecret-0123456789abcdef"
PLAIN_SECRET = "c0ffee0123456789c0ffee"  # nothing but its variable's name says that it is a key
CLIENTS: dict[str, type[RemoteBackbone]] = {"litellm": LiteLLMBackbone, "openai": OpenAIBackbone}


def made(server: ChatServer | str, client: str = "litellm", **settings: Any) -> RemoteBackbone:
    url = server if isinstance(server, str) else server.url
    return CLIENTS[client](**{"model": "openai/tiny", "api_base": url, "timeout": 20, **settings})


def ask(backbone: RemoteBackbone, messages: Any = ASK, **how: Any) -> Completion:
    done = asyncio.run(backbone.complete(messages, tag="ark.step", **how))
    assert isinstance(done, Completion)
    return done


def failure(backbone: RemoteBackbone) -> ArkError:
    with pytest.raises(ArkError) as caught:
        ask(backbone)
    error = caught.value
    assert len(str(error)) < 600
    assert "\n" not in str(error)
    assert str(error).isprintable()
    assert error.__cause__ is None
    assert error.__context__ is None  # it would carry the library's text, and in it the key
    return error
