"""One cell as plain frozen records: what ``run.py`` composes from configs, and what tests write."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from ark.agent.fusion import Fusion, fuse
from ark.backbone.cache import MODES
from ark.backbone.reliable import Retries
from ark.errors import UserError, unknown
from ark.records import Json
from ark.run.values import check_value
from ark.search import BM25Settings, SearchSettings

CHOICES = {
    "candidates": ("graph", "answer_type"),
    "over_budget": ("truncated", "as_published"),
    "backfill": ("none", "bm25"),
}
SEEDS = ("question", "oracle")
Id = TypeVar("Id", int, str)
MOST_AGENTS = 1_000  # that a stored reading may name: files may come from strangers
MOST_ORDERS = 5040  # of agents, that one reading averages over


@dataclass(frozen=True)
class GraphSpec:
    """Which graph: a source by name, its settings, and which node types may be answers."""

    source: str = "hpo"
    settings: Mapping[str, Json] = field(default_factory=dict)
    candidate_types: tuple[str, ...] | None = None  # None: every node


@dataclass(frozen=True)
class PluginSpec:
    """A method, a backbone or a reranker: ``package.module:Class`` and the values of its fields."""

    name: str
    target: str
    settings: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How finished attempts become a ranking. A pure function of a run's journal."""

    fusion: Fusion = Fusion()
    agents: int = 1
    pool: int | None = None
    """Lists that exist. More than ``agents``: values are means over all choices and orders of
    ``agents`` of them; None: as many as ``agents``."""
    steps: int | None = None
    """Only this many calls of each agent count; None: all."""
    over_budget: str = "truncated"
    """An agent that took more: its list as it stood then (truncated), or nothing, as the paper
    counted (as_published: arXiv 2601.13969, figure 3)."""
    backfill: str = "none"
    """``bm25``: nodes that BM25 finds for the question follow the ranked ones."""
    cut: int = 20
    candidates: str = "graph"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UserError(unknown(name, str(getattr(self, name)), known))
        check_value("cut", self.cut, int)
        if not 1 <= self.cut <= 100:
            raise UserError(f"cut={self.cut} must be a whole number from 1 to 100")
        for name in ("pool", "steps"):
            value = getattr(self, name)
            check_value(name, value, int | None)
            if value is not None and value < 1:
                raise UserError(f"{name}={value} must be a whole number >= 1, or null")
        if self.pool is not None and self.pool < self.agents:
            raise UserError(f"pool={self.pool} is less than method.agents={self.agents}")
        if math.perm(self.lists, self.agents) > MOST_ORDERS and self.lists > self.agents:
            raise UserError(
                f"{self.agents} of {self.lists} agents have more than {MOST_ORDERS} orders; take a "
                "smaller pool"
            )

    @property
    def lists(self) -> int:
        """How many agents a question needs."""
        return self.pool or self.agents

    def fuse(self, lists: Sequence[Sequence[Id]], rng: random.Random) -> list[Id]:
        """Lists of agents as one."""
        return fuse(lists, self.fusion, rng)


def stored_reading(stored: Mapping[str, Json]) -> tuple[Reading, tuple[str, ...] | None]:
    """A reading and its candidate types from the ``reading`` of a result.json.

    Raises UserError, ValueError, KeyError or TypeError for what this version cannot read.
    """
    known = {f.name for f in fields(Reading)}
    strange = set(stored) - known - {"candidate_types"}
    if strange:
        raise ValueError(f"the reading has {sorted(strange)[0]!r}, which this version lacks")
    values = {k: v for k, v in stored.items() if k in known and v is not None and k != "fusion"}
    for name in ("agents", "pool"):
        value = values.get(name, 1)
        if type(value) is not int or not 1 <= value <= MOST_AGENTS:
            raise ValueError(f"the reading has {name}={value!r}")
    types = stored["candidate_types"]
    reading = Reading(fusion=Fusion(**(stored["fusion"] or {})), **values)
    return reading, None if types is None else tuple(map(str, types))


@dataclass(frozen=True)
class AgentLimits:
    """What one agent may take for one question; at a limit it answers with what it has.

    None: no limit. A limit changes answers, so those that are set are part of the run id.
    """

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            check_value(
                f"agent_limits.{f.name}",
                value,
                int | None if f.name in ("calls", "tokens") else float | None,
            )
            if value is not None and value <= 0:
                raise UserError(f"agent_limits.{f.name}={value} must be > 0, or null for no limit")


@dataclass(frozen=True)
class CellSpec:
    """Everything that identifies a cell. Nothing here is about where or how fast it runs."""

    graph: GraphSpec
    method: PluginSpec
    backbone: PluginSpec
    search: SearchSettings = BM25Settings()
    fusion: Fusion = Fusion()
    split: str = "test"
    limit: int | None = None
    queries: Path | None = None
    candidates: str = "graph"
    cut: int = 20
    seed: int = 0
    pool: int | None = None
    steps: int | None = None
    over_budget: str = "truncated"
    backfill: str = "none"
    seeds: str = "question"
    """Where walks begin: at nodes linked from the question's text, or at its anchors (oracle)."""
    rerank: PluginSpec | None = None
    """What puts each list in a new order before it is stored; None: nothing."""
    repeat: int = 0
    """Number of this repetition: other draws of everything, questions and settings the same."""
    agent_limits: AgentLimits = AgentLimits()

    def __post_init__(self) -> None:
        check_value("limit", self.limit, int | None)
        if self.seeds not in SEEDS:
            raise UserError(unknown("seeds", str(self.seeds), SEEDS))
        check_value("seed", self.seed, int)
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit={self.limit} must be a whole number >= 1, or null for all")
        self.reading(1)  # reports its own mistakes early

    def reading(self, agents: int) -> Reading:
        """How a method with so many agents is read."""
        return Reading(
            self.fusion,
            agents,
            self.pool,
            self.steps,
            self.over_budget,
            self.backfill,
            self.cut,
            self.candidates,
        )


@dataclass(frozen=True)
class Limits:
    """Most calls, tokens and US dollars; None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, kind in (("calls", int), ("tokens", int), ("cost", float)):
            value = getattr(self, name)
            check_value(f"budget.{name}", value, kind | None)
            if value is not None and value < 0:
                raise UserError(f"budget.{name}={value} must be >= 0, or null for no limit")


@dataclass(frozen=True)
class Transport:
    """Where and how fast a cell runs. Nothing here enters an id."""

    results_dir: Path = Path("results")
    concurrency: int = 4
    max_failures: int = 0
    progress: bool = True
    budget: Limits = Limits()
    retries: Retries = Retries()
    cache: str = "off"
    """Answers of models that are paid for once: read_write, read_only or off."""
    cache_path: Path | None = None
    """None: cache.sqlite in ``results_dir``."""
    on_model_change: str = "stop"
    """Where the server's model or its fingerprint changes in mid-run: stop, or note."""

    def __post_init__(self) -> None:
        check_value("concurrency", self.concurrency, int)
        check_value("max_failures", self.max_failures, int)
        check_value("progress", self.progress, bool)
        if self.concurrency < 1:
            raise UserError(f"concurrency={self.concurrency} must be a whole number >= 1")
        for name, value, known in (
            ("cache.mode", self.cache, MODES),
            ("on_model_change", self.on_model_change, ("stop", "note")),
        ):
            if value not in known:
                raise UserError(unknown(name, str(value), known))
        if self.max_failures < 0:
            raise UserError(f"max_failures={self.max_failures} must be a whole number >= 0")
