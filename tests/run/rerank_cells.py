"""What the tests of reranked cells share: specs, runs, and a backbone whose reranking is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ark.backbone import LexicalBackbone
from ark.backbone.choose import options_in
from ark.records import Completion, Json, Message, Usage
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.journal import read_journal

REPOSITORY = Path(__file__).resolve().parents[2]
BM25 = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
ARK = PluginSpec("ark", "ark.agent.method:Ark", {"agents": 2})
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
LISTWISE = PluginSpec("listwise", "baselines.rerank:Listwise")
POINTWISE = PluginSpec("pointwise", "baselines.rerank:Pointwise")
PLAIN = CellSpec(GraphSpec("toy"), BM25, LEXICAL, split="all")
SPEC = replace(PLAIN, rerank=LISTWISE)
PURE = ("cell", "counts", "measures", "usage", "strata")


def transport(folder: Path, **settings: Any) -> Transport:
    return Transport(results_dir=folder, progress=False, **settings)


def ran(spec: CellSpec, folder: Path) -> Done:
    return run_cell(spec, transport(folder))


def lists(done: Done) -> dict[tuple[str, int], tuple[str, ...]]:
    found = read_journal(done.path.parents[2]).agents
    return {key: line.nodes for key, line in found.items()}


def once(nodes: Iterable[str]) -> tuple[str, ...]:
    """Without the second of i1 and i4, which are one answer, and without repetitions."""
    first: dict[str, str] = {}
    for node in nodes:
        first.setdefault("i1" if node == "i4" else node, node)
    return tuple(first.values())


def pure(data: Mapping[str, Json]) -> str:
    return json.dumps({k: data[k] for k in PURE})


class Picky:
    """Answers as the rules do, but where a reranker asks as ``how`` says."""

    label = "picky"
    is_llm = False

    def __init__(self, how: str) -> None:
        self._how = how
        self._rules = LexicalBackbone()

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"backbone": "picky", "how": self._how}

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        if not how["tag"].startswith("rerank."):
            return await self._rules.complete(messages, **how)
        last = next(m.content or "" for m in reversed(messages) if m.role == "user")
        numbers = [number for number, _ in options_in(last)]
        answer = {
            "refuses": "I am sorry.",
            "reverses": json.dumps({"order": numbers[::-1]}),
            "last": json.dumps({"order": numbers[-1:]}),
        }[self._how]
        return Completion(Message("assistant", answer), Usage(calls=1), "stop", "")


def picky(how: str) -> PluginSpec:
    return PluginSpec("picky", f"{__name__}:Picky", {"how": how})
