"""Damaged files of vectors, and encoders that return what they should not: one line each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tiny_encoder import DIMENSIONS, TinyEncoder

from ark.errors import FatalBackboneError, QueryFailedError, UserError
from ark.graph import KnowledgeGraph
from ark.search import vectors
from ark.search.dense import Dense, DenseTexts
from ark.search.encoder import encoder_of
from ark.search.vectors import SHARD, Vectors, build, encoded, to_grid

DOCUMENTS = 2 * SHARD + 76


def text_of(i: int) -> str:
    return f"document {i} about {i % 7}"


def test_a_damaged_shard_is_made_again(tmp_path: Path) -> None:
    encoder, folder = TinyEncoder(), tmp_path / "v"
    parts = tmp_path / "v.parts"
    parts.mkdir()
    (parts / "0.npy").write_bytes(b"\x93NUMPY torn")
    np.save(parts / f"{SHARD}.npy", np.zeros((3, DIMENSIONS), np.int16))
    (parts / f"{2 * SHARD}.npy").write_bytes(b"")
    build(text_of, DOCUMENTS, encoder, folder)
    assert encoder.asked == DOCUMENTS + 1
    assert Vectors.open(folder, DOCUMENTS).grid.any(axis=1).all()


class Widening(TinyEncoder):
    """From its second call on its vectors are shorter."""

    calls = 0

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        self.calls += 1
        return super().encode(texts)[:, : DIMENSIONS if self.calls == 1 else 5]


def test_an_encoder_of_two_lengths_is_one_line_and_a_sound_one_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    with pytest.raises(UserError, match=f"vectors of 5 and of {DIMENSIONS} numbers.*run again"):
        build(text_of, DOCUMENTS, Widening(), folder)
    assert not folder.exists()
    build(text_of, DOCUMENTS, TinyEncoder(), folder)
    assert Vectors.open(folder, DOCUMENTS).grid.shape == (DOCUMENTS, DIMENSIONS)


@pytest.mark.parametrize("width", [1, 5])  # numpy would spread one number over the whole row
@pytest.mark.parametrize("left", [[0], [SHARD], [0, SHARD, 2 * SHARD]])
def test_shards_of_another_length_are_made_again(
    tmp_path: Path, left: list[int], width: int
) -> None:
    folder, parts = tmp_path / "v", tmp_path / "v.parts"
    parts.mkdir()
    for start in range(0, DOCUMENTS, SHARD):
        size = min(SHARD, DOCUMENTS - start)
        shape = (size, width if start in left else DIMENSIONS)
        np.save(parts / f"{start}.npy", np.ones(shape, np.int16))
    build(text_of, DOCUMENTS, TinyEncoder(), folder)
    stored = Vectors.open(folder, DOCUMENTS)
    for start in left:
        wanted = to_grid(TinyEncoder().encode([text_of(start)]))
        assert (stored.grid[start] == wanted[0]).all()


class Disturbed(TinyEncoder):
    """While it encodes its last shard, another process writes one of another length."""

    def __init__(self, parts: Path) -> None:
        super().__init__()
        self.parts = parts

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        found = super().encode(texts)
        done = [path for path in self.parts.glob("*.npy") if path.stem != "0"]
        if self.asked == DOCUMENTS:
            np.save(done[0], np.ones((min(SHARD, DOCUMENTS - int(done[0].stem)), 1), np.int16))
        return found


def test_two_encoders_of_one_name_are_not_joined(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="one length for all texts"):
        build(text_of, DOCUMENTS, Disturbed(tmp_path / "v.parts"), tmp_path / "v")
    assert not (tmp_path / "v").exists()


def test_a_damaged_folder_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    build(text_of, 5, TinyEncoder(), folder)
    with pytest.raises(UserError, match=r"delete that folder"):
        Vectors.open(folder, 6)
    (folder / vectors.FILE).write_bytes(b"torn")
    with pytest.raises(UserError, match=re.escape(str(folder))):
        Vectors.open(folder, 5)
    with pytest.raises(UserError, match="ARK_DATA"):
        build(text_of, 5, TinyEncoder(), folder / vectors.FILE / "below a file")


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'"])
def test_a_file_of_anything_else_is_one_line(tmp_path: Path, content: bytes) -> None:
    build(text_of, 5, TinyEncoder(), tmp_path / "v")
    (tmp_path / "v" / vectors.FILE).write_bytes(content)
    with pytest.raises(UserError, match="delete that folder, they are made again") as raised:
        Vectors.open(tmp_path / "v", 5)
    assert "\n" not in str(raised.value)


def test_numbers_without_a_length_are_refused(tmp_path: Path) -> None:
    build(text_of, 5, TinyEncoder(), tmp_path / "v")
    np.save(tmp_path / "v" / vectors.FILE, np.zeros((5, 0), np.int16))
    with pytest.raises(UserError, match="delete that folder"):
        Vectors.open(tmp_path / "v", 5)


def damaged(folder: Path) -> None:
    """Some numbers become others; the file keeps its form."""
    file = folder / vectors.FILE
    data = bytearray(file.read_bytes())
    data[-40:] = b"\x11" * 40
    file.write_bytes(data)


def test_numbers_that_changed_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "v"
    build(text_of, 5, TinyEncoder(), folder)
    assert len(Vectors.open(folder, 5)) == 5
    damaged(folder)
    with pytest.raises(UserError, match=r"sha256 is another\); delete that folder"):
        Vectors.open(folder, 5)
    monkeypatch.setattr(vectors, "_HASHED", 100)  # a large file is not read whole to open it
    assert len(Vectors.open(folder, 5)) == 5


def test_a_folder_of_before_has_no_hash_and_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    build(text_of, 5, TinyEncoder(), folder)
    old = {"documents": 5, "dimensions": DIMENSIONS, "steps": 32767}
    (folder / vectors.FACTS).write_text(json.dumps(old))
    assert len(Vectors.open(folder, 5)) == 5


@pytest.mark.parametrize(
    "facts",
    [
        "",
        "[]",
        "null",
        '{"documents": 5}',
        '{"documents": 5, "dimensions": 64, "steps": 127}',
        '{"documents": 5, "dimensions": 63, "steps": 32767}',
    ],
)
def test_facts_of_other_vectors_are_refused(tmp_path: Path, facts: str) -> None:
    build(text_of, 5, TinyEncoder(), tmp_path / "v")
    (tmp_path / "v" / vectors.FACTS).write_text(facts)
    with pytest.raises(UserError, match="delete that folder"):
        Vectors.open(tmp_path / "v", 5)


class Gone(TinyEncoder):
    """An endpoint that is away for good."""

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        raise QueryFailedError("no connection")


def test_vectors_that_cannot_be_made_stop_the_run(
    toy_graph: KnowledgeGraph, tmp_path: Path
) -> None:
    with pytest.raises(FatalBackboneError, match=r"no connection.*goes on from there"):
        Dense.open_or_build(toy_graph, tmp_path, encoder=Gone())


class Returns(TinyEncoder):
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        return self.value  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1.0], [2.0]], "numpy array of numbers"),
        (None, "numpy array of numbers"),
        (np.array([["a"], ["b"]]), "numpy array of numbers"),
        (np.array([None, None]), "numpy array of numbers"),
        (np.ones(2), r"shape \(2,\) for 2 texts"),
        (np.ones((3, 4)), r"shape \(3, 4\) for 2 texts"),
        (np.ones((2, 0)), r"shape \(2, 0\) for 2 texts"),
        (np.array([[1.0], [np.nan]]), "not finite"),
        (np.array([[1.0], [1e39]]), "not finite"),
    ],
)
def test_what_is_no_vectors_is_one_line(value: object, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        encoded(Returns(value), ["one", "two"])
    assert "\n" not in str(raised.value)


class Stranger:
    """An encoder, but for its identity."""

    identity: ClassVar[object] = {"model": object()}

    def ready(self) -> None:
        pass

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.ones((len(texts), 3))


class Growing(TinyEncoder):
    """Each call has longer vectors than the one before."""

    calls = 0

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        self.calls += 1
        return np.ones((len(texts), self.calls), np.float32)


def test_texts_of_an_encoder_of_two_lengths_are_one_line() -> None:
    ranker = DenseTexts(Growing())
    ranker.score("a", ["b"])
    with pytest.raises(UserError, match="vectors of 1 and of 2 numbers"):
        ranker.score("a", ["c"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("os:path", "is a module: name a class"),
        ("builtins:dict", "has no identity and no ready and no encode"),
        ("builtins:memoryview", "cannot be made .*: name a class"),
        ("ark.backbone.embeddings:LiteLLMEncoder", "cannot be made .*'model'.*: name a class"),
        ("test_dense_faults:Stranger", "its identity must be a mapping of plain JSON"),
    ],
)
def test_what_is_no_encoder_is_one_line(target: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        encoder_of(target, None, 256)
    assert "\n" not in str(raised.value)
    assert target in str(raised.value)
