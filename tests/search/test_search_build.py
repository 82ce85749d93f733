"""Indexes built in shards hold what bm25s builds in one piece, to the bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bm25s
import numpy as np
import pytest
from bm25s.tokenization import Tokenized
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.errors import UserError
from ark.search import BM25Settings, shards
from ark.search.build import build
from ark.search.settings import METHODS
from ark.search.stored import StoredIndex
from ark.search.tokenizers import tokenizer

CHOSEN = BM25Settings()
TEXTS = st.lists(
    st.text(alphabet="ab é", max_size=40)
    | st.lists(st.sampled_from(["sea", "the", "of", "x"]), max_size=60).map(" ".join),
    min_size=1,
    max_size=14,
)


def peer(texts: list[str], chosen: BM25Settings) -> bm25s.BM25:
    """bm25s' own index, words numbered as they come."""
    cut, numbers = tokenizer(chosen.tokenizer, chosen.stopwords), dict[str, int]()
    ids = [[numbers.setdefault(t, len(numbers)) for t in cut(text)] for text in texts]
    out = bm25s.BM25(k1=chosen.k1, b=chosen.b, method=chosen.method, backend="numpy")
    out.index(Tokenized(ids=ids, vocab=numbers), show_progress=False)
    return out


def built(texts: list[str], chosen: BM25Settings, folder: Path) -> StoredIndex:
    build(texts, chosen, folder)
    return StoredIndex.open(folder)


def assert_same(found: StoredIndex, wanted: bm25s.BM25) -> None:
    for name in ("data", "indices", "indptr"):
        ours, theirs = getattr(found, name), wanted.scores[name]
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name  # no two zeros or NaN pass for equal
    assert found.documents == wanted.scores["num_docs"]
    words = {word: i for word, i in wanted.vocab_dict.items() if word}  # bm25s adds ""
    assert list(found.vocabulary) == list(words)


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None, max_examples=25)
@given(
    texts=TEXTS,
    size=st.integers(1, 30),
    k1=st.sampled_from([0.0, 1.2, 1.5, 7.3]),
    b=st.sampled_from([0.0, 0.3, 0.75, 1.0]),
    cut=st.sampled_from([("words", None), ("bm25s", "english"), ("bm25s", None)]),
    duplicates=st.sampled_from(["all", "last"]),
)
def test_every_shard_size_gives_the_arrays_of_bm25s(
    method: str,
    texts: list[str],
    size: int,
    k1: float,
    b: float,
    cut: tuple[str, str | None],
    duplicates: str,
) -> None:
    k1 = max(k1, 0.1) if method == "bm25+" else k1
    chosen = BM25Settings(k1, b, method, cut[0], cut[1], duplicates=duplicates)
    if not any(tokenizer(*cut)(text) for text in texts):
        return
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "TOKENS_A_SHARD", size)
        assert_same(built(texts, chosen, Path(root) / "index"), peer(texts, chosen))
        assert [path.name for path in Path(root).iterdir()] == ["index"]


@pytest.mark.parametrize("method", METHODS)
def test_a_larger_corpus_in_many_shards(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zipf's words, lengths from none to thousands, one document longer than a shard."""
    rng = np.random.default_rng(5)
    lengths = [*rng.integers(0, 80, 1_500), 9_000, *rng.integers(0, 400, 100), 0, 0]
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, n) % 5_000) for n in lengths]
    monkeypatch.setattr(shards, "TOKENS_A_SHARD", 7_000)
    chosen = BM25Settings(method=method)
    found = built(texts, chosen, tmp_path / "index")
    assert_same(found, peer(texts, chosen))
    for start, end in zip(found.indptr, found.indptr[1:], strict=False):
        assert (np.diff(found.indices[start:end]) > 0).all()


def test_nothing_half_built_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "TOKENS_A_SHARD", 2)

    def torn() -> object:
        yield from ("one two three", "two four")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(torn(), CHOSEN, tmp_path / "a" / "index")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no node of this graph has any text"):
        build(["", " - "], CHOSEN, tmp_path / "a" / "index")
    assert list((tmp_path / "a").iterdir()) == []


def test_what_a_killed_build_left_is_swept(tmp_path: Path) -> None:
    import socket

    host = "".join(c if c.isascii() and c.isalnum() else "_" for c in socket.gethostname())
    dead = tmp_path / f".building-index@{host}@{2**22 + 1}@00000000"  # above every process number
    (dead / "shards").mkdir(parents=True)
    build(["one two"], CHOSEN, tmp_path / "index")
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_an_index_finished_by_another_process_stays(tmp_path: Path) -> None:
    built(["one two"], CHOSEN, tmp_path / "index")
    assert list(built(["three"], CHOSEN, tmp_path / "index").vocabulary) == ["one", "two"]


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    built(["one two"], CHOSEN, one)
    built(["one two three", "four"], CHOSEN, two)
    for name in ("postings.data.npy", "postings.indptr.npy", "words.numbers.npy"):
        kept = (one / name).read_bytes()
        (one / name).write_bytes((two / name).read_bytes())
        with pytest.raises(ValueError, match="do not belong together"):
            StoredIndex.open(one)
        (one / name).write_bytes(kept)
    StoredIndex.open(one)
