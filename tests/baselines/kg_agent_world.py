"""A small graph of teams, players and rulers for the tests of KG-Agent, and how to ask it."""

from __future__ import annotations

import asyncio
import functools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ark.backbone import ScriptedBackbone
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Backbone, Context
from ark.records import Attempt
from ark.search import BM25
from baselines.kg_agent.calls import parse
from baselines.kg_agent.engine import engine_of
from baselines.kg_agent.executor import Executor, Rules
from baselines.kg_agent.method import KGAgent
from baselines.kg_agent.sets import NodeSet, Value, of_rows

HUB = 700  # fans of the club: more than a set whose relations are counted one by one
_NODES: tuple[tuple[str, str, str, str, dict[str, Any]], ...] = (
    ("club", "team", "Harbour Club", "A club by the sea.", {"founded": 1911, "mixed": "x"}),
    ("city", "team", "City Eleven", "A club of the old city.", {"founded": 1899}),
    ("a", "player", "Ada", "Plays on the left wing.", {"signed": "1998-05-03", "goals": 12}),
    ("b", "player", "Ben", "Plays in goal, tall.", {"signed": "1998-11", "goals": 31}),
    ("c", "player", "Cai", "Plays on the right wing.", {"signed": "1999", "goals": 31}),
    ("d", "player", "Dee", "", {"signed": "1998-07-01T10:00:00", "goals": 3.5}),
    ("e", "player", "Eve", "Nobody knows.", {"signed": "not known"}),
    ("k1", "ruler", "Old King", "", {"died": "-0044-03-15", "reign_from": "-0049"}),
    (
        "k2",
        "ruler",
        "Older King",
        "",
        {"died": "-0323", "reign_from": "-0336", "reign_to": "-0323"},
    ),
    ("k3", "ruler", "New King", "", {"died": "0014", "reign_from": "-0027", "reign_to": "0014"}),
    ("k4", "ruler", "Queen", "", {"reign_from": "1952-02-06", "reign_to": "2022-09-08"}),
    ("k5", "ruler", "Nobody", "", {}),
    ("y1998", "year", "1998", "", {}),
    ("y2001", "year", "2001", "", {}),
    (
        "town",
        "place",
        "Sea, Town, and Sons",
        "A town that holds commas.",
        {"motto": "one, two, three"},
    ),
    ("alone", "place", "Alone", "Nothing is near.", {}),
    ("twin1", "place", "Twin", "A place of boats.", {}),
    ("twin2", "place", "Twin", "A place of mines.", {}),
)
_EDGES = (
    ("club", "has player", "a"),
    ("club", "has player", "b"),
    ("club", "has player", "d"),
    ("city", "has player", "c"),
    ("city", "has player", "b"),
    ("town", "home of", "club"),
    ("town", "home of", "city"),
    ("a", "active in", "y1998"),
    ("a", "active in", "y2001"),
    ("b", "active in", "y2001"),
    ("twin1", "close to", "town"),
    ("a", "friend of", "twin2"),
)
RELATIONS = ("has player", "home of", "active in", "close to", "friend of", "fan of")


@dataclass(frozen=True)
class World:
    """Eighteen nodes, and ``HUB`` fans of one club."""

    name: str = "kg-agent-world"

    def key(self) -> str:
        return "7" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        fans = tuple(f"fan{i}" for i in range(HUB))
        edges = [*_EDGES, *((fan, "fan of", "club") for fan in fans)]
        ids = [*(n[0] for n in _NODES), *fans]
        row = {node_id: i for i, node_id in enumerate(ids)}
        return GraphData(
            ids=ids,
            types=[*(n[1] for n in _NODES), *["fan"] * HUB],
            names=[*(n[2] for n in _NODES), *fans],
            texts=[*(n[3] for n in _NODES), *[""] * HUB],
            source=[row[s] for s, _, _ in edges],
            relation=[RELATIONS.index(r) for _, r, _ in edges],
            target=[row[t] for _, _, t in edges],
            relations=RELATIONS,
            attrs=[*(n[4] for n in _NODES), *[{}] * HUB],
        )


@functools.cache
def world(root: Path) -> KnowledgeGraph:
    return open_or_build(World(), root)


@functools.cache
def search_of(graph: KnowledgeGraph, root: Path) -> BM25:
    return BM25.open_or_build(graph, root)


class Desk:
    """An executor, spoken to in lines."""

    def __init__(self, graph: KnowledgeGraph, root: Path, question: str = "", **rules: Any) -> None:
        self.graph = graph
        search = search_of(graph, root)
        self.executor = Executor(engine_of(graph), search, question, Rules(**rules))

    def bind(self, **topics: str) -> Desk:
        for name, node_id in topics.items():
            self.executor.bind(name, self.graph.index(node_id))
        return self

    def __call__(self, *lines: str) -> Value:
        """The value of the last line."""
        value: Value = 0
        for line in lines:
            value = self.executor.run(parse(line))
        return value

    def ids(self, *lines: str) -> list[str]:
        value = self(*lines)
        assert isinstance(value, NodeSet)
        assert value.size == len(value.rows)
        return [self.graph.id(i) for i in value.rows.tolist()]

    def empty(self, name: str = "none") -> Desk:
        """Binds the empty set."""
        self.executor.variables[name] = of_rows(np.empty(0, dtype=np.int64))
        return self


def planned(
    graph: KnowledgeGraph,
    root: Path,
    lines: Sequence[str],
    *,
    topics: Sequence[str] = (),
    question: str = "Which?",
    backbone: Backbone | None = None,
    seed: int = 0,
    **settings: Any,
) -> Attempt:
    """An attempt whose planner says these lines, one a step, with the given topic entities."""
    script = ScriptedBackbone([{"content": json.dumps({"call": line})} for line in lines] or [{}])
    context = Context(
        graph,
        search_of(graph, root),
        backbone or script,
        random.Random(seed),
        seeds=tuple(graph.index(t) for t in topics),
    )
    return asyncio.run(KGAgent(**settings).attempt(question, context, 0))
