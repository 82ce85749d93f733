"""What agents did in runs and what it took: python scripts/analyse.py RUN... [--only tools steps].

RUN is a run folder, a result.json, a sweep folder, or a folder of these.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.analysis import KINDS, TABLES, analysis_table
from ark.report.analysis_walks import MEANS, SUCCESS


def main() -> None:
    """Read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help=", ".join(TABLES))
    slices = [kind for kind in KINDS if kind not in TABLES]
    parser.add_argument(
        "--by", nargs="+", default=[], metavar="SLICE", help=f"{', '.join(slices)}, or slices: all"
    )
    parser.add_argument("--format", choices=["md", "csv"], default="md")
    meaning = "; ".join(f"{name}: {text}" for name, text in MEANS.items())
    parser.add_argument("--success", choices=SUCCESS, default="hit@1", help=meaning)
    options = parser.parse_args()
    kinds = [*options.only, *options.by] or None
    try:
        text = analysis_table(options.runs, kinds, form=options.format, success=options.success)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
