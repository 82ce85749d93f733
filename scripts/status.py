"""Where runs stand: python scripts/status.py [RESULTS | RUN ...] (default: results).

Done, failed by reason, to do, spent and expected, from the journals alone; a run may go on
meanwhile.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.status import status_table


def folders(paths: list[Path]) -> list[Path]:
    """Run folders under the paths. Raises UserError where there are none."""
    found: list[Path] = []
    for path in paths:
        found += [path] if (path / "run.json").is_file() else sorted((path / "runs").glob("*/"))
    if not found:
        raise UserError(f"no runs under {', '.join(map(str, paths))}: python run.py makes one")
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("results")], metavar="RUN")
    try:
        print(status_table(folders(parser.parse_args().paths)))
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
