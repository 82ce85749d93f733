"""A chat server on loopback that thinks with our rules, misbehaves by a plan, and keeps the books.

One thread, one event loop, plain sockets: a reset is a reset on the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fault_plan import FaultPlan, spoil

from ark.backbone import LexicalBackbone
from ark.records import Message, ToolCall

NAME = "rules-on-http"
Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
Plan = Callable[[str, int], str | None]
"""``plan(conversation, attempt)``: a fault, ``STATUS CODE`` of an error for good, or None."""

LONGEST_STALL = 60.0  # seconds, should a client never give up


@dataclass(frozen=True)
class Request:
    """One request and what was answered. Tokens are *told* where a whole answer names them."""

    question: str
    conversation: str
    attempt: int
    fault: str | None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    told: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FaultServer:
    """Its books; ``heard`` is called with the number of each request before it is answered."""

    plan: Plan
    heard: Callable[[int], None] = lambda _number: None
    seconds: float = 0.0
    """What an answer takes."""
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    received: int = 0
    most_in_flight: int = 0

    def told(self) -> tuple[int, int]:
        """Prompt and completion tokens that clients were told of."""
        kept = [r for r in self.requests if r.told]
        return sum(r.prompt_tokens for r in kept), sum(r.completion_tokens for r in kept)

    def untold(self) -> int:
        """Tokens of answers that never arrived whole: a provider bills them, no client knows."""
        return sum(r.prompt_tokens + r.completion_tokens for r in self.requests if not r.told)

    def faults(self) -> Counter[str]:
        """How often each fault was played."""
        return Counter(r.fault for r in self.requests if r.fault is not None)


@contextlib.contextmanager
def serving(plan: Plan | None = None, seconds: float = 0.0) -> Iterator[FaultServer]:
    """A running server; it is gone at the end, with all that was still in flight."""
    books = FaultServer(plan or FaultPlan(share=0.0), seconds=seconds)
    ready, loops = threading.Event(), []

    async def run() -> None:
        line = _Line(books)
        server = await asyncio.start_server(line.talk, "127.0.0.1", 0)
        books.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        ready.set()
        await stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close in the next rounds of the loop

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    ready.wait()
    try:
        yield books
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()


class _Line:
    """Connections. Each handler answers one request and says whether the connection lives on."""

    def __init__(self, books: FaultServer) -> None:
        self._books = books
        self._flying = 0
        self._mind = LexicalBackbone()

    async def talk(self, reader: Reader, writer: Writer) -> None:
        try:
            while (received := await _read(reader)) is not None:
                self._flying += 1
                self._books.most_in_flight = max(self._books.most_in_flight, self._flying)
                try:
                    if not await self._answer(*received, reader, writer):
                        break
                finally:
                    self._flying -= 1
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client has gone
        finally:
            writer.transport.abort()

    async def _answer(
        self,
        headers: dict[str, str],
        body: dict[str, Any],
        reader: Reader,
        writer: Writer,
    ) -> bool:
        books, key = self._books, _key_of(body)
        attempt = books.attempts[key]
        books.attempts[key] += 1
        fault = books.plan(key, attempt)
        books.received += 1
        books.heard(books.received)
        question = next((m["content"] for m in body["messages"] if m["role"] == "user"), "")
        entry: dict[str, Any] = {
            "question": question,
            "conversation": key,
            "attempt": attempt,
            "fault": fault,
            "headers": headers,
        }
        refusal = _refusal(fault)
        if refusal is not None:
            books.requests.append(Request(**entry))
            return await _send(writer, *refusal)
        if fault == "reset":  # before a word was said
            books.requests.append(Request(**entry))
            return _reset(writer)
        await asyncio.sleep(books.seconds)
        answer = spoil(fault or "", await self._think(body))
        sent = answer["usage"]
        tokens = {k: sent[k] for k in ("prompt_tokens", "completion_tokens")}
        content = json.dumps(answer).encode()
        way = _WAYS.get(fault or "")
        books.requests.append(Request(**entry, **tokens, told=way in (None, _dribble)))
        if way is not None:
            return await way(content, reader, writer)
        return await _send(writer, 200, content)

    async def _think(self, body: dict[str, Any]) -> dict[str, Any]:
        done = await self._mind.complete(
            _messages(body["messages"]),
            tag="ark.step",
            tools=body.get("tools"),
            draw=body.get("seed", 0),
        )
        message = done.message.to_json()
        prompt = len(json.dumps(body["messages"])) // 4
        completion = len(json.dumps(message)) // 4
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": NAME,
            "choices": [{"index": 0, "message": message, "finish_reason": done.finish}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }


async def _read(reader: Reader) -> tuple[dict[str, str], dict[str, Any]] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")[1:-2]
    headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines)}
    return headers, json.loads(await reader.readexactly(int(headers["content-length"])))


def _key_of(body: dict[str, Any]) -> str:
    said = json.dumps([body.get("seed"), body["messages"]], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _messages(entries: list[dict[str, Any]]) -> list[Message]:
    out = []
    for entry in entries:
        functions = [(c["id"], c["function"]) for c in entry.get("tool_calls", ())]
        calls = tuple(ToolCall(i, f["name"], f["arguments"]) for i, f in functions)
        told = entry.get("content"), calls, entry.get("tool_call_id")
        out.append(Message(entry["role"], *told))
    return out


# -- refusals and broken ways -----------------------------------------------------------------

_WORDS = {
    "rate_limit": (429, "rate_limit_exceeded", "Slow down", ""),
    "rate_limit_wait": (429, "rate_limit_exceeded", "Slow down", "Retry-After: 0.3\r\n"),
    "error_500": (500, "server_error", "Oops", ""),
    "error_503": (503, "overloaded", "Overloaded", ""),
    "bad_key": (401, "invalid_api_key", "Incorrect API key provided", ""),
    "no_model": (404, "model_not_found", "The model does not exist", ""),
    "no_quota": (429, "insufficient_quota", "You exceeded your current quota", ""),
}


def _refusal(fault: str | None) -> tuple[int, bytes, str] | None:
    if fault not in _WORDS:
        return None
    status, code, text, more = _WORDS[fault]
    error = {"message": text, "type": code, "code": code}
    return status, json.dumps({"error": error}).encode(), more


def _head(length: int, status: int = 200, more: str = "", kind: str = "application/json") -> bytes:
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
    ).encode()


async def _send(
    writer: Writer,
    status: int,
    content: bytes,
    more: str = "",
    kind: str = "application/json",
) -> bool:
    writer.write(_head(len(content), status, more, kind) + content)
    await writer.drain()
    return True


def _reset(writer: Writer) -> bool:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


async def _reset_in_body(content: bytes, reader: Reader, writer: Writer) -> bool:
    writer.write(_head(len(content)) + content[: len(content) // 2])
    await writer.drain()
    await asyncio.sleep(0.02)  # else the reset overtakes the half
    return _reset(writer)


async def _stall(content: bytes, reader: Reader, writer: Writer) -> bool:
    """Half an answer, then silence until the client gives up."""
    writer.write(_head(len(content)) + content[: len(content) // 2])
    await writer.drain()
    await asyncio.wait_for(reader.read(1), LONGEST_STALL)
    return False


async def _dribble(content: bytes, reader: Reader, writer: Writer) -> bool:
    """The whole answer, in ten pieces."""
    writer.write(_head(len(content)))
    size = len(content) // 10 + 1
    for start in range(0, len(content), size):
        writer.write(content[start : start + size])
        await writer.drain()
        await asyncio.sleep(0.03)
    return True


async def _html(_content: bytes, _reader: Reader, writer: Writer) -> bool:
    return await _send(writer, 200, b"<!doctype html><p>Welcome</p>", kind="text/html")


async def _broken_json(content: bytes, _reader: Reader, writer: Writer) -> bool:
    return await _send(writer, 200, content[: len(content) // 2])


async def _invalid_utf8(content: bytes, _reader: Reader, writer: Writer) -> bool:
    return await _send(writer, 200, content.replace(b'"assistant"', b'"\xff\xfe\xfa"', 1))


_Way = Callable[[bytes, Reader, Writer], Awaitable[bool]]
_WAYS: dict[str, _Way] = {
    "reset_in_body": _reset_in_body,
    "stall": _stall,
    "dribble": _dribble,
    "html": _html,
    "broken_json": _broken_json,
    "invalid_utf8": _invalid_utf8,
}
