"""Tables in aligned Markdown: readable in a terminal, ready to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ark.records import Json
from ark.report.names import full_name, row_name, title
from ark.report.reference import footer_line
from ark.report.remarks import remarks, unequal
from ark.text import one_line

COLUMNS = ("hit@1", "hit@5", "recall@20", "mrr")
TITLES = {measure: title(measure) for measure in COLUMNS}
ABSENT = "-"

__all__ = [
    "failure_table",
    "footer",
    "main_rows",
    "main_table",
    "markdown",
    "percent",
    "row_name",
    "strata_table",
]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned table. Whatever a cell holds, it stays one cell: bars are escaped, and line ends
    and control characters become spaces.
    """
    cells = [[one_line(c).replace("|", "\\|") for c in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def percent(estimate: Mapping[str, Json] | None) -> str:
    """``41.2 [37.0, 45.5]``: mean and 95 % interval in percent, if it has one."""
    if not estimate or estimate["mean"] is None:
        return ABSENT
    if estimate["low"] is None:
        return f"{100 * estimate['mean']:.1f}"
    mean, low, high = (100 * estimate[k] for k in ("mean", "low", "high"))
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def main_rows(results: Sequence[Mapping[str, Json]]) -> list[list[str]]:
    """Header and one row a result, over its whole split: failed and missing questions are zero."""
    rows = [["graph", "split", "method", "n", *(TITLES[c] for c in COLUMNS), "failed"]]
    for result in results:
        cell, counts = result["cell"], result["counts"]
        rows.append(
            [
                cell["graph"],
                cell["split"],
                full_name(result),
                str(counts["queries"]),
                *(percent(result["measures"].get(c)) for c in COLUMNS),
                str(counts["failed"] + counts["missing"]),
            ]
        )
    return rows


def main_table(results: Sequence[Mapping[str, Json]]) -> str:
    """``main_rows`` as Markdown."""
    header, *rows = main_rows(results)
    return markdown(header, rows)


def strata_table(results: Sequence[Mapping[str, Json]], kinds: Sequence[str] | None = None) -> str:
    """The same measures by hops, by textual condition and by answer type; empty without any."""
    rows = []
    for result in results:
        for kind, groups in result["strata"].items():
            if kinds is not None and kind not in kinds:
                continue
            for value, measures in groups.items():
                n = next(iter(measures.values()))["n"]
                cells = [percent(measures.get(c)) for c in COLUMNS]
                cell = result["cell"]
                name = full_name(result)
                rows.append([cell["graph"], cell["split"], name, f"{kind}={value}", str(n), *cells])
    header = ["graph", "split", "method", "questions", "n", *(TITLES[c] for c in COLUMNS)]
    return markdown(header, rows) if rows else ""


def failure_table(errors: Sequence[tuple[str, str]]) -> str:
    """Jobs of a sweep that did not finish, with what stopped them."""
    return markdown(["job", "error"], errors)


def footer(results: Sequence[Mapping[str, Json]]) -> str:
    """What a reader must know beside the numbers."""

    def where(result: Mapping[str, Json]) -> str:
        cell = result["cell"]
        return f"{cell['graph']} {cell['split']}, {full_name(result)}"

    cuts = sorted({r["cell"]["reading"]["cut"] for r in results})
    lines = [
        "Percent, mean [95 % interval]; failed and missing questions count as 0. All measures are "
        f"of the first {' or '.join(map(str, cuts))} ranks."
    ]
    if any(r["cell"]["candidates"] == "answer_type" for r in results):
        lines.append("Answer type given.")
    for result in results:
        answered = result["measures"].get("hit@1", {}).get("answered_only")
        if answered:
            n = answered["n"]
            lines.append(f"{where(result)}: Hit@1 {percent(answered)} over {n} answered.")
        differ = result["counts"].get("agents_differ")
        if differ is not None:
            n = result["counts"]["ok"] + result["counts"]["limit"]
            lines.append(f"{where(result)}: agents' lists differ on {differ} of {n} questions.")
        lines += [f"{where(result)}: {text}." for text in (*partly(result), *forced(result))]
    cells = [result["cell"] for result in results]
    lines += [*unequal(cells), *remarks(cells)]
    published = (footer_line(result, TITLES) for result in results)
    lines += dict.fromkeys(line for line in published if line)
    thanks = dict.fromkeys(str(r["cell"]["credit"]) for r in results if r["cell"]["credit"])
    return "\n".join(map(one_line, [*lines, *(f"Data: {c}" for c in thanks)]))


def partly(result: Mapping[str, Json]) -> list[str]:
    """That questions failed under some choices of agents; nothing where none did."""
    some = result["counts"].get("partly_failed")
    questions = "question" if some == 1 else "questions"
    text = f"{some} {questions} failed under some choices of agents, which score 0 there"
    return [text] if some else []


def forced(result: Mapping[str, Json]) -> list[str]:
    """Settings that the graph does not leave to the user; nothing where it leaves all."""
    given = result["cell"].get("forced")
    named = ", ".join(f"{name}={value}" for name, value in (given or {}).items())
    return [f"{named} whatever is asked for, as this graph's ids tell something"] if given else []
