"""A comparison of two runs as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ark.report.comparison import Compared, Measured, text_of
from ark.report.names import title
from ark.report.paired import ALPHA
from ark.report.render import ARROWS, escape
from ark.report.shown import p_text, signed
from ark.report.tables import ABSENT, markdown
from ark.text import clip, one_line

WIDTH = 90


def to_markdown(compared: Compared, top: int = 20) -> str:
    """Both means and their difference by measure, then the questions that differ most."""
    a, b = compared.a, compared.b
    n = len(compared.ids)
    head = [
        f"A: {escape(a.name)}, run {a.cell.cell['run_id']}",
        f"B: {escape(b.name)}, run {b.cell.cell['run_id']}",
        f"{' '.join(a.cell.column)}, n {n}, {compared.whole[0].found.clusters} clusters",
        *(f"Unequal: {escape(text)}" for text in compared.complaints),
    ]
    parts = ["\n".join(f"- {line}" for line in head)]
    parts.append("Whole split, failed and missing questions count as 0:")
    parts.append(_table(compared.whole, compared.p_failures))
    if compared.answered is not None:
        kept = compared.answered[0].found.n
        parts.append(f"The {kept} questions that both answered:")
        parts.append(_table(compared.answered, compared.p_failures))
    rows = compared.most_different(top)
    if rows:
        parts += [f"The {len(rows)} questions that differ most:", _questions(compared, rows)]
    else:
        parts.append("No question differs.")
    parts.append("\n".join(f"- {line}" for line in _notes(compared)))
    return "\n\n".join(parts) + "\n"


def _table(measured: Sequence[Measured], p_failures: float) -> str:
    header = ["measure", "A", "B", "A - B [95 % interval]", "", "p", "p Holm", "test"]
    header += ["A better", "B better", "equal", "both / neither", "design effect"]
    rows = []
    for one in measured:
        f = one.found
        hits = ABSENT if one.both is None else f"{one.both} / {one.neither}"
        effect = ABSENT if f.design_effect is None else f"{f.design_effect:.2f}"
        rows.append(
            [
                *(title(one.measure), _percent(f.mean_a), _percent(f.mean_b)),
                *(signed(f.difference, f.low, f.high), ARROWS[one.arrow(p_failures)]),
                *(p_text(f.p_value), p_text(one.p_holm), f.test),
                *(str(f.wins), str(f.losses), str(f.ties), hits, effect),
            ]
        )
    return markdown(header, rows)


def _percent(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.1f}"


def _questions(compared: Compared, rows: Sequence[int]) -> str:
    a, b = compared.a, compared.b
    header = ["question", "text", "answers"]
    for measure in compared.measures:
        header += [f"{title(measure)} A", "B"]
    header += ["first answer at A", "at B"]
    out = []
    for i in rows:
        known = text_of(a.cell, compared.ids[i])
        text = escape(clip(str(known.get("text", "")), WIDTH))
        row = [escape(compared.ids[i]), text, str(known.get("answers", ABSENT))]
        for measure in compared.measures:
            row += [f"{100 * side.values[measure][i]:.1f}" for side in (a, b)]
        row += ["failed" if s.failed[i] else str(s.rank(i) or ABSENT) for s in (a, b)]
        out.append(row)
    return markdown(header, out)


def _notes(compared: Compared) -> list[str]:
    a, b = compared.a, compared.b
    counts = f"{int(a.failed.sum())} of A, {int(b.failed.sum())} of B"
    out = [
        f"Percent. ▲ A above B, ▼ below: p < {ALPHA} two-sided after Holm over the measures.",
        f"Failed or missing: {counts}; p {p_text(compared.p_failures)} for equal failure rates.",
    ]
    if compared.p_failures < ALPHA:
        out.append("Failure rates differ beyond chance, so no winner is marked.")
    commits = [str(s.cell.data["environment"].get("commit") or "unknown") for s in (a, b)]
    if commits[0] != commits[1]:
        out.append(f"Code versions differ: {commits[0]}, {commits[1]}.")
    if any(s.cell.cell["reading"].get("pool") for s in (a, b)):
        out.append("Values that are means over choices of agents have no rank of the first answer.")
    return out


def to_csv(compared: Compared) -> str:
    """Every question: text, cluster, status, each measure of both, rank of the first answer."""
    a, b = compared.a, compared.b
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [f"{m}_{s}" for m in compared.measures for s in ("a", "b", "difference")]
    ends = ["first_answer_a", "first_answer_b"]
    writer.writerow(
        ["query", "text", "cluster", "answers", "failed_a", "failed_b", *columns, *ends]
    )
    for i, (query, cluster) in enumerate(zip(compared.ids, compared.clusters, strict=True)):
        known = text_of(a.cell, query)
        row = [query, one_line(str(known.get("text", ""))), cluster, known.get("answers", "")]
        row += ["yes" if side.failed[i] else "no" for side in (a, b)]
        for measure in compared.measures:
            x, y = float(a.values[measure][i]), float(b.values[measure][i])
            row += [repr(x), repr(y), repr(round(x - y, 12))]
        row += [side.rank(i) or "" for side in (a, b)]
        writer.writerow(row)
    return out.getvalue()
