"""Write the rankings of a finished run for other tools.

python scripts/export.py RUN --format trec|qrels|leaderboard [--out FILE]

RUN is a run folder or a result.json in it. trec and leaderboard hold up to 100 nodes a question,
whatever the cut of the run; leaderboard is the CSV (query_id, pred_rank) of STaRK's leaderboard.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.export import FORMATS, export
from ark.report.finished import open_finished
from ark.run.result import write_atomic


def main() -> int:
    """Open, write, return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--out", type=Path, metavar="FILE", help="standard output without it")
    parser.add_argument("--tag", help="last column of a TREC run; the method's name without it")
    options = parser.parse_args()
    try:
        text = export(open_finished(options.run), options.format, options.tag)
        if options.out is None:
            sys.stdout.write(text)
            return 0
        write_atomic(options.out, text)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(
            f"error: cannot write {options.out} ({error.strerror}): choose another --out\n"
        )
        return 2
    print(f"{options.out}: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
