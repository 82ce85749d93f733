"""``method=tog`` and its relatives: a model prunes a beam of paths (arXiv 2307.07697)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.errors import QueryLimitError, UserError, unknown
from ark.protocols import Context
from ark.records import Attempt, Json, Status
from baselines.calls import Caller
from baselines.common import number, settings, whole_number
from baselines.tiers import tiered
from baselines.tog import prompts
from baselines.tog.walk import Walk
from baselines.tog.walk_r import WalkR

CHOICES = {
    "prune": ("llm", "bm25"),
    "large_rule": ("bm25", "random"),
    "cards": ("full", "name"),
    "scores": ("cumulative", "last"),
}
TEMPERATURE = 2.0  # the highest that servers take
PROBE = (
    # One object for every call: each reads its own keys. "Not enough" walks to the full depth.
    {
        "content": '{"mentions": ["copper moth", "walled garden", "night bell"], "chosen": [2, 1], '
        '"relations": [{"option": 2, "score": 0.6}, {"option": 1, "score": 0.4}], '
        '"entities": [{"option": 2, "score": 0.7}, {"option": 1, "score": 0.3}], '
        '"enough": false, "answers": ["Night bell", "Silverleaf"]}'
    },
)


@dataclass(frozen=True)
class Tog:
    """Think-on-Graph: width x depth beam search; relations and entities are pruned by the model."""

    label: ClassVar[str] = "ToG"
    label_without_model: ClassVar[str] = "ToG (lexical prune)"
    reading_fields: ClassVar[frozenset[str]] = frozenset({"agents"})
    links_seeds: ClassVar[bool] = True
    probe: ClassVar[Sequence[Mapping[str, Any]]] = PROBE
    walk: ClassVar[type[Walk]] = Walk
    entity_prunes: ClassVar[int] = 1
    """Calls that score entities, for each of width x depth (1 in ToG, 0 in ToG-R)."""
    pruned_by: ClassVar[str] = "llm"
    """The value of ``prune`` that the label is for."""
    other_row: ClassVar[str] = "tog_bm25"
    """The method whose label is for the other value."""

    width: int = 3
    """Topic entities, relations and nodes that each depth keeps (N)."""
    depth: int = 3
    """Steps from the topic entities at most (D)."""
    prune: str = "llm"
    """What prunes relations and entities: llm, or bm25 (a class of its own, with its label)."""
    large: int = 20
    """A relation with at least so many tails is cut before a model sees them."""
    large_rule: str = "bm25"
    """How it is cut: bm25 (the best for the question; ours) or random (the authors' code)."""
    large_keep: int = 20
    """Tails that are left (the code: 5 on Freebase, 10 on Wikidata)."""
    cards: str = "full"
    """Nodes as options: full (name, type, about 40 tokens of text; ours) or name (the code)."""
    scores: str = "cumulative"
    """A node's score: cumulative (product along its path; ours) or last (of its last step)."""
    relation_blacklist: tuple[str, ...] = ()
    """Names of relations that are never walked; the code has lists for Freebase and Wikidata."""
    explore_temperature: float = 0.4
    """Of the calls that prune (paper and code)."""
    reason_temperature: float = 0.0
    """Of the calls that reason and answer (paper and code)."""
    max_tokens: int = 256
    """Longest answer of a call, in tokens; seed linking takes the backbone's own."""
    agents: int = 1
    """Independent walks a question; their lists are fused. A reading: not in the run id."""

    def __post_init__(self) -> None:
        for name in ("width", "depth", "large", "large_keep", "max_tokens", "agents"):
            whole_number(name, getattr(self, name), 2 if name == "large" else 1)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise UserError(unknown(f"method.{name}", getattr(self, name), choices))
        for name in ("explore_temperature", "reason_temperature"):
            number(name, getattr(self, name), 0, TEMPERATURE)
        if self.prune != self.pruned_by:
            raise UserError(
                f"method.prune={self.prune}: rows go by what prunes; set method={self.other_row}"
            )
        listed: Any = self.relation_blacklist
        if isinstance(listed, str) or not all(isinstance(name, str) for name in listed):
            raise UserError("method.relation_blacklist must be a list of names: '[name,name]'")
        object.__setattr__(self, "relation_blacklist", tuple(listed))

    @property
    def most_calls(self) -> int:
        """The paper's bound, seed linking not counted: 2ND+D+1, for ToG-R ND+D+1, repairs included.

        Where BM25 prunes, D+1 calls with a repair each: nothing is left over for repairs else.
        """
        if self.prune == "bm25":
            return 2 * (self.depth + 1)
        return (1 + self.entity_prunes) * self.width * self.depth + self.depth + 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings but readings; the prompts by the hash of their texts."""
        kept = {k: v for k, v in settings(self).items() if k not in self.reading_fields}
        return {**kept, "prompts": prompts.VERSION}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """One walk; ``agent`` is also its draw."""
        caller = Caller(ctx, agent, self.most_calls, self.max_tokens)
        walk = self.walk(ctx, question, self, caller)
        status: Status = "ok"
        try:
            await walk.run()
        except QueryLimitError:
            status = "limit"
        return Attempt(tiered(ctx, question, *walk.tiers), status, walk.trajectory)


@dataclass(frozen=True)
class TogFaithful(Tog):
    """``method=tog_faithful``: what the authors' code does where ``tog`` has something of ours."""

    label: ClassVar[str] = "ToG (faithful)"
    label_without_model: ClassVar[str] = "ToG (faithful, lexical prune)"

    large_rule: str = "random"
    large_keep: int = 5
    cards: str = "name"
    scores: str = "last"


@dataclass(frozen=True)
class TogBM25(Tog):
    """``method=tog_bm25``: BM25 prunes, the model only reasons; D+1 calls."""

    label: ClassVar[str] = "ToG (BM25 prune)"
    label_without_model: ClassVar[str] = "ToG (BM25 prune, lexical reasoning)"
    pruned_by: ClassVar[str] = "bm25"
    other_row: ClassVar[str] = "tog"

    prune: str = "bm25"


@dataclass(frozen=True)
class TogR(Tog):
    """``method=tog_r``: ToG-R, which keeps relations only and draws among the entities."""

    label: ClassVar[str] = "ToG-R"
    label_without_model: ClassVar[str] = "ToG-R (lexical prune)"
    walk: ClassVar[type[Walk]] = WalkR
    entity_prunes: ClassVar[int] = 0
    other_row: ClassVar[str] = "tog_r_bm25"


@dataclass(frozen=True)
class TogRBM25(TogR):
    """``method=tog_r_bm25``: BM25 prunes the relations, the model only reasons; D+1 calls."""

    label: ClassVar[str] = "ToG-R (BM25 prune)"
    label_without_model: ClassVar[str] = "ToG-R (BM25 prune, lexical reasoning)"
    pruned_by: ClassVar[str] = "bm25"
    other_row: ClassVar[str] = "tog_r"

    prune: str = "bm25"
