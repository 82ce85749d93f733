"""The first ``k`` nodes of a list, put in a new order by a model that sees a card of each.

Listwise: the model answers with the options' numbers, best first (the form of RankGPT, arXiv
2304.09542, section 3, without its sliding window). Pointwise: it scores every option. The rest of
the list follows as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.errors import QueryLimitError, UserError
from ark.protocols import Context
from ark.records import Attempt, Json, Ranking
from ark.text import one_line
from baselines.ask import Asker, pick_schema, read_picks, read_scores, score_schema
from baselines.common import settings as all_settings
from baselines.rerank.cards import LEAST_TOKENS, cards

TOP = 10  # of pointwise scores
TASK = (
    "A question is to be answered with nodes of a knowledge graph. The numbered options are nodes "
    "that a search found: name, type, a part of the text, and edges. "
)
ORDER = (
    "Put the options in order, those that answer the question best first, and leave out those that "
    'cannot be answers. Answer with a JSON object: {"order": [numbers]}.'
)
SCORE = (
    "Score every option from 0 (cannot be an answer) to 10 (meets every condition of the "
    'question). Answer with a JSON object: {"scores": [{"option": number, "score": number}, ...]}.'
)


@dataclass(frozen=True)
class Settings:
    """What both kinds have in common."""

    k: int = 20
    """How many nodes are put in a new order; those behind them stay where they are."""
    card_tokens: int = 60
    """Longest description of a node, in estimated tokens (4 characters each)."""
    reverse: bool = False
    """A second call shows the options in reversed order; the mean of both ranks decides."""

    def __post_init__(self) -> None:
        for name, value, least in (
            ("k", self.k, 2),
            ("card_tokens", self.card_tokens, LEAST_TOKENS),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UserError(f"rerank.{name}={value} must be a whole number >= {least}")


async def listwise(
    question: str,
    nodes: Sequence[int],
    ctx: Context,
    asker: Asker,
    settings: Settings,
    *,
    tag: str = "rerank.listwise",
) -> list[int]:
    """All of ``nodes``, the first ``settings.k`` in the order that the model gives.

    Nodes that it does not name follow the named ones as they stood. One call (two where
    ``reverse``), each with one repair; an unreadable answer leaves the order as it was and is
    counted by ``asker``. No call for fewer than two nodes. QueryLimitError passes through.

    Args:
        question: the question's text.
        nodes: distinct rows of the graph, best first; only such as may be answers.
        ctx: for the graph and the search that cards are made of.
        asker: makes the calls; its messages and steps grow.
        settings: k, card_tokens and reverse.
        tag: of the calls.
    """  # noqa: D413

    async def call(shown: Sequence[int], texts: Sequence[str]) -> list[int]:
        n = len(texts)
        return await asker.ask(
            tag,
            TASK + ORDER,
            _prompt(question, texts),
            pick_schema("order", n, n, 1),
            lambda value: read_picks(value, "order", n, 1),
            list,
            state=_state(ctx, shown),
        )

    return await _reordered(question, nodes, ctx, asker, settings, tag, call)


async def pointwise(
    question: str,
    nodes: Sequence[int],
    ctx: Context,
    asker: Asker,
    settings: Settings,
    *,
    tag: str = "rerank.pointwise",
) -> list[int]:
    """As ``listwise``, by scores from 0 to 10 that one call gives to all options.

    Equal scores keep the order in which the nodes stood; nodes without a score follow.
    """

    async def call(shown: Sequence[int], texts: Sequence[str]) -> list[int]:
        n = len(texts)
        scores: dict[int, float] = await asker.ask(
            tag,
            TASK + SCORE,
            _prompt(question, texts),
            score_schema("scores", n, n, TOP),
            lambda value: read_scores(value, "scores", n, TOP),
            dict,
            state=_state(ctx, shown),
        )
        place = {node: i for i, node in enumerate(nodes)}
        return sorted(scores, key=lambda i: (-scores[i], place[shown[i]]))

    return await _reordered(question, nodes, ctx, asker, settings, tag, call)


async def _reordered(
    question: str,
    nodes: Sequence[int],
    ctx: Context,
    asker: Asker,
    settings: Settings,
    tag: str,
    call: Callable[[Sequence[int], Sequence[str]], Awaitable[list[int]]],
) -> list[int]:
    """``call`` answers with positions among what it is shown, best first, any part of them."""
    top, rest = list(nodes[: settings.k]), list(nodes[settings.k :])
    if len(top) < 2:
        return [*top, *rest]
    card = dict(zip(top, cards(question, top, ctx, settings.card_tokens), strict=True))
    ranks = dict.fromkeys(top, 0)
    for shown in (top, top[::-1])[: 1 + settings.reverse]:
        named = [shown[i] for i in await call(shown, [card[node] for node in shown])]
        order = list(dict.fromkeys([*named, *top]))
        asker.note(tag, {"named": len(named), "top": [ctx.graph.id(i) for i in order]})
        for rank, node in enumerate(order):
            ranks[node] += rank
    return [*sorted(top, key=lambda node: ranks[node]), *rest]  # stable: ties as they stood


def _prompt(question: str, texts: Sequence[str]) -> str:
    options = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
    return f"Question: {one_line(question)}\nOptions:\n{options}"


def _state(ctx: Context, shown: Sequence[int]) -> dict[str, Json]:
    return {"kind": "evidence", "offered": [ctx.graph.id(i) for i in shown]}


class _Reranker(Settings):
    """``reorder`` of a function above: what a cell calls."""

    name: ClassVar[str]
    probe: ClassVar[Sequence[Mapping[str, Any]]]

    @property
    def identity(self) -> Mapping[str, Json]:
        """The name and all settings."""
        return {"name": self.name, **all_settings(self)}

    async def _order(self, question: str, nodes: Sequence[int], asker: Asker) -> list[int]:
        raise NotImplementedError

    async def reorder(
        self, question: str, nodes: Sequence[int], ctx: Context, draw: int
    ) -> Attempt:
        """The same nodes in a new order; in the old one, with status ``limit``, where a limit of
        the question ends the call.
        """
        asker = Asker(ctx, draw)
        try:
            order = await self._order(question, nodes, asker)
        except QueryLimitError:
            return Attempt(Ranking(tuple(nodes)), "limit", asker.trajectory)
        return Attempt(Ranking(tuple(order)), "ok", asker.trajectory)


@dataclass(frozen=True)
class Listwise(_Reranker):
    """``rerank=listwise``."""

    name: ClassVar[str] = "listwise"
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ({"content": '{"order": [3, 1]}'},)

    async def _order(self, question: str, nodes: Sequence[int], asker: Asker) -> list[int]:
        return await listwise(question, nodes, asker.ctx, asker, self)


@dataclass(frozen=True)
class Pointwise(_Reranker):
    """``rerank=pointwise``."""

    name: ClassVar[str] = "pointwise"
    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"content": '{"scores": [{"option": 3, "score": 9}, {"option": 1, "score": 2}]}'},
    )

    async def _order(self, question: str, nodes: Sequence[int], asker: Asker) -> list[int]:
        return await pointwise(question, nodes, asker.ctx, asker, self)
