"""Questions as JSON, and the hash that names a list of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from ark.records import Json, Mention, Query

_KINDS: Mapping[str, type] = {
    "split": str,
    "cluster": str,
    "hops": int,
    "textual": bool,
    "answer_type": str,
    "program": str,
}


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces and no escapes that UTF-8 does not need."""
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def to_json(query: Query) -> dict[str, Json]:
    """All fields of a question; what is unknown is null."""
    return asdict(query)


def from_json(row: Mapping[str, Json]) -> Query:
    """The inverse of ``to_json``, also for a row that lacks optional fields.

    Raises ValueError, KeyError or TypeError with the reason.
    """
    mentions = row.get("mentions") or ()
    known: dict[str, Json] = {}
    for key, kind in _KINDS.items():
        value = row.get(key)
        if value is not None:
            if type(value) is not kind:
                raise ValueError(f"{key} is {value!r}, not of type {kind.__name__}")
            known[key] = value
    return Query(
        id=str(row["id"]),
        text=str(row["text"]),
        answer_ids=id_list(row["answer_ids"]),
        anchor_ids=id_list(row.get("anchor_ids") or []),
        mentions=tuple(Mention(**mention) for mention in mentions),
        **known,
    )


def id_list(value: Json) -> tuple[str, ...]:
    """Distinct ids in the order given; whole numbers become their digits. Raises ValueError."""
    if not isinstance(value, list | tuple):
        raise ValueError("not a list of ids")  # callers report one kind of error
    for each in value:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise ValueError(f"{each!r} is no id (a string or a whole number)")
    return tuple(dict.fromkeys(str(each) for each in value))


def questions_hash(queries: Iterable[Query]) -> str:
    """sha256 over everything that is stored about the questions, in their order."""
    digest = hashlib.sha256()
    for query in queries:
        digest.update(canonical(to_json(query)).encode("utf-8", "replace"))
        digest.update(b"\n")
    return digest.hexdigest()
