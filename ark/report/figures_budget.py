"""Budget heat maps: agents by steps (paper, figure 3), in each reading of what is over budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ark.errors import UserError
from ark.report.analysis_load import BUDGET, Result, find_results, name_of, reading_of
from ark.report.analysis_numbers import short
from ark.report.figures_style import HEAT, save, slug, style, unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

READINGS = {
    "truncated": "truncated: the list as it stood at that step",
    "as_published": "as published: longer trajectories count as empty",
}
Cell = tuple[int, int]  # agents, steps


@dataclass(frozen=True)
class Grid:
    """Results of one row of a table that differ in their budget only."""

    title: str
    name: str
    results: Sequence[Result]

    @property
    def cells(self) -> tuple[list[int], list[int]]:
        """The agents and the steps that occur, ascending."""
        agents = sorted({r.agents for r in self.results})
        return agents, sorted({steps_of(r) for r in self.results})


def steps_of(result: Result) -> int:
    """Steps that an agent may take. UserError where neither reading nor method names any."""
    method = result.cell.get("identity", {}).get("method", {})
    steps = result.steps or method.get("max_steps")
    if not isinstance(steps, int):
        raise UserError(f"{result.path} is of a method without max_steps: leave it out")
    return steps


def budget_figure(paths: Sequence[Path], out: Path) -> list[Path]:
    """A picture for each graph and method: Hit@1, Recall@20, latency, and tokens (or calls).

    Columns of maps are quantities, rows the readings ``truncated`` and ``as_published`` where both
    are given. A cell is the mean over its results (repeats); cells without one are hatched.

    Args:
        paths: results, runs, sweeps or folders of these; methods without steps are left out.
        out: folder for ``budget-GRAPH-METHOD.png`` and ``.pdf``.

    Raises:
        UserError: no result there has a budget, or matplotlib is not installed.

    """
    grids = grids_of(find_results(paths))
    written = []
    with style():
        for grid, name in zip(grids, unique([g.name for g in grids]), strict=True):
            written += save(_draw(grid), Path(out), name)
    return written


def grids_of(results: Sequence[Result]) -> list[Grid]:
    """Results by all that names a row but its budget and its repeat."""
    groups: dict[tuple[str, ...], dict[str | None, list[Result]]] = {}
    for result in results:
        if "max_steps" in result.cell.get("identity", {}).get("method", {}) or result.steps:
            fusions = groups.setdefault(_key(result), {})
            fusions.setdefault(_fusion(result), []).append(result)
    if not groups:
        raise UserError("none of these results has a step budget: give runs of ARK")
    return [
        _grid(key, fusion, [*members, *fusions.get(None, ())])
        for key, fusions in groups.items()
        for fusion, members in ((f, m) for f, m in fusions.items() if f or len(fusions) == 1)
    ]


def _grid(key: tuple[str, ...], fusion: str | None, members: Sequence[Result]) -> Grid:
    graph, split, method, reading, _ = key
    other = [x for x in (fusion, reading) if x and x != "voting"]
    n = sorted({int(r.data["counts"]["queries"]) for r in members})
    lines = [" · ".join([f"{graph} {split}", method, *other]), f"n = {' or '.join(map(str, n))}"]
    return Grid("\n".join(lines), slug("budget", graph, method, *other), members)


def _key(result: Result) -> tuple[str, ...]:
    cell = {**result.cell, "repeat": 0}
    questions = str(cell.get("identity", {}).get("questions", {}).get("sha256"))
    reading = reading_of({**result.reading, "fusion": None}, BUDGET)
    return str(cell["graph"]), str(cell["split"]), name_of(cell, BUDGET), reading, questions


def _fusion(result: Result) -> str | None:
    """How lists were fused; None for one list, which stands in the grid of every fusion."""
    if result.agents == 1:
        return None
    return reading_of({"agents": 2, "fusion": result.reading.get("fusion")}, BUDGET) or "voting"


def _measure(name: str) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        mean = result.data["measures"].get(name, {}).get("mean")
        return None if mean is None else 100 * float(mean)

    return value


def _per_question(name: str) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        counts = result.data["counts"]
        n = counts["queries"] - counts.get("missing", 0)
        used = result.data["usage"].get(name)
        return None if used is None or not n else float(used) / n

    return value


def _timing(name: str) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        seconds = result.data.get("timings", {}).get(name)
        return None if seconds is None else float(seconds)

    return value


def _quantities(results: Sequence[Result]) -> list[tuple[str, Callable[[Result], float | None]]]:
    tokens, latency = _per_question("tokens"), _timing("latency_per_query")
    out = [("Hit@1 (%)", _measure("hit@1")), ("Recall@20 (%)", _measure("recall@20"))]
    if all(latency(r) is not None for r in results):
        out.append(("Latency: slowest agent\n(seconds per question)", latency))
    else:
        out.append(("Seconds per question\n(agents summed)", _timing("seconds_per_query")))
    if any(tokens(r) for r in results):
        out.append(("Tokens per question\n(agents summed)", tokens))
    else:
        out.append(("Calls per question\n(agents summed; no tokens)", _per_question("calls")))
    return out


def _panels(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """Results by reading; those without a cut are the same in each."""
    cut = [r for r in results if r.steps is not None]
    whole = [r for r in results if r.steps is None]
    kinds = [k for k in READINGS if any(_over(r) == k for r in cut)]
    if not kinds:
        return [("each budget is a run of its own", whole)]
    return [(READINGS[k], [*whole, *(r for r in cut if _over(r) == k)]) for k in kinds]


def _over(result: Result) -> str:
    return str(result.reading.get("over_budget", "truncated"))


def _draw(grid: Grid) -> Figure:
    from matplotlib.figure import Figure

    agents, steps = grid.cells
    panels, quantities = _panels(grid.results), _quantities(grid.results)
    width, height = max(2.5, 0.62 * len(steps) + 1.1), max(1.5, 0.48 * len(agents) + 0.75)
    figure = Figure((width * len(quantities), height * len(panels) + 0.8), layout="constrained")
    axes = figure.subplots(len(panels), len(quantities), squeeze=False)
    for j, (label, value) in enumerate(quantities):
        maps = [_cells(members, value) for _, members in panels]
        known = [v for one in maps for v in one.values()]
        scale = (min(known), max(known)) if known else (0.0, 1.0)
        for i, one in enumerate(maps):
            _heat(axes[i, j], one, agents, steps, scale, percent="%" in label)
            if i == 0:
                axes[i, j].set_title(label)
            if i == len(panels) - 1:
                axes[i, j].set_xlabel("steps per agent (at most)")
    for i, (label, _) in enumerate(panels):
        axes[i, 0].set_ylabel("agents")
        axes[i, 0].annotate(
            label.replace(": ", ":\n"),
            (-0.32, 0.5),
            xycoords="axes fraction",
            rotation=90,
            ha="center",
            va="center",
            fontsize=8,
        )
    whole = all(
        len(_cells(m, v)) == len(agents) * len(steps) for _, m in panels for _, v in quantities
    )
    figure.suptitle(grid.title + ("" if whole else "; hatched: no result"), fontsize=10)
    return figure


def _cells(results: Sequence[Result], value: Callable[[Result], float | None]) -> dict[Cell, float]:
    """Mean over the results (repeats) of each cell; a cell with an unknown one has none."""
    found: dict[Cell, list[float | None]] = {}
    for result in results:
        found.setdefault((result.agents, steps_of(result)), []).append(value(result))
    known = {c: [v for v in vs if v is not None] for c, vs in found.items()}
    return {c: sum(v) / len(v) for c, v in known.items() if len(v) == len(found[c])}


def _heat(
    axes: Axes,
    cells: Mapping[Cell, float],
    agents: Sequence[int],
    steps: Sequence[int],
    scale: tuple[float, float],
    *,
    percent: bool,
) -> None:
    """One map: agents upwards, steps to the right, each value written into its cell."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    low, high = scale
    for y, n in enumerate(agents):
        for x, t in enumerate(steps):
            value = cells.get((n, t))
            corner = (x - 0.5, y - 0.5)
            if value is None:
                axes.add_patch(
                    Rectangle(corner, 1, 1, facecolor="white", edgecolor="#999999", hatch="////")
                )
                continue
            shade = (value - low) / (high - low) if high > low else 0.5
            colour = colormaps[HEAT](shade)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
            ink = "white" if shade < 0.45 else "black"
            text = f"{value:.1f}" if percent else short(value)
            axes.text(x, y, text, ha="center", va="center", color=ink, fontsize=8.5)
    axes.set_xlim(-0.5, len(steps) - 0.5)
    axes.set_ylim(-0.5, len(agents) - 0.5)
    axes.set_xticks(range(len(steps)), [str(t) for t in steps])
    axes.set_yticks(range(len(agents)), [str(n) for n in agents])
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
