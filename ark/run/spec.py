"""One cell as plain frozen records: what ``run.py`` composes from configs, and what tests write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ark.agent.fusion import Fusion
from ark.errors import UserError, unknown
from ark.records import Json
from ark.run.values import check_value
from ark.search import BM25Settings

CANDIDATES = ("graph", "answer_type")


@dataclass(frozen=True)
class GraphSpec:
    """Which graph: a source by name, its settings, and which node types may be answers."""

    source: str = "hpo"
    settings: Mapping[str, Json] = field(default_factory=dict)
    candidate_types: tuple[str, ...] | None = None  # None: every node


@dataclass(frozen=True)
class PluginSpec:
    """A method or a backbone: ``package.module:Class`` and the values of its fields."""

    name: str
    target: str
    settings: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How finished attempts become a ranking. A pure function of a run's journal."""

    fusion: Fusion = Fusion()
    agents: int = 1
    cut: int = 20
    candidates: str = "graph"

    def __post_init__(self) -> None:
        if self.candidates not in CANDIDATES:
            raise UserError(unknown("candidates", self.candidates, CANDIDATES))
        check_value("cut", self.cut, int)
        if not 1 <= self.cut <= 100:
            raise UserError(f"cut={self.cut} must be a whole number from 1 to 100")


@dataclass(frozen=True)
class CellSpec:
    """Everything that identifies a cell. Nothing here is about where or how fast it runs."""

    graph: GraphSpec
    method: PluginSpec
    backbone: PluginSpec
    search: BM25Settings = BM25Settings()
    fusion: Fusion = Fusion()
    split: str = "test"
    limit: int | None = None
    queries: Path | None = None
    candidates: str = "graph"
    cut: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_value("limit", self.limit, int | None)
        check_value("seed", self.seed, int)
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit={self.limit} must be a whole number >= 1, or null for all")
        Reading(self.fusion, 1, self.cut, self.candidates)  # reports its own mistakes early


@dataclass(frozen=True)
class Transport:
    """Where and how fast a cell runs. Nothing here enters an id."""

    results_dir: Path = Path("results")
    concurrency: int = 4
    max_failures: int = 0
    progress: bool = True

    def __post_init__(self) -> None:
        check_value("concurrency", self.concurrency, int)
        check_value("max_failures", self.max_failures, int)
        check_value("progress", self.progress, bool)
        if self.concurrency < 1:
            raise UserError(f"concurrency={self.concurrency} must be a whole number >= 1")
        if self.max_failures < 0:
            raise UserError(f"max_failures={self.max_failures} must be a whole number >= 0")
