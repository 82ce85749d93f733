"""What tests of ToG-2 share: small graphs, and a scripted model with answers by kind of call."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ark.backbone import ScriptedBackbone
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Backbone, Context
from ark.records import Attempt, Completion, Json
from ark.search import BM25
from baselines.tog2.method import Tog2

CODE: dict[str, Any] = {
    "topic_prune_above": 2,
    "combined_limits": False,
    "tails": "random",
    "need_text": True,
    "triple_sentence": False,
    "initial": False,
    "context": "sentences",
    "clue": False,
    "final": "memory",
}
"""What the preset ``code`` sets; a test holds it against the class and the config."""
BEFORE = ("tog2.link", "tog2.pick", "tog2.topic_prune")
NO: dict[str, Json] = {"sufficient": False, "clue": ""}


@dataclass(frozen=True)
class Small:
    """A graph from (id, name, text) rows and (source, relation, target) rows."""

    nodes: tuple[tuple[str, str, str], ...]
    edges: tuple[tuple[str, str, str], ...]
    name: str = "small"

    def key(self) -> str:
        return hashlib.sha256(repr((self.nodes, self.edges)).encode()).hexdigest()

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        ids, names, texts = zip(*self.nodes, strict=True)
        relations = tuple(dict.fromkeys(r for _, r, _ in self.edges)) or ("r",)
        row = {node_id: i for i, node_id in enumerate(ids)}
        return GraphData(
            ids,
            ["thing"] * len(ids),
            names,
            texts,
            [row[s] for s, _, _ in self.edges],
            [relations.index(r) for _, r, _ in self.edges],
            [row[t] for _, _, t in self.edges],
            relations,
        )


def small(
    root: Path, nodes: Sequence[tuple[str, str, str]], edges: Sequence[tuple[str, str, str]]
) -> KnowledgeGraph:
    return open_or_build(Small(tuple(nodes), tuple(edges)), root)


class ByTag:
    """Plays the answers of a call's tag in order; the last one again and again.

    An answer is a text or an object that is sent as JSON. A tag without answers gets "{}".
    """

    is_llm = False
    label = "scripted answers by tag"

    def __init__(self, **answers: Any) -> None:
        self.answers = {f"tog2.{tag}": value for tag, value in answers.items()}
        self.calls: list[tuple[str, str]] = []
        self.schemas: list[Mapping[str, Json]] = []

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"backbone": "test"}

    async def complete(
        self, messages: Any, *, tag: str, schema: Any = None, **_: Any
    ) -> Completion:
        given = self.answers.get(tag, {})
        answers = given if isinstance(given, list) else [given]
        number = sum(known == tag for known, _ in self.calls)
        answer = answers[min(number, len(answers) - 1)]
        self.calls.append((tag, "\n".join(m.content or "" for m in messages)))
        self.schemas.append(schema)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return await ScriptedBackbone([{"content": text}]).complete([], tag=tag)

    def prompts(self, tag: str) -> list[str]:
        return [prompt for known, prompt in self.calls if known == f"tog2.{tag}"]

    @property
    def counts(self) -> Counter[str]:
        return Counter(tag for tag, _ in self.calls)

    @property
    def walked(self) -> int:
        """Calls that the bound is about."""
        return sum(tag not in BEFORE for tag, _ in self.calls)


def ask(
    graph: KnowledgeGraph,
    root: Path,
    backbone: Backbone,
    question: str,
    seeds: Sequence[str] | None = None,
    seed: int = 0,
    **settings: Any,
) -> Attempt:
    rows = None if seeds is None else tuple(graph.index(node) for node in seeds)
    search = BM25.open_or_build(graph, root)
    context = Context(graph, search, backbone, random.Random(seed), seeds=rows)
    return asyncio.run(Tog2(**settings).attempt(question, context, 0))


def names(graph: KnowledgeGraph, attempt: Attempt) -> list[str]:
    return [graph.id(node) for node in attempt.ranking.nodes]


def states(attempt: Attempt, purpose: str) -> list[Mapping[str, Json]]:
    return [s.state for s in attempt.trajectory.steps if s.state["purpose"] == purpose]


def end(attempt: Attempt) -> str:
    (state,) = states(attempt, "end")
    return str(state["reason"])


def all_relations(most: int = 40, score: float = 9) -> dict[str, Json]:
    """One score for every option that there may be; 9 of 10 in a combined call."""
    return {"relations": [{"option": i, "score": score} for i in range(1, most + 1)]}
