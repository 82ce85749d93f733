"""Tables from results."""

from ark.report.tables import (
    failure_table,
    footer,
    main_rows,
    main_table,
    markdown,
    strata_table,
)

__all__ = ["failure_table", "footer", "main_rows", "main_table", "markdown", "strata_table"]
