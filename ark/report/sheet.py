"""A table with its marks and notes, before it is Markdown, TeX or CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ark.errors import UserError
from ark.report.cells import Cell
from ark.report.frame import Frame, frames
from ark.report.grid import Column, Grid, grid
from ark.report.lift import Lift, lifts
from ark.report.marks import Best, Place, Tested, against, best
from ark.report.recalled import Parts, parts
from ark.report.reference import Beside, Figure, belongs, beside, compared, of_table, split_fits
from ark.report.unlike import refuse_unlike

PUBLISHED = "published"


@dataclass(frozen=True)
class Options:
    """What a table shows. ``reference``: "", published, published:all or published:TABLE.

    ``lenient``: unlike data and an unknown baseline are said in the table instead of refused.
    ``frame``: also each row between floor and ceiling (``ark.report.frame``).
    """

    measures: tuple[str, ...] = ()
    baseline: str | None = None
    reference: str = ""
    allow_unequal: bool = False
    lenient: bool = False
    frame: bool = False


@dataclass(frozen=True)
class PublishedRow:
    """A row of a paper: lead columns and its numbers by column and measure."""

    method: str
    backbone: str
    variant: str
    where: str
    figures: Mapping[tuple[Column, str], Beside]

    @property
    def lead(self) -> tuple[str, str, str, str]:
        """The first columns."""
        return self.method, self.backbone, "", self.where


@dataclass(frozen=True)
class Sheet:
    """Everything that a table says."""

    grid: Grid
    options: Options
    tests: Mapping[Place, Tested]
    best: Best
    lifts: Mapping[tuple[int, Column], Lift | None]
    beside: Mapping[Place, Beside]
    published: Sequence[PublishedRow]
    complaints: Sequence[str] = field(default=())
    recalled: Mapping[tuple[int, Column], Parts | None] = field(default_factory=dict)
    frames: Frame | None = None


def sheet(cells: Sequence[Cell], options: Options) -> Sheet:
    """Compare and mark. UserError for unlike data, an unknown baseline, measure or reference."""
    if not options.allow_unequal and not options.lenient:
        refuse_unlike(cells)
    made = grid(cells, options.measures)
    complaints = []
    tests: Mapping[Place, Tested] = {}
    if options.baseline is not None:
        try:
            tests = against(made, options.baseline, allow_unequal=options.allow_unequal)
        except UserError as error:
            if not options.lenient:
                raise
            complaints.append(str(error))
    found: dict[Place, Beside] = {}
    rows: list[PublishedRow] = []
    if options.reference:
        table = _table(options.reference)
        found = _beside(made)
        rows = _published_rows(made, table) if table else []
    marks = best(made, _rivals(made, found, rows))
    lift = lifts(made, allow_unequal=options.allow_unequal)
    framed = frames(made, allow_unequal=options.allow_unequal) if options.frame else None
    said = tuple(complaints)
    return Sheet(made, options, tests, marks, lift, found, rows, said, parts(made), framed)


def _table(reference: str) -> str:
    kind, _, table = reference.partition(":")
    if kind != PUBLISHED:
        raise UserError(
            f"--reference {reference}: write published, published:all or published:TABLE"
        )
    return table


def _beside(made: Grid) -> dict[Place, Beside]:
    out = {}
    for column in made.columns:
        for i, entry in made.at(column):
            for measure in made.measures:
                found = beside(entry.first, measure)
                if found is not None:
                    out[i, column, measure] = found
    return out


def _published_rows(made: Grid, table: str) -> list[PublishedRow]:
    """Rows of papers, in the order of the file; without numbers for these columns none."""
    rows: dict[tuple[str, str, str, str], dict[tuple[Column, str], Beside]] = {}
    figures: list[Figure] = of_table(table, [(c.graph, c.split) for c in made.columns])
    for figure in figures:
        name = figure.method, figure.backbone, figure.variant, _where(figure)
        for column in made.columns:
            fits = figure.graph == column.graph and split_fits(figure, column.split)
            if not fits or figure.measure not in made.measures or figure.impossible:
                continue
            one = compared(figure, made.at(column)[0][1].first, figure.measure, alone=True)
            known = rows.setdefault(name, {})
            other = known.get((column, figure.measure))
            if other is None or other.figure.split != column.split:
                known[column, figure.measure] = one
    return [PublishedRow(*name, found) for name, found in rows.items()]


def _where(figure: Figure) -> str:
    trained = ", trained on the graph" if figure.trained else ""
    variant = f"{figure.variant}, " if figure.variant else ""
    return f"{variant}published, {figure.where}{trained}"


def _rivals(
    made: Grid, found: Mapping[Place, Beside], rows: Sequence[PublishedRow]
) -> dict[tuple[Column, str], dict[int, float]]:
    """Published numbers that may be ranked with ours, by the number of their line.

    None on a graph where a row of ours was made without a model but with a backbone: published
    numbers of models are not set against those. Lines: -1 - row for the number beside a row, then
    those of whole published rows.
    """
    out: dict[tuple[Column, str], dict[int, float]] = {}
    open_columns = {c for c in made.columns if all(belongs(e.first) for _, e in made.at(c))}
    places = [(line_beside(i), c, m, b) for (i, c, m), b in found.items()]
    for k, row in enumerate(rows):
        places += [(line_of(made, k), c, m, b) for (c, m), b in row.figures.items()]
    for line, column, measure, one in places:
        if one.alike and column in open_columns:
            out.setdefault((column, measure), {})[line] = one.figure.percent / 100
    return out


def line_beside(row: int) -> int:
    """The number of the published line below a row of ours, for its marks."""
    return -1 - row


def line_of(made: Grid, k: int) -> int:
    """The number of the k-th published row, for its marks."""
    return len(made.rows) + k
