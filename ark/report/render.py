"""A sheet as Markdown and as CSV; TeX has a file of its own."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from ark.records import Json
from ark.report import frame, recalled
from ark.report.grid import Column, heading
from ark.report.notes import lines
from ark.report.reference import Beside
from ark.report.sheet import PublishedRow, Sheet
from ark.report.shown import Shown, printed
from ark.report.tables import markdown
from ark.report.unlike import SHOWN
from ark.text import one_line

# A tag, code, emphasis, the second half of a link; "p < 0.05" and max_steps are none of these.
_SPECIAL = re.compile(r"([\\`*]|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w)|(?<=\])\()")
ARROWS = {1: "▲", -1: "▼", 0: ""}
FIELDS = (
    *("method", "backbone", "preset", "settings", "graph", "split", "measure"),
    *("mean", "low", "high", "n", "clusters", "design_effect", "repeats", "failed", "best"),
    *("baseline", "difference", "diff_low", "diff_high", "p", "p_holm", "mark", "test"),
    *("compared", "published", "published_source", "confidence", "published_flags"),
    *("lift", "lift_low", "lift_high", "lift_p_holm", "tokens", "tokens_a_question"),
    *("unlike", "run_ids", "graph_content", "questions", "commit"),
)


def to_markdown(sheet: Sheet) -> str:
    """The table, the smaller tables below it, the notes."""
    table = printed(sheet)
    header = [*table.lead, *(heading(c, m) for c in table.groups for m in table.measures)]
    rows = [[*map(escape, line.lead), *map(_cell, line.cells)] for line in table.lines]
    parts = [markdown(list(map(escape, header)), rows)]
    for head, *rest in table.further:
        parts.append(markdown(list(head), [list(map(escape, row)) for row in rest]))
    keyed = [f"({key}) {escape(text)}" for text, key in table.notes.texts.items()]
    # A list: each note stays on a line of its own where Markdown is rendered.
    parts.append("\n".join(f"- {x}" for x in [*map(escape, lines(sheet)), *keyed]))
    return "\n\n".join(parts)


def escape(text: str) -> str:
    """Strangers' text on one line, with nothing that Markdown reads as a tag or emphasis."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _cell(shown: Shown) -> str:
    value = {1: f"**{shown.value}**", 2: f"*{shown.value}*"}.get(shown.best, shown.value)
    notes = [f"({shown.confidence})"] if shown.confidence else []
    if shown.notes:
        notes.append(f"({','.join(shown.notes)})")
    return " ".join(x for x in (value, shown.interval, ARROWS[shown.arrow], *notes) if x)


def to_csv(sheet: Sheet) -> str:
    """One line for each row, graph and measure; shares and differences as fractions, p as is."""
    out, grid = io.StringIO(), sheet.grid
    extra = [
        *(recalled.FIELDS if any(sheet.recalled.values()) else ()),
        *(frame.FIELDS if sheet.frames is not None else ()),
    ]
    writer = csv.DictWriter(out, [*FIELDS, *extra], restval="", lineterminator="\n")
    writer.writeheader()
    for i, _ in enumerate(grid.rows):
        for column in grid.columns:
            for measure in grid.measures:
                record = _record(sheet, i, column, measure)
                if record:
                    writer.writerow(record)
    for row in sheet.published:
        for (column, measure), one in row.figures.items():
            writer.writerow(_published_record(row, column, measure, one))
    return out.getvalue()


def _record(sheet: Sheet, i: int, column: Column, measure: str) -> dict[str, Json]:
    row = sheet.grid.rows[i]
    entry = row.entries.get(column)
    estimate = None if entry is None else entry.estimate(measure)
    if entry is None or estimate is None:
        return {}
    cell, place = entry.first, (i, column, measure)
    record: dict[str, Json] = {
        **dict(
            zip(("method", "backbone", "preset", "settings"), map(one_line, row.lead), strict=True)
        ),
        "graph": column.graph,
        "split": column.split,
        "measure": measure,
        "mean": estimate.mean,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "clusters": estimate.clusters or entry.n_clusters,
        "design_effect": estimate.design_effect,
        "repeats": entry.repeats,
        "failed": f"{entry.failures:g}",
        "best": sheet.best.marks.get(place, ""),
        "unlike": "yes" if (i, column) in sheet.grid.unlike else "",
        "run_ids": " ".join(str(c.cell["run_id"]) for c in entry.cells),
        "graph_content": cell.graph_hash[:SHOWN],
        "questions": cell.questions_hash[:SHOWN],
        "commit": cell.data["environment"].get("commit"),
    }
    record |= _tested(sheet, place) | _figure(sheet.beside.get(place)) | _lifted(sheet, place)
    own = recalled.record(sheet.recalled.get(place[:2]), measure)
    return record | own | frame.record(sheet.frames, place)


def _tested(sheet: Sheet, place: tuple[int, Column, str]) -> dict[str, Json]:
    test = sheet.tests.get(place)
    if test is None:
        return {}
    d = test.difference
    out: dict[str, Json] = {"baseline": one_line(sheet.grid.rows[test.baseline].name)}
    if d.found is None:
        return {**out, "compared": "no: " + ", ".join(d.reasons)}
    unequal = f"although {', '.join(d.reasons)}" if d.reasons else "yes"
    alike = "" if d.fail_alike else f"; failure rates differ, p {d.failures!r}"
    return {
        **out,
        "difference": d.found.difference,
        "diff_low": d.found.low,
        "diff_high": d.found.high,
        "p": d.found.p_value,
        "p_holm": test.p_holm,
        "mark": {1: "above", -1: "below", 0: ""}[test.arrow],
        "test": d.found.test,
        "compared": unequal + alike,
    }


def _figure(one: Beside | None) -> dict[str, Json]:
    if one is None:
        return {}
    return {
        "published": round(one.figure.percent / 100, 6),
        "published_source": f"{one.figure.where}: {one.figure.name}",
        "confidence": one.figure.confidence,
        "published_flags": "; ".join(one.flags),
    }


def _lifted(sheet: Sheet, place: tuple[int, Column, str]) -> dict[str, Json]:
    lift = sheet.lifts.get(place[:2])
    if lift is None:
        return {}
    found = lift.differences[place[2]].found
    tokens: dict[str, Json] = {"tokens": lift.tokens, "tokens_a_question": lift.per_question}
    if found is None:
        return tokens
    values = {"lift": found.difference, "lift_low": found.low, "lift_high": found.high}
    return {**values, "lift_p_holm": lift.p_holm[place[2]], **tokens}


def _published_record(
    row: PublishedRow, column: Column, measure: str, one: Beside
) -> Mapping[str, Json]:
    named = dict(zip(("method", "backbone", "preset", "settings"), row.lead, strict=True))
    where = {"graph": column.graph, "split": one.figure.split, "measure": measure}
    return {**named, **where, "n": one.figure.n, **_figure(one)}
