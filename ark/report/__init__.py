"""Tables from results."""

from ark.report.result_tables import recalled_table, result_table, sweep_table
from ark.report.sheet import Options
from ark.report.tables import (
    failure_table,
    footer,
    main_rows,
    main_table,
    markdown,
    strata_table,
)

__all__ = [
    "Options",
    "failure_table",
    "footer",
    "main_rows",
    "main_table",
    "markdown",
    "recalled_table",
    "result_table",
    "strata_table",
    "sweep_table",
]
