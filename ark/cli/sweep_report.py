"""What a sweep leaves beside its runs: ``results/sweeps/ID/`` with a record, tables and figures."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ark.cli.experiments import Experiment, Report
from ark.errors import UserError
from ark.records import Json, Usage
from ark.report import footer, main_table, recalled_table
from ark.report.spread import agreement_lines
from ark.run.jobs import Job, JobEnd, sweep_id
from ark.run.journal import summed
from ark.run.result import write_atomic


def write_report(
    jobs: Sequence[Job],
    ends: Sequence[JobEnd | None],
    experiment: Experiment | None,
    command: str,
) -> str:
    """Write the sweep's folder and return what is printed; nothing where no job was finished."""
    results = jobs[0].transport.results_dir.absolute()
    name = "sweep" if experiment is None else experiment.name
    folder = results / "sweeps" / f"{name}-{sweep_id(jobs)}"
    write_atomic(folder / "sweep.json", _record(jobs, ends, command, folder))
    done = {end.done.path: end.done for end in ends if end is not None and end.done is not None}
    if not done:
        return ""
    paths = list(done)
    data = [one.data for one in done.values()]
    if experiment is None:
        known = recalled_table(paths)
        parts = [f"{main_table(data)}\n\n{footer(data)}", *([known] if known else [])]
        _sections(Report(""), paths, data, folder)
    else:
        parts = [experiment.report.title, *_sections(experiment.report, paths, data, folder)]
    parts.append(_spent(ends, len(paths)))
    write_atomic(folder / "report.md", "\n\n".join(parts) + "\n")
    return "\n\n".join([*parts, f"report: {folder / 'report.md'}"])


def _record(jobs: Sequence[Job], ends: Sequence[JobEnd | None], command: str, folder: Path) -> str:
    rows = []
    for job, end in zip(jobs, ends, strict=True):
        done = None if end is None else end.done
        row: dict[str, Json] = {
            "overrides": list(job.overrides),
            "repeat": job.spec.repeat,
            "state": "not run" if end is None else end.state,
            "result": None if done is None else os.path.relpath(done.path, folder),
            "error": None if end is None or not end.reason else end.reason,
        }
        rows.append(row)
    return json.dumps({"command": command, "jobs": rows}, indent=1, ensure_ascii=False) + "\n"


def _sections(
    report: Report, paths: Sequence[Path], data: Sequence[Mapping[str, Json]], folder: Path
) -> list[str]:
    """Text of each section; tables are also written to files of their own."""
    parts: list[str] = []
    for section in report.sections:
        if section == "table":
            from ark.report import sweep_table

            for form in ("md", "tex", "csv"):
                text = sweep_table(
                    paths, baseline=report.baseline, reference=report.reference, fmt=form
                )
                write_atomic(folder / f"table.{form}", text.rstrip("\n") + "\n")
                parts += [text] if form == "md" else []
        elif section == "analysis":
            from ark.report.analysis import TABLES, analysis_table

            parts.append(analysis_table(paths, TABLES))
        elif section == "aggregation":
            parts.append("\n".join(agreement_lines(data)))
    return [*parts, *_figures(report.figures, paths, folder)]


def _figures(kinds: Sequence[str], paths: Sequence[Path], folder: Path) -> list[str]:
    if kinds and importlib.util.find_spec("matplotlib") is None:
        return [
            "figures: not drawn, python -m pip install 'ark-harness[figures]' brings matplotlib"
        ]
    lines = []
    for kind in kinds:
        from ark.report.figures import budget_figure, cost_figure, tool_figure

        draw = {"budget": budget_figure, "cost": cost_figure, "tools": tool_figure}[kind]
        try:
            lines += [f"figure: {path}" for path in draw(paths, folder)]
        except UserError as error:
            sys.stderr.write(f"figure {kind}: {error}\n")
    return ["\n".join(lines)] if lines else []


def _spent(ends: Sequence[JobEnd | None], results: int) -> str:
    """The call counter: what this command itself asked of backbones."""
    done = [end.done for end in ends if end is not None and end.done is not None]
    made: Usage = summed([one.made for one in done])
    folders = {one.path.parents[2] for one in done}
    tokens = made.prompt_tokens + made.completion_tokens
    cost = "cost unknown" if made.cost is None else f"${made.cost:.2f}"
    return (
        f"{_several(results, 'result')} read from {_several(len(folders), 'run')}. "
        f"This command made {made.calls} calls ({tokens} tokens, {cost})."
    )


def _several(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
