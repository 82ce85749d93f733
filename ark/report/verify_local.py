"""What can be checked of a bundle only where its graph is built: node types, texts, backfill."""

from __future__ import annotations

import json
from pathlib import Path

from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.queries import load_queries, questions_for, questions_hash, select
from ark.queries.cache import questions_folder
from ark.records import Query
from ark.report import bundle_archive as names
from ark.report.bundle_backfill import backfill_lists
from ark.report.bundle_records import text_sha256
from ark.report.bundle_replay import Contents
from ark.report.verify_difference import DifferenceError, same
from ark.report.verify_settings import check_candidates
from ark.run.session import CANDIDATE_TYPES


def local_graph(content: str) -> KnowledgeGraph | None:
    """The graph of this content that is built here, whatever settings it was built with."""
    for manifest in sorted((data_root() / "graphs").glob("*/manifest.json")):
        try:
            known = json.loads(manifest.read_text(encoding="utf-8")).get("content_hash")
        except (OSError, ValueError, AttributeError):
            continue
        if known == content:
            return KnowledgeGraph.open(manifest.parent)
    return None


def check_local(
    contents: Contents, questions: Path | None, passed: list[str], notes: list[str]
) -> None:
    """Compare with the graph and the questions that are here, if they are."""
    content = contents.run["graph"]["content_hash"]
    graph = local_graph(content)
    if graph is None:
        notes.append(f"graph {content[:12]} is not here: not checked, nor its questions")
        note_backfill(contents, notes)
        return
    _check_nodes(contents, graph)
    _check_candidates(contents, graph)
    passed.append(f"graph {content[:12]} is here: {len(contents.graph)} nodes have its types")
    asked = _questions(contents, graph, questions)
    if asked is None:
        notes.append("texts of the questions are not here: not checked (--questions FILE)")
        note_backfill(contents, notes)
        return
    _check_questions(contents, asked)
    passed.append(f"{len(asked)} questions have the hash of {names.RUN}")
    _check_backfill(contents, asked, graph, passed, notes)


def note_backfill(contents: Contents, notes: list[str]) -> None:
    """Say that the search was not asked, where a reading depends on it."""
    for cell_id in contents.backfill:
        file = names.in_reading(cell_id, names.BACKFILL)
        notes.append(f"{file}: taken as it is, not what BM25 finds here")


def _check_nodes(contents: Contents, graph: KnowledgeGraph) -> None:
    table = contents.graph
    for i in range(len(table)):
        node = table.id(i)
        try:
            row = graph.index(node)
        except KeyError:
            raise DifferenceError(names.NODES, f"node {node}", "of the graph", "none") from None
        same(names.NODES, f"node {node}, type", graph.type(row), table.type(i))
        first = graph.id(graph.canonical(row))
        same(names.NODES, f"node {node}, equal", first, table.id(table.canonical(i)))
    for name, count in (("nodes", graph.n_nodes), ("edges", graph.n_edges)):
        same(names.ABOUT, f"graph.{name}", count, contents.about["graph"][name])


def _check_candidates(contents: Contents, graph: KnowledgeGraph) -> None:
    """Whether candidate types are the graph's own, which only the graph can say."""
    own = graph.manifest.get("notes", {}).get("candidate_types")
    for cell_id, data in contents.results.items():
        cell = data["cell"]
        usual = CANDIDATE_TYPES.get(cell["graph"], own)
        if "forced" in cell:  # older versions did not know of them
            found = dict(cell["changed"])
            file = names.in_reading(cell_id, names.RESULT)
            check_candidates(file, cell, found, usual, sure=True)


def _questions(contents: Contents, graph: KnowledgeGraph, file: Path | None) -> list[Query] | None:
    """The questions with their texts: a given file, or those composed here; None without any."""
    source, split = contents.run["graph"]["source"], contents.run["questions"]["split"]
    if file is not None:
        every = load_queries(file, graph)
    else:
        try:
            folder = questions_folder(graph, source, data_root())
        except UserError:
            return None  # no questions are composed on this graph
        if not folder.exists():
            return None
        every = questions_for(graph, source, data_root())
    # The file of a run folder holds the chosen ones already, whatever split they are stored as.
    if [q.id for q in every] == [q.id for q in contents.queries]:
        return every
    return select(every, split)[: len(contents.queries)]


def _check_questions(contents: Contents, asked: list[Query]) -> None:
    file = names.QUESTIONS
    same(file, "number of questions", len(asked), len(contents.queries))
    for query, stored in zip(asked, contents.queries, strict=True):
        same(file, "question id", query.id, stored.id)
        same(file, f"query {query.id}, text_sha256", text_sha256(query.text), stored.text)
        for name in ("answer_ids", "hops", "textual", "answer_type"):
            place = f"query {query.id}, {name}"
            same(file, place, getattr(query, name), getattr(stored, name))
    found = contents.run["questions"]["sha256"]
    same(names.RUN, "questions.sha256", questions_hash(asked), found)


def _check_backfill(
    contents: Contents,
    asked: list[Query],
    graph: KnowledgeGraph,
    passed: list[str],
    notes: list[str],
) -> None:
    for cell_id, lists in contents.backfill.items():
        file = names.in_reading(cell_id, names.BACKFILL)
        try:
            made = backfill_lists(contents.replay(cell_id), asked, graph)
        except UserError as error:
            notes.append(f"{file}: not checked ({error})")
            continue
        for query in [*made, *(q for q in lists if q not in made)]:
            same(file, f"query {query}", list(made.get(query, ())), list(lists.get(query, ())))
        passed.append(f"{file}: {len(made)} lists are what BM25 finds")
