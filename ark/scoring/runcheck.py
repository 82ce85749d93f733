"""Holds a run file against questions and graph: what counts, and how much does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ark.protocols import Graph
from ark.records import MAX_RANKED, Query
from ark.scoring.runfile import Listed, RunFile
from ark.text import clip

SHOWN = 3  # ids that a note names
Types = Callable[[Query], Sequence[str] | None]


@dataclass(frozen=True)
class Counts:
    """What of a run file does not count, and what a reader must know of the rest.

    Of the split's questions: ``missing`` have no list and ``empty`` an empty one; ``tied`` have
    equal scores, ``unsigned`` scores that are not positive; ``long`` have more entries that count
    than a journal keeps. Of the file's: ``other`` belong to other splits, ``unknown`` to none,
    ``repeated`` have a second list. Entries of the split's lists: ``repeats`` of an earlier one,
    ``foreign`` ids that no node has, ``outside`` the candidate types.
    """

    questions: int = 0
    entries: int = 0
    missing: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    tied: int = 0
    unsigned: int = 0
    long: int = 0
    repeats: int = 0
    foreign: Mapping[str, int] = field(default_factory=dict)
    outside: Mapping[str, int] = field(default_factory=dict)
    longest: int = 0


@dataclass(frozen=True)
class Checked:
    """Rows of the nodes that count, best first and distinct, of each of the split's questions."""

    rankings: Mapping[str, tuple[int, ...]]
    counts: Counts


def check_run(
    run: RunFile,
    queries: Sequence[Query],
    known: Iterable[str],
    graph: Graph,
    types: Types | None = None,
) -> Checked:
    """Rank every list (``Listed.ranked``, ties by node order) and drop what cannot count.

    ``queries`` is the split, ``known`` the ids of all splits. ``types`` gives the candidate types
    of a question. Ids of no node, nodes of other types and repeats (of the same answer, too) are
    dropped before the cut to ``MAX_RANKED``, and counted. Never raises.
    """
    lists, split = run.lists, {q.id for q in queries}
    every = set(known)
    outside = [q for q in lists if q not in split]
    counts = Counts(
        questions=sum(q.id in lists for q in queries),
        missing=tuple(q.id for q in queries if q.id not in lists),
        empty=tuple(q.id for q in queries if q.id in lists and not lists[q.id].ids),
        other=tuple(q for q in outside if q in every),
        unknown=tuple(q for q in outside if q not in every),
        repeated=run.repeated,
    )
    tally = _Tally()
    rows = _Rows(graph)
    rankings = {
        q.id: tally.count(lists[q.id], rows, types(q) if types else None)
        for q in queries
        if q.id in lists
    }
    return Checked(rankings, tally.into(counts))


class _Rows:
    """Rows of ids, each looked up once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._found: dict[str, int | None] = {}

    def __getitem__(self, node_id: str) -> int | None:
        if node_id not in self._found:
            try:
                self._found[node_id] = self.graph.index(node_id)
            except KeyError:
                self._found[node_id] = None
        return self._found[node_id]

    def order(self, node_id: str) -> tuple[int, int, str]:
        """Node order; ids of no node come after all nodes."""
        row = self[node_id]
        return (0, row, "") if row is not None else (1, 0, node_id)


@dataclass
class _Tally:
    """Counts entries while lists go by."""

    entries: int = 0
    tied: int = 0
    unsigned: int = 0
    long: int = 0
    repeats: int = 0
    longest: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)

    def count(self, listed: Listed, rows: _Rows, types: Sequence[str] | None) -> tuple[int, ...]:
        graph, kept = rows.graph, {}  # same answer -> the first node that is it
        self.entries += len(listed.ids)
        self.tied += listed.tied
        self.unsigned += listed.scores is not None and min(listed.scores, default=1) <= 0
        for node_id in listed.ranked(rows.order):
            row = rows[node_id]
            if row is None:
                self.foreign[node_id] += 1
            elif types is not None and graph.type(row) not in types:
                self.outside[node_id] += 1
            elif (answer := graph.canonical(row)) in kept:
                self.repeats += 1
            else:
                kept[answer] = row
        self.long += len(kept) > MAX_RANKED
        self.longest = max(self.longest, len(kept))
        return tuple(kept.values())[:MAX_RANKED]

    def into(self, counts: Counts) -> Counts:
        return replace(
            counts,
            entries=self.entries,
            tied=self.tied,
            unsigned=self.unsigned,
            long=self.long,
            longest=self.longest,
            repeats=self.repeats,
            foreign=dict(self.foreign),
            outside=dict(self.outside),
        )


def notes(run: RunFile, counts: Counts, cut: int) -> list[str]:
    """What a reader of the scores must know: a summary, then one line for each count above 0."""
    split = counts.questions + len(counts.missing)
    lines = [
        f"run file {run.path.name} ({run.form}): {counts.entries} entries for {counts.questions} "
        f"of {split} questions"
    ]
    for what, ids in (
        ("missing: {} questions of the split have no list and count as failed", counts.missing),
        ("empty: {} lists hold nothing and score 0", counts.empty),
        ("repeated: {} questions have more than one list; the first counts", counts.repeated),
        ("other splits: {} questions of the file are not in this split", counts.other),
        ("unknown: {} question ids are in no split", counts.unknown),
    ):
        if ids:
            lines.append(f"{what.format(len(ids))}: {_first(ids)}")
    for what, nodes in (
        ("foreign: {} entries are ids of no node and were dropped", counts.foreign),
        ("outside: {} entries are no candidates by their type and were dropped", counts.outside),
    ):
        if nodes:
            lines.append(f"{what.format(sum(nodes.values()))}: {_first(list(nodes))}")
    if counts.repeats:
        lines.append(f"duplicates: {counts.repeats} entries repeat an answer; the first counts")
    if counts.tied:
        lines.append(f"ties: {counts.tied} lists have equal scores, which go by node order")
    if counts.long:
        lines.append(f"long: {counts.long} lists were cut to the first {MAX_RANKED} that count")
    if counts.longest > cut:
        lines.append(
            f"cut: lists are scored to rank {cut}, MRR too; cut={MAX_RANKED} scores all of "
            "their entries"
        )
    return [*lines, *_sign_warning(counts)]


def _sign_warning(counts: Counts) -> list[str]:
    if not counts.unsigned:
        return []
    return [
        f"warning: {counts.unsigned} lists have scores that are zero or negative (as -rank is). "
        "Here only their order counts, but STaRK's evaluator under torchmetrics 1.7.4 and later "
        "gives such entries nothing in MRR, recall, precision and MAP (hit@k and R-precision "
        "count them): give it 100 - rank."
    ]


def _first(ids: Sequence[str]) -> str:
    names = ", ".join(clip(i, 40) for i in ids[:SHOWN])
    return f"first {names}" if len(ids) > SHOWN else names
