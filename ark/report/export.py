"""Rankings of a finished run in the forms of others: TREC run and qrels, STaRK's leaderboard."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable

from ark.errors import UserError
from ark.records import MAX_RANKED
from ark.report.finished import Finished

FORMATS = ("trec", "qrels", "leaderboard")


def export(run: Finished, form: str, tag: str | None = None) -> str:
    """The text of a file: ``trec_run``, ``qrels`` or ``leaderboard``."""
    if form == "trec":
        return trec_run(run, tag)
    return qrels(run) if form == "qrels" else leaderboard(run)


def trec_run(run: Finished, tag: str | None = None) -> str:
    """``question Q0 node rank score tag``, at most 100 a question, ranks from 1.

    Scores are 101 - rank: positive and strictly falling, so that no tool breaks ties in them.
    Failed questions have no line. Raises UserError for an id with white space in it.
    """
    cell = run.data["cell"]
    tag = _word(tag or re.sub(r"[^A-Za-z0-9]+", "-", cell["method"]).strip("-") or "ark")
    lines = []
    for scored in run.scored(MAX_RANKED):
        query = _word(scored.query.id)
        for rank, node in enumerate(scored.ranked, start=1):
            lines.append(f"{query} Q0 {_word(node)} {rank} {MAX_RANKED + 1 - rank} {tag}\n")
    return "".join(lines)


def qrels(run: Finished) -> str:
    """``question 0 node 1``: each distinct answer that is a candidate, as measures count them."""
    graph = run.graph
    return "".join(
        f"{_word(query.id)} 0 {_word(graph.id(row))} 1\n"
        for query in run.queries
        for row in run.gold(query)
    )


def leaderboard(run: Finished) -> str:
    """CSV with the columns query_id and pred_rank: the best 100, every question of the split.

    Node ids, distinct and candidates only, as whole numbers where all of them are; a failed
    question has an empty list. STaRK's node ids are the official ones, so this is its id space.
    """
    rows = run.scored(MAX_RANKED)
    nodes = _numbers(node for scored in rows for node in scored.ranked)
    queries = _numbers(scored.query.id for scored in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query_id", "pred_rank"])
    for scored in rows:
        ranked = [int(node) if nodes else node for node in scored.ranked]
        query = int(scored.query.id) if queries else scored.query.id
        writer.writerow([query, json.dumps(ranked)])
    return out.getvalue()


def _numbers(ids: Iterable[str]) -> bool:
    """Whether all are whole numbers in their usual spelling: 7, not 007."""
    return all(re.fullmatch(r"0|[1-9][0-9]{0,17}", i, re.ASCII) for i in ids)


def _word(text: str) -> str:
    if not text or text.split() != [text]:
        raise UserError(f"the id {text!r} cannot stand in a TREC file: it is empty or has a space")
    return text
