"""Calls a second of both clients of models behind HTTP, in turns, against a server on loopback.

``python scripts/bench_clients.py --calls 2000 --in-flight 64 --delay 0.2 --rounds 3``

The server runs in a process of its own, waits ``--delay`` seconds and sends one tool call. Each
round is a new process per client, so that neither sees the other's import or heap.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

MESSAGES = 6  # of a conversation of usual length, with tools
CLIENTS = {
    "litellm": "ark.backbone.litellm:LiteLLMBackbone",
    "openai": "ark.backbone.openai_sdk:OpenAIBackbone",
}


def answer() -> bytes:
    """One tool call, as a server sends it."""
    function = {"name": "search_in_graph", "arguments": json.dumps({"query": "moth", "size": 5})}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230},
    }
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return f"{head}\r\n\r\n".encode() + content


async def serve(delay: float) -> None:
    """Answer every request after ``delay`` seconds; the port is printed first."""
    sent = answer()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            length = next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            await asyncio.sleep(delay)
            writer.write(sent)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def tools() -> list[dict[str, Any]]:
    """Five tools with a few parameters each, about as long as ARK's."""
    field = {"type": "string", "description": "What to look for, in a few words of the question."}
    fields = {f"field_{n}": field for n in range(4)}
    parameters = {"type": "object", "properties": fields, "required": ["field_0"]}
    function = {"description": "Find nodes of the graph by their text. " * 4}
    return [
        {
            "type": "function",
            "function": {**function, "name": f"tool_{n}", "parameters": parameters},
        }
        for n in range(5)
    ]


async def ask(client: str, port: int, calls: int, in_flight: int) -> dict[str, float]:
    """Seconds and CPU of ``calls`` calls, after a short warm-up."""
    from ark.records import Message
    from ark.run.locate import build

    settings = {"model": "openai/bench", "api_base": f"http://127.0.0.1:{port}/v1"}
    backbone = build(CLIENTS[client], "backbone", settings)
    offered, left = tools(), [0]

    async def work() -> None:
        while left[0] > 0:
            left[0] -= 1
            text = f"{left[0]} " + "Which moth visits the plant that grows in the marsh? " * 8
            said = [Message("user" if n % 2 else "system", text) for n in range(MESSAGES)]
            done = await backbone.complete(said, tag="bench", tools=offered, tool_choice="required")
            assert done.message.tool_calls

    async def several(count: int) -> None:
        left[0] = count
        await asyncio.gather(*(work() for _ in range(in_flight)))

    await several(2 * in_flight)
    cpu, started = time.process_time(), time.perf_counter()
    await several(calls)
    seconds = time.perf_counter() - started
    return {
        "rate": calls / seconds,
        "cpu_ms": 1000 * (time.process_time() - cpu) / calls,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure(arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """All rounds, the clients in turns."""
    serving = [sys.executable, __file__, "--serve", "--delay", str(arguments.delay)]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        try:
            for _ in range(arguments.rounds):
                for name, rounds in found.items():
                    words = ["--client", name, "--port", port, "--calls", str(arguments.calls)]
                    words += ["--in-flight", str(arguments.in_flight)]
                    done = subprocess.run(  # noqa: S603
                        [sys.executable, __file__, *words], stdout=subprocess.PIPE, check=True
                    )
                    rounds.append(json.loads(done.stdout))
        finally:
            server.terminate()
    return found


def main() -> None:
    """Print a line a client and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of the server")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=[*CLIENTS], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.delay))
        return
    if arguments.client:
        done = ask(arguments.client, arguments.port, arguments.calls, arguments.in_flight)
        print(json.dumps(asyncio.run(done)))
        return
    found = measure(arguments)
    most = arguments.in_flight / arguments.delay
    print(
        f"{arguments.in_flight} in flight, {arguments.delay:g} s a call: {most:.0f} calls/s at most"
    )
    middle = {}
    for name, rounds in found.items():
        rates = sorted(r["rate"] for r in rounds)
        middle[name] = statistics.median(rates)
        cpu = statistics.median(r["cpu_ms"] for r in rounds)
        rss = max(r["rss_mb"] for r in rounds)
        print(
            f"{name:<8} {middle[name]:5.0f} calls/s ({rates[0]:.0f} to {rates[-1]:.0f}), "
            f"{cpu:.1f} ms CPU a call, {rss:.0f} MB"
        )
    print(f"openai / litellm: {middle['openai'] / middle['litellm']:.2f}")


if __name__ == "__main__":
    main()
