"""Score anybody's run file.

python scripts/score.py RUNFILE graph=prime split=test [setting=value ...]

RUNFILE holds TREC lines, a JSON object, JSON lines or CSV (query_id, pred_rank); its content tells
which. The settings are those of run.py that choose graph, questions and reading: graph, graph.*,
split, limit, queries, candidates, cut, results_dir, max_failures. Prints the same table, what of
the file did not count, and the path of the result. Exit codes as of run.py: a question without a
list counts as failed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ark.errors import ArkError, UserError, unknown

if TYPE_CHECKING:
    from ark.run.jobs import Job

DONE, FAILED, USER_ERROR = 0, 1, 2
SETTINGS = (
    *("graph", "split", "limit", "queries", "candidates", "cut"),
    *("results_dir", "max_failures", "progress", "seed"),
)


def compose(overrides: Sequence[str]) -> Job:
    """The cell that run.py would make of the settings. UserError for others, and for a sweep."""
    from ark.cli.compose import compose_one

    for override in overrides:
        key = override.partition("=")[0].lstrip("+~")
        if key.partition(".")[0] not in SETTINGS:
            raise UserError(unknown("setting of score.py", key, SETTINGS))
    return compose_one(overrides)


def score(file: Path, overrides: Sequence[str]) -> int:
    """Read, score, print; returns the exit code."""
    from ark.api import score_run_file
    from ark.report import footer, main_table, strata_table
    from ark.scoring.runcheck import notes
    from ark.scoring.runfile import read_run_file

    run_file = read_run_file(file)
    job = compose(overrides)
    done, checked = score_run_file(run_file, job.spec, job.transport, file.name)
    parts = [main_table([done.data]), strata_table([done.data]), footer([done.data])]
    print("\n\n".join(part for part in parts if part))
    print("\n" + "\n".join(notes(run_file, checked.counts, job.spec.cut)))
    print(f"result: {done.path}", flush=True)
    return FAILED if done.failed > job.transport.max_failures else DONE


def main(arguments: Sequence[str]) -> int:
    """Score and return the exit code."""
    if not arguments or any(a in ("-h", "--help") for a in arguments):
        print(__doc__, end="")
        return DONE if arguments else USER_ERROR
    try:
        return score(Path(arguments[0]), arguments[1:])
    except ArkError as error:
        sys.stderr.write(f"error: {error}\n")
        return USER_ERROR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
