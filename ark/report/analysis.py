"""What agents did in a run and what it took: tables from journals and trajectories, no calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ark.errors import UserError, unknown
from ark.records import Json
from ark.report.analysis_load import Run, find_runs
from ark.report.analysis_numbers import Table, as_csv
from ark.report.analysis_slices import SLICES, slice_table
from ark.report.analysis_tools import (
    WalkedRun,
    first_table,
    neighbor_table,
    outcome_table,
    tools_table,
    validity_table,
)
from ark.report.analysis_usage import failure_table, steps_table, usage_table
from ark.report.analysis_walks import check_success

_WALKED: Mapping[str, Callable[[Sequence[WalkedRun], str], Table]] = {
    "tools": lambda runs, _: tools_table(runs),
    "first": lambda runs, _: first_table(runs),
    "outcomes": outcome_table,
    "neighbors": neighbor_table,
    "validity": lambda runs, _: validity_table(runs),
}
_COUNTED: Mapping[str, Callable[[Sequence[Run]], Table]] = {
    "steps": steps_table,
    "usage": usage_table,
    "failures": failure_table,
}
TABLES = (*_WALKED, *_COUNTED)
KINDS = (*TABLES, *SLICES)


def analysis_tables(
    paths: Sequence[Path], kinds: Sequence[str] | None = None, *, success: str = "hit@1"
) -> tuple[list[Run], list[Table]]:
    """The runs under ``paths`` and one table for each kind, in the order of ``KINDS``.

    Args:
        paths: run folders, result files, sweep folders, or folders of these.
        kinds: of ``KINDS``; None for all. ``slices`` stands for every kind of slice.
        success: ``hit@1`` (first node of the agent's own list is an answer) or ``any`` (any node
            that it committed to).

    Raises:
        UserError: an unknown kind, nothing under a path, a file that cannot be read. Missing
            trajectories are no error: the tables say how many.

    """
    check_success(success)
    wanted = _checked(kinds)
    runs = find_runs(paths)
    walked = [WalkedRun(run) for run in runs]
    tables = []
    for kind in wanted:
        if kind in _WALKED:
            tables.append(_WALKED[kind](walked, success))
        elif kind in _COUNTED:
            tables.append(_COUNTED[kind](runs))
        else:
            tables.append(slice_table(runs, kind))
    return runs, tables


def analysis_table(
    paths: Sequence[Path],
    kinds: Sequence[str] | None = None,
    *,
    form: str = "md",
    success: str = "hit@1",
) -> str:
    """``analysis_tables`` as text: ``md`` with the stamps of the runs, or ``csv`` in long form."""
    if form not in ("md", "csv"):
        raise UserError(unknown("format", form, ("md", "csv")))
    runs, tables = analysis_tables(paths, kinds, success=success)
    if form == "csv":
        return as_csv(tables)
    parts = [table.markdown() for table in tables]
    return "\n\n".join([*parts, "\n".join(map(_stamp, runs))]) + "\n"


def _checked(kinds: Sequence[str] | None) -> list[str]:
    if kinds is None:
        return list(KINDS)
    for kind in kinds:
        if kind not in (*KINDS, "slices"):
            raise UserError(unknown("table", kind, (*KINDS, "slices")))
    every = {k for kind in kinds for k in (SLICES if kind == "slices" else (kind,))}
    return [kind for kind in KINDS if kind in every]


def _stamp(run: Run) -> str:
    """Which run, graph, questions and code a row comes from."""
    graph, split, method = run.where
    known = run.identity
    parts = [f"run {run.folder.name}", f"{len(run.questions)} questions"]
    for what, text in (
        ("graph", known.get("graph", {}).get("content_hash")),
        ("questions", known.get("questions", {}).get("sha256")),
        ("code", _commit(run)),
    ):
        if text:
            parts.append(f"{what} {str(text)[:12]}")
    return f"{graph} {split}, {method}: {', '.join(parts)}."


def _commit(run: Run) -> Json:
    commits = {r.data.get("environment", {}).get("commit") for r in run.results}
    return commits.pop() if len(commits) == 1 else None
