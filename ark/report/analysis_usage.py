"""Tables of steps, of what a question takes, and of answers that could not be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ark.records import AgentLine, Usage
from ark.report.analysis_load import Result, Run, cluster_of, reading_of
from ark.report.analysis_numbers import Number, Row, Table, Value, mean, quantile, share
from ark.report.analysis_tools import NO_CALLS
from ark.run.journal import summed

_COLUMNS = ("calls", "prompt tokens", "completion tokens", "cost", "seconds", "slowest agent, s")


@dataclass(frozen=True)
class Spent:
    """What one question took under a reading, in the order of ``_COLUMNS``; None: unknown."""

    cluster: str
    values: tuple[float | None, ...]


def steps_table(runs: Sequence[Run]) -> Table:
    """How many LLM calls agents made before they ended."""
    rows = []
    for run in runs:
        lines = [x for x in run.entries.agents.values() if x.status != "failed"]
        lines = [x for x in lines if x.query in run.questions]
        used = [x for x in lines if _calls(x)]
        cells: dict[str, Value] = {"agents": len(used) if used else NO_CALLS}
        if used:
            clusters = [cluster_of(run.questions[x.query]) for x in used]
            counts = [_calls(x) for x in used]
            cells["mean"] = mean(counts, clusters)
            cells["median"] = quantile(counts, 0.5)
            cells["90 %"] = quantile(counts, 0.9)
            cells["most"] = max(counts)
            cells["ended by limit, %"] = share([x.status == "limit" for x in used], clusters)
        failed = sum(x.status == "failed" for x in run.entries.agents.values())
        cells["broke off"] = failed
        rows.append(Row(run.where, run.folder.name, cells))
    note = "A step is one call of the backbone. Agents that broke off are counted, not averaged."
    return Table("steps", "Steps per agent", note, rows)


def usage_table(runs: Sequence[Run]) -> Table:
    """What a question took, summed over the agents of the reading."""
    rows = []
    for run in runs:
        for result in run.results:
            spent, left_out = spent_by_question(run, result)
            cells: dict[str, Value] = {"questions": len(spent)}
            clusters = [s.cluster for s in spent]
            for i, name in enumerate(_COLUMNS):
                cells[name] = _mean([s.values[i] for s in spent], clusters, name)
            if left_out:
                cells["left out"] = left_out
            rows.append(Row(run.where, run.folder.name, cells, reading_of(result.reading) or "-"))
        if not run.results:
            rows.append(Row(run.where, run.folder.name, {"questions": "not finished"}, "-"))
    note = (
        "Mean per question [95 %]; cost in US dollars, unknown where one price is. Seconds are "
        "summed over agents; the slowest agent is what a caller waits for who runs them at once. "
        "Left out: questions whose agents have not all ended, or whose journal cannot tell what "
        "was spent up to a step."
    )
    return Table("usage", "Tokens, cost, calls and seconds per question", note, rows, "reading")


def failure_table(runs: Sequence[Run]) -> Table:
    """Answers that broke the schema, and fallbacks that stood in, by the tag of the call."""
    rows = []
    for run in runs:
        lines = run.entries.agents.values()
        for tag in sorted({tag for line in lines for tag in line.usage}):
            usage = summed([line.usage[tag] for line in lines if tag in line.usage])
            cells: dict[str, Value] = {"calls": usage.calls or NO_CALLS}
            if usage.calls:
                cells |= _failures(usage)
            rows.append(Row(run.where, run.folder.name, cells, tag))
    note = (
        "Invalid: tool calls that broke the schema or were refused, and answers without any call. "
        "Fallback: a fixed rule answered in the model's place. All agents that have ended."
    )
    return Table("failures", "Parse failures by tag", note, rows, "tag")


def spent_by_question(run: Run, result: Result) -> tuple[list[Spent], int]:
    """One entry a question whose agents have all ended; and how many questions are left out.

    Where the reading averages over choices of ``agents`` out of a larger pool, so do sums
    (a fraction of the pool's) and the slowest agent (the expected largest of so many).
    """
    out = []
    for query, row in run.questions.items():
        lines = [run.entries.agents.get((query, agent)) for agent in range(result.pool)]
        used = [_used(line, result.steps) for line in lines if line is not None]
        values = [u for u in used if u is not None]
        if len(values) < len(lines):
            continue
        weight = result.agents / result.pool
        total = summed([usage for usage, _ in values])
        seconds = [s for _, s in values]
        cost = None if total.cost is None else total.cost * weight
        sums = (total.calls, total.prompt_tokens, total.completion_tokens)
        slowest = expected_largest(seconds, result.agents)
        spent = (*(weight * s for s in sums), cost, weight * sum(seconds), slowest)
        out.append(Spent(cluster_of(row), spent))
    return out, len(run.questions) - len(out)


def expected_largest(values: Sequence[float], k: int) -> float:
    """Mean of the largest over all choices of ``k`` of the values (k <= their number)."""
    ordered, n = sorted(values), len(values)
    return sum(math.comb(i, k - 1) * v for i, v in enumerate(ordered)) / math.comb(n, k)


def _used(line: AgentLine, steps: int | None) -> tuple[Usage, float] | None:
    """Usage and seconds of an agent's first calls; None if the journal cannot tell."""
    whole = summed(list(line.usage.values()))
    if steps is None or whole.calls <= steps:
        return whole, line.seconds
    if len(line.calls) < steps:
        return None
    kept = line.calls[:steps]
    return summed([call.usage for call in kept]), sum(call.seconds for call in kept)


def _mean(values: Sequence[float | None], clusters: Sequence[str], name: str) -> Value:
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return "unknown"
    return mean(known, clusters, "$" if name == "cost" else "")


def _calls(line: AgentLine) -> int:
    return sum(usage.calls for usage in line.usage.values())


def _failures(usage: Usage) -> dict[str, Value]:
    def rate(count: int) -> Number:
        return Number(100 * count / usage.calls, n=usage.calls)

    return {
        "invalid": usage.invalid,
        "invalid per 100": rate(usage.invalid),
        "fallbacks": usage.fallbacks,
        "fallbacks per 100": rate(usage.fallbacks),
    }
