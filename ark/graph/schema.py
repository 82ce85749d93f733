"""Schema of a graph: its types, relations and signatures with counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def describe(
    node_types: tuple[str, ...],
    type_ids: NDArray[np.integer],
    relations: tuple[str, ...],
    edges: tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]],
) -> dict[str, Any]:
    """What ``schema.json`` holds.

    ``types`` and ``relations`` list names with counts in the order of their numbers;
    ``signatures`` lists (source type, relation, target type) in the order of those numbers.
    """
    source, relation, target = edges
    t, r = len(node_types), len(relations)
    triple = (type_ids[source].astype(np.int64) * r + relation) * t + type_ids[target]
    keys, counts = np.unique(triple, return_counts=True)
    return {
        "types": _counted(node_types, type_ids),
        "relations": _counted(relations, relation),
        "signatures": [
            {
                "source": node_types[int(key) // (r * t)],
                "relation": relations[int(key) // t % r],
                "target": node_types[int(key) % t],
                "count": int(count),
            }
            for key, count in zip(keys, counts, strict=True)
        ],
    }


def _counted(names: tuple[str, ...], numbers: NDArray[np.integer]) -> list[dict[str, Any]]:
    counts = np.bincount(numbers, minlength=len(names))
    return [{"name": n, "count": int(c)} for n, c in zip(names, counts, strict=True)]
