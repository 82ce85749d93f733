"""``result.json``: what a reading of a run says, and under which stamp.

``cell``, ``counts``, ``measures``, ``usage`` and ``strata`` are a pure function of the journal;
``timings`` and ``environment`` are not.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ark.queries import wording_of
from ark.records import Json, Query, Usage
from ark.run.identity import Identity
from ark.run.journal import Entries, summed
from ark.run.readings import Scored, within
from ark.run.spec import Reading
from ark.scoring import DEFAULT_MEASURES, Estimate, summarise

STRATA: Mapping[str, Callable[[Query], str | None]] = {
    "hops": lambda q: None if q.hops is None else str(q.hops),
    "textual": lambda q: None if q.textual is None else ("yes" if q.textual else "no"),
    "answer_type": lambda q: q.answer_type,
    "wording": wording_of,
}
SPREAD = ("hit@1", "hit@5", "recall@20", "mrr")  # measures whose single agents are shown
MOST_STRATA = 20  # of one kind; more would be a list of singletons


def result(
    identity: Identity, labels: Mapping[str, Json], reading: Reading, scored: Sequence[Scored]
) -> dict[str, Json]:
    """The parts that are a pure function of the journal."""
    usage = [used for s in scored for used in s.usage.values()]
    tags = sorted({tag for s in scored for tag in s.usage})
    by_tag = {tag: summed([s.usage[tag] for s in scored if tag in s.usage]) for tag in tags}
    averaged = reading.lists > reading.agents
    orders = math.perm(reading.lists, reading.agents) if averaged else 1
    share = reading.agents / reading.lists  # of the pool's calls: what so many agents need
    return {
        "cell": {
            "run_id": identity.run_id,
            "cell_id": identity.cell_id,
            **labels,
            "identity": dict(identity.run),
            "reading": dict(identity.reading),
        },
        "counts": {**_counts(scored), "orders": orders},
        "measures": _measures(scored),
        "single_agents": _single_agents(scored),
        "usage": {
            **_usage(summed(usage), share),
            "by_tag": {tag: _usage(u, share) for tag, u in by_tag.items()},
        },
        "strata": _strata(scored),
    }


def _counts(scored: Sequence[Scored]) -> dict[str, Json]:
    out: dict[str, Json] = {"queries": len(scored)}
    for status in ("ok", "limit", "failed", "missing"):
        out[status] = sum(s.status == status for s in scored)
    differ = [s.agents_differ for s in scored if s.agents_differ is not None]
    out["partly_failed"] = sum(s.partly_failed for s in scored)
    out["agents_differ"] = sum(differ) if differ else None
    return out


def _measures(scored: Sequence[Scored]) -> dict[str, Json]:
    """Over the whole split; the mean over answered questions beside it where it differs."""
    out = _estimates(scored)
    answered = [s for s in scored if s.status in ("ok", "limit")]
    if answered and len(answered) < len(scored):
        for name, estimate in _estimates(answered).items():
            out[name]["answered_only"] = estimate
    return out


def _estimates(scored: Sequence[Scored]) -> dict[str, dict[str, Json]]:
    rows = [s.values for s in scored]
    clusters = [s.query.cluster or s.query.id for s in scored]
    estimates: dict[str, Estimate] = summarise(rows, clusters, DEFAULT_MEASURES)
    return {name: e.to_json() for name, e in estimates.items() if e.n > 0}


def _strata(scored: Sequence[Scored]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for kind, value_of in STRATA.items():
        groups: dict[str, list[Scored]] = {}
        for s in scored:
            value = value_of(s.query)
            if value is not None:
                groups.setdefault(value, []).append(s)
        if groups and len(groups) <= MOST_STRATA:
            out[kind] = {value: _estimates(groups[value]) for value in sorted(groups)}
    return out


def _single_agents(scored: Sequence[Scored]) -> dict[str, Json]:
    """Mean of each agent alone, in their order: how far one run's draws spread."""
    lists = max((len(s.singles) for s in scored), default=0)
    return {
        name: [
            round(math.fsum(s.singles[i][name] or 0.0 for s in scored) / len(scored), 10)
            for i in range(lists)
        ]
        for name in (SPREAD if lists else ())
    }


def _usage(usage: Usage, share: float) -> dict[str, Json]:
    def of(count: int) -> int | float:
        return count if share == 1.0 else round(count * share, 6)

    return {
        "calls": of(usage.calls),
        "tokens": of(usage.prompt_tokens + usage.completion_tokens),
        "prompt_tokens": of(usage.prompt_tokens),
        "completion_tokens": of(usage.completion_tokens),
        "cached_tokens": of(usage.cached_tokens),
        "reasoning_tokens": of(usage.reasoning_tokens),
        "cost": None if usage.cost is None else round(usage.cost * share, 8),
        "invalid": of(usage.invalid),
        "fallbacks": of(usage.fallbacks),
    }


def requests(scored: Sequence[Scored]) -> dict[str, Json]:
    """What depends on how a run went: further requests of calls, and calls that the cache had."""
    usage = summed([used for s in scored for used in s.usage.values()])
    return {"retries": usage.retries, "replayed": usage.replayed}


def timings(
    entries: Entries, scored: Sequence[Scored], reading: Reading, wall_seconds: float
) -> dict[str, Json]:
    """Seconds: of this process; per question, all agents added up; and of its slowest agent."""
    lines = [
        [
            within(line, reading).seconds
            for i in range(reading.lists)
            if (line := entries.agents.get((s.query.id, i))) is not None
        ]
        for s in scored
    ]
    share = reading.agents / reading.lists
    sums = sorted(share * math.fsum(seconds) for seconds in lines if seconds)
    slowest = [_expected_maximum(seconds, reading.agents) for seconds in lines if seconds]
    return {
        "wall_seconds": round(wall_seconds, 3),
        "seconds_per_query": round(math.fsum(sums) / len(sums), 6) if sums else None,
        "median_seconds_per_query": sums[len(sums) // 2] if sums else None,
        "latency_per_query": round(math.fsum(slowest) / len(slowest), 6) if slowest else None,
    }


def _expected_maximum(seconds: Sequence[float], n: int) -> float:
    """Mean over all choices of ``n`` of the largest: agents work side by side."""
    ordered, total = sorted(seconds), math.comb(len(seconds), n)
    if total == 0:
        return ordered[-1]
    return math.fsum(math.comb(i, n - 1) * s for i, s in enumerate(ordered)) / total


def per_query_csv(scored: Sequence[Scored]) -> str:
    """One row a question: id, status, each measure, the ranked ids."""
    names = [m.name for m in DEFAULT_MEASURES]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query", "status", *names, "ranked"])
    for s in scored:
        values = ["" if (v := s.values.get(n)) is None else repr(v) for n in names]
        writer.writerow([s.query.id, s.status, *values, json.dumps(list(s.ranked))])
    return out.getvalue()


def write_atomic(path: Path, text: str) -> None:
    """Write beside, fsync, rename: a reader finds the old file or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with staging.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        staging.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            staging.unlink(missing_ok=True)
        raise
