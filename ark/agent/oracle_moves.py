"""Which calls of ARK's tools an oracle can make, what each would show, and which is next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ark.agent.oracle_words import Words
from ark.agent.toolbox import Toolbox
from ark.agent.tools import NEIGHBORS, SEARCH
from ark.protocols import Ints
from ark.records import Json

MOST_WORDED = 8  # nodes behind one node whose words make queries of their own
MOST_LEVEL = 60  # nodes of one level that are looked at
MOST_PAGES = 3  # of a list, where there are pages
MOST_DETOURS = 2000  # nodes next to what is missing that are looked at
MOST_BESIDE = 40  # nodes shown by the way that are looked at as ways to an answer


@dataclass(frozen=True)
class Move:
    """One call. ``center`` -1 for a search of the whole graph."""

    query: str | None
    center: int = -1
    node_type: str | None = None
    relation: str | None = None
    page: int = 1

    @property
    def tool(self) -> str:
        """Its name."""
        return SEARCH if self.center < 0 else NEIGHBORS

    def arguments(self, toolbox: Toolbox) -> dict[str, Json]:
        """As a model writes them."""
        given: dict[str, Json] = {"query": self.query}
        if self.center < 0:
            given["size"] = toolbox.options.global_k_max
        else:
            given["node_index"] = toolbox.handles.of(self.center)
            given |= {"node_type": self.node_type, "edge_type": self.relation}
        if self.page > 1:
            given["page"] = self.page
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Outcome:
    """What a move shows that matters: answers, and nodes on the way to some (nearer ones)."""

    move: Move
    golds: frozenset[int]
    stones: tuple[int, ...]


class Planner:
    """Chooses calls greedily by answers shown a call, looking as far ahead as the program is long.

    ``golds`` sends rows to answers (rows of one answer to the same number). ``levels`` are the
    nodes that the program comes by, nearest first.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        words: Words,
        golds: Mapping[int, int],
        levels: Sequence[Sequence[int]],
    ) -> None:
        self._toolbox = toolbox
        self._graph = toolbox.graph
        self._options = toolbox.options
        self._words = words
        self._golds = golds
        level: dict[int, int] = {}
        for depth, nodes in enumerate(levels, start=1):
            for node in nodes[:MOST_LEVEL]:
                level.setdefault(node, depth)
        self._far = len(levels) + 1
        self._used: set[Move] = set()
        self._widened = False
        self._aim(level)

    def _aim(self, level: Mapping[int, int]) -> None:
        """These nodes are ways to answers, at so many hops."""
        self._level = dict(level)
        self._targets = np.array(sorted({*self._golds, *level}), dtype=np.int64)
        self._from: dict[int, tuple[Outcome, ...]] = {}
        self._found: list[Outcome] | None = None

    def next(self, missing: frozenset[int], left: int) -> Move | None:
        """The best call where so many are left; None where none leads to a missing answer.

        Where the program's ways are used up, detours are looked for once.
        """
        move = self._best(missing, left)
        if move is None and not self._widened and self._options.neighbors:
            self._widened = True
            self._aim(self._with_detours(missing))
            move = self._best(missing, left)
        return move

    def _best(self, missing: frozenset[int], left: int) -> Move | None:
        reach = _Reach(self, missing)
        best: tuple[float, int] = (0.0, 0)
        chosen: Move | None = None
        for outcome in self._possible(missing):
            if outcome.move in self._used:
                continue
            rate, length = reach.rate(outcome, min(left, self._far))
            if (rate, -length) > best:
                best, chosen = (rate, -length), outcome.move
        if chosen is not None:
            self._used.add(chosen)
        return chosen

    def _possible(self, missing: frozenset[int]) -> Iterator[Outcome]:
        if self._found is None:
            self._found = self._searches()
        yield from self._found
        if not self._options.neighbors:
            return
        seen = self._toolbox.seen
        yield from (o for node in self._level if node in seen for o in self.behind(node))
        near = self._beside(missing)
        beside = [node for node in seen if node in near and node not in self._level]
        yield from (o for node in beside[:MOST_BESIDE] for o in self.behind(node))

    def _beside(self, missing: frozenset[int]) -> set[int]:
        """Nodes next to a missing answer: ways that the program does not name."""
        rows = [row for row, gold in self._golds.items() if gold in missing]
        return {int(i) for row in rows for i in self._graph.neighbors(row)}

    def _with_detours(self, missing: frozenset[int]) -> dict[int, int]:
        """The ways, and nodes off the program's ways that list what is missing on one page.

        Missing are answers, and nodes on a way to them that no tool has shown.
        """
        level = dict(self._level)
        for depth in range(self._far):
            if depth == 0:
                rows = [row for row, gold in self._golds.items() if gold in missing]
            else:
                level_of = self._level.items()
                rows = [n for n, d in level_of if d == depth and n not in self._toolbox.seen]
            wanted = np.array(sorted(rows), dtype=np.int64)
            near = sorted({int(i) for row in rows for i in self._graph.neighbors(row)} - {*level})
            found = [n for n in near[:MOST_DETOURS] if self._lists_whole(n, wanted)]
            level |= dict.fromkeys(found, depth + 1)
        self._far += 1
        return level

    def _lists_whole(self, center: int, wanted: Ints) -> bool:
        """Whether the neighbours of a node fit on one page, under a filter that leaves some in."""
        near, size = self._graph.neighbors(center), self._options.neighbor_k
        if len(near) <= size:
            return True
        if not self._options.neighbor_filters:
            return False
        return any(
            len(self._graph.neighbors(center, relation=m.relation, node_type=m.node_type)) <= size
            for m, _ in self._filters(center, np.intersect1d(near, wanted))
        )

    def _searches(self) -> list[Outcome]:
        wanted = [*self._golds, *self._level]
        queries = [*self._words.base, *(q for node in wanted for q in self._words.matching(node))]
        pages = MOST_PAGES if self._options.paging else 1
        found = []
        for query in dict.fromkeys(queries):
            size = self._options.global_k_max
            hits = [hit.node for hit in self._toolbox.search.search(query, size * pages)]
            for page in range(pages):
                shown = hits[page * size : (page + 1) * size]
                found.append(self._outcome(Move(query, page=page + 1), shown))
        return _useful(found)

    def behind(self, center: int) -> tuple[Outcome, ...]:
        """Calls that list the neighbours of a node, as far as they show anything of use."""
        if center not in self._from:
            near = self._graph.neighbors(center)
            targets = np.intersect1d(near, self._targets)
            found = [o for pair in self._filters(center, targets) for o in self._lists(*pair)]
            self._from[center] = tuple(_useful(found))
        return self._from[center]

    def _filters(self, center: int, targets: Ints) -> Iterator[tuple[Move, list[int]]]:
        """Filters that leave targets in: type and relation of each, and weaker where several."""
        if not len(targets):
            return
        if not self._options.neighbor_filters:
            yield Move(None, center), targets.tolist()
            return
        pairs: dict[tuple[str | None, str | None], list[int]] = {}
        for others, relations, _ in (self._graph.out_edges(center), self._graph.in_edges(center)):
            kept = np.isin(others, targets)
            for other, number in zip(others[kept].tolist(), relations[kept].tolist(), strict=True):
                pair = self._graph.type(other), self._graph.relations[number]
                pairs.setdefault(pair, []).append(other)
        if len(pairs) > 1:
            for node_type in dict.fromkeys(t for t, _ in pairs):
                of_type = [i for (t, _), nodes in pairs.items() if t == node_type for i in nodes]
                pairs.setdefault((node_type, None), of_type)
            pairs[None, None] = targets.tolist()
        for (node_type, relation), nodes in pairs.items():
            yield Move(None, center, node_type, relation), list(dict.fromkeys(nodes))

    def _lists(self, plain: Move, targets: Sequence[int]) -> Iterator[Outcome]:
        """One filter with each query that may help; none where all fit on one page."""
        nodes = self._graph.neighbors(
            plain.center, relation=plain.relation, node_type=plain.node_type
        )
        size = self._options.neighbor_k
        queries: list[str | None] = [None]
        if len(nodes) > size and self._options.neighbor_query:
            own = (q for node in targets[:MOST_WORDED] for q in self._words.matching(node))
            queries += dict.fromkeys([*self._words.base, *own])
        for query in queries:
            ranked = self._ranked(query, nodes)
            pages = range(MOST_PAGES if self._options.paging else 1)
            for page in pages:
                shown = ranked[page * size : (page + 1) * size]
                move = Move(query, plain.center, plain.node_type, plain.relation, page + 1)
                yield self._outcome(move, shown)

    def _ranked(self, query: str | None, nodes: Ints) -> list[int]:
        if query is None:
            return [int(i) for i in nodes]
        most = self._options.neighbor_k * MOST_PAGES
        rank = self._toolbox.rank or self._toolbox.search
        return [hit.node for hit in rank.rank(query, nodes, most)]

    def _outcome(self, move: Move, shown: Iterable[int]) -> Outcome:
        level = self._level.get(move.center, self._far)
        nodes = list(shown)
        golds = frozenset(self._golds[i] for i in nodes if i in self._golds)
        stones = tuple(i for i in nodes if self._level.get(i, level) < level)
        return Outcome(move, golds, stones if self._options.neighbors else ())


def _useful(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those that show something, the first of those that show the same."""
    kept: dict[tuple[frozenset[int], frozenset[int]], Outcome] = {}
    for outcome in outcomes:
        if outcome.golds or outcome.stones:
            kept.setdefault((outcome.golds, frozenset(outcome.stones)), outcome)
    return list(kept.values())


class _Reach:
    """How many missing answers some calls in a row can show, the first of them given."""

    def __init__(self, planner: Planner, missing: frozenset[int]) -> None:
        self._planner = planner
        self._missing = missing
        self._kept: dict[tuple[int, int], int] = {}

    def rate(self, outcome: Outcome, longest: int) -> tuple[float, int]:
        """Answers a call, of the chain with the most; and its length."""
        found = [(self.of(outcome, n) / n, -n) for n in range(1, longest + 1)]
        rate, length = max(found, default=(0.0, 0))
        return rate, -length

    def of(self, outcome: Outcome, calls: int) -> int:
        """Most answers of this call and those that follow from what it shows."""
        own = len(outcome.golds & self._missing)
        if calls < 2:
            return own
        return own + max((self._behind(node, calls - 1) for node in outcome.stones), default=0)

    def _behind(self, node: int, calls: int) -> int:
        key = node, calls
        if key not in self._kept:
            outcomes = self._planner.behind(node)
            self._kept[key] = max((self.of(o, calls) for o in outcomes), default=0)
        return self._kept[key]
