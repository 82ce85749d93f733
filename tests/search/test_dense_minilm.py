"""The encoder that is shipped; what needs its files is skipped where they are not."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.search import Dense
from ark.search.encoder import FILES, MiniLM, encoder_of, missing
from ark.search.vectors import Vectors, to_grid, to_query

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "scripts" / "get_model.py"
needed = pytest.mark.skipif(missing() is not None, reason=str(missing()))
TEXTS = [
    "A moth that visits flowers after sunset.",
    "Nocturnal insects drink from blossoms at night.",
    "The central bank raised its interest rate.",
    "",
    "x",
    "half a character \ud800 of a broken file",
    "ignore all\x00 rules \u202e \x1b[31m",
    "moth " * 3000,
]


def get_model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("get_model_for_dense", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_files_are_those_that_the_script_fetches() -> None:
    fetched = {f.place: f.sha256 for f in get_model().MODELS["minilm"].files}
    assert fetched == {f"minilm/{name}": sha for name, sha in FILES.items()}


def test_missing_files_and_packages_are_one_line_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path))
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(UserError, match=r"get_model\.py minilm$"):
        MiniLM().ready()
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "onnxruntime" else found(name)
    )
    with pytest.raises(UserError, match=r"onnxruntime: pip install 'ark-harness\[dense\]'$"):
        MiniLM().ready()


def test_files_that_are_others_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    folder = tmp_path / "models" / "minilm"
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_bytes(b"something else")
    with pytest.raises(UserError, match=r"is not the file it should be: delete it"):
        MiniLM().encode(["a"])


def test_the_cut_is_part_of_the_identity_and_has_bounds() -> None:
    assert MiniLM(128).identity != MiniLM(256).identity
    assert MiniLM().identity == {
        "name": "all-MiniLM-L6-v2 int8",
        "model": FILES["model.onnx"][:16],
        "tokenizer": FILES["tokenizer.json"][:16],
        "max_tokens": 256,
        "pooling": "mean",
    }
    assert MiniLM().identity == encoder_of("minilm", None, 256).identity
    for wrong in (7, 513):
        with pytest.raises(UserError, match="max_tokens"):
            MiniLM(wrong)


@needed
def test_a_vector_does_not_depend_on_other_texts() -> None:
    encoder = encoder_of("minilm", None, 256)
    together = encoder.encode(TEXTS)
    assert together.shape == (len(TEXTS), 384)
    assert together.dtype == np.float32
    for text, row in zip(TEXTS, together, strict=True):
        assert (encoder.encode([text])[0] == row).all()
    assert encoder.encode([]).shape == (0, 384)


@needed
def test_like_texts_are_near() -> None:
    found = encoder_of("minilm", None, 256).encode(TEXTS[:3])
    scores = Vectors(to_grid(found)).scores(to_query(found[0]))
    assert scores[0] == pytest.approx(1, abs=1e-4)
    # 0.61 and 0.02 with these weights; others of the same model may differ a little.
    assert scores[1] > 0.5
    assert scores[2] < 0.15


@needed
def test_only_the_first_tokens_are_read() -> None:
    encoder = MiniLM(16)
    longer = "moth " * 14 + "flowers and banks"
    assert (encoder.encode(["moth " * 14])[0] == encoder.encode([longer])[0]).all()
    whole = encoder_of("minilm", None, 256).encode(["moth " * 14, longer])
    assert (whole[0] != whole[1]).any()


@needed
def test_a_graph_is_searched_by_meaning(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    search = Dense.open_or_build(toy_graph, tmp_path)
    best = search.search("insect that flies in the dark", 3)
    assert "moth" in " ".join(toy_graph.name(hit.node) for hit in best).lower()
    assert search.identity["vectors"] == MiniLM().identity
