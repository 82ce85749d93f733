"""Tables of finished runs, with tests, published numbers and lifts: docs/tables.md.

python scripts/tables.py RUNS... [--format md|tex|csv] [--baseline METHOD] [--reference published]

RUNS are result.json files, folders of runs (all below is taken) or folders of sweeps.
"""

from __future__ import annotations

import argparse
import csv
import sys

from ark.errors import UserError, unknown
from ark.report import Options, footer, main_rows, main_table, result_table, strata_table
from ark.report.cells import Cell, find, load_all


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", metavar="RUNS")
    parser.add_argument("--format", choices=["md", "tex", "csv"], default="md")
    parser.add_argument("--baseline", metavar="METHOD", help="test every row against this one")
    parser.add_argument(
        "--reference",
        metavar="published[:TABLE]",
        default="",
        help="published numbers beside ours; published:all or published:'Table 1' adds whole rows",
    )
    parser.add_argument("--measures", nargs="+", default=[], metavar="NAME", help="hit@1 mrr ...")
    parser.add_argument("--by", nargs="+", default=[], metavar="KIND", help="hops textual ...")
    parser.add_argument(
        "--allow-unequal",
        action="store_true",
        help="mark unlike data and test across unequal settings, and say so, instead of refusing",
    )
    parser.add_argument(
        "--frame",
        action="store_true",
        help="also (row - floor) / (ceiling - floor): ARK on random calls, the oracle",
    )
    parser.add_argument("--long", action="store_true", help="one row a result, nothing compared")
    return parser.parse_intermixed_args()


def check_kinds(cells: list[Cell], kinds: list[str]) -> None:
    """UserError for a kind of questions that no result has."""
    known = {kind for cell in cells for kind in cell.data["strata"]}
    for kind in kinds:
        if kind not in known:
            raise UserError(unknown("--by", kind, known))


def long_table(cells: list[Cell], chosen: argparse.Namespace) -> None:
    """One row a result."""
    results = [cell.data for cell in cells]
    if chosen.format == "tex":
        raise UserError("--long has no tex: leave --long out, or take md or csv")
    if chosen.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows(main_rows(results))
        return
    parts = [main_table(results)]
    if chosen.by:
        parts.append(strata_table(results, chosen.by))
    print("\n\n".join([*(p for p in parts if p), footer(results)]))


def main() -> int:
    """Read, compare, print."""
    chosen = options()
    try:
        cells = load_all(find(chosen.results))
        check_kinds(cells, chosen.by)
        if chosen.long and chosen.frame:
            raise UserError("--long has no frame: leave one of the two out")
        if chosen.long:
            long_table(cells, chosen)
            return 0
        if chosen.by and chosen.format != "md":
            raise UserError("--by is for --format md only")
        wanted = Options(
            tuple(dict.fromkeys(chosen.measures)),
            chosen.baseline,
            chosen.reference,
            chosen.allow_unequal,
            frame=chosen.frame,
        )
        sys.stdout.write(result_table(cells, wanted, chosen.format))
        if chosen.by:
            print("\n" + strata_table([cell.data for cell in cells], chosen.by))
    except UserError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
