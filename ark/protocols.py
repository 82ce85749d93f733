"""The system on one screen.

A **cell** is graph x questions x method x backbone x settings. The runner gives each question to
each agent of a ``Method``; the method looks at the ``Graph`` through ``Relevance`` and asks the
``Backbone``; the runner journals what comes back and scores it.

To add a method: write a frozen dataclass whose fields are its settings, a docstring under each,
and which has the members of ``Method`` (``baselines/bm25.py`` is the shortest); ``identity`` is
``baselines.common.settings(self)``, and the attempt leaves a step (``baselines.common.evidence``).
Add ``configs/method/NAME.yaml`` with ``target: package.module:Class`` and every field. Then run
``python -m pytest tests/contracts/test_method_contract.py -k NAME``.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ark.records import Attempt, Completion, Hit, Json, Message, Node, Query

Ints = NDArray[np.int64]


class Nodes(Protocol):
    """What scoring asks of a graph: a bundle of a run has it without the graph."""

    def id(self, i: int) -> str: ...
    def index(self, node_id: str) -> int: ...
    def type(self, i: int) -> str: ...
    def canonical(self, i: int) -> int: ...


@runtime_checkable
class Graph(Protocol):
    """A typed multigraph with text on its nodes, read-only. Nodes and edges are row numbers.

    Arrays that come back must not be written to. A node number out of range is an IndexError.
    """

    @property
    def n_nodes(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def node_types(self) -> tuple[str, ...]: ...
    @property
    def relations(self) -> tuple[str, ...]: ...
    @property
    def signatures(self) -> tuple[tuple[str, str, str], ...]:
        """(source type, relation, target type) of all edges, each once, sorted."""
        ...

    @property
    def content_hash(self) -> str: ...

    def node(self, i: int) -> Node: ...
    def id(self, i: int) -> str: ...
    def name(self, i: int) -> str: ...
    def type(self, i: int) -> str: ...
    def text(self, i: int) -> str: ...
    def aliases(self, i: int) -> tuple[str, ...]: ...

    def index(self, node_id: str) -> int:
        """Row of an id. Raises KeyError."""
        ...

    def canonical(self, i: int) -> int:
        """The first of the nodes that are the same answer as ``i`` (mostly ``i`` itself)."""
        ...

    def of_type(self, node_type: str) -> Ints:
        """All nodes of a type, ascending. Raises KeyError for an unknown type."""
        ...

    def out_edges(self, i: int) -> tuple[Ints, Ints, Ints]:
        """(targets, relation numbers, edge numbers) of edges that leave ``i``, parallel kept."""
        ...

    def in_edges(self, i: int) -> tuple[Ints, Ints, Ints]:
        """(sources, relation numbers, edge numbers) of edges that enter ``i``, parallel kept."""
        ...

    def neighbors(
        self, i: int, *, relation: str | None = None, node_type: str | None = None
    ) -> Ints:
        """Distinct neighbours in either direction, without ``i`` itself, ascending."""
        ...


class Relevance(Protocol):
    """rel(q, d): one scoring of nodes by text, used globally and inside a neighbourhood.

    Both calls give the same score for the same node, sort by score descending and then by node
    number ascending. ``search`` returns matching nodes only (score > 0); ``rank`` returns every
    given node, at most ``k``.
    """

    @property
    def identity(self) -> Mapping[str, Json]: ...
    def search(self, query: str, k: int) -> list[Hit]: ...
    def rank(self, query: str, nodes: Ints, k: int) -> list[Hit]: ...
    def count(self, query: str) -> int:
        """How many nodes ``search`` would find without a limit."""
        ...


class Backbone(Protocol):
    """An LLM, or what stands in for one. Stateless: all it knows is in the arguments."""

    @property
    def identity(self) -> Mapping[str, Json]:
        """Model, sampling and rule versions: what changes answers. No URLs, keys or time-outs."""
        ...

    @property
    def label(self) -> str:
        """What tables print. A rule-based controller says so here and has ``is_llm = False``."""
        ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,
        tool_choice: str | None = None,
        schema: Mapping[str, Json] | None = None,
        draw: int = 0,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """One answer. ``tag`` names the kind of call; ``draw`` separates repeated samples.

        Raises RetryableError, QueryFailedError or FatalBackboneError.
        """
        ...


@dataclass(frozen=True)
class Context:
    """What a method may use. ``rng`` is seeded by run seed, question and agent.

    ``query`` is the question's whole record. Methods go by the text they are given; only a run
    file and rows that are labelled as oracles may look into it. ``seeds`` are the rows that the
    question is about where ``seeds=oracle`` gives them; None: a method links by itself.
    """

    graph: Graph
    search: Relevance
    backbone: Backbone
    rng: random.Random
    query: Query | None = None
    seeds: tuple[int, ...] | None = None


class Method(Protocol):
    """Turns a question into a ranking. A frozen dataclass: its fields are its settings."""

    label: ClassVar[str]
    """What tables print."""
    reading_fields: ClassVar[frozenset[str]]
    """Settings that only choose among finished attempts; they stay out of the run id."""
    probe: ClassVar[Sequence[Mapping[str, Any]] | None]
    """Scripted answers for the fingerprint run on the toy graph; empty if it asks no backbone.

    None: the method is code of the user that knows one graph, and is not run on the toy graph."""

    @property
    def agents(self) -> int:
        """How many independent attempts a question gets; 1 for most."""
        ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """Settings that change attempts, prompt hash included."""
        ...

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """One agent's answer. Model output never raises; budgets end it with status ``limit``."""
        ...

    # May also have: ``links_seeds`` (True: it starts from nodes that the question names, and takes
    # ``Context.seeds``), ``label_without_model`` (its label where no LLM answers),
    # ``ablations`` (name -> settings, for labels), ``tuned`` (what was tuned, on
    # which split), ``prepare(search)`` (long work before the first question: Ctrl-C stops it at
    # once) and ``readable_steps`` (each step is one call, ``picked_at`` names it, and the
    # list after fewer steps is that of a smaller ``max_steps``).


class Executor(Protocol):
    """Runs the pending work of a cell, several items at a time. Order is not promised."""

    def map(self, work: Callable[[Any], Awaitable[None]], items: Sequence[Any]) -> None: ...


class Tracker(Protocol):
    """Is told how a cell goes (W&B, none). An error in it never harms the run."""

    def start(self, cell: Mapping[str, Json]) -> None: ...
    def finish(self, result: Mapping[str, Json]) -> None: ...
