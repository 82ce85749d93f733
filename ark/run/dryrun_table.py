"""The table of a dry run. "unknown" stands where nobody can know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ark.run.dryrun_notes import lines
from ark.run.dryrun_row import Row, count, dollars, minutes, tokens
from ark.run.spec import Limits, Transport
from ark.text import one_line

UNKNOWN = "unknown"
HEADER = (
    "cell",
    "queries",
    "agents",
    "done",
    "calls",
    "tokens in",
    "tokens out",
    "US$",
    "minutes",
    "shows",
    "from",
)


@dataclass(frozen=True)
class _Column:
    """Expected and at most of one row, and how both are written."""

    expected: Callable[[Row], float | None]
    most: Callable[[Row], float | None]
    write: Callable[[float], str]

    def cell(self, row: Row) -> str:
        expected, most = row.times(self.expected(row)), row.times(self.most(row))
        return self._both([expected], [most])

    def total(self, rows: Sequence[Row]) -> str:
        """Unknown parts are named, never taken as nothing."""
        return self._both(
            [row.times(self.expected(row)) for row in rows],
            [row.times(self.most(row)) for row in rows],
        )

    def _both(self, expected: Sequence[float | None], most: Sequence[float | None]) -> str:
        first, second = self._sum(expected), self._sum(most)
        same = first == second or all(value == 0 for value in expected)
        return first if same or first == UNKNOWN else f"{first} (at most {second})"

    def _sum(self, values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        if not known:
            return UNKNOWN
        return self.write(sum(known)) + (f" + {UNKNOWN}" if len(known) < len(values) else "")


def _mean(name: str) -> Callable[[Row], float | None]:
    return lambda row: None if row.effort is None else float(getattr(row.effort, name))


def _most(name: str) -> Callable[[Row], float | None]:
    def value(row: Row) -> float | None:
        most = None if row.effort is None else row.effort.most
        return None if most is None else float(getattr(most, name))

    return value


COLUMNS = (
    _Column(_mean("calls"), _most("calls"), count),
    _Column(_mean("prompt"), _most("prompt"), tokens),
    _Column(_mean("completion"), _most("completion"), tokens),
    _Column(lambda row: row.cost, lambda row: row.most_cost, dollars),
    _Column(lambda row: row.seconds, lambda row: row.seconds, minutes),
)


def render(rows: Sequence[Row], transport: Transport, sweep_budget: Limits) -> str:
    """Table, a blank line, and one line for each thing that a reader must know."""
    rows, common = _shortened(rows)
    runs = _runs(rows)
    table = [_cells(row) for row in rows]
    if len(rows) > 1:
        sums = [column.total(runs) for column in COLUMNS]
        done = f"{sum(r.done for r in runs):,}/{sum(r.done + r.left for r in runs):,}"
        name = f"total of {len(runs)} run{'s' * (len(runs) > 1)}"
        table.append([name, "", "", done, *sums, "", ""])
    notes = lines(rows, runs, transport, sweep_budget)
    return "\n".join([*_markdown(table), "", *([common] if common else []), *notes])


def _shortened(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """Names without the words that all have, and a line with those words."""
    words = [row.name.split() for row in rows]
    common = [word for word in words[0] if all(word in own for own in words)]
    if len(rows) < 2 or not common:
        return list(rows), ""
    short = (" ".join(w for w in own if w not in common) for own in words)
    numbered = enumerate(zip(rows, short, strict=True), start=1)
    named = [replace(row, name=name or f"cell {i}") for i, (row, name) in numbered]
    return named, f"All cells: {' '.join(common)}"


def _runs(rows: Sequence[Row]) -> list[Row]:
    """One row a run folder: of readings that share it the one that needs most."""
    out: dict[str, Row] = {}
    for number, row in enumerate(rows):
        key = row.folder or str(number)
        if key not in out or row.left > out[key].left:
            out[key] = row
    return list(out.values())


def _cells(row: Row) -> list[str]:
    if not row.folder:
        return [row.name, *[UNKNOWN] * (len(HEADER) - 1)]
    shows = "nothing" if row.shows > 1 else f"{100 * row.shows:.1f} points"
    source = row.effort.source if row.effort else "the rehearsal failed"
    done = f"{row.done:,}/{row.done + row.left:,}"
    measured = [column.cell(row) for column in COLUMNS]
    return [row.name, count(row.queries), str(row.agents), done, *measured, shows, source]


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [[one_line(c).replace("|", "\\|") for c in row] for row in (HEADER, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADER))]
    drawn = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return [drawn[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *drawn[1:]]
