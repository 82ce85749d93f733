"""``method=dense`` and ``method=hybrid``: one search, whatever the search of the cell is.

The vectors are of the documents of the cell's search (``search.documents``, ``search.types``), and
the BM25 inside ``hybrid`` is the cell's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.protocols import Context, Relevance
from ark.records import MAX_RANKED, Attempt, Json
from ark.search import DenseSettings, HybridSettings, related
from baselines.common import evidence, ranking, settings


@dataclass(frozen=True)
class DenseBaseline:
    """Nodes by the cosine of their text with the question; it asks no backbone."""

    label: ClassVar[str] = "Dense"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    encoder: str = "minilm"
    """``minilm``: all-MiniLM-L6-v2 on this machine; ``litellm``: an endpoint for embeddings; or a
    class of your own, ``package.module:Class``."""
    model: str | None = None
    """For ``litellm`` the model as litellm names it, ``PROVIDER/NAME``."""
    max_tokens: int = 256
    """``minilm`` reads a text's first so many tokens."""
    exact_up_to: int = 500_000
    """With more documents than this, approximate neighbours are asked (extra ``ann``)."""

    def __post_init__(self) -> None:
        _ = self.wanted  # reports mistakes

    @property
    def agents(self) -> int:
        """One: a search has nothing to repeat."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings, and the encoder by its model's hash."""
        return {**settings(self), "vectors": dict(self.wanted.made().identity)}

    @property
    def wanted(self) -> DenseSettings:
        """The search that is asked."""
        return DenseSettings(self.encoder, self.model, self.max_tokens, self.exact_up_to)

    def prepare(self, search: Relevance) -> None:
        """Makes the vectors of a graph that has none."""
        related(search, self.wanted)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The 100 best nodes of one search."""
        found = ranking(related(ctx.search, self.wanted).search(question, MAX_RANKED))
        return Attempt(found, trajectory=evidence(self.wanted.relevance, ctx.graph, found))


@dataclass(frozen=True)
class HybridBaseline(DenseBaseline):
    """Nodes by the sum of 1 / (k + rank) in the lists of BM25 and dense; it asks no backbone."""

    label: ClassVar[str] = "BM25 + dense (RRF)"

    k: int = 60
    """What is added to a rank (Cormack, Clarke and Buettcher 2009: 60)."""

    @property
    def wanted(self) -> HybridSettings:
        """The search that is asked; its BM25 is then that of the cell."""
        return HybridSettings(self.encoder, self.model, self.max_tokens, self.exact_up_to, k=self.k)
