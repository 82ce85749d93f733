"""Command line: ``python run.py graph=hpo method=ark``; see ``python run.py --help``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from ark.errors import ArkError, BudgetReachedError, FatalBackboneError, UserError

DONE, FAILED, USER_ERROR, BUDGET, FATAL, INTERRUPTED = 0, 1, 2, 3, 4, 130


def main(arguments: Sequence[str]) -> int:
    """Run and return the exit code."""
    if any(a in ("-h", "--help") for a in arguments):
        from ark.cli.help import help_text

        print(help_text(), end="")
        return DONE
    command = shlex.join(["python", "run.py", *arguments])
    try:
        from ark.cli.console import run_command

        return run_command(arguments, command)
    except KeyboardInterrupt:
        print(f"resume: {command}", flush=True)
        return INTERRUPTED
    except ArkError as error:
        return _complain(error)
    except ModuleNotFoundError as error:
        return _complain(UserError(f"{error}: python -m pip install -e '.[demo]' in this folder"))
    except OSError as error:
        return _complain(UserError(f"{error.filename or 'file'}: {error.strerror or error}"))


def _complain(error: ArkError) -> int:
    sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
    if isinstance(error, BudgetReachedError):
        return BUDGET
    return FATAL if isinstance(error, FatalBackboneError) else USER_ERROR


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    if "ark.run.trackers" in sys.modules:  # --help stays quick
        from ark.run.trackers import leave

        leave(exit_code)
    sys.exit(exit_code)
