"""Figures as PNG and PDF: budget heat maps, cost-quality plane, tool-use bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ark.report.figures_budget import budget_figure
from ark.report.figures_cost import cost_figure
from ark.report.figures_tools import tool_figure

FIGURES: Mapping[str, Callable[[Sequence[Path], Path], list[Path]]] = {
    "budget": budget_figure,
    "cost": cost_figure,
    "tools": tool_figure,
}

__all__ = ["FIGURES", "budget_figure", "cost_figure", "tool_figure"]
