"""Builds are whole or absent, and the content hash sees everything that a graph says."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ark.errors import ArkError, UserError
from ark.graph import (
    GraphData,
    GraphSource,
    KnowledgeGraph,
    Provenance,
    build_graph,
    data_root,
    graph_folder,
    open_or_build,
    source_for,
    source_key,
)
from ark.graph.write import write_graph

BASE = GraphData(
    ids=["b", "a", "ç"],
    types=["t", "u", "t"],
    names=["B", "A", "C"],
    texts=["", "text", "more"],
    source=[0, 0, 1],
    relation=[0, 1, 1],
    target=[1, 2, 2],
    relations=("r", "s"),
    aliases=[["x"], [], ["y", "z"]],
    attrs=[{"k": 1}, {}, {"l": ("m", "n"), "k": 2.5}],
    edge_attrs=[{}, {"w": True}, {}],
    same_as="r",
    negatives=[("a", "r", "b")],
)


@dataclasses.dataclass
class Given:
    data: GraphData = BASE
    expected: str | None = None
    before: Callable[[], None] = lambda: None
    name: str = "given"

    def key(self) -> str:
        return source_key(1, {"file": "hash"})

    def provenance(self) -> Provenance:
        return Provenance(
            origin="a test",
            version="7",
            licence="CC0",
            credit="nobody",
            notice="a notice",
            files={"file": "hash"},
            content_hash=self.expected,
        )

    def read(self) -> GraphData:
        self.before()
        return self.data


def digest(data: GraphData, tmp_path: Path) -> str:
    folder = tmp_path / f"d{time.monotonic_ns()}"
    folder.mkdir()
    return str(write_graph(Given(data), folder)["content_hash"])


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_manifest_says_where_it_came_from(tmp_path: Path) -> None:
    assert isinstance(Given(), GraphSource)
    g = open_or_build(Given(), tmp_path)
    assert g.path == graph_folder(Given(), tmp_path)
    assert g.path.name == f"given-{Given().key()[:12]}"
    m = g.manifest
    assert (m["name"], m["source"], m["version"], m["licence"], m["credit"], m["inputs"]) == (
        *("given", "a test", "7", "CC0", "nobody"),
        {"file": "hash"},
    )
    assert m["counts"] == {
        "nodes": 3,
        "edges": 3,
        "types": 2,
        "relations": 2,
        "negatives": 1,
        "with_text": 2,
    }
    assert (g.path / "LICENSE.data").read_text() == "a notice\n"
    assert set(m["files"]) == set(names(g.path)) - {"manifest.json"}


def test_second_opening_does_not_build(tmp_path: Path) -> None:
    open_or_build(Given(), tmp_path)

    def never() -> None:
        raise AssertionError("read again")

    assert open_or_build(Given(before=never), tmp_path).n_nodes == 3


def test_exception_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_graph(Given(before=fail), tmp_path)
    assert names(tmp_path / "graphs") == []


CHILD = """
import sys, time
from pathlib import Path
from ark.graph import build_graph, source_for, write
real = write.np.save
def slow(path, values):
    real(path, values)
    print("saved", flush=True)
    time.sleep(60)
write.np.save = slow
build_graph(source_for("toy"), Path(sys.argv[1]))
"""


def test_killed_build_leaves_nothing_that_opens(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "saved\n"
    alive = names(tmp_path / "graphs")
    assert len(alive) == 1
    # A builder that is at work is left alone by the others.
    build_graph(Given(), tmp_path)
    assert alive[0] in names(tmp_path / "graphs")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert not graph_folder(source_for("toy"), tmp_path).exists()
    with pytest.raises(UserError, match="not finished"):
        KnowledgeGraph.open(tmp_path / "graphs" / alive[0])
    g = open_or_build(source_for("toy"), tmp_path)
    assert names(tmp_path / "graphs") == sorted([g.path.name, graph_folder(Given(), tmp_path).name])


def test_stray_of_another_machine_goes_after_a_day(tmp_path: Path) -> None:
    old, new = (tmp_path / "graphs" / f".building-x@elsewhere@1@{n}" for n in "ab")
    for folder in (old, new):
        folder.mkdir(parents=True)
    past = time.time() - 2 * 24 * 3600
    os.utime(old, (past, past))
    g = open_or_build(Given(), tmp_path)
    assert names(tmp_path / "graphs") == sorted([new.name, g.path.name])


def test_builders_at_once_agree(tmp_path: Path) -> None:
    start = threading.Barrier(4)
    found: list[Path] = []

    def together() -> None:
        start.wait(20)

    def build() -> None:
        found.append(build_graph(Given(before=together), tmp_path))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [graph_folder(Given(), tmp_path)] * 4
    assert names(tmp_path / "graphs") == [found[0].name]
    assert KnowledgeGraph.open(found[0]).n_edges == 3


def test_wrong_content_hash_is_refused(tmp_path: Path) -> None:
    right = digest(BASE, tmp_path)
    with pytest.raises(ArkError, match=f"{right} instead of {'0' * 64}.*report"):
        build_graph(Given(expected="0" * 64), tmp_path)
    assert names(tmp_path / "graphs") == []
    assert open_or_build(Given(expected=right), tmp_path).content_hash == right


HASH = "6221f61d9a2b8c707eda4f515e453d6e44e256f0cea63c13aec05e45c5ab5da5"


def test_content_hash_is_pinned(tmp_path: Path) -> None:
    """Hashes that users cite must not move with the code, Python or pyarrow."""
    assert digest(BASE, tmp_path) == HASH


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": ["b", "a", "d"]},
        {"types": ["t", "t", "t"]},
        {"names": ["B", "A", "c"]},
        {"texts": ["t", "ext", "more"]},
        {"source": [0, 1, 1]},
        {"relation": [0, 1, 0]},
        {"target": [1, 2, 1]},
        {"relations": ("r", "q")},
        {"aliases": [["x"], ["y"], ["z"]]},
        {"aliases": None},
        {"attrs": [{"k": 1.0}, {}, {"l": ("m", "n"), "k": 2.5}]},
        {"attrs": [{"k": "1"}, {}, {"l": ("m", "n"), "k": 2.5}]},
        {"attrs": [{}, {"k": 1}, {"l": ("m", "n"), "k": 2.5}]},
        {"edge_attrs": [{"w": True}, {}, {}]},
        {"edge_attrs": None},
        {"same_as": "s"},
        {"same_as": None},
        {"negatives": ()},
    ],
    ids=str,
)
def test_content_hash_sees_every_field(tmp_path: Path, changes: dict[str, object]) -> None:
    changed = dataclasses.replace(BASE, **changes)  # type: ignore[arg-type]
    assert digest(changed, tmp_path) != digest(BASE, tmp_path)


def test_content_hash_ignores_how_columns_are_held(tmp_path: Path) -> None:
    padded = pa.array(["?", *BASE.texts])
    other = dataclasses.replace(
        BASE,
        ids=pa.chunked_array([pa.array(BASE.ids[:1]), pa.array(BASE.ids[1:])]),
        types=pa.array(BASE.types).dictionary_encode(),
        names=pa.array(BASE.names, pa.large_string()),
        texts=padded.slice(1),
        source=np.array(BASE.source, dtype=np.uint8),
        aliases=pa.array([["?"], *BASE.aliases], pa.list_(pa.string())).slice(1),  # type: ignore[misc]
        attrs=[{"k": 1}, {}, {"k": 2.5, "l": ["m", "n"]}],
    )
    assert digest(other, tmp_path) == digest(BASE, tmp_path)


def test_arrow_columns_store_the_same_bytes(tmp_path: Path) -> None:
    first = open_or_build(Given(), tmp_path / "one")
    held = dataclasses.replace(BASE, ids=pa.array(BASE.ids), texts=pa.array(["?", *BASE.texts])[1:])
    second = open_or_build(Given(held), tmp_path / "two")
    assert first.manifest["files"] == second.manifest["files"]


def test_key_follows_files_converter_and_settings() -> None:
    keys = [
        source_key(1, {"f": "x"}),
        source_key(2, {"f": "x"}),
        source_key(1, {"f": "y"}),
        source_key(1, {"g": "x"}),
        source_key(1, {"f": "x"}, same_as="r"),
    ]
    assert len(set(keys)) == len(keys)
    assert source_key(1, {"a": "x", "b": "y"}) == source_key(1, {"b": "y", "a": "x"})


def test_data_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "here"))
    assert data_root() == tmp_path / "here"
    monkeypatch.setenv("ARK_DATA", "")
    assert data_root().name == "ark-harness"
    monkeypatch.setenv("ARK_DATA", "~/there")
    assert data_root() == Path.home() / "there"


def test_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "graphs").write_text("a file in the way")
    with pytest.raises(UserError, match="ARK_DATA"):
        open_or_build(Given(), tmp_path)


def test_bad_graph_name(tmp_path: Path) -> None:
    for name in ("", "../x", "a/b", "a b", ".x"):
        with pytest.raises(UserError, match="graph name"):
            build_graph(Given(name=name), tmp_path)


def test_source_names_and_settings() -> None:
    assert source_for("toy").name == "toy"
    with pytest.raises(UserError, match="did you mean hpo"):
        source_for("hpoo")
    with pytest.raises(UserError, match=r"needs a path.*graph\.path"):
        source_for("table")
    with pytest.raises(UserError, match="did you mean path"):
        source_for("table", pth="x")
