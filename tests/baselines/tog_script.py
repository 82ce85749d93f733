"""For the tests of ToG: a script for each kind of call, and small graphs."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ark.backbone import ScriptedBackbone
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Backbone, Context
from ark.records import Attempt, Completion, Json, Message
from ark.search import BM25

NO = json.dumps({"enough": False, "answers": []})


def relations(*scores: tuple[int, float]) -> str:
    return json.dumps({"relations": [{"option": n, "score": s} for n, s in scores]})


def entities(*scores: tuple[int, float]) -> str:
    return json.dumps({"entities": [{"option": n, "score": s} for n, s in scores]})


def yes(*numbers: int) -> str:
    return json.dumps({"enough": True, "answers": numbers})


class ByTag:
    """Plays a script a tag: the n-th conversation of a tag its n-th entry, the last one for ever.

    An entry is a reply (also to a repair), or a list: reply, reply to the repair.
    """

    label = "test"
    identity: ClassVar[Mapping[str, Json]] = {"backbone": "test"}

    def __init__(self, scripts: Mapping[str, Sequence[str | Sequence[str]]]) -> None:
        self._scripts = scripts
        self._begun: Counter[str] = Counter()
        self.asked: list[tuple[str, list[Message], dict[str, Any]]] = []

    async def complete(self, messages: Sequence[Message], *, tag: str, **how: Any) -> Completion:
        self.asked.append((tag, list(messages), how))
        first = not any(m.role == "assistant" for m in messages)
        self._begun[tag] += first
        script = self._scripts[tag]
        entry = script[min(self._begun[tag], len(script)) - 1]
        replies = [entry, entry] if isinstance(entry, str) else entry
        played = ScriptedBackbone([{"content": reply} for reply in replies])
        return await played.complete(messages, tag=tag)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _, _ in self.asked]

    def prompts(self, tag: str) -> list[str]:
        """The user message that began each conversation of a tag."""
        return [
            messages[1].content or ""
            for asked, messages, _ in self.asked
            if asked == tag and len(messages) == 2
        ]


@dataclass(frozen=True)
class Drawn:
    """A graph from lists of names and (source, relation, target)."""

    key_: str
    names: tuple[str, ...]
    edges: tuple[tuple[int, str, int], ...]
    texts: tuple[str, ...] = ()
    name: str = "drawn"

    def key(self) -> str:
        return self.key_.rjust(12, "d") + "0" * 52

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        kinds = sorted({relation for _, relation, _ in self.edges}) or ["r"]
        return GraphData(
            [f"n{i}" for i in range(len(self.names))],
            ["t"] * len(self.names),
            self.names,
            self.texts or [""] * len(self.names),
            [a for a, _, _ in self.edges],
            [kinds.index(r) for _, r, _ in self.edges],
            [b for _, _, b in self.edges],
            tuple(kinds),
        )


def star(leaves: int, key: str) -> Drawn:
    """A hub (row 0) with edges to all others; the higher the row, the oftener it says copper."""
    names = ("Hub", *(f"leaf {i}" for i in range(leaves)))
    texts = ("", *(("copper " * (i % 30)).strip() for i in range(leaves)))
    return Drawn(key, names, tuple((0, "holds", i) for i in range(1, leaves + 1)), texts)


def dense(key: str) -> Drawn:
    """Eight nodes, each joined to each by four relations: no step runs out of ways or tails."""
    pairs = itertools.permutations(range(8), 2)
    names = tuple(f"thing {i}" for i in range(8))
    return Drawn(key, names, tuple((a, r, b) for a, b in pairs for r in ("k", "l", "m", "n")))


def walked(
    method: Any,
    graph: KnowledgeGraph,
    root: Path,
    backbone: Backbone,
    *,
    seeds: tuple[int, ...] | None = None,
    question: str = "Which plant do copper moths visit?",
    seed: int = 0,
) -> Attempt:
    search = BM25.open_or_build(graph, root)
    context = Context(graph, search, backbone, random.Random(seed), seeds=seeds)
    done: Attempt = asyncio.run(method.attempt(question, context, 0))
    assert [s.number for s in done.trajectory.steps] == list(
        range(1, len(done.trajectory.steps) + 1)
    )
    return done


def built(source: Drawn, root: Path) -> KnowledgeGraph:
    return open_or_build(source, root)


def counted(attempt: Attempt) -> dict[str, tuple[int, int]]:
    """Tag -> (invalid, fallbacks) of the steps, where there are any."""
    out: dict[str, tuple[int, int]] = {}
    for step in attempt.trajectory.steps:
        invalid, fallbacks = out.get(step.tag, (0, 0))
        out[step.tag] = (invalid + step.invalid, fallbacks + step.fallbacks)
    return {tag: pair for tag, pair in out.items() if any(pair)}


def names(graph: KnowledgeGraph, attempt: Attempt) -> list[str]:
    return [graph.id(i) for i in attempt.ranking.nodes]
