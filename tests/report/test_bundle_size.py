"""The size that was promised: 2,801 questions x 3 agents with full lists under 20 MB."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Completion, Json, Message, Ranking, Step, Trajectory, Usage
from ark.report.bundle import pack
from ark.report.verify import verify
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell

HERE = "test_bundle_size"
QUESTIONS, CALLS, LIST = 2_801, 12, 100


@dataclass(frozen=True)
class Draws:
    """An answer with tokens and a price drawn for it: nothing that compresses."""

    label: ClassVar[str] = "draws"
    identity: ClassVar[Mapping[str, Json]] = {"model": "draws"}

    async def complete(
        self, messages: Sequence[Message], *, tag: str, **settings: Any
    ) -> Completion:
        rng = random.Random(messages[0].content)
        prompt, answer = rng.randrange(500, 9_000), rng.randrange(10, 400)
        used = Usage(1, prompt, answer, prompt * 1.5e-7 + answer * 6e-7)
        return Completion(Message("assistant", "x"), used, "stop", "draws")


@dataclass(frozen=True)
class Full:
    """A hundred nodes drawn at random, three agents, twelve calls each."""

    label: ClassVar[str] = "Full"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ({"content": "x"},)
    agents: ClassVar[int] = 3
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        steps = []
        for number in range(1, CALLS + 1):
            message = Message("user", f"{question} {agent} {number}")
            await ctx.backbone.complete([message], tag="full.step")
            steps.append(Step(number, "full.step", {"kind": "walk"}))
        nodes = ctx.rng.sample(range(ctx.graph.n_nodes), LIST)
        picked = tuple(sorted(ctx.rng.randrange(1, CALLS + 1) for _ in nodes))
        return Attempt(Ranking(tuple(nodes), 5, picked), "ok", Trajectory((), tuple(steps)))


@pytest.mark.slow
def test_a_full_run_of_stark_prime_is_small_enough(
    hpo_graph: KnowledgeGraph,
    data_root_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    rng = random.Random(0)
    rows = [
        {
            "id": str(i),
            "text": f"Which one is number {i}?",
            "answer_ids": [
                hpo_graph.id(j) for j in rng.sample(range(hpo_graph.n_nodes), rng.randrange(1, 8))
            ],
        }
        for i in range(QUESTIONS)
    ]
    questions = tmp_path / "q.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = CellSpec(
        GraphSpec("hpo"),
        PluginSpec("full", f"{HERE}:Full"),
        PluginSpec("draws", f"{HERE}:Draws"),
        queries=questions,
    )
    transport = Transport(results_dir=tmp_path, progress=False)
    run_cell(spec, transport)
    done = run_cell(replace(spec, fusion=Fusion("rrf")), transport)
    for name, path in (("one reading", done.path), ("two readings", done.path.parents[2])):
        bundle = pack(path)
        print(f"{name}: {len(bundle.data) / 1e6:.2f} MB")  # noqa: T201 (pytest -s)
        assert bundle.questions == QUESTIONS
        assert len(bundle.data) < 20e6
    (tmp_path / "b.zip").write_bytes(bundle.data)
    assert verify(tmp_path / "b.zip").differences == []
