"""STaRK's published questions: CSV files with gold, index files with splits.

Questions come split by split, in the order of the index files: that order is shuffled, while
AMAZON's ids follow its answers, and so would the first questions of a split. The ``human``
questions are a set of their own, numbered from 0 again, so an id names a question within its
split only.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Protocol

from ark.errors import UserError, unknown
from ark.graph import source_for
from ark.graph.sources.stark import BENCHMARKS, StarkSource
from ark.graph.sources.stark.fetch import given
from ark.graph.sources.stark.names import DATASET, HUMAN_QUESTIONS, QUESTIONS
from ark.graph.sources.stark.source import GOLD
from ark.queries.forms import id_list
from ark.queries.splits import HUMAN, TENTH
from ark.records import Json, Query

STARK_GRAPHS = tuple(sorted(BENCHMARKS))
_WHOLE = ("train", "val", "test")  # every composed question is in one of them
_SHOWN = 5


class Rows(Protocol):
    """The part of a graph that answers are looked up in: in STaRK's graphs an id is its row."""

    def id(self, i: int) -> str:
        """The id of a row. Raises IndexError."""
        ...


def questions_of(
    graph: Rows, name: str, settings: Mapping[str, Json], split: str | None = None
) -> list[Query]:
    """The questions of a STaRK graph by its config: fetched if need be, checked against it."""
    source = source_for(name, **settings)
    assert isinstance(source, StarkSource)
    return stark_questions(name, source.question_folder(), source.gold, graph=graph, split=split)


def stark_questions(
    name: str,
    root: Path,
    gold: str = "answer_ids",
    *,
    graph: Rows | None = None,
    split: str | None = None,
) -> list[Query]:
    """All questions of ``name`` under ``root``, with splits as ``select`` reads them.

    ``root`` holds ``NAME/stark_qa`` and ``NAME/split``, or is that folder. ``gold`` may be
    ``answer_ids_source``, which only the human questions have; the others keep ``answer_ids``.
    Repeated answers count once. With a ``graph`` every answer must be one of its nodes. ``split``
    is what will be selected: it is refused where its file is missing, since a tenth of the test
    questions drawn at random is not the published one.

    Raises UserError for a missing or broken file, with its name and row.
    """
    if name not in BENCHMARKS:
        raise UserError(unknown("STaRK graph", name, BENCHMARKS))
    if gold not in GOLD:
        raise UserError(unknown("graph.gold", gold, GOLD))
    if gold != GOLD[0] and split not in (None, HUMAN):
        raise UserError(f"graph.gold={gold} is a column of human questions: give split={HUMAN}")
    folder = given(BENCHMARKS[name], root)
    composed = {q.id: q for q in _read(folder / QUESTIONS, name, GOLD[0])}
    queries = _split(folder, name, composed, split)
    if (folder / HUMAN_QUESTIONS).is_file() or split == HUMAN:
        queries += _read(folder / HUMAN_QUESTIONS, name, gold, split=HUMAN)
    if graph is not None:
        _check_answers(folder, queries, graph)
    return queries


def _split(
    folder: Path, name: str, composed: Mapping[str, Query], split: str | None
) -> list[Query]:
    tenth = set(_ids(folder, name, TENTH, wanted=split == TENTH))
    queries: list[Query] = []
    seen: set[str] = set()
    for part in _WHOLE:
        for query_id in _ids(folder, name, part):
            file = folder / "split" / f"{part}.index"
            if query_id not in composed or query_id in seen:
                where = "is in two splits" if query_id in seen else f"is not in {QUESTIONS}"
                raise UserError(f"{file}: question {query_id!r} {where}: {_again(name)}")
            seen.add(query_id)
            stored = TENTH if part == "test" and query_id in tenth else part
            queries.append(_with_split(composed[query_id], stored))
    lost = [i for i in composed if i not in seen]
    if lost:
        first = ", ".join(lost[:_SHOWN])
        raise UserError(
            f"{folder / 'split'}: {len(lost)} questions are in no split, first {first}: "
            f"{_again(name)}"
        )
    stray = tenth - {q.id for q in queries if q.split == TENTH}
    if stray:
        raise UserError(
            f"{folder / 'split' / f'{TENTH}.index'}: {len(stray)} questions are no test questions, "
            f"first {min(stray)!r}: {_again(name)}"
        )
    return queries


def _ids(folder: Path, name: str, split: str, *, wanted: bool = True) -> list[str]:
    file = folder / "split" / f"{split}.index"
    if not wanted and not file.is_file():
        return []
    ids = _text(file, name).split()
    strange = [i for i in ids if not (i.isascii() and i.isdigit())]
    if strange or not ids:
        what = f"holds {strange[0][:40]!r}" if strange else "is empty"
        raise UserError(f"{file} {what} instead of one question id a line: {_again(name)}")
    return ids


def _read(file: Path, name: str, gold: str, split: str = "test") -> list[Query]:
    queries = []
    try:
        for number, row in enumerate(_rows(file, name, gold), start=1):
            queries.append(_query(file, number, row, gold, split))
    except csv.Error as error:
        raise UserError(f"{file} is no readable CSV ({error}): {_again(name)}") from error
    ids = [q.id for q in queries]
    if not ids or len(set(ids)) != len(ids):
        what = "an id more than once" if ids else "no question"
        raise UserError(f"{file} has {what}: {_again(name)}")
    return queries


def _rows(file: Path, name: str, gold: str) -> Iterator[dict[str, str | None]]:
    # Not splitlines: that would also cut rows at characters that end no line of a CSV file.
    reader = csv.DictReader(StringIO(_text(file, name), newline=""), strict=True)
    found = reader.fieldnames or []
    lost = [column for column in ("id", "query", gold) if column not in found]
    if lost:
        raise UserError(
            f"{file} lacks the column(s) {', '.join(lost)}; it has {', '.join(found)[:80]}: "
            f"{_again(name)}"
        )
    yield from reader


def _query(file: Path, number: int, row: Mapping[str, str | None], gold: str, split: str) -> Query:
    try:
        query_id, text = (row["id"] or "").strip(), row["query"] or ""
        if not query_id or not text.strip():
            raise ValueError("no id or no question")
        # Written as a Python list of whole numbers, which is JSON too; nothing is evaluated.
        answers = id_list(json.loads(row[gold] or ""))
        if not answers:
            raise ValueError(f"no {gold}")
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise UserError(f"{file}, row {number}: {reason}: mend that row") from error
    return Query(query_id, text, answers, split=split, cluster=query_id)


def _with_split(query: Query, split: str) -> Query:
    return Query(query.id, query.text, query.answer_ids, split=split, cluster=query.cluster)


def _text(file: Path, name: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            f"no {file}: download qa/{name}/{file.parent.name}/{file.name} of {DATASET} there"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}): {_again(name)}") from error


def _again(name: str) -> str:
    return f"download qa/{name}/ of {DATASET} once more"


def _check_answers(folder: Path, queries: Sequence[Query], graph: Rows) -> None:
    missing: dict[str, str] = {}  # answer -> the first question that has it
    for query in queries:
        for answer in query.answer_ids:
            try:
                known = graph.id(int(answer)) == answer
            except (ValueError, IndexError):
                known = False
            if not known:
                missing.setdefault(answer, query.id)
    if missing:
        shown = ", ".join(f"{a} (question {q})" for a, q in list(missing.items())[:_SHOWN])
        raise UserError(
            f"{folder}: {len(missing)} answers are no node of the graph, first {shown}: questions "
            "and graph are of different releases; take both from one"
        )
