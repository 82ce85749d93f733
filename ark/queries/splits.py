"""Which questions a split holds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from ark.errors import UserError
from ark.records import Query

SPLITS = ("train", "val", "test", "test-0.1", "human", "all")
TENTH = "test-0.1"  # as a stored split: this test question belongs to the tenth as well
TENTH_SEED = 0
HUMAN = "human"  # written by people, beside the composed questions: a set of its own


def select(queries: Sequence[Query], split: str, limit: int | None = None) -> list[Query]:
    """The first ``limit`` questions of a split, in stored order.

    ``all`` is every question but those of ``human``, a set with ids of its own; ``test`` includes
    what is stored as ``test-0.1``; where nothing is stored as ``test-0.1`` it is a tenth of
    ``test``, drawn with a fixed seed. Raises UserError for a split that holds no question and for
    a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit={limit}: give at least 1, or null for all questions")
    chosen = _members(queries, split)
    if not chosen:
        raise UserError(f"no questions in split {split!r}; there are: {_listing(queries)}, and all")
    return chosen[:limit]


def _members(queries: Sequence[Query], split: str) -> list[Query]:
    if split == "all":
        return [q for q in queries if q.split != HUMAN]
    if split == "test":
        return [q for q in queries if q.split in ("test", TENTH)]
    stored = [q for q in queries if q.split == split]
    return stored if stored or split != TENTH else _tenth(_members(queries, "test"))


def _tenth(test: list[Query]) -> list[Query]:
    if not test:
        return []
    drawn = random.Random(TENTH_SEED).sample(range(len(test)), max(1, round(len(test) / 10)))
    return [test[place] for place in sorted(drawn)]


def _listing(queries: Sequence[Query]) -> str:
    counts = Counter(q.split for q in queries)
    if counts[TENTH]:
        counts["test"] += counts[TENTH]  # the tenth is part of it
    return ", ".join(f"{name} {counts[name]}" for name in sorted(counts)) or "none at all"
