"""Two runs on the same questions, paired by question: docs/tables.md.

python scripts/compare.py A B [--measure hit@1 mrr] [--top 20] [--format md|csv]

A and B are result.json files or run folders. csv has a row for every question.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.compare import to_csv, to_markdown
from ark.report.comparison import compare_cells, open_reading


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("a", type=Path, metavar="A")
    parser.add_argument("b", type=Path, metavar="B")
    parser.add_argument("--measure", nargs="+", default=[], metavar="NAME", help="hit@1 mrr ...")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="questions to show")
    parser.add_argument("--format", choices=["md", "csv"], default="md")
    parser.add_argument(
        "--allow-unequal",
        action="store_true",
        help="compare under unequal settings or data, and say so, instead of refusing",
    )
    return parser.parse_intermixed_args()


def main() -> int:
    """Open both, compare, print."""
    chosen = options()
    try:
        if chosen.top < 0:
            raise UserError(f"--top {chosen.top} must be 0 or more")
        a, b = open_reading(chosen.a), open_reading(chosen.b)
        found = compare_cells(a, b, chosen.measure, allow_unequal=chosen.allow_unequal)
        text = to_csv(found) if chosen.format == "csv" else to_markdown(found, chosen.top)
        sys.stdout.write(text)
    except UserError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
