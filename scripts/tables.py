"""Print tables from results: python scripts/tables.py RESULT... [--by hops textual] [--format csv].

RESULT is a result.json, or a folder in which every result.json is taken.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ark.errors import unknown
from ark.records import Json
from ark.report import footer, main_rows, main_table, strata_table


def find(paths: Sequence[str]) -> list[Path]:
    """The result files under ``paths``, in the order given and then by name."""
    found: list[Path] = []
    for path in map(Path, paths):
        found += sorted(path.rglob("result.json")) if path.is_dir() else [path]
    return found


def fail(text: str) -> NoReturn:
    """One line, exit code 2."""
    sys.stderr.write(f"error: {text}\n")
    raise SystemExit(2)


def order(result: Mapping[str, Json]) -> tuple[str, ...]:
    """Graph, split, method, backbone: the order of rows."""
    cell = result["cell"]
    return cell["graph"], cell["split"], cell["method"], str(cell["backbone"]), cell["cell_id"]


def load(path: Path) -> dict[str, Json]:
    """One result. Exits with a line where it cannot be read."""
    try:
        data: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
        _ = data["cell"]["reading"]["cut"], data["cell"]["graph"], data["measures"], data["counts"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path} is no result.json ({type(error).__name__}: {error})")
    return data


def main() -> None:
    """Read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", metavar="RESULT")
    parser.add_argument("--by", nargs="+", default=[], metavar="KIND", help="hops textual ...")
    parser.add_argument("--format", choices=["md", "csv"], default="md")
    options = parser.parse_args()
    results = sorted(map(load, dict.fromkeys(find(options.results))), key=order)
    if not results:
        fail("no result.json there; run a cell first: python run.py")
    known = {kind for result in results for kind in result["strata"]}
    for kind in options.by:
        if kind not in known:
            fail(unknown("--by", kind, known))
    if options.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows(main_rows(results))
        return
    parts = [main_table(results)]
    if options.by:
        parts.append(strata_table(results, options.by))
    print("\n\n".join([*(p for p in parts if p), footer(results)]))


if __name__ == "__main__":
    main()
