"""The records of a bundle as lines of JSON: questions, nodes and journal, without any text.

Reading is strict, as a bundle may come from anyone: every field is checked, line by line, so that
a hostile file ends in a ValueError before it can grow.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, replace
from typing import TypeVar

from ark.protocols import Graph
from ark.queries import wording_of
from ark.queries.names import WORDINGS
from ark.records import MAX_RANKED, AgentLine, Call, Json, Mention, Outcome, Query, Usage
from ark.report.bundle_private import without_paths
from ark.run.identity import canonical_bytes
from ark.run.journal import Entries
from ark.text import clip

MOST_TEXT = 4_096  # characters of an id, a type or a tag
MOST_ITEMS = 2_000_000  # answers of one question
MOST_CALLS = 100_000  # of one agent
_ERROR = re.compile(r"\w{1,80}(?:Error|Exception|Timeout)(?=:|$)", re.ASCII)
_T = TypeVar("_T")
_CALL = tuple(f.name for f in fields(Call))
_USAGE = tuple(f.name for f in fields(Usage))
IsNode = Callable[[str], bool]


# -- writing -----------------------------------------------------------------------------------


def text_sha256(text: str) -> str:
    """What stands in a bundle in place of a question's text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def question_row(query: Query, is_node: IsNode) -> dict[str, Json]:
    """A question without its text. A cluster named by anything but an id is hashed."""
    cluster = query.cluster
    if cluster and cluster != query.id and not is_node(cluster):
        cluster = f"cluster-{text_sha256(cluster)[:16]}"
    return {
        "id": query.id,
        "text_sha256": text_sha256(query.text),
        "answer_ids": list(query.answer_ids),
        "split": query.split,
        "cluster": cluster,
        "hops": query.hops,
        "answer_type": query.answer_type,
        "textual": query.textual,
        "wording": wording_of(query),
    }


def node_rows(graph: Graph, ids: Iterable[str]) -> list[Json]:
    """``[id, type, id of the first equal node or null]``, in the order of the graph.

    The types and equals of nodes that lists and answers name: what scoring asks of a graph.
    """
    rows = {graph.index(i) for i in ids}
    rows |= {graph.canonical(i) for i in rows}
    out: list[Json] = []
    for row in sorted(rows):
        first = graph.canonical(row)
        out.append([graph.id(row), graph.type(row), None if first == row else graph.id(first)])
    return out


def journal_rows(entries: Entries, queries: Iterable[Query]) -> list[Json]:
    """The last line of every agent and of every question, in stored order of the questions.

    Errors are cut to the name of their class: their texts may hold anything.
    """
    of_query: dict[str, list[AgentLine]] = {}
    for (query, _), line in sorted(entries.agents.items()):
        of_query.setdefault(query, []).append(line)
    out: list[Json] = []
    for query in (q.id for q in queries):
        out += [_agent_row(line) for line in of_query.get(query, ())]
        if query in entries.outcomes:
            outcome = entries.outcomes[query]
            out.append({"kind": "query", **asdict(outcome), "error": _error(outcome.error)})
    return out


def _agent_row(line: AgentLine) -> dict[str, Json]:
    kept = replace(
        line,
        trajectory=None,
        error=_error(line.error),
        model=without_paths(clip(line.model, 120)),
        calls=(),
    )
    # asdict would copy every call first.
    calls = [[getattr(call, name) for name in _CALL] for call in line.calls]
    return {"kind": "agent", **asdict(kept), "calls": calls}


def _error(text: str | None) -> str | None:
    if text is None:
        return None
    found = _ERROR.match(text)
    return found.group() if found else "error"


def lines(rows: Iterable[Json]) -> bytes:
    """One canonical JSON a line."""
    return b"".join(canonical_bytes(row) + b"\n" for row in rows)


# -- reading -----------------------------------------------------------------------------------


def strict_json(data: bytes) -> Json:
    """JSON of a stranger: no repeated keys, no NaN. Raises ValueError (RecursionError included)."""
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return out


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number of JSON")


def parse_lines(name: str, data: bytes, parse: Callable[[Json], _T]) -> list[_T]:
    """Each line of a member. Raises ValueError that names member and line."""
    out = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line:
            try:
                out.append(parse(strict_json(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{name}, line {number}: {error}") from None
    return out


def question(row: Json) -> Query:
    """The inverse of ``question_row``; ``text`` is the text's sha256."""
    hops, textual, wording = row["hops"], row["textual"], row["wording"]
    if not (hops is None or type(hops) is int) or not (textual is None or type(textual) is bool):
        raise ValueError("hops or textual is of the wrong type")
    if wording is not None and wording not in WORDINGS:
        raise ValueError("wording is unknown")
    return Query(
        id=_text(row["id"]),
        text=_text(row["text_sha256"]),
        answer_ids=_texts(row["answer_ids"], MOST_ITEMS),
        split=_text(row["split"]),
        cluster=_text(row["cluster"]),
        hops=hops,
        textual=textual,
        answer_type=None if row["answer_type"] is None else _text(row["answer_type"]),
        mentions=() if wording is None else (Mention("", "", wording),),
    )


def node(row: Json) -> tuple[str, str, str | None]:
    """The inverse of a row of ``node_rows``."""
    node_id, node_type, first = row
    return _text(node_id), _text(node_type), None if first is None else _text(first)


def journal_line(row: Json) -> AgentLine | Outcome:
    """An agent's or a question's line."""
    kept = dict(row)
    kind = kept.pop("kind")
    _text(kept["query"])
    if kept["status"] not in ("ok", "limit", "failed"):
        raise ValueError("status is unknown")
    _number(kept["seconds"])
    if not (kept["error"] is None or isinstance(kept["error"], str)):
        raise ValueError("error is no text")
    if kind == "query":
        kept["lists"] = tuple(_texts(one, MAX_RANKED) for one in _list(kept["lists"], 10_000))
        kept["usage"] = _usage(kept["usage"])
        return Outcome(**kept)
    if kind != "agent" or kept["trajectory"] is not None:
        raise ValueError("neither an agent's line nor a question's, or with a trajectory")
    kept["nodes"] = _texts(kept["nodes"], MAX_RANKED)
    if len(set(kept["nodes"])) != len(kept["nodes"]):
        raise ValueError("a node stands twice in one list")
    kept["picked_at"] = tuple(_count(n) for n in _list(kept["picked_at"], MAX_RANKED))
    if kept["answers"] is not None and _count(kept["answers"]) > len(kept["nodes"]):
        raise ValueError("more answers than nodes")
    kept["usage"] = {_text(tag): _usage(used) for tag, used in kept["usage"].items()}
    kept["calls"] = tuple(_call(call) for call in _list(kept["calls"], MOST_CALLS))
    for name in ("agent", "steps"):
        _count(kept[name])
    _text(kept["model"])
    return AgentLine(**kept)


def _usage(row: Mapping[str, Json]) -> Usage:
    made = Usage(**row)
    _check_counts(made, ("cost",))
    return made


def _call(row: Json) -> Call:
    made = Call(*_list(row, len(_CALL)))
    _text(made.tag)
    _check_counts(made, ("cost", "seconds"))
    return made


def _check_counts(made: Usage | Call, numbers: tuple[str, ...]) -> None:
    """Whole numbers, but for ``numbers``, of which a cost may be unknown."""
    for name in _CALL if isinstance(made, Call) else _USAGE:
        value = getattr(made, name)
        if name in numbers:
            _number(0.0 if name == "cost" and value is None else value)
        elif name != "tag":
            _count(value)


def _list(value: Json, most: int) -> list[Json]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"not a list of at most {most}")
    return value


def _texts(value: Json, most: int) -> tuple[str, ...]:
    return tuple(_text(each) for each in _list(value, most))


def _text(value: Json) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT:
        raise ValueError(f"not a text of at most {MOST_TEXT} characters")
    return value


def _count(value: Json) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError("not a count")
    return value


def _number(value: Json) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
        raise ValueError("not a number >= 0")
    return float(value)
