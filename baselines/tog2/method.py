"""``method=tog2``: Think-on-Graph 2.0 (arXiv 2407.10805); ``tog2_code``: as its code does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.errors import QueryLimitError
from ark.protocols import Context
from ark.records import Attempt, Status
from baselines.calls import Caller
from baselines.tog2.settings import Settings
from baselines.tog2.walk import Walk


@dataclass(frozen=True)
class Tog2(Settings):
    """Relations lead to entities, passages rank them, and a model says when it is enough."""

    label: ClassVar[str] = "ToG-2"
    label_without_model: ClassVar[str] = "ToG-2 (lexical prune)"
    links_seeds: ClassVar[bool] = True
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    # Every kind of call reads its own field. The first answer lacks "sufficient", so that the
    # repair and its prompt are part of the fingerprint.
    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "content": '{"mentions": ["walled garden", "moth"], "chosen": [2, 1, 3], '
            '"starts": [1, 2], "relations": [{"option": 1, "score": 0.9}, '
            '{"option": 2, "score": 0.5}, {"option": 3}], "answers": [1], "names": ["Night Bell"]}'
        },
        {
            "content": '{"sufficient": false, "clue": "flowers that open late"}',
        },
    )

    @property
    def agents(self) -> int:
        """One: the method makes one walk a question."""
        return 1

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """One walk. A limit ends it with what was found by then."""
        caller = Caller(ctx, agent, self.call_bound, self.max_tokens)
        walk = Walk(question, caller, self)
        status: Status = "ok"
        try:
            await walk.run()
        except QueryLimitError:
            status = "limit"
            walk.note_end("limit")
        return Attempt(walk.findings.ranking(ctx, question), status, caller.asker.trajectory)


@dataclass(frozen=True)
class Tog2Code(Tog2):
    """``method=tog2_code``: what the released code does where the paper says otherwise."""

    label: ClassVar[str] = "ToG-2 (code)"
    label_without_model: ClassVar[str] = "ToG-2 (code, lexical prune)"

    topic_prune_above: int = 2
    combined_limits: bool = False
    tails: str = "random"
    need_text: bool = True
    triple_sentence: bool = False
    initial: bool = False
    context: str = "sentences"
    clue: bool = False
    final: str = "memory"
