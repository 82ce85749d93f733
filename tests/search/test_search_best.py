"""The compiled cut gives the hits that sorting every match gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.graph import KnowledgeGraph
from ark.records import Hit
from ark.search import BM25
from ark.search import kernel as kernels
from ark.search.stored import StoredIndex
from ark.search.vocabulary import Vocabulary

kernel = pytest.importorskip("ark.search.kernel_numba", reason="numba is not installed")
NO_WORDS = Vocabulary(*(np.zeros(0, dtype=t) for t in (np.uint64, np.int32, np.int64, np.uint8)))


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.0]), max_size=300), st.integers(1, 40))
def test_the_heap_keeps_what_the_ranking_rule_keeps(values: list[float], k: int) -> None:
    nodes, scores = kernel.best(np.array(values, dtype=np.float32), k)
    wanted = sorted((-v, i) for i, v in enumerate(values) if v > 0)[:k]
    found = zip((-scores).tolist(), nodes.tolist(), strict=True)
    assert sorted(found) == wanted


def same(one: list[Hit], two: list[Hit]) -> bool:
    return [(h.node, h.score.hex()) for h in one] == [(h.node, h.score.hex()) for h in two]


def test_hits_are_the_same_with_and_without(
    toy_graph: KnowledgeGraph, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = BM25.open_or_build(toy_graph, data_root_path)
    monkeypatch.setattr(kernels, "COMPILE_ABOVE", 0)
    monkeypatch.setattr(kernels, "PLAIN_FIRST", 0)
    compiled = BM25.open_or_build(toy_graph, data_root_path)
    for name in [toy_graph.name(i) for i in range(toy_graph.n_nodes)]:
        for k in (1, 3, 1_000, 1_001):
            assert same(compiled.search(name, k), plain.search(name, k))
        assert np.array_equal(compiled.scores(name), plain.scores(name))
    assert compiled.search("", 5) == []
    assert compiled.search(toy_graph.name(0), 0) == []


def test_the_first_questions_of_a_process_are_numpys(
    toy_graph: KnowledgeGraph, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch comes after ``PLAIN_FIRST`` new questions, and no answer tells of it."""
    monkeypatch.setattr(kernels, "COMPILE_ABOVE", 0)
    monkeypatch.setattr(kernels, "PLAIN_FIRST", 3)
    names = [toy_graph.name(i) for i in range(8)]
    plain = BM25.open_or_build(toy_graph, data_root_path)
    monkeypatch.setattr(plain, "_kernel", kernels.Kernel(0))
    mixed = BM25.open_or_build(toy_graph, data_root_path)
    used = []
    for name in names:
        assert same(mixed.search(name, 5), plain.search(name, 5))
        assert mixed.count(name) == plain.count(name)  # the same question: from the cache
        used.append(type(mixed._kernel.now))
    assert used == [kernels.Plain] * 3 + [kernels.Compiled] * 5
    assert isinstance(plain._kernel.now, kernels.Plain)


def test_no_numba_for_the_first_answers(data_root_path: Path, toy_graph: KnowledgeGraph) -> None:
    code = (
        "import sys; from pathlib import Path; import ark.search.kernel as kernels\n"
        "from ark.graph import open_or_build, source_for; from ark.search import BM25\n"
        "kernels.COMPILE_ABOVE = 0; root = Path(sys.argv[1])\n"
        "search = BM25.open_or_build(open_or_build(source_for('toy'), root), root)\n"
        "assert search.search('copper', 5)\n"
        "assert not {'numba', 'bm25s'} & set(sys.modules)\n"
        "for i in range(kernels.PLAIN_FIRST): search.search(f'copper {i}', 5)\n"
        "assert 'numba' in sys.modules and 'bm25s' not in sys.modules\n"
    )
    BM25.open_or_build(toy_graph, data_root_path)
    done = subprocess.run(
        [sys.executable, "-c", code, str(data_root_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@settings(deadline=None, max_examples=100)
@given(st.data(), st.integers(1, 40), st.integers(1, 12), st.integers(0, 5))
def test_blocks_of_documents_give_the_sums_of_numpy(
    data: st.DataObject, documents: int, words: int, asked: int
) -> None:
    """With blocks of a few documents, and words asked more than once."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    there = rng.random((words, documents)) < rng.random()
    indptr = np.concatenate(([0], np.cumsum(there.sum(1))))
    indices = np.nonzero(there)[1].astype(np.int32)
    index = StoredIndex(
        rng.random(len(indices)).astype(np.float32), indices, indptr, documents, NO_WORDS
    )
    ids = rng.integers(0, words, asked)
    plain, fast = (np.full(documents, np.nan, np.float32) for _ in range(2))
    hits = kernels.Plain().fill_best(index, ids, plain, 3)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fill", "fill_best", "_fill_block"):
            patch.setattr(kernel, name, getattr(kernel, name).py_func)
        patch.setattr(kernel, "_BLOCK", 7)
        assert same(kernels.Compiled().fill_best(index, ids, fast, 3), hits)
        assert plain.tobytes() == fast.tobytes()
        kernels.Compiled().fill(index, ids, fast)
        assert plain.tobytes() == fast.tobytes()
