"""Settings of ToG-2, checked. The defaults are the preset ``paper`` (arXiv 2407.10805)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ark.errors import UserError, unknown
from ark.records import Json
from baselines.common import number, settings, whole_number
from baselines.tog2.ranker import ranker

CHOICES: Mapping[str, tuple[str, ...]] = {
    "relation_prune": ("combined", "single"),
    "tails": ("bm25", "random"),
    "context": ("passages", "sentences"),
    "final": ("evidence", "memory"),
}


@dataclass(frozen=True)
class Settings:
    """Fields of ``method=tog2``; ``method=tog2_code`` sets those where the code differs."""

    width: int = 3
    """W: topics of a depth, and relations kept for each of them."""
    depth: int = 3
    """D: how many times the walk goes one hop on."""
    link: int = 5
    """Nodes that are linked in the question at most, before topic prune."""
    topic_prune_above: int = 0
    """Topic prune is asked for where more nodes than this were linked (code: 2)."""
    relation_prune: str = "combined"
    """combined: one call for all topics of a depth; single: one call a topic."""
    threshold: float = 0.2
    """Relations with a lower score, on a scale from 0 to 1, are dropped."""
    combined_limits: bool = True
    """Threshold and width hold for the combined call too; False, as in the code: for single."""
    tails: str = "bm25"
    """bm25: the ends of a relation that are best for the question; random: a sample (code)."""
    tails_most: int = 50
    """Ends of one relation of a topic that are kept."""
    need_text: bool = False
    """Ends without text or with a name below three letters are dropped (code)."""
    revisit: bool = True
    """Earlier topics may be candidates again; False is ours."""
    ranker: str = "bm25"
    """What scores passages; baselines/tog2/ranker.py has the names."""
    triple_sentence: bool = True
    """The triples that lead to a candidate stand before each of its passages (code: not)."""
    node_passages: int = 20
    """Passages of one node that are read, from its start."""
    passages: int = 10
    """K: best passages of a depth that count for entities and are shown."""
    decay: float = 0.8
    """Alpha: the k-th best passage weighs exp(-alpha k)."""
    initial: bool = True
    """The model may answer from the topics' passages before the first hop (code: not)."""
    context: str = "passages"
    """What calls read: the K passages of the depth, or the best sentences of all depths (code)."""
    sentences: int = 10
    """Sentences of context=sentences."""
    clue: bool = True
    """What the model says is missing goes into the next prompts and retrieval query (code: not)."""
    final: str = "evidence"
    """How a walk without an answer ends: from what was found, or from the model's memory (code)."""
    temperature: float = 0.0
    """Of the calls after linking."""
    max_tokens: int = 256
    """Longest answer of a call after linking, in tokens; a model that thinks first needs more."""

    def __post_init__(self) -> None:
        for name in ("width", "depth", "link", "tails_most", "node_passages", "passages"):
            whole_number(name, getattr(self, name), 1)
        whole_number("sentences", self.sentences, 1)
        whole_number("topic_prune_above", self.topic_prune_above, 0)
        number("threshold", self.threshold, 0, 1)
        number("decay", self.decay, 0, 100)
        whole_number("max_tokens", self.max_tokens, 1)
        number("temperature", self.temperature, 0, 10)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UserError(unknown(f"method.{name}", getattr(self, name), known))
        ranker(self.ranker)  # a wrong name is reported before any work

    @property
    def call_bound(self) -> int:
        """Most calls of a walk, without linking and topic prune: 9 or 13 by default.

        2D + (D-1) + 1 combined and WD + D + 1 single, as the paper counts them; repairs included.
        """
        if self.relation_prune == "combined":
            return 2 * self.depth + (self.depth - 1) + 1
        return self.width * self.depth + self.depth + 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings, and what changes the scores of the ranker."""
        return {**settings(self), "ranker_identity": dict(ranker(self.ranker).identity)}
