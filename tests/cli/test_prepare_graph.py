"""scripts/prepare_graph.py: builds by name, prints, exports; what it prints can be run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_stark import write_all

REPOSITORY = Path(__file__).resolve().parents[2]
Script = Callable[..., int]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    import prepare_graph

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["prepare_graph.py", *arguments])
        return int(prepare_graph.main())

    return call


def test_what_it_prints_reads_the_export(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, out = write_all(tmp_path / "stark"), tmp_path / "out"
    assert script("graph=mag", f"root={root}", "--export", "files", str(out)) == 0
    first = capsys.readouterr().out.splitlines()
    assert first[0] == "8 nodes"
    assert "             3 paper" in first
    settings = first[-1].removeprefix("read with: ").split()
    assert settings[-1] == "graph.candidate_types=[paper]"
    assert script(*settings) == 0
    second = capsys.readouterr().out.splitlines()
    hashes = [line for line in (*first, *second) if line.startswith("content hash: ")]
    assert len(hashes) == 2
    assert len(set(hashes)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["root=x"], "say which graph"),
        (["graph=toyy"], "unknown graph 'toyy'"),
        (["graph=toy", "colour=red"], "colour"),
        (["graph=toy", "--export", "zip", "x"], "the one form is files"),
        (["graph=toy", "--export", "files", "."], "exists already"),
        (["graph=files"], "add graph.path=DIR"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], said: str, script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script(*arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
