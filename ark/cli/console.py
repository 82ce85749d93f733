"""What a command does and prints: one cell, a sweep, an experiment, or a dry run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ark.cli.compose import Settings, compose_jobs, expand
from ark.cli.experiments import Experiment, load, split_off
from ark.cli.mistakes import check_ablation
from ark.errors import ArkError, BudgetReachedError, UserError
from ark.run.budget import Purse
from ark.run.jobs import Job, JobEnd, plan, run_jobs, spent
from ark.run.runner import Done, run_cell
from ark.run.spec import Limits

DONE, FAILED, BUDGET, INTERRUPTED = 0, 1, 3, 130  # the rest are errors, told by run.py


def run_command(arguments: Sequence[str], command: str) -> int:
    """Do what the arguments of ``run.py`` say; returns the exit code, raises what is an error."""
    sweep = any(a in ("-m", "--multirun") for a in arguments)
    jobs, settings, experiment = jobs_of(arguments)
    find_official(jobs)
    if settings.dry_run:
        from ark.run.dryrun import dry_run

        planned = plan(jobs)
        specs, names = [job.spec for job in planned], [job.name for job in planned]
        print(dry_run(specs, names, planned[0].transport, settings.sweep_budget))
        return DONE
    if sweep or len(jobs) > 1:
        return run_sweep(plan(jobs), settings, experiment, command)
    return run_one(jobs[0], settings, command)


def jobs_of(arguments: Sequence[str]) -> tuple[list[Job], Settings, Experiment | None]:
    """The cells that a command names, before any is run. Every mistake is a UserError."""
    sweep = any(a in ("-m", "--multirun") for a in arguments)
    name, overrides = split_off([a for a in arguments if a not in ("-m", "--multirun")])
    experiment = None if name is None else load(name)
    if experiment is not None and not sweep:
        raise UserError(f"experiment={name} is a sweep; add -m")
    commands = [overrides] if experiment is None else experiment.commands(overrides)
    jobs: list[Job] = []
    for own in commands:
        for one in expand(own, sweep=sweep):
            if not sweep:  # in a sweep it is a row that fails
                check_ablation(one)
            made, settings = compose_jobs(one)
            jobs += made
    return jobs, settings, experiment


def find_official(jobs: Sequence[Job]) -> None:
    """A wrong folder of the official evaluator is found before anything runs."""
    for folder in {job.official for job in jobs if job.official is not None}:
        from ark.scoring.official_process import interpreter

        interpreter(folder)


def official_lines(job: Job, done: Done) -> list[str]:
    """What STaRK's own evaluator says of a finished cell, where ``official`` asks for it."""
    if job.official is None:
        return []
    from ark.report.official import verdict

    return verdict(done.path, job.official, progress=job.transport.progress)


def run_one(job: Job, settings: Settings, command: str) -> int:
    """One cell: its table, its strata, and the path of its result as the last line."""
    from ark.report import footer, main_table, strata_table
    from ark.run import InterruptedRunError
    from ark.run.locate import build

    tracking = dict(job.tracker)
    tracker = build(str(tracking.pop("target")), "tracker", tracking)
    purse = Purse(settings.sweep_budget, "sweep_budget")
    if settings.sweep_budget != Limits():
        purse.add(spent([job]))
    try:
        done = run_cell(job.spec, job.transport, tracker, purse=purse)
    except InterruptedRunError:
        print(f"resume: {command}", flush=True)
        return INTERRUPTED
    except BudgetReachedError:
        print(f"resume: {command}", flush=True)
        raise
    parts = [main_table([done.data]), strata_table([done.data]), footer([done.data])]
    print("\n\n".join(part for part in parts if part), flush=True)
    for line in official_lines(job, done):
        print(line)
    print(f"result: {done.path}", flush=True)
    if done.failed:
        sys.stderr.write(f"{done.failed} questions failed, most often: {done.reason}\n")
    return FAILED if done.failed > job.transport.max_failures else DONE


def run_sweep(
    jobs: Sequence[Job], settings: Settings, experiment: Experiment | None, command: str
) -> int:
    """All jobs, one table at the end, then one ``result:`` line a job. A failed job is a row."""
    from ark.cli.sweep_report import write_report
    from ark.report import failure_table

    def tell(number: int, text: str) -> None:
        sys.stderr.write(f"job {number + 1}/{len(jobs)}: {text}\n")

    ends = run_jobs(jobs, n_jobs=settings.n_jobs, limits=settings.sweep_budget, tell=tell)
    ended = [(job, end) for job, end in zip(jobs, ends, strict=True) if end is not None]
    finished = [(job, end.done) for job, end in ended if end.done is not None]
    for _, end in ended:
        sys.stderr.write(end.trace)
    errors = [(job.name, end.reason) for job, end in ended if end.state == "failed"]
    stopped = [(job.name, end.reason) for job, end in ended if end.state == "stopped"]
    official, wrong = _official(finished)
    text = write_report(jobs, ends, experiment, command)
    print("\n\n".join([*([text] if text else []), *official]))
    for what, rows in (("failed", errors + wrong), ("stopped by a budget", stopped)):
        if rows:
            print(f"\n{len(rows)} of {len(jobs)} jobs {what}:\n{failure_table(rows)}")
    for path in result_paths(ends):
        print(f"result: {path}")
    if any(end is None or end.state in ("interrupted", "stopped") for end in ends):
        print(f"resume: {command}", flush=True)
    if any(end is None or end.state == "interrupted" for end in ends):
        return INTERRUPTED
    if errors or wrong or any(done.failed > job.transport.max_failures for job, done in finished):
        return FAILED
    return BUDGET if stopped else DONE


def _official(finished: Sequence[tuple[Job, Done]]) -> tuple[list[str], list[tuple[str, str]]]:
    lines, errors = [], []
    for job, done in finished:
        try:
            lines += [f"{job.name}: {line}" for line in official_lines(job, done)]
        except ArkError as error:
            errors.append((job.name, f"{type(error).__name__}: {error}"))
    return lines, errors


def result_paths(ends: Sequence[JobEnd | None]) -> list[Path]:
    """Results of finished jobs, each once: two jobs may be one reading."""
    return list(dict.fromkeys(end.done.path for end in ends if end and end.done))
