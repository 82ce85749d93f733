"""The official evaluator beside a finished run: ``official.json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ark.report.finished import Finished
from ark.run.result import write_atomic
from ark.scoring.official import MEASURES, Item, Report, cross_check

ALL = "all"


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
