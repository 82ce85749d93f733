"""Draw a figure from results: python scripts/figures.py budget|cost|tools RESULT... --out DIR.

RESULT is a result.json, a run folder, a sweep folder, or a folder of these.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.figures import FIGURES


def main() -> None:
    """Draw, and name the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=FIGURES)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    try:
        written = FIGURES[options.kind](options.results, options.out)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    for path in written:
        print(path)


if __name__ == "__main__":
    main()
