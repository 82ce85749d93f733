"""A chat server on loopback that thinks with our rules and misbehaves on request. For tests."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from ark.backbone import LexicalBackbone
from ark.records import Message, ToolCall

Plan = Callable[["Request", int], Any]
"""What to do with the n-th request: None to think, a dict of ``reply``, the name of a fault, or
(status, words) with headers and fields of the error where they are wanted."""

NAME = "rules-on-http"


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body)


@dataclass
class ChatServer:
    plan: Plan = lambda _request, _number: None
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, request: Request) -> Any:
        with self.lock:
            self.requests.append(request)
            number = len(self.requests)
        return self.plan(request, number)


def always(what: Any) -> Plan:
    return lambda _request, _number: what


@contextlib.contextmanager
def serving(plan: Plan | None = None) -> Iterator[ChatServer]:
    chat = ChatServer() if plan is None else ChatServer(plan)
    handler = type("Handler", (_Handler,), {"chat": chat})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    chat.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def dead_url() -> str:
    """A port where nothing listens: it was free a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def reply(
    message: dict[str, Any] | None = None,
    usage: dict[str, Any] | None = None,
    finish: str | None = "stop",
    **changes: Any,
) -> dict[str, Any]:
    """An answer in OpenAI's form; ``usage={}`` leaves the token counts out."""
    counts = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": NAME,
        "choices": [
            {
                "index": 0,
                "message": message or {"role": "assistant", "content": "fine"},
                "finish_reason": finish,
            }
        ],
        "usage": counts if usage is None else usage,
    }
    if usage == {}:
        del answer["usage"]
    return answer | changes


def _messages(entries: Sequence[dict[str, Any]]) -> list[Message]:
    return [
        Message(
            e["role"],
            e.get("content"),
            tuple(
                ToolCall(c["id"], c["function"]["name"], c["function"]["arguments"])
                for c in e.get("tool_calls", ())
            ),
            e.get("tool_call_id"),
        )
        for e in entries
    ]


def think(body: dict[str, Any]) -> dict[str, Any]:
    """What ``backbone=lexical`` says to the same messages and tools."""
    asked = LexicalBackbone().complete(
        _messages(body["messages"]), tag="ark.step", tools=body.get("tools")
    )
    done = asyncio.run(asked)
    return reply(done.message.to_json(), finish=done.finish)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    chat: ChatServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = json.loads(self.rfile.read(length))
        what = self.chat.take(
            Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        )
        if what is None:
            what = think(body)
        if isinstance(what, str):
            getattr(self, f"_{what}")()
        elif isinstance(what, tuple):
            status, text, *more = what
            headers, fields = (*more, {}, {})[:2]
            error = {"message": text, "type": "error", "code": None, **fields}
            self._send(json.dumps({"error": error}).encode(), status, headers=headers)
        else:
            self._send(json.dumps(what).encode())

    def _send(
        self,
        content: bytes,
        status: int = 200,
        kind: str = "application/json",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _html(self) -> None:
        self._send(b"<!doctype html>\n<html><body>Welcome</body></html>", kind="text/html")

    def _empty(self) -> None:
        self._send(b"")

    def _broken_json(self) -> None:
        self._send(json.dumps(reply()).encode()[:60])

    def _invalid_utf8(self) -> None:
        self._send(b'{"id": "\xff\xfe"}')

    def _html_as_json(self) -> None:
        self._send(b"<html>Sign in</html>")

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()
        self.wfile = io.BytesIO()  # flushed once more by the base class
        self.connection.close()

    def _cut_body(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": ')
        self.close_connection = True

    def _dribble(self) -> None:
        """One byte at a time: never a gap that a time-out per read would see."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        self.close_connection = True
