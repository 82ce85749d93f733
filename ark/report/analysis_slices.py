"""Measures of a result by kind of question. No slice is called better: many are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ark.errors import UserError
from ark.records import Json
from ark.report.analysis_load import Result, Run, cluster_of, reading_of
from ark.report.analysis_numbers import Row, Table, Value, number
from ark.report.per_query import FILE
from ark.scoring import DEFAULT_MEASURES, summarise

COLUMNS = {"hit@1": "Hit@1", "hit@5": "Hit@5", "recall@20": "Recall@20", "mrr": "MRR"}
MOST = 20  # slices of one kind that are shown: the largest
SMALL = 30  # questions; below, an interval spans most of the scale


def _banded(edges: Sequence[int], number: int) -> str:
    low = 1
    for edge in edges:
        if number <= edge:
            return str(edge) if low == edge else f"{low}-{edge}"
        low = edge + 1
    return f">{edges[-1]}"


def _yes(value: Json) -> str | None:
    return None if value is None else "yes" if value else "no"


def _text(value: Json) -> str | None:
    return None if value is None or value == "" else str(value)


SLICES: Mapping[str, Callable[[Mapping[str, Json]], str | None]] = {
    "answer_type": lambda q: _text(q.get("answer_type")),
    "answers": lambda q: _banded((1, 5, 20), len(set(q["answer_ids"]))),
    "hops": lambda q: _text(q.get("hops")),
    "textual": lambda q: _yes(q.get("textual")),
    "wording": lambda q: _text(q.get("wording")),
    "words": lambda q: _banded((10, 20), len(str(q["text"]).split())),
}
_TITLES = {
    "answer_type": "answer type",
    "answers": "number of answers",
    "hops": "hops",
    "textual": "textual condition",
    "wording": "wording of the names",
    "words": "words in the question",
}


def slice_table(runs: Sequence[Run], kind: str) -> Table:
    """Hit@1, Hit@5, Recall@20 and MRR of each result in each slice of one kind."""
    rows, notes = [], [f"Percent, mean [95 %]. Slices under {SMALL} questions say little."]
    for run in runs:
        for result in run.results:
            found, hidden = _slices(run, result, kind)
            rows += found
            if hidden:
                graph, split, method = run.where
                notes.append(f"{graph} {split}, {method}: {hidden} smaller slices not shown.")
        if not run.results:
            rows.append(Row(run.where, run.folder.name, {"n": "not finished"}, "-"))
    return Table(kind, f"By {_TITLES[kind]}", "\n".join(dict.fromkeys(notes)), rows, _TITLES[kind])


def values_of(result: Result) -> dict[str, dict[str, float]]:
    """The measures of ``COLUMNS`` of every question of a result, from its per_query.csv.

    Raises UserError where that file is missing or lacks one of them.
    """
    table = result.per_query
    if table is None or any(name not in table.values for name in COLUMNS):
        raise UserError(
            f"{result.path.with_name(FILE)} is missing or lacks a measure: run the same command "
            "again, it is written anew"
        )
    columns = {name: table.values[name].tolist() for name in COLUMNS}
    return {q: {m: columns[m][i] for m in COLUMNS} for i, q in enumerate(table.ids)}


def _slices(run: Run, result: Result, kind: str) -> tuple[list[Row], int]:
    values = values_of(result)
    groups: dict[str, list[str]] = {}
    for query, row in run.questions.items():
        name = SLICES[kind](row)
        if name is not None and query in values:
            groups.setdefault(name, []).append(query)
    largest = sorted(groups, key=lambda g: (-len(groups[g]), g))[:MOST]
    rows = [_row(run, result, values, groups[g], g) for g in sorted(largest, key=_natural)]
    return rows, len(groups) - len(largest)


def _row(
    run: Run,
    result: Result,
    values: Mapping[str, Mapping[str, float]],
    queries: Sequence[str],
    name: str,
) -> Row:
    clusters = [cluster_of(run.questions[q]) for q in queries]
    measures = [m for m in DEFAULT_MEASURES if m.name in COLUMNS]
    found = summarise([values[q] for q in queries], clusters, measures)
    cells: dict[str, Value] = {"n": len(queries), "clusters": len(set(clusters))}
    cells |= {COLUMNS[m]: number(found[m], "%") for m in COLUMNS}
    graph, split, method = run.where
    reading = reading_of(result.reading) if len(run.results) > 1 else ""
    where = (graph, split, f"{method} ({reading})" if reading else method)
    return Row(where, run.folder.name, cells, name)


def _natural(name: str) -> tuple[int, str]:
    """Numbers and bands by size, words after them, ``>`` last."""
    head = name.split("-", maxsplit=1)[0]
    return (int(head), "") if head.isdecimal() else (1 << 30, name)
