"""The cost-quality plane: Hit@1 with its interval over what a question takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ark.report.analysis_load import BUDGET, Result, find_results, name_of, reading_of
from ark.report.figures_style import COLOURS, MARKERS, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOLLARS, TOKENS, CALLS = "cost", "tokens", "calls"
LABELS = {
    DOLLARS: "US dollars per question (log)",
    TOKENS: "Tokens per question (log)",
    CALLS: "Backbone calls per question (log)\nno row used a token",
}

MOST = 14  # lines that a legend can bear


@dataclass(frozen=True)
class Point:
    """One row: its label, what a question takes, Hit@1 in percent with interval, and n."""

    label: str
    x: float
    y: float
    low: float
    high: float
    n: int


def cost_figure(paths: Sequence[Path], out: Path) -> list[Path]:
    """``cost.png`` and ``cost.pdf``: a panel for each graph and split.

    x is dollars per question where every price is known and any was paid; else tokens (the axis
    says that prices are unknown); else calls of the backbone. Rows that take nothing of it stand
    in a strip of their own, left of the logarithmic axis.

    Args:
        paths: results, runs, sweeps or folders of these.
        out: folder for the files.

    Raises:
        UserError: no result there, or matplotlib is not installed.

    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in find_results(paths):
        groups.setdefault((str(result.cell["graph"]), str(result.cell["split"])), []).append(result)
    with style():
        return save(_draw(groups), Path(out), "cost")


def axis_of(results: Sequence[Result]) -> tuple[str, str]:
    """What x is for these results, and its label."""
    used = [r.data["usage"] for r in results]
    unknown = any(u.get("cost") is None for u in used)
    if not unknown and any(u["cost"] for u in used):
        return DOLLARS, LABELS[DOLLARS]
    if any(u["tokens"] for u in used):
        return TOKENS, LABELS[TOKENS] + ("\na price is unknown" if unknown else "")
    return CALLS, LABELS[CALLS]


def points_of(results: Sequence[Result], what: str) -> list[Point]:
    """One point a result that has Hit@1, by label; labels that are alike are told apart."""
    out = []
    for result, label in zip(results, labels_of(results), strict=True):
        hit, counts = result.data["measures"].get("hit@1", {}), result.data["counts"]
        n = counts["queries"] - counts.get("missing", 0)
        if hit.get("mean") is None or not n:
            continue
        x = float(result.data["usage"][what]) / n
        mean, low, high = (100 * float(hit[k]) for k in ("mean", "low", "high"))
        out.append(Point(label, x, mean, low, high, int(hit["n"])))
    return out


def labels_of(results: Sequence[Result]) -> list[str]:
    """A label for each result; where that makes too many, those that share a name share it."""
    names = [name_of(r.cell, BUDGET) for r in results]
    many = Counter(names)
    readings = [reading_of(r.reading) for r in results]
    labels = [
        f"{n} ({r})" if many[n] > 1 and r else n for n, r in zip(names, readings, strict=True)
    ]
    if len(set(labels)) < len(labels):  # budgets that are runs of their own
        full = [name_of(r.cell) for r in results]
        labels = [f"{n} ({r})" if r else n for n, r in zip(full, readings, strict=True)]
    if len(set(labels)) <= MOST:
        return labels
    return [f"{n} ({many[n]} readings)" if many[n] > 1 else n for n in names]


def _draw(groups: dict[tuple[str, str], list[Result]]) -> Figure:
    from matplotlib.figure import Figure

    axes_of = {key: axis_of(results) for key, results in groups.items()}
    points = {key: points_of(results, axes_of[key][0]) for key, results in groups.items()}
    labels = list(dict.fromkeys(p.label for ps in points.values() for p in ps))
    looks = {label: (COLOURS[i % 7], MARKERS[(i + i // 7) % 7]) for i, label in enumerate(labels)}
    figure = Figure(
        (4.6 * len(groups), 3.4 + 0.17 * math.ceil(len(labels) / len(groups))), layout="constrained"
    )
    strip = 1.0 if any(p.x <= 0 for ps in points.values() for p in ps) else 0.04
    ratios = [strip, 5.0] * len(groups)
    columns = figure.subplots(1, 2 * len(groups), width_ratios=ratios, squeeze=False)
    for i, ((graph, split), row) in enumerate(points.items()):
        left, right = columns[0, 2 * i], columns[0, 2 * i + 1]
        n = " or ".join(sorted({str(p.n) for p in row}))
        _panel(left, right, row, looks)
        right.set_title(f"{graph} {split} · n = {n}", loc="left")
        right.set_xlabel(axes_of[graph, split][1])
        left.set_ylabel("Hit@1 (%), 95 % interval")
    for label, (colour, marker) in looks.items():
        columns[0, 0].plot([], [], color=colour, marker=marker, linestyle="", label=label)
    handles, texts = columns[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower left", ncols=len(groups), frameon=False)
    return figure


def _panel(
    left: Axes, right: Axes, row: Sequence[Point], looks: dict[str, tuple[str, str]]
) -> None:
    """Points without any use in the left strip, side by side; the others on the right."""
    from matplotlib.ticker import NullFormatter

    free = [p for p in row if p.x <= 0]
    paid = [p for p in row if p.x > 0]
    crowded = len(row) > MOST
    places = iter((i + 1) / (len(free) + 1) for i in range(len(free)))
    top = max((p.high for p in row), default=0.0) or 1.0
    for p in row:
        axes, x = (left, next(places)) if p.x <= 0 else (right, p.x)
        colour, marker = looks[p.label]
        axes.errorbar(
            [x],
            [p.y],
            yerr=[[max(0.0, p.y - p.low)], [max(0.0, p.high - p.y)]],
            color=colour,
            marker=marker,
            markersize=3.5 if crowded else 6,
            capsize=0 if crowded else 2.5,
            elinewidth=0.5 if crowded else 1.1,
        )
    left.set_xlim(0, 1)
    left.set_xticks([0.5] if free else [], ["0"] if free else [])
    right.set_xscale("log")
    if paid:
        low, high = min(p.x for p in paid), max(p.x for p in paid)
        room = 1.7 if high / low > 4 else 3.0
        right.set_xlim(low / room, high * room)
        if high / low < 30:  # powers of ten alone would name no place on so short an axis
            ticks = _ticks(low / room, high * room)
            right.set_xticks(ticks, [f"{t:,g}" if t < 1e4 else f"{t:,.0f}" for t in ticks])
            right.xaxis.set_minor_formatter(NullFormatter())
    else:
        right.set_xticks([])
    for axes in (left, right):
        axes.set_ylim(-0.03 * top, 1.05 * top)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    right.tick_params(axis="y", labelleft=False, length=0)
    right.spines["left"].set_visible(False)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 times powers of ten within the limits."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [m * 10.0**p for p in powers for m in (1, 2, 5)]
    return [t for t in every if low <= t <= high]
