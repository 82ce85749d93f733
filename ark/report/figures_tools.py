"""Tool-use bars: which tools the agents of each run called (paper, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ark.agent.tools import ADD, COMMON, DETAILS, FINISH, NEIGHBORS, SEARCH
from ark.errors import UserError
from ark.report.analysis_load import find_runs
from ark.report.analysis_numbers import Number
from ark.report.analysis_tools import GLOBAL, tool_shares
from ark.report.analysis_walks import EXTENSIONS, GROUPS, UNKNOWN, walks_of
from ark.report.figures_style import BLUE, GREEN, GREY, ORANGE, PINK, SKY, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour, and ink of the number within it.
LOOKS = {
    SEARCH: (BLUE, "white"),
    NEIGHBORS: (ORANGE, "black"),
    ADD: (GREEN, "white"),
    FINISH: (GREY, "black"),
    EXTENSIONS: (PINK, "black"),
    UNKNOWN: (SKY, "black"),
}
LEAST = 0.03  # a narrower part has no room for its number


@dataclass(frozen=True)
class Bar:
    """One run: graph, label, counts, and its shares by group of tools."""

    graph: str
    label: str
    calls: int
    agents: int
    shares: dict[str, Number]


def tool_figure(paths: Sequence[Path], out: Path) -> list[Path]:
    """``tools.png`` and ``tools.pdf``: a stacked bar for each run, runs of a graph together.

    Beside each bar stands global / (global + neighbour) with its interval, the paper's figure 2.
    Runs without tool calls (BM25) are left out.

    Args:
        paths: run folders, results, sweeps or folders of these.
        out: folder for the files.

    Raises:
        UserError: no run there has a tool call, or matplotlib is not installed.

    """
    bars = bars_of(paths)
    with style():
        return save(_draw(bars), Path(out), "tools")


def bars_of(paths: Sequence[Path]) -> list[Bar]:
    """The runs with tool calls, by graph."""
    out = []
    for run in find_runs(paths):
        read = walks_of(run)
        if read.walks:
            graph, split, method = run.where
            calls = sum(len(w.moves) for w in read.walks)
            shares = tool_shares(read.walks)
            out.append(Bar(f"{graph} {split}", method, calls, len(read.walks), shares))
    if not out:
        raise UserError("no agent of these runs called a tool: give runs of ARK")
    return out


def _draw(bars: Sequence[Bar]) -> Figure:
    from matplotlib.figure import Figure

    used = [g for g in GROUPS if any(bar.shares[g].value for bar in bars)]
    graphs = list(dict.fromkeys(bar.graph for bar in bars))
    figure = Figure((9.2, 1.5 + 0.52 * len(bars) + 0.3 * len(graphs)), layout="constrained")
    axes = figure.subplots()
    places, y = [], 0.0
    for i, bar in enumerate(bars):
        y += 1.0 if i == 0 or bar.graph == bars[i - 1].graph else 1.6  # a gap between graphs
        places.append(y)
        _bar(axes, y, bar, used)
    axes.text(1.02, 0.32, "global / (global + neighbour)", fontsize=8, style="italic")
    axes.set_yticks(places, [f"{b.graph} · {b.label}\n{_counted(b)}" for b in bars], fontsize=8)
    axes.set_ylim(y + 0.6, 0.1)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    axes.set_xlabel("share of executed tool calls (%)")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=6,
        fontsize=8,
        frameon=False,
    )
    return figure


def _bar(axes: Axes, y: float, bar: Bar, used: Sequence[str]) -> None:
    left = 0.0
    for group in used:
        colour, ink = LOOKS[group]
        width = bar.shares[group].value or 0.0
        known = axes.get_legend_handles_labels()[1]
        name = f"{EXTENSIONS} ({DETAILS}, {COMMON})" if group == EXTENSIONS else group
        label = "_" if name in known else name
        axes.barh(y, width, left=left, height=0.7, color=colour, edgecolor="white", label=label)
        if width >= LEAST:
            text = f"{100 * width:.0f}"
            axes.text(left + width / 2, y, text, ha="center", va="center", color=ink, fontsize=8)
        left += width
    axes.text(1.02, y, f"{bar.shares[GLOBAL].text()} %", va="center", fontsize=8)


def _counted(bar: Bar) -> str:
    return f"n = {bar.calls:,} calls of {bar.agents:,} agents"
