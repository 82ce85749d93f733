"""A table as lines of cells with lettered notes: the same for Markdown and TeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ark.report import frame, recalled
from ark.report.entry import Entry
from ark.report.grid import Column, Grid
from ark.report.lift import Lift
from ark.report.marks import Tested
from ark.report.paired import ALPHA
from ark.report.reference import MARKS, Beside
from ark.report.sheet import Sheet, line_beside, line_of
from ark.scoring.intervals import Estimate

LEAD = ("method", "backbone", "preset", "settings")
ABSENT = "-"


@dataclass(frozen=True)
class Shown:
    """One cell. ``best`` 1 or 2, ``arrow`` 1 or -1, ``confidence`` of a published number."""

    value: str
    interval: str = ""
    best: int = 0
    arrow: int = 0
    notes: tuple[str, ...] = ()
    confidence: str = ""


@dataclass(frozen=True)
class Line:
    """A row of the printed table."""

    lead: tuple[str, ...]
    cells: tuple[Shown, ...]
    published: bool = False


@dataclass
class Notes:
    """Lettered notes: equal texts share a letter."""

    texts: dict[str, str] = field(default_factory=dict)

    def key(self, text: str) -> str:
        """The letter of a note: a to z, then aa and on."""
        if text not in self.texts:
            number, letters = len(self.texts), ""
            while number >= 0:
                letters = chr(ord("a") + number % 26) + letters
                number = number // 26 - 1
            self.texts[text] = letters
        return self.texts[text]


@dataclass(frozen=True)
class Printed:
    """``groups`` are the columns, each over the same measures; ``lead`` their names without."""

    lead: tuple[str, ...]
    groups: tuple[Column, ...]
    measures: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: Notes
    further: tuple[tuple[tuple[str, ...], ...], ...]
    """Smaller tables below, each a header and rows: lifts, recalled questions, frames."""


def printed(sheet: Sheet) -> Printed:
    """Lines, notes and lifts of a sheet."""
    notes, grid = Notes(), sheet.grid
    lines: list[Line] = []
    for i, row in enumerate(grid.rows):
        cells = [
            _cell(sheet, notes, i, column, measure, row.entries.get(column))
            for column in grid.columns
            for measure in grid.measures
        ]
        lines.append(Line(row.lead, tuple(cells)))
        below = _below(sheet, notes, i)
        if below is not None:
            lines.append(below)
    for k, published in enumerate(sheet.published):
        cells = []
        for column in grid.columns:
            for m in grid.measures:
                one = published.figures.get((column, m))
                place = sheet.best.marks.get((line_of(grid, k), column, m), 0)
                cells.append(_figure(notes, one, place))
        lines.append(Line(published.lead, tuple(cells), published=True))
    used = [j for j in range(len(LEAD)) if j == 0 or any(line.lead[j] for line in lines)]
    short = [Line(tuple(x.lead[j] for j in used), x.cells, x.published) for x in lines]
    lead = tuple(LEAD[j] for j in used)
    small = (
        _lift_rows(sheet),
        recalled.rows(grid, sheet.recalled),
        frame.rows(grid, sheet.frames),
    )
    further = tuple(table for table in small if table)
    return Printed(lead, grid.columns, grid.measures, tuple(short), notes, further)


def _cell(
    sheet: Sheet, notes: Notes, i: int, column: Column, measure: str, entry: Entry | None
) -> Shown:
    estimate = None if entry is None else entry.estimate(measure)
    if estimate is None or entry is None:
        return Shown(ABSENT)
    place = i, column, measure
    keys = []
    if (i, column) in sheet.grid.unlike:
        n = entry.first.data["counts"]["queries"]
        usual = sheet.grid.unlike[i, column].data["counts"]["queries"]
        keys.append(notes.key(f"other data than the rest of {column.label}: n {n}, there {usual}"))
    found = sheet.tests.get(place)
    keys += [notes.key(text) for text in _said(sheet.grid, found, entry, column)]
    value, interval = percent(estimate)
    arrow = found.arrow if found else 0
    return Shown(value, interval, sheet.best.marks.get(place, 0), arrow, tuple(keys))


def _said(grid: Grid, test: Tested | None, entry: Entry, column: Column) -> list[str]:
    """What a reader must know of a test, or of why there is none."""
    if test is None:
        return []
    difference, other = test.difference, grid.rows[test.baseline]
    why = ", ".join(difference.reasons)
    if difference.found is None:
        return [f"not compared: {why}"] if why else []
    out = [f"compared although {why}"] if why else []
    if not difference.fail_alike and test.p_holm is not None and test.p_holm < ALPHA:
        theirs = other.entries[column].failures
        out.append(
            f"no mark: failure rates differ beyond chance ({entry.failures:g} failed, {theirs:g} "
            f"of {other.name}, p {p_text(difference.failures)})"
        )
    return out


def _below(sheet: Sheet, notes: Notes, i: int) -> Line | None:
    """The published numbers of a row, on a line of their own below it."""
    grid = sheet.grid
    places = [(i, column, measure) for column in grid.columns for measure in grid.measures]
    found = [sheet.beside.get(place) for place in places]
    figures = [b.figure for b in found if b]
    if not figures:
        return None
    first = figures[0]
    variants = dict.fromkeys(f.variant for f in figures if f.variant)
    where = dict.fromkeys(f.where for f in figures)
    lead = f"published {first.method}", first.backbone, "", ", ".join([*variants, *where])
    cells = tuple(
        _figure(notes, one, sheet.best.marks.get((line_beside(i), *place[1:]), 0))
        for one, place in zip(found, places, strict=True)
    )
    return Line(lead, cells, published=True)


def _figure(notes: Notes, one: Beside | None, place: int) -> Shown:
    if one is None:
        return Shown(ABSENT)
    keys = (notes.key(f"published: {'; '.join(one.flags)}"),) if one.flags else ()
    mark = MARKS.get(one.figure.confidence, one.figure.confidence)
    return Shown(one.figure.value, "", place, 0, keys, mark)


def percent(estimate: Estimate) -> tuple[str, str]:
    """``41.2`` and ``[37.0, 45.5]``; no interval where none is known."""
    if estimate.mean is None:
        return ABSENT, ""
    if estimate.low is None or estimate.high is None:
        return f"{100 * estimate.mean:.1f}", ""
    return f"{100 * estimate.mean:.1f}", f"[{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def p_text(p: float | None) -> str:
    """``0.031``, ``< 0.001``, or a dash."""
    if p is None:
        return ABSENT
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def signed(difference: float | None, low: float | None, high: float | None) -> str:
    """``+4.2 [+1.0, +7.3]`` in percentage points."""
    if difference is None:
        return ABSENT
    limits = "" if low is None or high is None else f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{100 * difference:+.1f}{limits}"


def _lift_rows(sheet: Sheet) -> tuple[tuple[str, ...], ...]:
    grid = sheet.grid
    rows = []
    for (i, column), lift in sheet.lifts.items():
        if lift is not None:
            name = grid.rows[i].name
            cells = [_lift(lift, m) for m in grid.measures]
            tokens = [_whole(lift.tokens), _whole(lift.per_question)]
            rows.append((name, column.label, *cells, *tokens))
    if not rows:
        return ()
    from ark.report.names import title

    header = ("lift of", "graph", *map(title, grid.measures), "tokens", "tokens a question")
    return (header, *rows)


def _lift(lift: Lift, measure: str) -> str:
    difference = lift.differences[measure]
    found = difference.found
    if found is None:
        return "not compared: " + ", ".join(difference.reasons) if difference.reasons else ABSENT
    alike = "" if difference.fail_alike else ", failure rates differ"
    text = signed(found.difference, found.low, found.high)
    return f"{text}, p {p_text(lift.p_holm[measure])}{alike}"


def _whole(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}"


def join(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else list(parts))
