"""Compare your copy of a graph and its questions with what is known of the released ones.

python scripts/selfcheck.py graph=NAME [setting=value ...] [options]

The settings are those of run.py's graph.*, with or without that prefix: graph=prime root=DIR.
Prints a line a fact: PASS, DIFFERS, INFO (nothing to compare with) or SKIPPED (not asked for, or
it follows from a line that differs), and writes selfcheck.json into the built graph's folder;
results of later runs carry its hash. Exit code 1 where something differs, 2 for a mistake in the
command.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ark.errors import ArkError, UserError
from ark.graph import GraphSource, data_root, open_or_build, source_for
from ark.records import Json
from ark.report.finished import open_finished
from ark.report.official import check_official, show_progress
from ark.report.reference import STARK, published
from ark.report.selfcheck import (
    CONVERT,
    Line,
    Verdict,
    compare,
    graph_facts,
    official,
    question_facts,
    save,
)
from ark.run import Done, run_cell
from ark.run.result import write_atomic

DONE, DIFFERS, USER_ERROR = 0, 1, 2
PUBLISHED, EVALUATOR = "BM25 beside the published row", "official evaluator"
SPLITS = ("test", "test-0.1", "human")


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", nargs="+", metavar="setting=value")
    against = parser.add_mutually_exclusive_group()
    against.add_argument(
        "--official-counts", action="store_true", help="the published figures (the default)"
    )
    against.add_argument("--tiny", action="store_true", help="no figures: a graph of another size")
    against.add_argument("--reference", type=Path, metavar="FILE", help="of --write-reference")
    parser.add_argument("--write-reference", type=Path, metavar="FILE", help="all facts, as JSON")
    parser.add_argument("--env", type=Path, metavar="DIR", help="of scripts/official_env.py")
    parser.add_argument("--bm25", action="store_true", help="BM25 beside the published row (slow)")
    return parser.parse_intermixed_args()


def prefixed(settings: Sequence[str]) -> list[str]:
    """Settings as run.py takes them. UserError where no graph is named."""
    if not any(s.startswith("graph=") for s in settings):
        raise UserError("say which graph: graph=NAME")
    return [s if s.startswith(("graph=", "graph.")) else f"graph.{s}" for s in settings]


def reference(chosen: argparse.Namespace, source: GraphSource) -> tuple[dict[str, Json], str]:
    """Expected facts, and where they come from in words."""
    if chosen.tiny:
        return {}, "nothing"
    if chosen.reference is None:
        return official(source), "published figures"
    try:
        facts = json.loads(chosen.reference.read_text(encoding="utf-8"))["facts"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{chosen.reference} is no reference ({type(error).__name__}): write one with "
            "--write-reference FILE"
        ) from error
    return dict(facts), f"reference {chosen.reference.name}"


def bm25(settings: Sequence[str], *more: str) -> Done:
    """BM25 as the benchmark has it, in a folder that is thrown away."""
    from ark.cli.compose import compose_one

    given = ("method=bm25", "search=stark", "cut=100", "tracker=none", *more)
    job = compose_one([*settings, *given])
    return run_cell(job.spec, job.transport)


def bm25_lines(settings: Sequence[str], name: str) -> list[Line]:
    """Documents as in the paper, equal ones collapsed, beside the published row: never a PASS."""
    lines = []
    for split in SPLITS:
        row = published(name, split)
        what = f"{PUBLISHED}, {split}"
        if row is None:
            lines.append(Line("SKIPPED", what, note="nothing is published"))
            continue
        era = ("graph.version=paper", "search.duplicates=last", f"split={split}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = bm25(settings, *era, f"results_dir={folder}")
        except UserError as error:
            lines.append(Line("SKIPPED", what, note=str(error)))
            continue
        ours = done.data["measures"]
        values = {m: round(100 * ours[m]["mean"], 2) for m in row.values if m in ours}
        lines.append(Line("INFO", what, dict(row.values), values, "in percent"))
    return lines


def evaluator_line(settings: Sequence[str], environment: Path) -> Line:
    """BM25 on test-0.1, scored by stark-qa's evaluator too."""
    with tempfile.TemporaryDirectory() as folder:
        done = bm25(settings, "split=test-0.1", f"results_dir={folder}")
        report = check_official(open_finished(done.path), environment, progress=show_progress)
    verdict: Verdict = "DIFFERS" if report.unexplained else "PASS"
    found = {"unexplained differences": report.unexplained, **report.versions}
    return Line(verdict, EVALUATOR, {"unexplained differences": 0}, found)


def check(chosen: argparse.Namespace) -> int:
    """Look, compare, print, save; returns the exit code."""
    from ark.cli.compose import compose_one

    settings = prefixed(chosen.settings)
    spec = compose_one(settings).spec.graph
    source = source_for(spec.source, **spec.settings)
    expected, compared = reference(chosen, source)
    source.key()  # files that are not there are a mistake, files that are wrong a difference
    try:
        graph = open_or_build(source, data_root())
    except UserError as error:
        for line in compare({CONVERT: True, **expected}, {CONVERT: str(error)}):
            print(line)
        return DIFFERS
    facts = graph_facts(spec, source, graph) | question_facts(spec, source, graph)
    lines = compare(expected, facts)
    if chosen.env is None:
        lines.append(Line("SKIPPED", EVALUATOR, note="--env DIR compares with it"))
    else:
        lines.append(evaluator_line(settings, chosen.env))
    if not chosen.bm25 or spec.source not in STARK:
        lines.append(Line("SKIPPED", PUBLISHED, note="--bm25 runs it on STaRK's graphs"))
    else:
        lines += bm25_lines(settings, spec.source)
    print("\n".join(map(str, lines)))
    if chosen.write_reference is not None:
        text = json.dumps({"graph": spec.source, "facts": facts}, indent=1, ensure_ascii=False)
        write_atomic(chosen.write_reference, text + "\n")
    print(f"selfcheck: {save(graph, lines, compared)}")
    return DIFFERS if any(line.verdict == "DIFFERS" for line in lines) else DONE


def main() -> int:
    """Check and return the exit code."""
    try:
        return check(options())
    except ArkError as error:
        sys.stderr.write(f"error: {error}\n")
        return USER_ERROR


if __name__ == "__main__":
    sys.exit(main())
