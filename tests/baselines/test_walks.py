"""``propagate`` and ``ppr`` against plain implementations of their definitions."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context, Graph
from ark.records import MAX_RANKED, Attempt, Hit
from ark.search import BM25
from baselines.common import KEPT, PerGraph
from baselines.ppr import PersonalizedPageRank, Walk
from baselines.propagate import Propagate

QUESTIONS = ("copper moth", "dry dunes by the sea", "still water Mercury", "garden plant night")


@dataclass(frozen=True)
class Random:
    """Nodes with few words and edges drawn by a seed: loops, parallel edges, isolated nodes."""

    seed: int
    name: str = "random"

    def key(self) -> str:
        return f"{self.seed}".rjust(12, "f") + "0" * 52

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        rng = random.Random(self.seed)
        n, m = 40, 60
        words = ["copper", "moth", "dune", "sea", "plant", "night", "water"]
        texts = [" ".join(rng.choices(words, k=rng.randrange(4))) for _ in range(n)]
        ends = [(rng.randrange(n), rng.randrange(n)) for _ in range(m)]
        ends += [*ends[:10], (3, 3)]
        ids = [f"n{i}" for i in range(n)]
        return GraphData(
            ids,
            ["t"] * n,
            ids,
            texts,
            [a for a, _ in ends],
            [0] * len(ends),
            [b for _, b in ends],
            ("r",),
        )


@pytest.fixture(params=["toy", 1, 2, 3])
def graph(
    request: pytest.FixtureRequest, toy_graph: KnowledgeGraph, data_root_path: Path
) -> KnowledgeGraph:
    if request.param == "toy":
        return toy_graph
    return open_or_build(Random(request.param), data_root_path)


@pytest.fixture
def search(graph: KnowledgeGraph, data_root_path: Path) -> BM25:
    return BM25.open_or_build(graph, data_root_path)


def ask(method: Any, graph: KnowledgeGraph, search: BM25, question: str) -> Attempt:
    context = Context(graph, search, LexicalBackbone(), random.Random(0))
    done: Attempt = asyncio.run(method.attempt(question, context, 0))
    return done


@pytest.mark.parametrize(
    "settings", [{}, {"seeds": 2}, {"weight": 0.25}, {"degree_power": 1.0}, {"weight": 0}]
)
def test_propagate_adds_the_scores_of_neighbouring_seeds(
    graph: KnowledgeGraph, search: BM25, settings: dict[str, Any]
) -> None:
    method = Propagate(**settings)
    for question in QUESTIONS:
        scores: dict[int, float] = defaultdict(float)
        for hit in search.search(question, method.seeds):
            scores[hit.node] += hit.score
            near = graph.neighbors(hit.node).tolist()
            for node in near:
                scores[node] += method.weight * hit.score / len(near) ** method.degree_power
        wanted = sorted(scores, key=lambda i: (-round(scores[i], 5), i))[:MAX_RANKED]
        assert list(ask(method, graph, search, question).ranking.nodes) == wanted


def test_propagate_ranks_an_unnamed_node_between_two_hits_first(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path)
    found = ask(Propagate(), toy_graph, search, "ribbon silverleaf").ranking.nodes
    assert toy_graph.id(found[0]) in {"p1", "i3"}  # the two hits are neighbours
    assert set(map(toy_graph.id, found)) == {"p1", "i3", "h1", "h3", "h2", "p4"}


def exact(graph: KnowledgeGraph, seeds: list[Hit], damping: float) -> np.ndarray[Any, Any]:
    """The fixed point, by a dense solver."""
    n = graph.n_nodes
    jump = np.zeros(n)
    for hit in seeds:
        jump[hit.node] = hit.score
    jump /= jump.sum()
    ways = np.zeros((n, n))
    for source, target in zip(*(ends.tolist() for ends in graph.edges()[::2]), strict=True):
        ways[source, target] += 1
        ways[target, source] += 1
    degree = ways.sum(axis=1)
    step = np.where(degree > 0, ways / np.maximum(degree, 1), jump[:, None])
    solved: np.ndarray[Any, Any] = np.linalg.solve(np.eye(n) - damping * step, (1 - damping) * jump)
    return solved


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.0])
def test_pagerank_is_the_fixed_point(graph: KnowledgeGraph, search: BM25, damping: float) -> None:
    method = PersonalizedPageRank(damping=damping, tolerance=1e-10, max_iterations=1000)
    for question in QUESTIONS:
        seeds = search.search(question, method.seeds)
        scores, iterations = method.scores(graph, seeds)
        np.testing.assert_allclose(scores, exact(graph, seeds, damping), atol=1e-8)
        assert scores.sum() == pytest.approx(1)
        assert 0 < iterations < 1000
        ranked = ask(method, graph, search, question).ranking.nodes
        in_order = sorted(np.flatnonzero(scores), key=lambda i: (-scores[i], i))
        np.testing.assert_allclose(scores[list(ranked)], scores[in_order][:MAX_RANKED], rtol=1e-6)
        assert set(ranked) <= set(in_order)


def test_pagerank_counts_parallel_edges_and_keeps_an_isolated_seed(
    toy_graph: KnowledgeGraph,
) -> None:
    method = PersonalizedPageRank()
    row = toy_graph.index
    scores, _ = method.scores(toy_graph, [Hit(row("h4"), 2.0)])
    assert scores[row("h4")] == pytest.approx(1)
    assert np.count_nonzero(scores) == 1
    first = Walk(toy_graph).step(np.eye(13)[row("i1")])  # edges: p2 twice, p4, h3, i4
    assert {toy_graph.id(int(i)): round(first[i], 9) for i in np.flatnonzero(first)} == {
        "p2": 0.4,
        "p4": 0.2,
        "h3": 0.2,
        "i4": 0.2,
    }


def test_pagerank_stops_at_its_budget_and_says_so(graph: KnowledgeGraph, search: BM25) -> None:
    attempt = ask(PersonalizedPageRank(max_iterations=3), graph, search, QUESTIONS[0])
    assert attempt.trajectory.steps[0].state["iterations"] == 3
    assert attempt.status == "ok"


def test_what_is_made_of_a_graph_is_made_once(data_root_path: Path) -> None:
    made: list[str] = []

    def make(graph: Graph) -> int:
        made.append(graph.content_hash)
        return len(made)

    kept = PerGraph(make)
    graphs = [open_or_build(Random(seed), data_root_path) for seed in range(1, KEPT + 2)]
    again = open_or_build(Random(1), data_root_path)  # another object of the same content
    assert [kept(graphs[0]), kept(again), kept(graphs[0])] == [1, 1, 1]
    for graph in graphs:
        kept(graph)
    assert len(made) == KEPT + 1
    kept(graphs[0])  # had to make room
    assert len(made) == KEPT + 2
    kept(graphs[-1])
    kept(graphs[1])  # takes the place of the one that was used longest ago, graphs[0]
    kept(graphs[-1])
    assert len(made) == KEPT + 3


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        (Propagate, {"seeds": 0}),
        (Propagate, {"weight": -1}),
        (Propagate, {"degree_power": float("nan")}),
        (Propagate, {"weight": "much"}),
        (PersonalizedPageRank, {"damping": 1.5}),
        (PersonalizedPageRank, {"damping": True}),
        (PersonalizedPageRank, {"tolerance": -1}),
        (PersonalizedPageRank, {"max_iterations": 0}),
    ],
)
def test_settings_are_checked(method: Any, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(UserError, match=rf"method\.{name}="):
        method(**wrong)


def test_whole_and_real_numbers_of_one_value_are_one_identity() -> None:
    assert repr(Propagate(weight=1).identity) == repr(Propagate(weight=1.0).identity)
