"""Tables of finished runs: rows method, backbone and preset, columns graph and measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ark.errors import UserError, unknown
from ark.report import recalled
from ark.report.cells import Cell, find, load_all
from ark.report.grid import grid
from ark.report.latex import to_latex
from ark.report.recalled import parts
from ark.report.render import escape, to_csv, to_markdown
from ark.report.sheet import PUBLISHED, Options, sheet
from ark.report.tables import markdown

FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv}


def result_table(cells: Sequence[Cell], options: Options, fmt: str = "md") -> str:
    """The text of a table, ending in a line feed. The same cells give the same bytes.

    ``fmt`` is md, tex or csv. Raises UserError for unlike data and for unknown names.
    """
    if fmt not in FORMATS:
        raise UserError(unknown("--format", fmt, FORMATS))
    if not cells:
        raise UserError("no results: run a cell first: python run.py")
    return FORMATS[fmt](sheet(cells, options)).rstrip("\n") + "\n"


def sweep_table(
    paths: Sequence[Path],
    *,
    baseline: str | None = None,
    reference: bool | str = False,
    allow_unequal: bool = False,
    measures: Sequence[str] = (),
    fmt: str = "md",
) -> str:
    """One table over the results of a sweep, ``paths`` being its result.json files.

    Never stops at the end of a long sweep for what can be said in the table: unlike data are
    marked and not tested, an unknown baseline is a line. ``reference`` True is ``published``; a
    text is taken as ``scripts/tables.py --reference`` takes it. Raises UserError for damaged files
    and an unknown measure.
    """
    shown = PUBLISHED if reference is True else reference or ""
    options = Options(tuple(measures), baseline, shown, allow_unequal, lenient=True)
    return result_table(load_all(find(paths)), options, fmt)


def recalled_table(paths: Sequence[Path]) -> str:
    """Rows with a model on the questions that their closed-book run knows, and on the rest.

    Markdown, with what it means; empty where the results have no such run.
    """
    made = grid(load_all(find(paths)))
    found = parts(made)
    table = recalled.rows(made, found)
    if not table:
        return ""
    head, *rest = table
    text = markdown(list(head), [list(map(escape, row)) for row in rest])
    return f"{text}\n\n" + "\n".join(map(escape, recalled.lines(made, found)))
