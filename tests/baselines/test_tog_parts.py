"""Parts of ToG against their definitions: ways, merging, scores, answers, the bound on calls."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tog_script import Drawn, built, dense, star, walked

from ark.backbone import LexicalBackbone, RandomBackbone
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Completion, Message, Usage
from ark.search import BM25
from baselines.ask import UnreadableError
from baselines.tog.answers import Verdict, grounded, read_verdict
from baselines.tog.beam import Kept, Reached, Seen, best_ways, merged
from baselines.tog.method import Tog, TogBM25, TogFaithful, TogR, TogRBM25
from baselines.tog.ways import Way, cut, step, ways_of


def context(graph: KnowledgeGraph, root: Path) -> Context:
    return Context(graph, BM25.open_or_build(graph, root), LexicalBackbone(), random.Random(0))


# -- ways ----------------------------------------------------------------------------------------


def random_graph(seed: int, root: Path) -> KnowledgeGraph:
    """Thirty edges over nine nodes and three relations: loops and parallel edges among them."""
    rng = random.Random(seed)
    edges = tuple((rng.randrange(9), rng.choice("xyz"), rng.randrange(9)) for _ in range(30))
    return built(
        Drawn(f"{seed:04d}", tuple(f"thing {i}" for i in range(9)), (*edges, (1, "x", 1))), root
    )


@pytest.mark.parametrize("seed", range(5))
def test_ways_are_all_edges_in_both_directions_each_tail_once(
    data_root_path: Path, seed: int
) -> None:
    graph = random_graph(seed, data_root_path)
    sources, kinds, targets = graph.edges()
    for node in range(graph.n_nodes):
        wanted: dict[tuple[str, bool], set[int]] = defaultdict(set)
        for a, r, b in zip(sources.tolist(), kinds.tolist(), targets.tolist(), strict=True):
            if a != b and a == node:
                wanted[graph.relations[r], True].add(b)
            if a != b and b == node:
                wanted[graph.relations[r], False].add(a)
        found = ways_of(graph, node)
        assert {way.key: way.tails.tolist() for way in found} == {
            key: sorted(tails) for key, tails in wanted.items()
        }
        assert [way.key for way in found] == sorted(wanted, key=lambda key: (key[0], not key[1]))


def test_every_printed_step_is_an_edge_of_the_graph(
    toy_graph: KnowledgeGraph,
) -> None:
    edges = {
        f"{toy_graph.name(e.source)} -[{e.relation}]-> {toy_graph.name(e.target)}"
        for e in map(toy_graph.edge, range(toy_graph.n_edges))
    }
    printed = {
        step(toy_graph, way, toy_graph.name(int(tail)))
        for node in range(toy_graph.n_nodes)
        for way in ways_of(toy_graph, node)
        for tail in way.tails
    }
    loop = "Dune beetle -[visits]-> Dune beetle"
    assert printed == edges - {loop}


def test_an_isolated_node_has_no_ways(toy_graph: KnowledgeGraph) -> None:
    assert ways_of(toy_graph, 12) == []


@pytest.mark.parametrize(("leaves", "left"), [(6, 6), (7, 3), (12, 3)])
@pytest.mark.parametrize("rule", ["bm25", "random"])
def test_a_cut_begins_where_it_should(
    data_root_path: Path, rule: str, leaves: int, left: int
) -> None:
    graph = built(star(leaves, f"c{leaves}"), data_root_path)
    (way,) = ways_of(graph, 0)
    kept = cut(context(graph, data_root_path), "copper", way, rule, 7, 3)
    assert len(kept) == len(set(kept)) == left
    assert set(kept) <= set(way.tails.tolist())


# -- scores --------------------------------------------------------------------------------------

WAYS = [Way(0, name, True, None) for name in "abc"]  # type: ignore[arg-type]
REACHED = st.lists(
    st.builds(Reached, st.integers(0, 6), st.floats(0, 1), st.sampled_from(WAYS)), max_size=30
)


@settings(deadline=None)
@given(REACHED)
def test_merging_keeps_each_node_with_its_highest_score(reached: list[Reached]) -> None:
    out = merged(reached)
    assert {r.node: r.score for r in out} == {
        node: max(r.score for r in reached if r.node == node) for node in {r.node for r in reached}
    }
    assert [r.score for r in out] == sorted((r.score for r in out), reverse=True)
    assert all(one in reached for one in out)


@settings(deadline=None)
@given(st.lists(REACHED, max_size=4))
def test_a_nodes_score_is_the_highest_of_its_visits_or_that_of_the_last(
    depths: list[list[Reached]],
) -> None:
    best, last = Seen(True), Seen(False)
    visits: dict[int, list[float]] = defaultdict(list)
    for depth, reached in enumerate(map(merged, depths), 1):
        best.add(reached, depth)
        last.add(reached, depth)
        for one in reached:
            visits[one.node].append(one.score)
    assert best.nodes == last.nodes == list(visits)
    assert {f.node: f.score for f in best.of(visits)} == {n: max(s) for n, s in visits.items()}
    assert {f.node: f.score for f in last.of(visits)} == {n: s[-1] for n, s in visits.items()}


def test_the_best_ways_of_all_entities_are_kept_and_none_of_score_zero() -> None:
    kept = [
        Kept(way, score) for way, score in zip(WAYS * 2, (0, 0.5, 0.9, 0.5, 0, 0.1), strict=True)
    ]
    assert [k.score for k in best_ways(kept, 3)] == [0.9, 0.5, 0.5]
    assert best_ways(kept, 3)[1] is kept[1]  # of equal scores the first
    assert len(best_ways(kept, 9)) == 4


# -- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ({"enough": True, "answers": [3, 1]}, Verdict(True, (2, 0))),
        ({"enough": "yes.", "answers": ["2", 2]}, Verdict(True, (1,))),
        ({"enough": True, "answers": [99, 2]}, Verdict(True, (1,))),
        ({"enough": False, "answers": [1]}, Verdict(False)),
        ({"enough": False}, Verdict(False)),
    ],
)
def test_a_verdict_is_read(value: Any, verdict: Verdict) -> None:
    assert read_verdict(value, 3)[0] == verdict


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"enough": True},
        {"enough": True, "answers": []},
        {"enough": True, "answers": [0]},
        {"enough": True, "answers": ["Night bell"]},
        {"enough": "not yes", "answers": [1]},
        {"answers": [1]},
    ],
)
def test_a_yes_without_an_answer_is_none(value: Any) -> None:
    with pytest.raises(UnreadableError):
        read_verdict(value, 3)


@pytest.mark.parametrize(
    ("named", "visited", "ids"),
    [
        (["Sand thistle"], [], ["p3"]),
        (["sand THISTLE."], [], ["p3"]),
        (["Moonbell"], [], ["p2"]),  # an alias
        (["Mercury"], [], ["p5", "h3"]),  # two nodes have the name
        (["Mercury"], [11], ["h3"]),  # visited ones are meant
        (["The Sand thistle plant"], [], ["p3"]),  # no exact name, a clear margin
        (["Atlantis"], [], []),
        (["copper"], [], []),  # not clear which
        (["dry places"], [], []),  # words of a text are no name
        (["", "—"], [], []),
        (["Silverleaf", "Sand thistle", "Silverleaf"], [], ["p1", "p3"]),
        (["marsh candle"], [], []),  # stands in the question
    ],
)
def test_names_from_memory_are_grounded(
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
    named: list[str],
    visited: list[int],
    ids: list[str],
) -> None:
    ctx = context(toy_graph, data_root_path)
    found = grounded(ctx, "What is next to the marsh candle?", named, visited)
    assert [toy_graph.id(i) for i in found] == ids


# -- the bound -----------------------------------------------------------------------------------


class Fickle(RandomBackbone):
    """Random valid answers, but some are refusals; counts its calls by tag."""

    def __init__(self, seed: int, share: float) -> None:
        super().__init__(seed)
        self._rng, self._share = random.Random(seed), share
        self.tags: list[str] = []

    async def complete(self, *given: Any, **how: Any) -> Completion:
        self.tags.append(how["tag"])
        if self._rng.random() < self._share:
            return Completion(Message("assistant", "I cannot."), Usage(calls=1), "stop", "test")
        return await super().complete(*given, **how)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from([Tog, TogFaithful, TogBM25, TogR, TogRBM25]),
    width=st.integers(1, 4),
    depth=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_08_no_model_makes_a_walk_exceed_its_bound(
    data_root_path: Path, kind: type[Tog], width: int, depth: int, seed: int, share: float
) -> None:
    graph = built(dense("pa"), data_root_path)
    method, backbone = kind(width=width, depth=depth), Fickle(seed, share)
    done = walked(method, graph, data_root_path, backbone, seeds=tuple(range(width)))
    factor = {Tog: 2, TogFaithful: 2, TogR: 1}.get(kind)
    paper = depth + 1 + (factor or 0) * width * depth
    assert len(backbone.tags) <= (paper if factor else 2 * paper)
    assert method.most_calls == (paper if factor else 2 * paper)
    assert len(done.trajectory.steps) >= len(backbone.tags)
    assert done.status == "ok"
