"""The official evaluator beside a finished run: ``official.json``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from ark.report.finished import Finished, open_finished
from ark.run.result import write_atomic
from ark.scoring.official import MEASURES, Item, Report, cross_check

ALL = "all"
SHOW_EVERY = 100  # answers


def check_official(
    run: Finished,
    environment: Path,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Score a reading's lists with stark-qa's evaluator and keep the report beside its result.

    ``limit`` takes the first questions only; such a report is not kept. Raises UserError for an
    environment that does not work.
    """
    items, sets = [], {}
    for scored in run.scored()[:limit]:
        types = run.types_of(scored.query)
        name = ALL if types is None else "|".join(types)
        if name not in sets:
            sets[name] = run.candidates(types)
        items.append(
            Item(
                query=scored.query.id,
                ranked=tuple(run.graph.index(node) for node in scored.ranked),
                gold=tuple(run.gold(scored.query)),
                ours={measure: scored.values[measure] or 0.0 for measure in MEASURES},
                candidates=name,
            )
        )
    report = cross_check(environment, items, sets, progress)
    if limit is None:
        text = json.dumps(report.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomic(run.path.with_name("official.json"), text + "\n")
    return report


def verdict(result: Path, environment: Path, *, progress: bool) -> list[str]:
    """Check the reading of a ``result.json`` and say what came of it, in lines to print."""
    show = show_progress if progress else None
    return check_official(open_finished(result), environment, progress=show).lines()


def show_progress(answered: int, asked: int) -> None:
    """On standard error, now and then: an answer may take half a second."""
    if answered % SHOW_EVERY == 0:
        sys.stderr.write(f"official evaluator: {answered}/{asked}\n")
