"""Pack a finished run, all its readings, into one archive that anyone can check.

python scripts/bundle.py RUN [--out FILE]

RUN is a run folder (results/runs/NAME), or one reading of it (RUN/readings/CELLID). Without --out
the archive is results/bundles/NAME.zip beside the runs. No text, name, key or path is in it; see
docs/bundles.md. Check it with scripts/verify.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ark.errors import UserError
from ark.report.bundle import pack, write_bytes


def main() -> int:
    """Pack, write, return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        bundle = pack(options.run)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    out = options.out or bundle.folder.parents[1] / "bundles" / f"{bundle.folder.name}.zip"
    try:
        write_bytes(out, bundle.data)
    except OSError as error:
        sys.stderr.write(f"error: cannot write {out} ({error.strerror}): choose another --out\n")
        return 2
    size = len(bundle.data) / 1e6
    print(f"{out}: {bundle.readings} readings, {bundle.questions} questions, {size:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
