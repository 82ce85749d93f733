"""Checks a bundle: everything that follows from the journal is computed again and compared.

Hashes, ids, sums of calls, fused lists, measures, intervals, TREC files and the card, by the
functions of the runner. No key, no network; the graph is looked at where it is built here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from ark.errors import UserError
from ark.records import AgentLine, Json, Outcome, Usage
from ark.report import bundle_archive as names
from ark.report import bundle_records as records
from ark.report.bundle_card import card
from ark.report.bundle_replay import FORMAT, Contents, load
from ark.report.verify_difference import DifferenceError, same, same_json, same_lines, same_table
from ark.report.verify_labels import check_labels
from ark.report.verify_local import check_local, note_backfill
from ark.run.identity import digest
from ark.run.journal import summed
from ark.text import clip

MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RecursionError,
    UserError,
)
COUNTS = frozenset(f.name for f in fields(Usage)) - {"cost"}
UNCHECKED = (
    "timings",
    "environment",
    "lost",
    "cache",
    "embeddings",
    "requests",
)  # of result.json: nothing of the journal


@dataclass
class Report:
    """What a check found: lines of what is right, notes of what was not looked at, differences."""

    passed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def verify(path: Path, *, graph: str = "auto", questions: Path | None = None) -> Report:
    """Check a bundle file.

    ``graph="auto"`` also compares with the graph of the same content where one is built here,
    ``none`` does not look. ``questions`` is a file with the texts of the questions (the run's
    queries.jsonl, or the file it was made with). Raises UserError for a file that is no bundle.
    """
    members = names.read_archive(Path(path))
    report = Report()
    try:
        _check_sums(members, report)
        contents = verify_members(members, report)
        if graph == "none":
            report.notes.append("graph: not asked for, not checked")
            note_backfill(contents, report.notes)
        else:
            check_local(contents, questions, report.passed, report.notes)
    except DifferenceError as difference:
        report.differences.append(str(difference))
    except MALFORMED as error:
        if not report.differences:
            reason = clip(str(error), 300) or type(error).__name__
            raise UserError(f"bundle {path} is malformed: {reason}") from None
    return report


def verify_members(members: Mapping[str, bytes], report: Report | None = None) -> Contents:
    """All checks that need nothing but the members.

    Raises DifferenceError at the first that fails, and one of ``MALFORMED`` for broken members.
    """
    report = report or Report()
    contents = load(members)
    _check_run(members, contents)
    report.passed.append(f"run id {contents.about['run_id']} is the hash of {names.RUN}")
    report.passed.append(_check_journal(contents))
    for cell_id in contents.results:
        _check_reading(members, contents, cell_id)
        found = contents.results[cell_id]
        report.passed.append(
            f"reading {cell_id}: {found['counts']['queries']} questions, lists, "
            f"{len(found['measures'])} measures with intervals, usage and cost follow"
        )
    same_lines(names.CARD, card(contents), members[names.CARD])
    report.passed.append(f"{names.CARD} says the same")
    return contents


def _check_sums(members: Mapping[str, bytes], report: Report) -> None:
    """A wrong hash is noted first; the checks behind it say what it means."""
    try:
        same_lines(names.SUMS, names.sums(members), members[names.SUMS])
        report.passed.append(f"{len(members) - 1} files have the hashes of {names.SUMS}")
    except DifferenceError as difference:
        report.differences.append(str(difference))


def _check_run(members: Mapping[str, bytes], contents: Contents) -> None:
    about = contents.about
    if about["format"] != FORMAT:
        raise ValueError(f"format {about['format']!r}: this version reads {FORMAT}")
    same_lines(names.RUN, records.lines([contents.run]), members[names.RUN])
    same(names.ABOUT, "run_id", digest(contents.run), about["run_id"])
    content = contents.run["graph"]["content_hash"]
    same(names.ABOUT, "graph.content_hash", content, about["graph"]["content_hash"])
    if not contents.results:
        raise ValueError("no reading")


def _check_journal(contents: Contents) -> str:
    """Every line belongs to a question; usage is the sum of calls; question lines of agents'."""
    asked = {q.id for q in contents.queries}
    agents, calls, kept = contents.entries.agents, 0, True
    for (query, agent), line in agents.items():
        place = f"query {query}, agent {agent}"
        if query not in asked:
            raise DifferenceError(
                names.JOURNAL, place, f"a question of {names.QUESTIONS}", "another"
            )
        kept &= bool(line.calls) or not sum(u.calls for u in line.usage.values())
        calls += _check_calls(line, place)
        _check_nodes(contents, line.nodes, place)
    for query, outcome in contents.entries.outcomes.items():
        if query not in asked:
            raise DifferenceError(
                names.JOURNAL, f"query {query}", f"a question of {names.QUESTIONS}", "another"
            )
        _check_outcome(contents, outcome)
    single = "usage is the sum of single calls" if kept else "single calls were not kept"
    return f"journal: {len(agents)} agents, {calls} calls; {single}"


def _check_calls(line: AgentLine, place: str) -> int:
    """Per tag: calls, tokens and cost. Steps may add invalid answers that no call knows of."""
    if not line.calls:
        return sum(u.calls for u in line.usage.values())
    by_tag: dict[str, Usage] = {}
    for call in line.calls:
        by_tag[call.tag] = by_tag.get(call.tag, Usage()) + call.usage
    for tag in [*by_tag, *(tag for tag in line.usage if tag not in by_tag)]:
        expected, found = by_tag.get(tag, Usage()), line.usage.get(tag, Usage())
        for name in sorted(COUNTS - {"invalid", "fallbacks"}):
            field_ = f"{place}, usage of {tag}, {name}"
            same(names.JOURNAL, field_, getattr(expected, name), getattr(found, name))
        _same_cost(f"{place}, usage of {tag}, cost", expected.cost, found.cost)
    return len(line.calls)


def _check_nodes(contents: Contents, nodes: tuple[str, ...], place: str) -> None:
    for rank, node in enumerate(nodes, start=1):
        try:
            contents.graph.index(node)
        except KeyError:
            where = f"{place}, rank {rank}"
            raise DifferenceError(names.JOURNAL, where, f"a node of {names.NODES}", node) from None


def _check_outcome(contents: Contents, outcome: Outcome) -> None:
    """A question's line says again what its agents' lines say."""
    query = outcome.query
    found = [contents.entries.agents.get((query, i)) for i in range(len(outcome.lists))]
    lines = [line for line in found if line is not None]
    same(names.JOURNAL, f"query {query}, agents", len(outcome.lists), len(lines))
    for line, stored in zip(lines, outcome.lists, strict=True):
        place = f"query {query}, agent {line.agent}"
        same(names.JOURNAL, f"{place}, length of its list", len(stored), len(line.nodes))
        for rank, (expected, node) in enumerate(zip(stored, line.nodes, strict=True), start=1):
            same(names.JOURNAL, f"{place}, rank {rank}", expected, node)
    statuses = {line.status for line in lines}
    worst = next((s for s in ("failed", "limit") if s in statuses), "ok")
    same(names.JOURNAL, f"query {query}, status", worst, outcome.status)
    total = summed([used for line in lines for used in line.usage.values()])
    for name in sorted(COUNTS):
        expected, stands = getattr(total, name), getattr(outcome.usage, name)
        same(names.JOURNAL, f"query {query}, usage, {name}", expected, stands)
    _same_cost(f"query {query}, usage, cost", total.cost, outcome.usage.cost)


def _same_cost(place: str, expected: float | None, found: float | None) -> None:
    """Equal but for the order of the sum."""
    if expected is None or found is None:
        same(names.JOURNAL, place, expected, found)
    elif not math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-15):
        raise DifferenceError(names.JOURNAL, place, expected, found)


def _check_reading(members: Mapping[str, bytes], contents: Contents, cell_id: str) -> None:
    file = names.in_reading(cell_id, names.RESULT)
    stored = contents.results[cell_id]
    cell = stored["cell"]
    run_id = digest(contents.run)
    same_json(file, dict(contents.run), cell["identity"], "cell.identity")
    same(file, "cell.run_id", run_id, cell["run_id"])
    same(file, "cell.cell_id", digest({"run": run_id, "reading": cell["reading"]}), cell_id)
    check_labels(file, contents, cell)
    replay = contents.replay(cell_id)
    files = replay.files()
    table = names.in_reading(cell_id, names.PER_QUERY)
    same_table(table, files.pop(names.PER_QUERY), members[table])
    made: dict[str, Json] = json.loads(json.dumps(replay.result()))
    for key, value in made.items():
        same_json(file, value, stored.get(key, "nothing"), key)
    for key in stored:
        if key not in made and key not in UNCHECKED:
            raise DifferenceError(file, key, "nothing", stored[key])
    for name in (names.TREC, names.QRELS):
        place = names.in_reading(cell_id, name)
        same_lines(place, files.get(name, b""), members.get(place, b""))
