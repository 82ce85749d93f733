"""The lines below a table: what its marks mean, what was measured, and on which data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ark.records import Json
from ark.report import frame, recalled
from ark.report.entry import ORACLE, Entry
from ark.report.grid import Column, Grid, fingerprint
from ark.report.lift import NONE
from ark.report.names import title
from ark.report.remarks import remarks
from ark.report.sheet import Sheet
from ark.report.shown import join
from ark.report.spread import prompt_lines
from ark.report.tables import forced, partly, percent
from ark.report.unlike import SHOWN, treatment_differences
from ark.run.identity import canonical_json

SPREAD = "hit@1"


def lines(sheet: Sheet) -> list[str]:
    """All of them, in order."""
    grid = sheet.grid
    return [
        *_head(grid),
        *(_column_line(grid, column) for column in grid.columns),
        *_treatments(grid),
        *_best(sheet),
        *_oracles(grid),
        *remarks([cell.cell for _, _, entry in _entries(grid) for cell in entry.cells]),
        *_tests(sheet),
        *sheet.complaints,
        *_repeats(grid),
        *_spreads(grid),
        *prompt_lines([cell.data for _, _, entry in _entries(grid) for cell in entry.cells]),
        *_published(sheet),
        *_questions(grid),
        *_lift(sheet),
        *recalled.lines(grid, sheet.recalled),
        *frame.lines(grid, sheet.frames),
        *_versions(grid),
        *_credits(grid),
    ]


def _entries(grid: Grid) -> Iterable[tuple[str, Column, Entry]]:
    for row in grid.rows:
        for column, entry in sorted(row.entries.items()):
            yield row.name, column, entry


def _head(grid: Grid) -> list[str]:
    cuts = sorted({e.first.cell["reading"]["cut"] for _, _, e in _entries(grid)})
    return [
        "Percent, mean [95 % interval]; failed and missing questions count as 0. All measures are "
        f"of the first {' or '.join(map(str, cuts))} ranks."
    ]


def _column_line(grid: Grid, column: Column) -> str:
    """n, clusters, design effect and stamp of a graph."""
    usual = [e for i, e in grid.at(column) if (i, column) not in grid.unlike]
    cell = usual[0].first
    found = [x for e in usual for m in grid.measures if (x := e.estimate(m)) is not None]
    clusters = max((x.clusters for x in found), default=0) or usual[0].n_clusters
    effects = [x.design_effect for x in found if x.design_effect is not None]
    effect = _span([f"{min(effects):.1f}", f"{max(effects):.1f}"]) if effects else "not stored"
    types = cell.cell["reading"].get("candidate_types")
    return (
        f"{column.label}: n {cell.data['counts']['queries']}, {clusters} clusters, design effect "
        f"{effect}; candidates {'+'.join(types) if types else 'every node'}; graph content "
        f"{cell.graph_hash[:SHOWN]}, questions {cell.questions_hash[:SHOWN]}."
    )


def _span(values: Sequence[str]) -> str:
    return values[0] if values[0] == values[-1] else f"{values[0]}–{values[-1]}"


def _treatments(grid: Grid) -> list[str]:
    """Settings outside the method: design, rule 11."""
    unequal: dict[str, list[str]] = {}
    for column in grid.columns:
        entries = grid.at(column)
        for i, entry in entries[1:]:
            differ = treatment_differences(entries[0][1], entry)
            if differ:
                text = f"{column.label}: {', '.join(differ)}: {grid.rows[entries[0][0]].name}"
                unequal.setdefault(text, []).append(grid.rows[i].name)
    said = {column: _treatment(grid.at(column)[0][1]) for column in grid.columns}
    whose = "First row" if unequal else "Every row"
    out = [f"Unequal on {text} against {join(names)}." for text, names in unequal.items()]
    if len(set(said.values())) == 1:
        return [f"{whose}: {next(iter(said.values()))}.", *out]
    return [*(f"{whose} of {c.label}: {text}." for c, text in said.items()), *out]


def _treatment(entry: Entry) -> str:
    """Settings outside the method, but for what the line of the graph says."""
    hidden = ("candidates", "candidate_types", "cut")
    shown = {k: v for k, v in entry.treatment.items() if k not in hidden}
    relevance, types = shown.get("relevance"), entry.treatment.get("candidate_types")
    if isinstance(relevance, dict) and types and relevance.get("types") == sorted(types):
        shown["relevance"] = {**relevance, "types": "candidates"}
    return "; ".join(f"{k.replace('_', ' ')} {_value(v)}" for k, v in shown.items())


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={_value(v)}" for k, v in sorted(value.items()))
    if isinstance(value, list):
        return "+".join(map(str, value))
    return "none" if value is None else str(value)


def _best(sheet: Sheet) -> list[str]:
    out = []
    if sheet.best.marks:
        out.append(
            "Bold is the highest mean of a column and italic the second; by itself that is no "
            "claim that the difference is beyond chance."
        )
    out += [f"{c.label}: no best mark, {why}." for c, why in sheet.best.reasons.items()]
    return out


def _oracles(grid: Grid) -> list[str]:
    """That rows know the gold, and where they have no program to follow."""
    out: dict[str, None] = {}
    for _, column, entry in _entries(grid):
        if entry.target == ORACLE:
            found = [q.program for q in entry.first.questions.values()]
            if lacking := found.count(False):
                text = f"{column.label}: {lacking} of {len(found)} questions have no program"
                out[
                    f"{text}; there the oracle counts gold within some hops of one search's hits "
                    "and cuts no list."
                ] = None
    return list(out)


def _tests(sheet: Sheet) -> list[str]:
    if not sheet.tests:
        return []
    rows = sheet.grid.rows
    named: dict[int, list[str]] = {}
    by_test: dict[str, list[str]] = {}
    for (i, _, measure), test in sheet.tests.items():
        found = test.difference.found
        if found is None:
            continue
        whose = named.setdefault(test.baseline, [])
        whose += [rows[i].name] if rows[i].name not in whose else []
        of = by_test.setdefault(found.test, [])
        of += [title(measure)] if title(measure) not in of else []
    if not named:
        return ["Nothing could be tested against the baseline."]
    if len(named) == 1:
        against = rows[next(iter(named))].name
    else:
        against = (
            "the baseline ("
            + "; ".join(f"{rows[b].name} for {join(whose)}" for b, whose in sorted(named.items()))
            + ")"
        )
    kinds = "; ".join(f"{name} for {join(of)}" for name, of in sorted(by_test.items()))
    return [
        f"▲ above and ▼ below {against}: paired by question, p < 0.05 two-sided after Holm over "
        f"the column ({kinds})."
    ]


def _repeats(grid: Grid) -> list[str]:
    if all(e.repeats == 1 for _, _, e in _entries(grid)):
        return []
    return [
        "Rows with repeats: mean over repeats; intervals resample questions and repeats (two-level "
        "bootstrap); tests take each question's mean over the repeats."
    ]


def _spreads(grid: Grid) -> list[str]:
    """'One run': how far single agents lie apart, where a row has several and no repeats."""
    by_row: dict[str, list[str]] = {}
    for name, column, entry in _entries(grid):
        parts = [] if entry.repeats > 1 else [*_alone(entry), *_differing(entry)]
        if parts:
            by_row.setdefault(name, []).append(f"{column.label} {', '.join(parts)}")
    said: dict[str, list[str]] = {}  # readings of one run say the same
    for name, texts in by_row.items():
        said.setdefault("; ".join(texts), []).append(name)
    return [f"One run, single agents alone: {t} ({join(names)})." for t, names in said.items()]


def _alone(entry: Entry) -> list[str]:
    found = entry.first.data["single_agents"] or {}
    measure = SPREAD if SPREAD in found else next(iter(found), "")
    values = found.get(measure) or []
    if len(values) < 2:
        return []
    low, high = (f"{100 * x:.1f}" for x in (min(values), max(values)))
    spread = f"all at {low}" if low == high else f"{low} to {high}"
    return [f"{title(measure)} {spread} ({len(values)} agents)"]


def _differing(entry: Entry) -> list[str]:
    counts = entry.first.data["counts"]
    differ, answered = counts.get("agents_differ"), counts["ok"] + counts["limit"]
    return [] if differ is None else [f"lists differ on {differ:g} of {answered} questions"]


def _published(sheet: Sheet) -> list[str]:
    if not sheet.beside and not sheet.published:
        return ["Nothing is published for these rows."] if sheet.options.reference else []
    return [
        "Published numbers in percent as printed: (p) read in the source, (t) from a tracker "
        "only, not seen in its paper. They are ranked with ours only where split and n agree."
    ]


def _questions(grid: Grid) -> list[str]:
    out = []
    if any(e.first.cell["reading"]["candidates"] == "answer_type" for _, _, e in _entries(grid)):
        out.append("Answer type given.")
    for name, column, entry in _entries(grid):
        if entry.failures:
            n = entry.first.data["counts"]["queries"]
            text = f"{entry.failures:g} of {n} questions failed or are missing"
            out.append(f"{column.label}, {name}: {text}{_answered(entry)}.")
        for cell in entry.cells:
            of = f" repeat {cell.cell['repeat']}" if entry.repeats > 1 else ""
            out += [f"{column.label}, {name}{of}: {text}." for text in partly(cell.data)]
    out += _forced(grid)
    tuned = [(name, e.first.cell["tuned"]) for name, _, e in _entries(grid)]
    return [*out, *dict.fromkeys(f"{name}: tuned: {text}." for name, text in tuned if text)]


def _forced(grid: Grid) -> list[str]:
    """Settings that a graph does not leave to the user: one line a graph and setting."""
    found: dict[tuple[Column, str], list[str]] = {}
    for name, column, entry in _entries(grid):
        for text in forced(entry.first.data):
            whose = found.setdefault((column, text), [])
            whose += [name] if name not in whose else []
    return [f"{c.label}: {text} ({join(names)})." for (c, text), names in found.items()]


def _answered(entry: Entry) -> str:
    found = entry.first.data["measures"].get(SPREAD, {}).get("answered_only")
    if entry.repeats > 1 or not found or found.get("mean") is None:
        return ""
    return f"; Hit@1 {percent(found)} over {found['n']} answered"


def _lift(sheet: Sheet) -> list[str]:
    rows = sheet.grid.rows
    lacking = [f"{rows[i].name} on {c.label}" for (i, c), lift in sheet.lifts.items() if not lift]
    out = [f"{name}: {NONE}." for name in lacking]
    if any(lift is not None for lift in sheet.lifts.values()):
        out.append(
            "Lift: the row with a model minus the rule-based controller with the same method, "
            "settings and questions, in points [95 % interval], p paired and after Holm; tokens "
            "are the model's."
        )
    return out


def _versions(grid: Grid) -> list[str]:
    """Code versions and fingerprints, where rows do not share them."""
    commits: dict[str, list[str]] = {}
    prints: dict[tuple[str, str], set[str]] = {}  # what a graph forces is no other code
    for name, column, entry in _entries(grid):
        for cell in entry.cells:
            commit = str(cell.data["environment"].get("commit") or "unknown")
            whose = commits.setdefault(commit, [])
            whose.append(f"{name} on {column.label}")
            of = name, canonical_json(cell.cell["forced"])
            prints.setdefault(of, set()).add(fingerprint(cell))
    if len(commits) == 1:
        out = [f"Code {_short(next(iter(commits)))}."]
    else:
        parts = [f"{_short(c)}: {', '.join(dict.fromkeys(w))}" for c, w in sorted(commits.items())]
        out = [f"Code versions differ: {'; '.join(parts)}."]
    for (name, _), found in prints.items():
        if len(found) > 1:
            several = ", ".join(sorted(p[:6] for p in found))
            out.append(f"{name}: behaviour fingerprints differ between its cells ({several}).")
    return out


def _short(commit: str) -> str:
    return commit if commit == "unknown" else commit[:10] + ("+" if commit.endswith("+") else "")


def _credits(grid: Grid) -> list[str]:
    thanks = dict.fromkeys(str(e.first.cell["credit"]) for _, _, e in _entries(grid))
    return [f"Data: {c}" for c in thanks if c]
