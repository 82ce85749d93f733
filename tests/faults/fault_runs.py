"""Runs against the fault server: a made-up graph, the cell, and the books of a run folder."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fault_server import FaultServer

from ark.backbone.reliable import Retries
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport

MODEL = "openai/rules"
TARGETS = {
    "litellm": "ark.backbone.litellm:LiteLLMBackbone",
    "openai": "ark.backbone.openai_sdk:OpenAIBackbone",
}
PRICE = [1.0, 4.0]  # US dollars per million tokens

_THINGS = "lamp rope kettle drum mirror saddle anvil violin clock barrel candle ladder".split()
_MADE_OF = "copper oak wool glass tin leather marble silver clay ivory".split()
_USES = "sailors bakers miners dancers hunters scribes weavers pilgrims".split()


def make_graph(folder: Path, questions: int, seed: int = 0) -> Path:
    """A table graph of shops and goods with ``questions`` questions; returns the folder."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    shops = [(f"s{i}", "shop", f"Shop {_word(rng)} {i}", "") for i in range(questions // 4 + 3)]
    nodes, edges, queries = [*shops], [], []
    for i in range(questions):
        thing, made, use = rng.choice(_THINGS), rng.choice(_MADE_OF), rng.choice(_USES)
        shop = rng.choice(shops)
        text = f"A {thing} of {made} for {use}, number {rng.randrange(10_000)}."
        nodes.append((f"g{i}", "good", f"{made} {thing} {i}", text))
        edges.append((shop[0], f"g{i}", "sells"))
        ask = f"Which {thing} for {use} does {shop[2]} sell? (case {i})"
        queries.append((f"q{i}", ask, json.dumps([f"g{i}"])))
    for _ in range(questions):  # other ways between them
        shop, good = rng.choice(shops), rng.randrange(questions)
        edges.append((shop[0], f"g{good}", "repairs"))
    _write(folder / "nodes.csv", ("id", "type", "name", "text"), nodes)
    _write(folder / "edges.csv", ("source", "target", "type"), edges)
    _write(folder / "queries.csv", ("id", "query", "answer_ids"), queries)
    return folder


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(pair) for pair in ("bdgklm", "aeiou", "lnrst", "aeiou", "kmnr"))


def _write(path: Path, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def cell(graph: Path, url: str, client: str = "openai", **settings: Any) -> CellSpec:
    """ARK with one agent on all questions of a made graph, behind one client."""
    agents = settings.pop("agents", 1)
    backbone: dict[str, Any] = {"model": MODEL, "api_base": url, "price": PRICE, **settings}
    return CellSpec(
        GraphSpec("table", {"path": str(graph)}),
        PluginSpec("ark", "ark.agent.method:Ark", {"agents": agents, "max_steps": 8}),
        PluginSpec(client, TARGETS[client], backbone),
    )


def transport(results: Path, concurrency: int = 64, **more: Any) -> Transport:
    """Quiet, many in flight, few seconds between retries."""
    kept = {"retries": Retries(6, 2.0), "progress": False, **more}
    return Transport(results, concurrency=concurrency, **kept)


@dataclass(frozen=True)
class Books:
    """What a journal or a ledger says was asked and told."""

    requests: int
    prompt: int
    completion: int
    dollars: float


def run_folder(results: Path) -> Path:
    (folder,) = (results / "runs").iterdir()
    return folder


def rows(path: Path) -> list[dict[str, Any]]:
    """Whole lines: a full disk or a kill may have cut the last one."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def journal(results: Path) -> Books:
    """Sum over agent lines."""
    lines = [x for x in rows(run_folder(results) / "journal.jsonl") if x["kind"] == "agent"]
    return _summed([used for line in lines for used in line["usage"].values()])


def ledger(results: Path) -> Books:
    return _summed(rows(run_folder(results) / "ledger.jsonl"))


def _summed(entries: Sequence[Mapping[str, Any]]) -> Books:
    return Books(
        sum(e["calls"] + e["retries"] for e in entries),
        sum(e["prompt_tokens"] for e in entries),
        sum(e["completion_tokens"] for e in entries),
        round(sum(e["cost"] or 0.0 for e in entries), 9),
    )


def per_query(results: Path) -> dict[str, dict[str, str]]:
    """Rows of per_query.csv by the text of the question."""
    folder = run_folder(results)
    texts = {q["id"]: q["text"] for q in rows(folder / "queries.jsonl")}
    (path,) = folder.glob("readings/*/per_query.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {texts[row["query"]]: row for row in csv.DictReader(file)}


def pure(data: Mapping[str, Any]) -> dict[str, Any]:
    """What must not depend on how often a run was stopped."""
    parts = ("cell", "counts", "measures", "usage", "single_agents", "strata")
    return {name: data[name] for name in parts}


# -- as a process ------------------------------------------------------------------------------

REPOSITORY = Path(__file__).resolve().parents[2]


def arguments(
    graph: Path, url: str, results: Path, *more: str, client: str = "openai"
) -> list[str]:
    """Of ``run.py``: two agents with draws of their own, eight in flight."""
    return [
        "graph=table",
        f"graph.path={graph}",
        "method.agents=2",
        "method.max_steps=8",
        f"backbone={client}",
        f"backbone.model={MODEL}",
        f"backbone.api_base={url}",
        f"backbone.price={json.dumps(PRICE)}",
        "backbone.send_seed=true",
        "retry.longest_wait=2",
        "concurrency=8",
        "progress=false",
        f"results_dir={results}",
        *more,
    ]


def start(
    given: list[str], data: Path, program: Sequence[str] = ("run.py",)
) -> subprocess.Popen[str]:
    """``run.py`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, *program, *given],
        cwd=REPOSITORY,
        env={**os.environ, "ARK_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def result_of(output: str) -> dict[str, Any]:
    """What the last line of a run's output names."""
    last = output.splitlines()[-1]
    data: dict[str, Any] = json.loads(Path(last.removeprefix("result: ")).read_text("utf-8"))
    return data


@dataclass(frozen=True)
class Killed:
    """What a run that was killed again and again came to."""

    kills: int
    data: dict[str, Any]


def kill_again_and_again(
    server: FaultServer,
    given: list[str],
    data: Path,
    moments: Sequence[tuple[int, float]],
    check: Callable[[], None],
) -> Killed:
    """Start, ``kill -9`` so many requests and seconds later, ``check``, again; then to the end.

    A process that ends before its moment ends the killing.
    """
    kills = 0
    for requests, seconds in moments:
        process = start(given, data)
        server.heard = _killer(process, server.received + requests, seconds)
        code, out, err = finish(process)
        if code == 0:
            return Killed(kills, result_of(out))
        if code != -signal.SIGKILL:
            raise AssertionError(f"exit code {code}: {err}")
        kills += 1
        check()
    server.heard = lambda _number: None
    code, out, err = finish(start(given, data))
    if code != 0:
        raise AssertionError(f"exit code {code}: {err}")
    return Killed(kills, result_of(out))


def _killer(process: subprocess.Popen[str], target: int, seconds: float) -> Callable[[int], None]:
    def heard(number: int) -> None:
        if number == target:
            asyncio.get_running_loop().call_later(seconds, process.kill)

    return heard


def moments(seed: int, kills: int, requests: int) -> list[tuple[int, float]]:
    """Random ones for a run of about so many requests."""
    rng = random.Random(seed)
    most = max(2, 2 * requests // (kills + 4))
    return [(rng.randint(1, most), rng.uniform(0, 0.05)) for _ in range(kills)]
