"""Which tools the agents of a run called: python scripts/tool_use.py RUN [RUN ...]."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from ark.errors import UserError
from ark.report import markdown
from ark.run.journal import read_journal, read_trajectory


def calls_of(run: Path) -> Counter[str]:
    """Executed calls by tool, over the agents that count (the last line of each)."""
    found: Counter[str] = Counter()
    for line in read_journal(run).agents.values():
        if line.trajectory is not None:
            for step in read_trajectory(run, line)["steps"]:
                found.update(call["tool"] for call in step["state"].get("calls", ()))
    return found


def main() -> None:
    """One row a run: calls and shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    rows, tools = [], Counter[str]()
    for run in parser.parse_args().runs:
        if not (run / "run.json").is_file():
            sys.stderr.write(f"error: {run} is no run folder: give results/runs/NAME\n")
            raise SystemExit(2)
        try:
            calls = calls_of(run)
        except UserError as error:
            sys.stderr.write(f"error: {error}\n")
            raise SystemExit(2) from None
        tools.update(calls)
        graph = json.loads((run / "run.json").read_text(encoding="utf-8"))["graph"]["source"]
        rows.append((graph, run.name, calls))
    names = [name for name, _ in sorted(tools.items(), key=lambda x: (-x[1], x[0]))]
    table = [
        [graph, name, str(calls.total())]
        + [f"{100 * calls[tool] / calls.total():.1f} %" if calls[tool] else "-" for tool in names]
        for graph, name, calls in rows
    ]
    print(markdown(["graph", "run", "calls", *names], table))


if __name__ == "__main__":
    main()
