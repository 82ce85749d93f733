"""Fixtures of the tests that talk to a chat server on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import ChatServer, always, reply, serving
from remote_calls import CLIENTS


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every host but loopback is refused, and remembered."""
    asked: list[str] = []
    resolve, connect = socket.getaddrinfo, socket.socket.connect

    def named(host: Any) -> str:
        return host.decode() if isinstance(host, bytes) else str(host)

    def local(host: Any) -> bool:
        return named(host) in ("127.0.0.1", "localhost", "::1")

    def guarded_resolve(host: Any, *rest: Any, **more: Any) -> Any:
        if not local(host):
            asked.append(named(host))
            raise socket.gaierror(socket.EAI_NONAME, "refused by the test")
        return resolve(host, *rest, **more)

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not local(address[0]):
            asked.append(str(address[0]))
            raise ConnectionRefusedError("refused by the test")
        connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", guarded_resolve)
    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    yield asked
    assert asked == [] or "expected" in asked


@pytest.fixture(params=sorted(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    """Each of the clients of models behind HTTP."""
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(always(reply())) as running:
        yield running
