"""Stored vectors: exact sums, building in shards, going on after a break, two processes."""

from __future__ import annotations

import io
import multiprocessing
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoder import DIMENSIONS, TinyEncoder

from ark.errors import UserError
from ark.search import vectors
from ark.search.vectors import BLOCK, SHARD, Vectors, build, encoded, to_grid, to_query

DOCUMENTS = 2 * SHARD + 76


def text_of(i: int) -> str:
    return f"document {i} about {i % 7}"


def made(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def peer(grid: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Python's whole numbers, without any rounding before the last step."""
    rows = [[int(x) for x in row] for row in grid]
    sums = [sum(a * int(b) for a, b in zip(row, query, strict=True)) for row in rows]
    return np.minimum(np.array(sums, dtype=np.float64) / (32767 * 2**30), 1).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([1, 3, 384, 3072]))
def test_scores_are_exact_sums_of_whole_numbers(seed: int, n: int, d: int) -> None:
    raw = made(seed, n + 1, d)
    raw[: n // 2] *= 1e-20  # lengths do not matter
    grid, query = to_grid(raw[:n]), to_query(raw[n])
    scores = Vectors(grid).scores(query)
    assert scores.dtype == np.float32
    assert scores.tolist() == peer(grid, query).tolist()
    unit = raw / np.linalg.norm(raw.astype(np.float64), axis=1, keepdims=True)
    assert np.abs(scores - unit[:n] @ unit[n]).max() < 3e-4


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 2 * BLOCK + 8), max_size=60))
def test_a_row_scores_the_same_wherever_it_stands(seed: int, rows: list[int]) -> None:
    raw = made(seed, 2 * BLOCK + 9, 384)
    raw[BLOCK + 3] = raw[5]  # equal texts in other blocks
    stored, query = Vectors(to_grid(raw)), to_query(made(seed + 1, 1, 384)[0])
    every = stored.scores(query)
    assert every[5] == every[BLOCK + 3]
    some = stored.scores(query, np.array(rows, dtype=np.int64))
    assert some.tolist() == [every[i] for i in rows]


def test_a_vector_fits_itself_and_zeros_fit_nothing() -> None:
    raw = made(0, 3, 384)
    raw[2] = 0
    scores = Vectors(to_grid(raw)).scores(to_query(raw[1]))
    assert scores[1] == pytest.approx(1, abs=1e-4)
    assert scores[1] <= 1
    assert scores[2] == 0
    assert not Vectors(to_grid(raw)).scores(to_query(raw[2])).any()


def test_numbers_that_are_none_are_refused() -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(UserError, match="not finite"):
            to_grid(np.full((2, 3), value))


def test_texts_without_words_are_zeros_and_are_not_encoded() -> None:
    encoder = TinyEncoder()
    found = encoded(encoder, ["", "silver leaf", "?!… — «»", " \n"])
    assert encoder.asked == 1
    assert found.shape == (4, DIMENSIONS)
    assert found.any(axis=1).tolist() == [False, True, False, False]


def test_every_document_has_the_vector_of_its_text(tmp_path: Path) -> None:
    encoder, folder = TinyEncoder(), tmp_path / "v"
    build(text_of, DOCUMENTS, encoder, folder)
    stored = Vectors.open(folder, DOCUMENTS)
    assert encoder.asked == DOCUMENTS == len(stored)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]
    wanted = to_grid(TinyEncoder().encode([text_of(i) for i in range(DOCUMENTS)]))
    assert (stored.grid == wanted).all()


def test_a_build_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    encoder, folder = TinyEncoder(), tmp_path / "v"
    encoder.stop_after = 2 * SHARD - 1  # in the second or third shard, whatever their order
    with pytest.raises(KeyboardInterrupt):
        build(text_of, DOCUMENTS, encoder, folder)
    assert not folder.exists()
    kept = [int(path.stem) for path in (tmp_path / "v.parts").glob("*.npy")]
    done = sum(min(SHARD, DOCUMENTS - start) for start in kept)
    assert 0 < done < DOCUMENTS
    again = TinyEncoder()
    build(text_of, DOCUMENTS, again, folder)
    assert again.asked == DOCUMENTS - done + 1  # one for the length of its vectors
    wanted = to_grid(TinyEncoder().encode([text_of(i) for i in range(DOCUMENTS)]))
    assert (Vectors.open(folder, DOCUMENTS).grid == wanted).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]


def built_by(folder: Path, ready: object) -> None:
    ready.wait()  # type: ignore[attr-defined]
    build(text_of, DOCUMENTS, TinyEncoder(), folder)


def test_two_processes_make_one_folder(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready, folder = spawn.Barrier(2), tmp_path / "v"
    both = [spawn.Process(target=built_by, args=(folder, ready)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    wanted = to_grid(TinyEncoder().encode([text_of(i) for i in range(DOCUMENTS)]))
    assert (Vectors.open(folder, DOCUMENTS).grid == wanted).all()


class Overtaken(TinyEncoder):
    """While it encodes, another process finishes the folder and takes the shards away."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        if not self.folder.exists():
            build(text_of, DOCUMENTS, TinyEncoder(), self.folder)
        return super().encode(texts)


def test_a_build_that_was_overtaken_leaves_the_others_folder(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    build(text_of, DOCUMENTS, Overtaken(folder), folder)
    assert len(Vectors.open(folder, DOCUMENTS)) == DOCUMENTS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]


def test_an_encoder_of_another_length_is_named(tmp_path: Path) -> None:
    build(text_of, 5, TinyEncoder(), tmp_path / "v")
    with pytest.raises(UserError, match="3 numbers now"):
        Vectors.open(tmp_path / "v", 5).scores(np.zeros(3))


def test_progress_is_a_line_once_in_a_while(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(text_of, DOCUMENTS, TinyEncoder(), tmp_path / "quick")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(vectors, "_EVERY", 0.0)
    build(text_of, DOCUMENTS, TinyEncoder(), tmp_path / "slow")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(
        rf"encoding texts: {DOCUMENTS:,} of {DOCUMENTS:,}, \d+ a second, about 0 min left",
        lines[-1],
    )


def built_with_little_room(folder: Path, most: int, told: object) -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        build(text_of, DOCUMENTS, TinyEncoder(), folder)
    except UserError as error:
        told.put(str(error))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("most", "asked"),
    [(100_000, 1), (5_000, DOCUMENTS)],  # shards fit, all together not; no shard fits
)
def test_a_full_disk_is_one_line_and_shards_stay(tmp_path: Path, most: int, asked: int) -> None:
    pytest.importorskip("resource", reason="this system limits no sizes of files")
    spawn = multiprocessing.get_context("spawn")
    told, folder = spawn.SimpleQueue(), tmp_path / "v"
    process = spawn.Process(target=built_with_little_room, args=(folder, most, told))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert re.search(r"cannot write to .*make room there, or set ARK_DATA", told.get())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.parts"]
    again = TinyEncoder()
    build(text_of, DOCUMENTS, again, folder)
    assert again.asked == asked
    out = io.BytesIO()
    np.save(out, to_grid(TinyEncoder().encode([text_of(i) for i in range(DOCUMENTS)])))
    assert (folder / vectors.FILE).read_bytes() == out.getvalue()
