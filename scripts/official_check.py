"""Score a finished run with STaRK's own evaluator too.

python scripts/official_check.py RUN --env DIR

RUN is a run folder or a result.json in it, DIR an environment of scripts/official_env.py. Every
difference to our numbers is reported, and kept in official.json beside result.json. Exit code 1
where a difference has no known reason.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.finished import open_finished
from ark.report.official import check_official, show_progress


def main() -> int:
    """Check, print, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--env", type=Path, required=True, metavar="DIR")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N questions; not kept")
    options = parser.parse_args()
    try:
        report = check_official(
            open_finished(options.run), options.env, options.limit, show_progress
        )
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    print("\n".join(report.lines()))
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
