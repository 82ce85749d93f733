"""The lines under the table of a dry run: what its figures rest on, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ark.run.dryrun_row import Row, count, dollars, tokens
from ark.run.spec import Limits, Transport
from ark.text import one_line

SHOWN = 4  # names in a line


def lines(
    rows: Sequence[Row], runs: Sequence[Row], transport: Transport, sweep_budget: Limits
) -> Iterator[str]:
    """Errors, shared runs, prices, bases of the figures, budgets. ``runs``: a row a run folder."""
    yield "No question was run and no backbone was asked. All figures are of what is left to do."
    yield from (f"{row.name}: {one_line(row.error)}" for row in rows if row.error)
    yield from _shared(rows)
    yield from _prices(rows)
    yield from _basis(rows, transport)
    yield from _budgets(runs, transport, sweep_budget)
    if any(row.folder for row in rows):
        yield (
            "shows: the smallest paired difference of Hit@1 that so many questions find in 4 of 5 "
            "cases (5 %, two-sided), if the methods disagree on 20 % of them and questions of one "
            "cluster always agree."
        )


def _shared(rows: Sequence[Row]) -> Iterator[str]:
    folders: dict[str, list[str]] = {}
    for row in rows:
        if row.folder:
            folders.setdefault(row.folder, []).append(row.name)
    for names in folders.values():
        if len(names) > 1:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            shown = "; ".join(names[:SHOWN])
            yield f"Readings of one run, counted once in the total: {shown}{more}."


def _prices(rows: Sequence[Row]) -> Iterator[str]:
    for model, price in dict.fromkeys((row.model, row.price) for row in rows if row.model):
        if price is None:
            yield (
                f"{model}: the price is unknown; backbone.price=[PROMPT,COMPLETION] sets it (US$ "
                "per million tokens)."
            )
            continue
        cached = "" if price.cached is None else f", {price.cached:g} for cached prompts"
        dated = f", {price.date}" if price.date else ""
        most = price.longest_prompt
        up_to = "" if most is None else f", prompts of up to {most:,} tokens"
        yield (
            f"{model}: US$ {price.prompt:g} per million prompt tokens{cached}, "
            f"{price.completion:g} for completions{up_to} ({price.source}{dated})."
        )


def _basis(rows: Sequence[Row], transport: Transport) -> Iterator[str]:
    asked = [r for r in rows if r.model and r.left and r.effort and r.effort.calls]
    rehearsed = [r for r in asked if r.effort and r.effort.rehearsed]
    if rehearsed:
        yield (
            "rehearsal: rehearsed without a model, 4 characters a token; a model may take up to "
            "max_steps and writes more than rules do."
        )
    if any(r.effort and r.effort.most for r in asked):
        answers = (
            "answers as long as max_tokens"
            if all(r.effort and r.effort.most and r.effort.most.bounded for r in asked)
            else "answers as long as the longest seen (no bound: set method.max_tokens)"
        )
        yield (
            "at most: each agent takes max_steps, each step adds the most that one has added, "
            f"{answers}, no discount for cached prompts."
        )
    if any(r.seconds is None for r in rows if r.folder):
        yield (
            "minutes: unknown until a run of this model has told its speed; meanwhile calls x "
            f"seconds a call / {transport.concurrency} in flight (concurrency) / 60."
        )


def _budgets(runs: Sequence[Row], transport: Transport, sweep_budget: Limits) -> Iterator[str]:
    for row in runs:
        if row.left:
            yield from _too_small(f"{row.name}: budget", transport.budget, [row])
        limited = (transport.budget.cost, sweep_budget.cost) != (None, None)
        if limited and row.model and row.left and row.cost is None:
            yield f"{row.name}: a budget in money cannot be kept, as the price is unknown."
    if any(row.left for row in runs):
        yield from _too_small("sweep_budget", sweep_budget, runs)


def _too_small(name: str, limits: Limits, runs: Sequence[Row]) -> Iterator[str]:
    """Unknown amounts are left out: what is known may be too much by itself."""
    efforts = [(row, row.effort) for row in runs if row.effort is not None]
    spent = [row.spent for row in runs]
    expected = (
        (
            "calls",
            limits.calls,
            sum(row.left * effort.calls for row, effort in efforts),
            sum(used.calls for used in spent),
            count,
        ),
        (
            "tokens",
            limits.tokens,
            sum(row.left * (effort.prompt + effort.completion) for row, effort in efforts),
            sum(used.prompt_tokens + used.completion_tokens for used in spent),
            tokens,
        ),
        (
            "cost",
            limits.cost,
            sum(row.left * (row.cost or 0.0) for row in runs),
            sum(used.cost or 0.0 for used in spent),
            dollars,
        ),
    )
    for kind, limit, more, before, write in expected:
        if limit is not None and before + more > limit:
            yield (
                f"{name}.{kind}={limit} will end it early (spent {write(before)}, expected "
                f"{write(more)} more)."
            )
