"""The relations that ``add_rel=true`` appends to documents, from columns of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ark.graph.sources.stark.documents_common import Neighbor
from ark.graph.sources.stark.documents_mag import CITED_BY
from ark.graph.sources.stark.names import Benchmark
from ark.graph.sources.stark.official_view import Edges, loaded_edges

_CITES, _AFFILIATED = "paper___cites___paper", "author___affiliated_with___institution"

# Types whose documents have relations, where not all have: none are gathered for the others.
_PRINTED = {"mag": ("paper",), "amazon": ("product",)}


class Relations:
    """What a node's document says of its neighbours.

    With ``quirks=official`` the neighbours are those that the package finds (relations of
    parallel edges averaged, directions lost); ``fixed`` takes the edges as they are stored, each
    in both directions, with citing and cited papers apart.
    """

    def __init__(
        self,
        bench: Benchmark,
        documents: ModuleType,
        labels: Sequence[str],
        types: Sequence[str],
        relations: tuple[str, ...],
        edges: Edges,
        quirks: str,
    ) -> None:
        self._documents, self._labels, self._types, self._quirks = documents, labels, types, quirks
        # Each relation has a number for the way it is stored and the next one for the way back.
        self._names = [name for r in relations for name in (r, CITED_BY if r == _CITES else r)]
        self._authors = bench.name == "mag"
        self._printed = _PRINTED.get(bench.name, bench.node_types)
        self._known: dict[int, Neighbor] = {}
        n, width = len(labels), len(self._names)
        if n**2 * width >= 2**63:
            raise ValueError(f"{n} nodes with {len(relations)} relations: too many to be numbered")
        keys = _keys(relations, edges, n, fixed=quirks == "fixed")
        self._keys, self._n, self._width = keys, n, width
        self._starts = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * (width * n))

    def text(self, i: int) -> str:
        """What is appended to the text of node ``i``; may be empty."""
        if self._types[i] not in self._printed:
            return ""
        known = self._known
        near = {
            name: [known.get(j) or self._neighbor(j) for j in nodes]
            for name, nodes in self._near(i).items()
        }
        text: str = self._documents.relations_text(near, self._types[i], quirks=self._quirks)
        return text

    def _near(self, i: int) -> Mapping[str, list[int]]:
        """Neighbours by relation: relations in their order, nodes ascending."""
        keys = self._keys[self._starts[i] : self._starts[i + 1]] - i * self._width * self._n
        numbers = keys // self._n
        nodes = (keys - numbers * self._n).tolist()
        first = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()] if nodes else []
        spans = zip(first, [*first[1:], len(nodes)], strict=True) if nodes else ()
        return {self._names[int(numbers[at])]: nodes[at:stop] for at, stop in spans}

    def _neighbor(self, j: int) -> Neighbor:
        places: list[int] = []
        if self._authors and self._types[j] == "author":
            places = self._near(j).get(_AFFILIATED, [])
        labels = tuple(self._labels[p] for p in places if self._types[p] == "institution")
        made = self._known[j] = Neighbor(self._types[j], self._labels[j], labels)
        return made


def _keys(relations: tuple[str, ...], edges: Edges, n: int, *, fixed: bool) -> NDArray[np.int64]:
    """(node, relation number, neighbour) as one number each, sorted, without repetition."""
    width = 2 * len(relations)
    if not fixed:
        source, relation, target = loaded_edges(*edges, n, len(relations))
        return np.unique((source.astype(np.int64) * width + 2 * relation) * n + target)
    source, relation, target = (column.astype(np.int64) for column in edges)
    back = np.array([2 * r + (name == _CITES) for r, name in enumerate(relations)])
    there = (source * width + 2 * relation) * n + target
    return np.unique(np.concatenate([there, (target * width + back[relation]) * n + source]))
