"""The package's own view of a graph. Expected values were printed by stark-qa 1.1.0 itself

(torch 2.13.0, torch_geometric 2.8.1, on the folders that ``tiny_stark`` writes).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_stark import GRAPHS, write_all

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.graph.sources.stark.official_view import (
    OfficialView,
    is_symmetric,
    loaded_edges,
    official_counts,
)

# (source, target, relation) after loading.
MAG = [
    *((0, 3, 0), (0, 5, 3), (0, 7, 3), (1, 3, 0), (1, 5, 3), (1, 6, 3), (2, 5, 3), (3, 0, 0)),
    *((3, 1, 0), (4, 5, 2), (4, 6, 2), (5, 0, 3), (5, 1, 3), (5, 2, 3), (5, 4, 2), (5, 6, 1)),
    *((6, 1, 3), (6, 4, 2), (6, 5, 1), (6, 7, 1), (7, 0, 3), (7, 6, 1)),
]
AMAZON = [
    *((0, 1, 0), (0, 2, 0), (0, 4, 2), (0, 5, 3), (0, 7, 4), (1, 0, 0), (1, 2, 1), (1, 4, 2)),
    *((1, 6, 3), (2, 0, 0), (2, 1, 1), (3, 3, 1), (4, 0, 2), (4, 1, 2), (5, 0, 3), (6, 1, 3)),
    (7, 0, 4),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("stark"))


def build(name: str, root: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> KnowledgeGraph:
    monkeypatch.setenv("ARK_DATA", str(root / "data"))
    return open_or_build(source_for(name, root=root, **more), root / "data")


def expected(name: str) -> list[tuple[int, int, int]]:
    if name != "prime":
        return MAG if name == "mag" else AMAZON
    made = GRAPHS["prime"]()  # both directions are there: the package leaves it alone
    return sorted(zip(*made["edge_index"], made["edge_types"], strict=True))


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_what_the_package_loads(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = build(name, root, monkeypatch)
    official = build(name, root, monkeypatch, view="official")
    source, relation, target = official.edges()
    found = sorted(zip(source.tolist(), target.tolist(), relation.tolist(), strict=True))
    assert found == expected(name)
    view = OfficialView(stored)
    assert view.symmetric == (name == "prime")
    walked = []
    for i in range(stored.n_nodes):
        near, relations = view.edges(i)
        walked += [(i, j, r) for j, r in zip(near.tolist(), relations.tolist(), strict=True)]
    assert sorted(walked) == expected(name)


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_neighbours_by_relation(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build(name, root, monkeypatch)
    view = OfficialView(graph)
    wanted: dict[tuple[int, str], set[int]] = defaultdict(set)
    for a, b, r in expected(name):
        wanted[a, "*"].add(b)
        wanted[a, graph.relations[r]].add(b)
    for i in range(graph.n_nodes):
        for relation in ("*", *graph.relations):
            assert view.neighbors(i, relation).tolist() == sorted(wanted[i, relation])
    with pytest.raises(UserError, match="unknown relation"):
        view.neighbors(0, "no such relation")
    with pytest.raises(IndexError):
        view.neighbors(graph.n_nodes)


def test_counts_after_loading(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    amazon = build("amazon", root, monkeypatch)
    assert official_counts(amazon) == {
        "nodes": 8,
        "edges": 17,
        "per_type": {"brand": 1, "category": 2, "color": 1, "product": 4},
        "per_relation": dict(zip(amazon.relations, (4, 3, 4, 4, 2), strict=True)),
    }
    assert amazon.n_edges == 11
    assert official_counts(build("prime", root, monkeypatch))["edges"] == 26


def columns(edges: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    source, target, relation = np.array(edges, np.int64).reshape(-1, 3).T
    return source, relation, target


def test_the_means_of_the_specification() -> None:
    def loaded(*edges: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        source, relation, target = loaded_edges(*columns(list(edges)), 4, 6)
        return list(zip(source.tolist(), target.tolist(), relation.tolist(), strict=True))

    assert loaded((0, 1, 0), (0, 1, 1)) == [(0, 1, 0), (1, 0, 0)]  # also_buy and also_view
    assert loaded((0, 1, 2), (0, 1, 5)) == [(0, 1, 3), (1, 0, 3)]
    assert loaded((0, 1, 1), (1, 0, 0), (0, 2, 0)) == [(0, 1, 0), (0, 2, 0), (1, 0, 0), (2, 0, 0)]
    assert loaded((0, 1, 2), (1, 0, 5)) == [(0, 1, 2), (1, 0, 5)]  # both directions: left alone
    assert loaded((3, 3, 2), (0, 1, 1)) == [(0, 1, 1), (1, 0, 1), (3, 3, 2)]
    assert loaded() == []
    with pytest.raises(ValueError, match="too many"):
        loaded_edges(*columns([]), 2**31, 3)


triples = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 4)), max_size=30)


@given(triples)
def test_against_a_plain_reading_of_the_rule(edges: list[tuple[int, int, int]]) -> None:
    source, relation, target = columns(edges)
    forth = sorted((a, b) for a, b, _ in edges)
    symmetric = forth == sorted((b, a) for a, b, _ in edges)
    assert is_symmetric(source, target, 7) == symmetric
    found = loaded_edges(source, relation, target, 7, 5)
    if symmetric:
        assert all(np.array_equal(x, y) for x, y in zip(found, columns(edges), strict=True))
        return
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for a, b, r in edges:
        groups[a, b].append(r)
        groups[b, a].append(r)
    wanted = [(a, b, sum(rs) // len(rs)) for (a, b), rs in sorted(groups.items())]
    got = zip(found[0].tolist(), found[2].tolist(), found[1].tolist(), strict=True)
    assert list(got) == wanted
