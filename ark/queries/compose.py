"""Composes questions with executable gold on any graph for which there is a wording pack.

Nothing here knows a method: a question is dropped only for what it is. Its gold must have one to
twenty answers; no clause alone may already have the same gold; and its wording must be new and
must neither name nor repeat what it describes. All draws come from one ``random.Random(seed)`` over
sorted sequences, so a seed gives the same questions everywhere.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ark.errors import ArkError
from ark.program import Executor, Program
from ark.protocols import Graph, Ints
from ark.queries.describe import Describer, holds, shares_run
from ark.queries.draw import SPLIT_SHARES, Drawer, assign_splits
from ark.queries.mention import Namer
from ark.queries.names import NameBook
from ark.queries.phrase import Phraser
from ark.queries.plan import Leaf, Planner
from ark.queries.splits import TENTH
from ark.queries.wording import Pattern, Wording
from ark.records import Query

COMPOSER_VERSION = "2"  # raise it whenever the same seed gives other questions
SEED = 0
MAX_ANSWERS = 20
TRIES = 400  # draws for one question before its pattern gives way to others


@dataclass(frozen=True)
class Composed:
    """Questions in stored order, and how many draws were dropped, by reason.

    ``asked``: how many were wanted. ``mentions``: how many by (split, wording).
    """

    queries: tuple[Query, ...]
    asked: int
    rejected: Counter[str] = field(default_factory=Counter)
    patterns: Counter[str] = field(default_factory=Counter)
    mentions: Counter[tuple[str, str]] = field(default_factory=Counter)


def compose(graph: Graph, wording: Wording, seed: int = SEED, n: int | None = None) -> Composed:
    """``n`` questions (``wording.count`` if None), fewer where no more distinct ones are found.

    About half are ``train``, a sixth ``val`` and a third ``test`` (a tenth of that ``test-0.1``);
    no node is an anchor in two splits.
    """
    return _Composer(graph, wording, seed).compose(wording.count if n is None else n)


def apportion(n: int, shares: Sequence[int]) -> list[int]:
    """``n`` in whole parts by ``shares``: largest remainders, ties to the earlier part."""
    total = sum(shares)
    parts = [n * share // total for share in shares]
    order = sorted(range(len(shares)), key=lambda k: (-(n * shares[k] % total), k))
    for k in order[: n - sum(parts)]:
        parts[k] += 1
    return parts


class _Composer:
    def __init__(self, graph: Graph, wording: Wording, seed: int) -> None:
        self._graph = graph
        self._wording = wording
        self._rng = random.Random(seed)
        self._executor = Executor(graph)
        self._planner = Planner(graph)
        names = NameBook(graph, wording.common, wording.titles, wording.small)
        self._namer = Namer(names, self._rng)
        pool = assign_splits(graph, wording, self._rng)
        self._drawer = Drawer(
            graph,
            wording=wording,
            names=names,
            describer=Describer(graph, self._executor.words, wording.taste),
            pool=pool,
            rng=self._rng,
        )
        self._phraser = Phraser(graph, wording, self._namer, self._rng)
        self._programs: set[str] = set()
        self._texts: set[str] = set()
        self._luck: Counter[tuple[str, str]] = Counter()  # by pattern and split
        self._rejected: Counter[str] = Counter()
        self._patterns: Counter[str] = Counter()

    def compose(self, n: int) -> Composed:
        found: list[Query] = []
        for split, pattern in self._slots(n):
            query = self._question(pattern, split)
            if query is not None:
                found.append(query)
        self._rng.shuffle(found)
        width = len(str(len(found)))
        named = [
            replace(q, id=f"{self._wording.graph}-{k:0{width}d}")
            for k, q in enumerate(found, start=1)
        ]
        queries = tuple(self._mark_tenth(named))
        return Composed(queries, n, self._rejected, self._patterns, self._namer.used)

    def _slots(self, n: int) -> list[tuple[str, Pattern]]:
        """A split and a pattern for every question, shuffled."""
        slots: list[tuple[str, Pattern]] = []
        types = sorted(self._wording.shares)
        parts = apportion(n, [share for _, share in SPLIT_SHARES])
        for (split, _), part in zip(SPLIT_SHARES, parts, strict=True):
            by_type = apportion(part, [self._wording.shares[t] for t in types])
            for answer, count in zip(types, by_type, strict=True):
                patterns = self._wording.patterns_of(answer)
                counts = apportion(count, [p.weight for p in patterns])
                for pattern, k in zip(patterns, counts, strict=True):
                    slots += [(split, pattern)] * k
        self._rng.shuffle(slots)
        return slots

    def _question(self, pattern: Pattern, split: str) -> Query | None:
        """A question of the pattern, else of another with the same answer type, drawn."""
        if (query := self._of_pattern(pattern, split)) is not None:
            return query
        others = [p for p in self._wording.patterns_of(pattern.answer) if p is not pattern]
        self._rng.shuffle(others)
        found = (self._of_pattern(other, split) for other in others)
        return next((query for query in found if query is not None), None)

    def _of_pattern(self, pattern: Pattern, split: str) -> Query | None:
        key = (pattern.name, split)
        if self._luck[key] < 0:  # given up more often than not
            return None
        for _ in range(TRIES):
            query = self._try(pattern, split)
            if query is not None:
                self._patterns[pattern.name] += 1
                self._luck[key] += 1
                return query
        self._luck[key] -= 1
        self._rejected["pattern given up"] += 1
        return None

    def _try(self, pattern: Pattern, split: str) -> Query | None:
        leaves = self._drawer.draw(pattern, split)
        if leaves is None:
            self._rejected["no leaves"] += 1
            return None
        program = self._planner.program(pattern, leaves)
        gold = self._run(program)
        flaw = self._flaw_of_gold(pattern, leaves, program, gold)
        if flaw is None:
            text, mentions = self._phraser.question(pattern, leaves, split)
            flaw = self._flaw_of_text(text, leaves)
        if flaw is not None:
            self._rejected[flaw] += 1
            return None
        self._programs.add(str(program))
        self._texts.add(text)
        self._drawer.note(leaves)
        named = (leaf.node for leaf in leaves if not leaf.words)
        self._namer.note(split, zip(named, (m.wording for m in mentions), strict=True))
        anchors = [leaf.node for leaf in leaves if not leaf.own]
        return Query(
            id="",
            text=text,
            answer_ids=tuple(map(self._graph.id, gold.tolist())),
            split=split,
            cluster=self._graph.id(min(anchors, key=lambda i: (self._degree(i), i))),
            hops=pattern.hops(),
            textual=pattern.textual(),
            answer_type=pattern.answer,
            anchor_ids=tuple(map(self._graph.id, anchors)),
            mentions=mentions,
            program=str(program),
        )

    def _flaw_of_gold(
        self, pattern: Pattern, leaves: Sequence[Leaf], program: Program, gold: Ints
    ) -> str | None:
        if str(program) in self._programs:
            return "same program"
        answers = len({self._graph.canonical(i) for i in gold.tolist()})
        if not 1 <= answers <= MAX_ANSWERS:
            return "too many answers" if answers else "no answer"
        if np.isin([leaf.node for leaf in leaves if not leaf.words], gold).any():
            return "names its answer"
        if len(leaves) > 1 and self._pinned(pattern, leaves, gold):
            return "one clause alone has the same gold"
        return None

    def _flaw_of_text(self, text: str, leaves: Sequence[Leaf]) -> str | None:
        if text in self._texts:
            return "same text"
        described = [leaf.node for leaf in leaves if leaf.words]
        if any(holds(text, self._graph.name(i)) for i in described):
            return "names what it describes"
        told = map(self._graph.text, described)
        return "repeats the text" if any(shares_run(text, t) for t in told) else None

    def _pinned(self, pattern: Pattern, leaves: Sequence[Leaf], gold: Ints) -> bool:
        return any(
            np.array_equal(self._run(alone), gold) for alone in self._planner.alone(pattern, leaves)
        )

    def _run(self, program: Program) -> Ints:
        value = self._executor.run(program)
        if not isinstance(value, np.ndarray):
            raise ArkError(f"a composed program gives no set: {program}")
        return value

    def _degree(self, i: int) -> int:
        return len(self._graph.out_edges(i)[0]) + len(self._graph.in_edges(i)[0])

    def _reject(self, reason: str) -> None:
        self._rejected[reason] += 1

    def _mark_tenth(self, queries: list[Query]) -> list[Query]:
        test = [k for k, q in enumerate(queries) if q.split == "test"]
        tenth = set(self._rng.sample(test, round(len(test) / 10)))
        return [replace(q, split=TENTH) if k in tenth else q for k, q in enumerate(queries)]
