"""``method=ark``: parallel agents over the four tools (arXiv 2601.13969)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

from ark.agent.loop import LoopSettings, run_agent
from ark.agent.observe import Handles
from ark.agent.prompt import Prompt
from ark.agent.toolbox import Toolbox
from ark.agent.tools import ADD, COMMON, DETAILS, FINISH, NEIGHBORS, SEARCH, ToolOptions
from ark.errors import UserError, unknown
from ark.protocols import Context
from ark.records import Attempt, Json
from ark.search.keyword import Keyword

NEIGHBOR_RANKS = ("bm25", "keyword")


@dataclass(frozen=True)
class Ark:
    """Settings of ARK; the defaults are the paper's (specification: section 4 of the paper)."""

    label: ClassVar[str] = "ARK"
    reading_fields: ClassVar[frozenset[str]] = frozenset({"agents"})
    ablations: ClassVar[Mapping[str, Mapping[str, bool]]] = {
        "no_neighbors": {"neighbors": False},
        "no_query": {"neighbor_query": False},
        "no_filter": {"neighbor_filters": False},
    }
    """Names of the paper's table 2 and what they set; configs/ablation has them."""

    agents: int = 3
    """Independent agents per question; their lists are fused. A reading: not in the run id."""
    max_steps: int = 20
    """LLM calls per agent at most (T_max)."""
    prompt: str = "ours"
    """Name of a shipped prompt or path of a template file."""
    temperature: float | None = None
    """Sampling temperature; None leaves the provider's default, as the paper states none."""
    max_tokens: int | None = None
    """Longest answer in tokens; None leaves the provider's default."""
    global_k: int = 5
    """Hits of a global search when the model gives no size."""
    global_k_max: int = 30
    """Most hits of a global search, whatever size the model asks for."""
    neighbor_k: int = 20
    """Neighbors shown at most."""
    neighbor_rank: str = "bm25"
    """How a query ranks neighbors: bm25 (paper) or keyword (the authors' code; it also filters)."""
    neighbors: bool = True
    """Ablation: False takes the neighborhood tool away."""
    neighbor_query: bool = True
    """Ablation: False takes its query argument away."""
    neighbor_filters: bool = True
    """Ablation: False takes both of its type filters away."""
    observation_tokens: int = 2000
    """Longest observation, in estimated tokens (4 characters each)."""
    handles: str = "index"
    """Numbers of nodes: index (row, as the authors' code) or opaque (order of appearance)."""
    budget_notice: bool = False
    """Extension: each observation says how many steps are left."""
    forced_answer: bool = False
    """Extension: an agent without answers must call add_to_answer at its last step."""
    keep_seen: bool = False
    """Extension: nodes shown but never added follow the answer list, most often shown first."""
    details: bool = False
    """Extension: a tool that shows a node's aliases, attributes and whole text."""
    intersection: bool = False
    """Extension: a tool that lists the common neighbors of several nodes."""
    multi_filters: bool = False
    """Extension: a filter takes a list of types."""
    signatures: bool = False
    """Extension: the prompt lists which node types each edge type joins."""
    paging: bool = False
    """Extension: searches and lists of neighbors have further pages."""
    hints: bool = False
    """Extension: where filters leave no neighbor, the node's edges are named with their number."""

    def __post_init__(self) -> None:
        for name, least in (("agents", 1), ("max_steps", 1), ("global_k", 1), ("neighbor_k", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise UserError(f"method.{name}={value} must be a whole number >= {least}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UserError(f"method.max_tokens={self.max_tokens} must be >= 1, or null")
        if self.temperature is not None and self.temperature < 0:
            raise UserError(f"method.temperature={self.temperature} must be >= 0, or null")
        if self.global_k_max < self.global_k:
            raise UserError(
                f"method.global_k_max={self.global_k_max} is below global_k={self.global_k}"
            )
        if self.observation_tokens < 50:
            raise UserError(f"method.observation_tokens={self.observation_tokens}: 50 at least")
        if self.neighbor_rank not in NEIGHBOR_RANKS:
            raise UserError(unknown("method.neighbor_rank", self.neighbor_rank, NEIGHBOR_RANKS))
        Handles(self.handles)
        _ = self._prompt  # a wrong name or file is reported before any work

    @cached_property
    def _prompt(self) -> Prompt:
        return Prompt.load(self.prompt)

    @property
    def _options(self) -> ToolOptions:
        return ToolOptions(**{f.name: getattr(self, f.name) for f in fields(ToolOptions)})

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings but readings; the prompt by the hash of its text."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        kept = {k: v for k, v in kept.items() if k not in self.reading_fields}
        return {**kept, "prompt": self._prompt.sha256}

    @property
    def readable_steps(self) -> bool:
        """Whether the list after fewer steps is that of a smaller ``max_steps``: nothing that the
        model sees, and no last tier, may depend on the budget.
        """
        return not (self.budget_notice or self.forced_answer or self.keep_seen)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """Run one agent; ``agent`` is also its draw, so agents differ where sampling does."""
        toolbox = Toolbox(
            ctx.graph,
            ctx.search,
            self._options,
            self.observation_tokens,
            rank=Keyword(ctx.graph) if self.neighbor_rank == "keyword" else None,
            handles=Handles(self.handles),
        )
        system = self._prompt.render(
            ctx.graph,
            toolbox.schemas,
            {
                "global_k": self.global_k,
                "global_k_max": self.global_k_max,
                "neighbor_k": self.neighbor_k,
            },
            signatures=self.signatures,
        )
        settings = LoopSettings(**{f.name: getattr(self, f.name) for f in fields(LoopSettings)})
        return await run_agent(question, system, toolbox, ctx, settings, agent)

    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "calls": [
                {"name": SEARCH, "arguments": {"query": "copper moth night flowers", "size": 4}}
            ]
        },
        {"calls": [{"name": SEARCH, "arguments": {"query": "evening bell garden"}}]},
        {
            "calls": [
                {"name": NEIGHBORS, "arguments": {"node_index": 5}},
                {"name": NEIGHBORS, "arguments": {"node_index": 5, "query": "blue flowers"}},
                {"name": NEIGHBORS, "arguments": {"node_index": 5, "node_type": "plants"}},
            ]
        },
        {"calls": [{"name": ADD, "arguments": {"answer_nodes": [{"node_index": 1}, 5, "x"]}}]},
        {"content": "no call"},
        {"calls": [{"name": FINISH, "arguments": {"comment": "done"}}]},
    )


@dataclass(frozen=True)
class ArkPlus(Ark):
    """``method=ark_plus``: ARK with every extension but ``hints``; none of them is in the paper."""

    label: ClassVar[str] = "ARK plus"

    handles: str = "opaque"
    budget_notice: bool = True
    forced_answer: bool = True
    keep_seen: bool = True
    details: bool = True
    intersection: bool = True
    multi_filters: bool = True
    signatures: bool = True
    paging: bool = True

    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"calls": [{"name": SEARCH, "arguments": {"query": "copper moth night bell", "size": 9}}]},
        {"calls": [{"name": SEARCH, "arguments": {"query": "plant", "size": 2, "page": 2}}]},
        {"calls": [{"name": DETAILS, "arguments": {"node_index": 1}}]},
        {
            "calls": [
                {"name": COMMON, "arguments": {"node_indices": [1, 2]}},
                {"name": NEIGHBORS, "arguments": {"node_index": 1, "edge_type": "grows in"}},
                {"name": COMMON, "arguments": {"node_indices": [1, 3], "query": "copper"}},
                {"name": NEIGHBORS, "arguments": {"node_index": 1, "node_type": ["plant"]}},
                {"name": NEIGHBORS, "arguments": {"node_index": 99}},
            ]
        },
        {"calls": [{"name": ADD, "arguments": {"answer_nodes": [{"node_index": 2}, 1]}}]},
        {"calls": [{"name": FINISH, "arguments": {}}]},
    )
