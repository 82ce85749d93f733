"""``method=bm25``: the question as one global search. The shortest method; a model for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.protocols import Context
from ark.records import MAX_RANKED, Attempt, Json
from ark.search.choose import lexical
from baselines.common import evidence, ranking


@dataclass(frozen=True)
class BM25Baseline:
    """Nodes by BM25 of the question against name, aliases and text; it asks no backbone."""

    label: ClassVar[str] = "BM25"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    @property
    def agents(self) -> int:
        """One: a search has nothing to repeat."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """No settings of its own; those of the search stand in the cell."""
        return {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The 100 best nodes of one search; of BM25 also where the cell's search is another."""
        found = ranking(lexical(ctx.search).search(question, MAX_RANKED))
        return Attempt(found, trajectory=evidence("bm25", ctx.graph, found))
