"""Running a cell: identity, journal, readings, result."""

from ark.run.executors import InterruptedRunError
from ark.run.runner import Done, run_cell
from ark.run.spec import CellSpec, GraphSpec, PluginSpec, Reading, Transport

__all__ = [
    "CellSpec",
    "Done",
    "GraphSpec",
    "InterruptedRunError",
    "PluginSpec",
    "Reading",
    "Transport",
    "run_cell",
]
