"""Cross-check with STaRK's own evaluator, which runs in an environment of its own.

The evaluator knows no unranked candidate: it ties all of them below the list, at ``min - 1``, and
the accident of a sort decides which of them a gold answer beats. So a list is completed for it:
after our entries come candidates that are no gold, then scores are ``n - rank`` for ``n`` entries,
100 wherever there are as many candidates. Now the lowest score is 1 and the tie stands at 0, which
torchmetrics 1.7.4 and later gives nothing: the reading of unranked gold that our measures have.
The bare list, as published tools score it, is asked too where that can differ (``bare``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ark.records import MAX_RANKED, Json
from ark.scoring.official_process import Question, ask

MEASURES = ("hit@1", "hit@5", "recall@20", "mrr")
DEEPEST = 20  # rank that a cut of MEASURES looks at
TOLERANCE = 1e-6  # the evaluator computes in 32 bits
SIGN_FILTER = (1, 7, 4)  # torchmetrics from which entries scored <= 0 earn nothing
TOPK = (1, 1, 0)  # torchmetrics from which MRR ranks by topk
UNRANKED = "gold is not ranked, and its place among the unranked decides"


@dataclass(frozen=True)
class Item:
    """A question: rows of a ranking without repeats, of its gold, and our values.

    ``candidates`` names the set that it is scored against.
    """

    query: str
    ranked: tuple[int, ...]
    gold: tuple[int, ...]
    ours: Mapping[str, float]
    candidates: str = "all"


@dataclass(frozen=True)
class Difference:
    """A value that is not ours. ``why`` explains it where the evaluator is known to be free."""

    query: str
    measure: str
    ours: float
    official: float
    why: str | None


@dataclass(frozen=True)
class Bare:
    """The same lists as ``100 - rank`` and nothing else: what ``eval.py`` would report.

    ``differ`` questions have another value; ``refused`` have an empty list, which is an error
    there and counts as 0 here.
    """

    means: Mapping[str, float]
    differ: int
    refused: int


@dataclass(frozen=True)
class Report:
    """What the official evaluator said, beside ours. Means are fractions."""

    versions: Mapping[str, str]
    queries: int
    unchecked: int  # no list could be made: every candidate is gold
    ours: Mapping[str, float]
    official: Mapping[str, float]
    bare: Bare
    differences: tuple[Difference, ...] = field(default=())

    @property
    def unexplained(self) -> int:
        """Questions that differ for no known reason."""
        return len({d.query for d in self.differences if d.why is None})

    def to_json(self) -> dict[str, Json]:
        """As ``official.json`` keeps it."""
        return {**asdict(self), "unexplained": self.unexplained, "note": regime(self.versions)}

    def lines(self) -> list[str]:
        """For a terminal: the verdict, what is known of these versions, the first differences."""
        at = ", ".join(f"{k} {self.versions[k]}" for k in ("stark-qa", "torch", "torchmetrics"))
        differ = len({d.query for d in self.differences})
        checked = self.queries - self.unchecked
        if not differ:
            out = [f"official evaluator: equal on {checked} queries ({at})"]
        else:
            out = [
                f"official evaluator: {differ} of {checked} queries differ, {self.unexplained} of "
                f"them for no known reason ({at})"
            ]
        if regime(self.versions):
            out.append(f"official evaluator: {regime(self.versions)}")
        out += [
            f"  {d.query} {d.measure}: ours {d.ours:.6f}, official {d.official:.6f}"
            + (f" ({d.why})" if d.why else "")
            for d in sorted(self.differences, key=lambda d: d.why is not None)[:10]
        ]
        if self.bare.differ or self.bare.refused:
            means = ", ".join(f"{k} {100 * v:.2f}" for k, v in self.bare.means.items())
            out.append(
                f"bare 100 - rank, unranked gold left to ties: {means}; {self.bare.differ} queries "
                f"differ, {self.bare.refused} empty lists are refused"
            )
        return out


def cross_check(
    environment: Path,
    items: Sequence[Item],
    candidates: Mapping[str, Sequence[int]],
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare ``hit@1``, ``hit@5``, ``recall@20`` and ``mrr`` of every item with ours.

    ``environment`` is a folder that ``scripts/official_env.py`` made; ``candidates`` are rows,
    ascending, by the name that items use. ``progress`` is told (answered, asked).

    Raises UserError, in one line, for an environment that is missing or does not answer.
    """
    filled = {n: _completed(item, candidates[item.candidates]) for n, item in enumerate(items)}
    questions = [
        _question(2 * n, item, nodes, candidates) for n, (item, nodes) in _zip(items, filled)
    ]
    bare = [
        _question(2 * n + 1, item, item.ranked, candidates, MAX_RANKED)
        for n, (item, _) in _zip(items, filled)
        if _is_free(item)
    ]
    versions, answers = ask(environment, MEASURES, candidates, [*questions, *bare], progress)
    differences = [
        difference
        for n, (item, nodes) in _zip(items, filled)
        for difference in _compare(item, nodes, answers[2 * n], versions)
    ]
    alone = [answers.get(2 * n + 1, answers.get(2 * n)) for n in range(len(items))]
    return Report(
        versions=versions,
        queries=len(items),
        unchecked=sum(not nodes for nodes in filled.values()),
        ours=_means([item.ours for item in items]),
        official=_means([answers.get(2 * n) for n in range(len(items))]),
        bare=_bare(items, alone),
        differences=tuple(differences),
    )


def _zip(
    items: Sequence[Item], filled: Mapping[int, Sequence[int]]
) -> Iterator[tuple[int, tuple[Item, Sequence[int]]]]:
    """Items that can be asked about, with their completed lists."""
    return ((n, (item, filled[n])) for n, item in enumerate(items) if filled[n])


def _completed(item: Item, candidates: Sequence[int]) -> tuple[int, ...]:
    """The list, and candidates that are neither in it nor gold until there are 100 entries."""
    taken = {*item.ranked, *item.gold}
    nodes = list(item.ranked)
    for row in candidates:
        if len(nodes) >= MAX_RANKED:
            break
        if row not in taken:
            nodes.append(row)
    return tuple(nodes)


def _question(
    number: int,
    item: Item,
    nodes: Sequence[int],
    candidates: Mapping[str, Sequence[int]],
    top: int | None = None,
) -> Question:
    top = len(nodes) if top is None else top
    last = candidates[item.candidates][-1]
    return {
        "number": number,
        "candidates": item.candidates,
        "nodes": list(nodes),
        "scores": [float(top - rank) for rank in range(len(nodes))],
        # Gold above the largest candidate is an IndexError there; below it is dropped, as here.
        "gold": [row for row in item.gold if row <= last],
    }


def _is_free(item: Item) -> bool:
    """Whether a bare list can be scored otherwise: some gold is tied with all that is unranked."""
    return 0 < len(item.ranked) < MAX_RANKED and not set(item.gold) <= set(item.ranked)


def _compare(
    item: Item, nodes: Sequence[int], official: Mapping[str, float], versions: Mapping[str, str]
) -> Iterator[Difference]:
    unranked = not set(item.gold) <= set(item.ranked)
    old = release(versions["torchmetrics"]) < SIGN_FILTER
    why = UNRANKED if unranked and (old or len(nodes) < DEEPEST) else None
    for measure in MEASURES:
        if abs(item.ours[measure] - official[measure]) > TOLERANCE:
            yield Difference(item.query, measure, item.ours[measure], official[measure], why)


def _means(rows: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    """Over all questions; 0 where there is no value."""
    n = max(1, len(rows))
    return {m: sum(row[m] for row in rows if row is not None) / n for m in MEASURES}


def _bare(items: Sequence[Item], alone: Sequence[Mapping[str, float] | None]) -> Bare:
    values = [row if item.ranked else None for item, row in zip(items, alone, strict=True)]
    differ = sum(
        any(abs(item.ours[m] - row[m]) > TOLERANCE for m in MEASURES)
        for item, row in zip(items, values, strict=True)
        if row is not None
    )
    return Bare(_means(values), differ, sum(not item.ranked for item in items))


def release(version: str) -> tuple[int, ...]:
    """``1.9.0+cpu`` as (1, 9, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def regime(versions: Mapping[str, str]) -> str:
    """What these versions are known to do otherwise; empty for those that we equal."""
    found = release(versions["torchmetrics"])
    if found >= SIGN_FILTER:
        return ""
    order = "argsort" if found < TOPK else "topk"
    return (
        f"torchmetrics {versions['torchmetrics']} does not drop entries scored 0 or less and ranks "
        f"MRR by {order}: unranked gold earns up to 1/{MAX_RANKED + 1} in MRR"
    )
