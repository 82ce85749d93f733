"""Check a bundle: compute again, from its journal, everything it says.

python scripts/verify.py BUNDLE [--graph auto|none] [--questions FILE]

No key and no network. Where the graph is built here, node types, equal nodes, the hash of the
questions and backfilled lists are checked too; --questions gives the texts of the questions where
they are not composed (the run's queries.jsonl, or the file that the run was made with).

Exit codes: 0 everything follows, 1 a difference (the first one is printed), 2 no whole bundle.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.verify import verify


def main() -> int:
    """Check, print, return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument("--graph", choices=("auto", "none"), default="auto")
    parser.add_argument("--questions", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        report = verify(options.bundle, graph=options.graph, questions=options.questions)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for line in report.passed:
        print(f"PASS  {line}")
    for line in report.notes:
        print(f"note  {line}")
    for line in report.differences:
        print(f"FAIL  {line}")
    print("PASS" if not report.differences else "FAIL")
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
