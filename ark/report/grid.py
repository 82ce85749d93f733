"""Rows and columns of a table: which entries stand where, before anything is compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ark.errors import UserError, unknown
from ark.report.cells import Cell
from ark.report.entry import Entry, pooled, row_key
from ark.report.names import CUT, preset, settings, title
from ark.report.unlike import most_common_data, same_data

MEASURES = ("hit@1", "hit@5", "recall@20", "mrr")


@dataclass(frozen=True, order=True)
class Column:
    """One graph and split; each has a column a measure."""

    graph: str
    split: str

    @property
    def label(self) -> str:
        """As tables print it."""
        return f"{self.graph} ({self.split})"


@dataclass(eq=False)
class Row:
    """Method, backbone, preset and settings, with an entry for each graph that was run."""

    method: str
    backbone: str
    preset: str
    settings: str
    entries: dict[Column, Entry] = field(default_factory=dict)

    @property
    def any(self) -> Entry:
        """An entry, for what all of them share."""
        return next(iter(self.entries.values()))

    @property
    def lead(self) -> tuple[str, str, str, str]:
        """The first columns."""
        return self.method, self.backbone, self.preset, self.settings

    @property
    def name(self) -> str:
        """On one line, as footnotes and ``--baseline`` name it."""
        known = " · ".join(x for x in (self.method, self.backbone) if x)
        inside = ", ".join(x for x in (self.preset and f"preset {self.preset}", self.settings) if x)
        return known + (f" ({inside})" if inside else "")

    @property
    def is_llm(self) -> bool:
        """Whether a model made the calls."""
        return bool(self.any.first.cell["is_llm"])


@dataclass(frozen=True)
class Grid:
    """``unlike`` are the (row, column) pairs whose data are not those of most of the column."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    measures: tuple[str, ...]
    unlike: Mapping[tuple[int, Column], Cell]

    def at(self, column: Column) -> list[tuple[int, Entry]]:
        """Row number and entry of every row that has this column."""
        return [(i, r.entries[column]) for i, r in enumerate(self.rows) if column in r.entries]


def grid(cells: Sequence[Cell], measures: Sequence[str] = ()) -> Grid:
    """Cells as rows and columns. UserError for a measure that no result has."""
    known = {m for cell in cells for m in cell.data["measures"]}
    for measure in measures:
        if measure not in known:
            raise UserError(unknown("measure", measure, known))
    columns: dict[Column, list[Cell]] = {}
    for cell in cells:
        columns.setdefault(Column(*cell.column), []).append(cell)
    rows = _rows({column: pooled(found) for column, found in columns.items()})
    unlike: dict[tuple[int, Column], Cell] = {}
    for column in columns:
        entries = [(i, row.entries[column]) for i, row in enumerate(rows) if column in row.entries]
        usual = most_common_data([entry for _, entry in entries])
        unlike |= {(i, column): usual for i, e in entries if not same_data(e.first, usual)}
    return Grid(
        tuple(rows), tuple(sorted(columns)), tuple(dict.fromkeys(measures or MEASURES)), unlike
    )


def _rows(columns: Mapping[Column, Sequence[Entry]]) -> list[Row]:
    found: dict[str, dict[Column, list[Entry]]] = {}
    for column in sorted(columns):
        for entry in columns[column]:
            by_column = found.setdefault(row_key(entry.first), {})
            by_column.setdefault(column, []).append(entry)
    rows = [row for by_column in found.values() for row in _split(by_column)]
    rows.sort(key=_order)
    taken: dict[str, list[Row]] = {}
    for row in rows:
        taken.setdefault(row.name, []).append(row)
    for alike in taken.values():
        if len(alike) > 1:  # settings that print alike (two files of one name): say which run
            for row in alike:
                _add(row, f"run {row.any.first.cell['run_id'][:6]}")
    return rows


def _split(by_column: Mapping[Column, Sequence[Entry]]) -> Iterable[Row]:
    """One row, or several where one graph has several entries of it, as of two code versions."""
    if all(len(entries) == 1 for entries in by_column.values()):
        return [_row({column: entries[0] for column, entries in by_column.items()})]
    out: dict[tuple[str, int], dict[Column, Entry]] = {}
    for column, entries in by_column.items():
        seen: dict[str, int] = {}
        for entry in sorted(entries, key=lambda e: str(e.first.cell["cell_id"])):
            code = fingerprint(entry.first)
            out.setdefault((code, seen.get(code, 0)), {})[column] = entry
            seen[code] = seen.get(code, 0) + 1
    rows = []
    for (code, _), made in sorted(out.items()):
        row = _row(made)
        _add(row, f"code {code[:6]}" if len({c for c, _ in out}) > 1 else "")
        rows.append(row)
    return rows


def _row(entries: dict[Column, Entry]) -> Row:
    cell = next(iter(entries.values())).first
    parts = settings(cell.data, of_row=True)
    repeats = sorted({entry.repeats for entry in entries.values()})
    if repeats != [1]:
        parts.append(f"{'–'.join(map(str, repeats))} repeats")
    c = cell.cell
    return Row(str(c["method"]), c["backbone"] or "", preset(cell.data), ", ".join(parts), entries)


def _add(row: Row, text: str) -> None:
    row.settings = ", ".join(x for x in (row.settings, text) if x)


def _order(row: Row) -> tuple[object, ...]:
    cell = row.any.first.cell
    return bool(row.backbone), row.method, row.backbone, row.preset, *plainness(row), str(cell)


def plainness(row: Row) -> tuple[int, tuple[str | int, ...]]:
    """The fewer settings that are no defaults, the plainer; equals by name, 5 steps before 10."""
    c = row.any.first.cell
    reading = c["reading"]
    fusion = reading.get("fusion") or {}
    pool = reading.get("pool")
    other = (
        c["ablation"] != "full",
        fusion.get("kind", "voting") != "voting",
        fusion.get("ties", "earliest_position") != "earliest_position",
        pool is not None and pool > reading["agents"],
        reading.get("steps") is not None,
        reading.get("backfill", "none") != "none",
        reading["candidates"] != "graph",
        reading["cut"] != CUT,
    )
    parts = re.split(r"(\d+)", row.settings)  # every second one is a number
    natural = tuple(int(part) if i % 2 else part for i, part in enumerate(parts))
    return sum(other) + len(c["changed"]), natural


def fingerprint(cell: Cell) -> str:
    """Of the code's behaviour."""
    return str(cell.cell["identity"].get("fingerprint", ""))


def heading(column: Column, measure: str) -> str:
    """One column's heading on one line."""
    return f"{column.label} {title(measure)}"
