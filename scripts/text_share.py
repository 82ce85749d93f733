"""How much ToG-2 had to read: python scripts/text_share.py [RESULTS | RUN ...] (default: results).

For each run of tog2: of the entities whose passages were read, how many have text beyond their
name; per visit, and each entity once. The graph of a run must be built here (ARK_DATA).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.records import AgentLine
from ark.report.analysis_load import Run, find_runs
from ark.report.tables import markdown
from ark.report.verify_local import local_graph
from ark.run.journal import read_trajectory
from baselines.tog2.chunks import has_text

TARGETS = ("baselines.tog2.method:Tog2", "baselines.tog2.method:Tog2Code")
HEADER = ["graph", "split", "run", "questions", "visits", "visits with text"]
HEADER += ["entities", "entities with text", "graph's nodes with text"]


def visited(run: Run) -> tuple[Counter[str], int]:
    """How often each entity was read, by id, and how many questions' walks there are."""
    visits: Counter[str] = Counter()
    asked: set[str] = set()
    lines = run.entries.agents.values()
    for line in filter(_has_walk, lines):
        asked.add(line.query)
        for step in read_trajectory(run.folder, line)["steps"]:
            visits.update(step["state"].get("visited", ()))
    return visits, len(asked)


def _has_walk(line: AgentLine) -> bool:
    return line.status != "failed" and line.trajectory is not None


def graph_of(run: Run) -> KnowledgeGraph:
    """The graph of a run. UserError where it is not built here."""
    known = run.identity["graph"]
    graph = local_graph(known["content_hash"])
    if graph is None:
        raise UserError(
            f"the graph of {run.folder.name} ({known['source']}, content "
            f"{known['content_hash'][:12]}) is not here: run the cell again first, or set ARK_DATA"
        )
    return graph


def row(run: Run) -> list[str]:
    """One run as a row of the table."""
    graph = graph_of(run)
    visits, questions = visited(run)
    read = {node: has_text(graph, graph.index(node)) for node in visits}
    with_text = sum(n for node, n in visits.items() if read[node])
    every = sum(has_text(graph, i) for i in range(graph.n_nodes))
    where, split, name = run.where
    return [
        *(where, split, name, str(questions)),
        *(str(visits.total()), share(with_text, visits.total())),
        *(str(len(read)), share(sum(read.values()), len(read))),
        share(every, graph.n_nodes),
    ]


def share(part: int, whole: int) -> str:
    """A percentage with one digit."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def is_tog2(run: Run) -> bool:
    """Whether a run is one of ToG-2, whatever its preset."""
    return run.identity.get("method", {}).get("target") in TARGETS


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("results")], metavar="RUN")
    try:
        runs = [run for run in find_runs(parser.parse_args().paths) if is_tog2(run)]
        if not runs:
            raise UserError("no run of tog2 there: python run.py method=tog2 makes one")
        print(markdown(HEADER, [row(run) for run in runs]))
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
