"""The compiled cut gives the hits that sorting every match gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.graph import KnowledgeGraph
from ark.search import bm25

kernel = pytest.importorskip("ark.search.kernel_numba", reason="numba is not installed")


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.0]), max_size=300), st.integers(1, 40))
def test_the_heap_keeps_what_the_ranking_rule_keeps(values: list[float], k: int) -> None:
    nodes, scores = kernel.best(np.array(values, dtype=np.float32), k)
    wanted = sorted((-v, i) for i, v in enumerate(values) if v > 0)[:k]
    found = zip((-scores).tolist(), nodes.tolist(), strict=True)
    assert sorted(found) == wanted


def test_hits_are_the_same_with_and_without(
    toy_graph: KnowledgeGraph, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bm25.BM25.open_or_build(toy_graph, data_root_path)
    monkeypatch.setattr(bm25, "COMPILE_ABOVE", 0)
    compiled = bm25.BM25.open_or_build(toy_graph, data_root_path)
    for name in [toy_graph.name(i) for i in range(toy_graph.n_nodes)]:
        for k in (1, 3, 1_000, 1_001):
            assert compiled.search(name, k) == plain.search(name, k)
    assert compiled.search("", 5) == []
    assert compiled.search(toy_graph.name(0), 0) == []
