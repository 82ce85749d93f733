"""Packs a finished run, all its readings, into one archive that anyone can check.

In it: run.json, the journal and the questions without texts, a table of node types, result.json,
per-question values and TREC files of each reading, a card, hashes. Never: texts, names, keys,
paths. What was paid stands in the journal, call by call.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.queries.forms import from_json
from ark.records import Json, Query
from ark.report import bundle_archive as names
from ark.report import bundle_records as records
from ark.report.bundle_backfill import backfill_lists
from ark.report.bundle_card import card
from ark.report.bundle_private import refuse_secrets, scrubbed
from ark.report.bundle_replay import FORMAT, Contents, load
from ark.report.verify import MALFORMED, verify_members
from ark.report.verify_difference import DifferenceError
from ark.report.verify_local import local_graph
from ark.run.identity import digest
from ark.run.journal import read_journal

RUN_QUESTIONS = "queries.jsonl"  # of a run folder


@dataclass(frozen=True)
class Bundle:
    """A packed run: its folder, and the bytes of the zip file."""

    folder: Path
    data: bytes
    readings: int
    questions: int


def pack(run: Path) -> Bundle:
    """The bundle of a run folder, or of one reading (its folder or its result.json).

    The graph of the run must be among those built here; no call is made, and nothing is built but
    the search index of a backfilled reading. Same run, same bytes (with the same zlib).

    Raises UserError where that is no finished run, where the graph is not here, where a reading
    does not follow from the journal any more, and where a secret or a path would leave.
    """
    folder, files = _find(Path(run))
    try:
        members, contents = _members(folder, files)
        refuse_secrets(members, folder)
        verify_members(members)
    except DifferenceError as difference:
        raise UserError(
            f"{folder}: {difference}: this reading does not follow from the journal any more; run "
            "its command again, or pack another reading alone: RUN/readings/CELLID"
        ) from None
    except (OSError, *MALFORMED) as error:
        raise UserError(
            f"{folder} cannot be packed ({type(error).__name__}: {error}): run its command again"
        ) from None
    data = names.write_archive(members)
    return Bundle(folder, data, len(files), len(contents.queries))


def write_bytes(path: Path, data: bytes) -> None:
    """Write beside and rename: a reader finds the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staging = path.with_name(f".{path.name}.{os.getpid()}.new")
    staging.write_bytes(data)
    staging.replace(path)


def _find(path: Path) -> tuple[Path, list[Path]]:
    """The run's folder and its result files."""
    path = path.absolute()
    if path.is_file() and path.name == names.RESULT:
        path = path.parent
    if (path / names.RESULT).is_file() and path.parent.name == "readings":
        return path.parents[1], [path / names.RESULT]
    found = sorted(path.glob(f"readings/*/{names.RESULT}"))
    if not found or not (path / names.RUN).is_file():
        raise UserError(f"{path} is no finished run: give results/runs/NAME")
    return path, found


def _members(folder: Path, files: Sequence[Path]) -> tuple[dict[str, bytes], Contents]:
    run = json.loads((folder / names.RUN).read_text(encoding="utf-8"))
    lines = (folder / RUN_QUESTIONS).read_text(encoding="utf-8").split("\n")
    queries = [from_json(json.loads(line)) for line in lines if line.strip()]
    graph = _graph(run["graph"])
    entries = read_journal(folder)
    used = {node for query in queries for node in query.answer_ids}
    for agent in entries.agents.values():
        used.update(agent.nodes)
    members = {
        names.RUN: records.lines([run]),
        names.QUESTIONS: records.lines(records.question_row(q, _known(graph)) for q in queries),
        names.NODES: records.lines(records.node_rows(graph, used)),
        names.JOURNAL: records.lines(records.journal_rows(entries, queries)),
        names.ABOUT: _json(_about(folder, run, graph)),
    }
    for file in files:
        cell_id = file.parent.name
        stored = json.loads(file.read_text(encoding="utf-8"))
        members[names.in_reading(cell_id, names.RESULT)] = _json(scrubbed(stored))
        values = (file.parent / names.PER_QUERY).read_bytes()
        members[names.in_reading(cell_id, names.PER_QUERY)] = values
    _add_backfill(members, queries, used, graph)
    contents = load(members)
    for cell_id in contents.results:
        for name, data in contents.replay(cell_id).files().items():
            members.setdefault(names.in_reading(cell_id, name), data)
    members[names.CARD] = card(contents)
    members[names.SUMS] = names.sums(members)
    return members, contents


def _add_backfill(
    members: dict[str, bytes], queries: Sequence[Query], used: set[str], graph: KnowledgeGraph
) -> None:
    results = [json.loads(members[name]) for name in members if name.endswith(names.RESULT)]
    if not any(r["cell"]["reading"].get("backfill", "none") != "none" for r in results):
        return
    contents = load(members)
    for cell_id in contents.results:
        replay = contents.replay(cell_id)
        if replay.reading.backfill == "none":
            continue
        found = backfill_lists(replay, queries, graph)
        rows = [[query, list(nodes)] for query, nodes in found.items()]
        members[names.in_reading(cell_id, names.BACKFILL)] = records.lines(rows)
        used.update(node for nodes in found.values() for node in nodes)
    members[names.NODES] = records.lines(records.node_rows(graph, used))


def _graph(known: Mapping[str, Json]) -> KnowledgeGraph:
    graph = local_graph(known["content_hash"])
    if graph is None:
        raise UserError(
            f"the graph of this run ({known['source']}, content {known['content_hash'][:12]}) is "
            f"not under {data_root()}: run the cell again first, or set ARK_DATA"
        )
    return graph


def _known(graph: KnowledgeGraph) -> records.IsNode:
    def known(node_id: str) -> bool:
        try:
            graph.index(node_id)
        except KeyError:
            return False
        return True

    return known


def _about(folder: Path, run: Mapping[str, Json], graph: KnowledgeGraph) -> dict[str, Json]:
    facts = {
        name: str(graph.manifest.get(name) or "not stated")
        for name in ("name", "source", "version", "licence", "credit")
    }
    counts = {"nodes": graph.n_nodes, "edges": graph.n_edges}
    return {
        "format": FORMAT,
        "name": folder.name,
        "run_id": digest(run),
        "graph": scrubbed({**facts, **counts, "content_hash": graph.content_hash}),
    }


def _json(value: Json) -> bytes:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "replace")
