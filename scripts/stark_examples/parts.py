"""What the three invented graphs share.

Nothing here is taken from the benchmark. A graph is a dict with ``node_info`` (a list of records),
``types`` (the node type of each), ``node_type_dict``, ``edge_type_dict`` and ``edges`` as (source,
target, relation). Fields that hold ``repeated(...)`` are written out by ``expanded``: they keep
the recorded file small.
"""

from __future__ import annotations

from typing import Any

Graph = dict[str, Any]
NAN = float("nan")


def repeated(text: str, times: int) -> dict[str, list[Any]]:
    """Stands for ``text * times``."""
    return {"$repeat": [text, times]}


def expanded(value: Any) -> Any:
    """``value`` with every ``repeated`` part written out."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {key: expanded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [expanded(part) for part in value]
    return value
