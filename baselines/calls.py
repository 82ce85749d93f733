"""The bound on calls: each call of the walk counts, repairs too; then fallbacks answer.

The paper bounds ToG by 2ND+D+1 calls and ToG-R by ND+D+1 (arXiv 2307.07697, section 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ark.errors import QueryLimitError
from ark.protocols import Backbone, Context
from ark.records import Completion, Json, Message, Step
from baselines.ask import Asker

T = TypeVar("T")


class SpentError(QueryLimitError):
    """The next call would be one too many."""


class Bounded:
    """A backbone that counts its calls; where ``most`` is set it makes no further one."""

    def __init__(self, inner: Backbone, most: int | None = None) -> None:
        self._inner = inner
        self.most = most
        self.used = 0

    @property
    def identity(self) -> Mapping[str, Json]:
        """That of the backbone inside."""
        return self._inner.identity

    @property
    def label(self) -> str:
        """That of the backbone inside."""
        return self._inner.label

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        """Ask, or raise SpentError."""
        if self.most is not None:
            if self.used >= self.most:
                raise SpentError(f"{self.most} calls are made: {how.get('tag')} would be one more")
            self.used += 1
        return await self._inner.complete(messages, **how)


class Caller:
    """The calls of a walk, at most ``bound``. ``asker`` makes those that do not count: linking."""

    def __init__(self, ctx: Context, draw: int, bound: int, max_tokens: int) -> None:
        self._backbone = Bounded(ctx.backbone)
        self._bound = bound
        self._max_tokens = max_tokens
        self.asker = Asker(replace(ctx, backbone=self._backbone), draw)

    async def ask(
        self,
        tag: str,
        system: str,
        user: str,
        schema: Mapping[str, Json],
        read: Callable[[Mapping[str, Json]], tuple[T, int]],
        fallback: Callable[[], T],
        *,
        state: Mapping[str, Json],
        temperature: float,
        reserve: int = 0,
    ) -> T:
        """``Asker.ask`` within the bound; ``reserve`` calls are left for what must come later.

        Where no call is left the fallback answers and is counted, with or without a reply before.
        """
        asker, backbone = self.asker, self._backbone
        backbone.most = self._bound - reserve
        steps = len(asker.steps)
        if backbone.used < backbone.most:
            try:
                return await asker.ask(
                    tag,
                    system,
                    user,
                    schema,
                    read,
                    fallback,
                    state=state,
                    temperature=temperature,
                    max_tokens=self._max_tokens,
                )
            except SpentError:
                asker.messages.pop()  # the repair that was not sent
        asker.fallbacks.append(tag)
        if len(asker.steps) > steps:
            asker.steps[-1] = replace(asker.steps[-1], fallbacks=1)
        else:
            spent = {**state, "answer": None, "calls": "spent", "called": False}
            asker.steps.append(Step(len(asker.steps) + 1, tag, spent, 0, 1))
        return fallback()
