"""Executes tool calls for one agent and holds its answer list. Never raises on model output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ark.agent.arguments import Arguments, BadArgumentError, as_integer
from ark.agent.observe import Handles, details, match_of, row, unbarred, within_budget
from ark.agent.tools import (
    ADD,
    COMMON,
    DETAILS,
    FINISH,
    NEIGHBORS,
    SEARCH,
    ToolOptions,
    parameters_of,
    tool_schemas,
)
from ark.errors import unknown
from ark.protocols import Graph, Ints, Relevance
from ark.records import ToolCall
from ark.text import clip, one_line

MOST_HINTS = 8  # kinds of edges that a hint names
MOST_CENTERS = 10  # of a call for common neighbours


@dataclass(frozen=True)
class Observation:
    """What a call gave: the text for the model, and what the viewer and the readings need."""

    text: str
    offered: tuple[int, ...] = ()
    selected: tuple[int, ...] = ()
    valid: bool = True
    final: bool = False


@dataclass
class Toolbox:
    """The tools of one agent on one question.

    ``picks`` is the paper's ordered list R: appended to by ``add_to_answer``, first rank kept.
    ``seen`` counts how often each node was offered, in order of the first time. ``rank`` orders
    neighbours by a query; the global search is ``search``.
    """

    graph: Graph
    search: Relevance
    options: ToolOptions = ToolOptions()
    observation_tokens: int = 2000
    rank: Relevance | None = None
    handles: Handles = field(default_factory=Handles)
    picks: dict[int, int] = field(default_factory=dict)  # node -> step
    seen: dict[int, int] = field(default_factory=dict)  # node -> times offered
    first_seen: dict[int, int] = field(default_factory=dict)  # node -> step
    step: int = 0

    def __post_init__(self) -> None:
        self.schemas = tool_schemas(self.options)
        self._allowed = {s["function"]["name"]: parameters_of(s) for s in self.schemas}
        self._run = {
            SEARCH: self._search,
            NEIGHBORS: self._neighbors,
            COMMON: self._common,
            DETAILS: self._details,
            ADD: self._add,
            FINISH: self._finish,
        }

    def execute(self, call: ToolCall) -> Observation:
        """Run one call; a bad one answers with what is wrong and what is near."""
        if call.name not in self._allowed:
            wrong = unknown("tool", call.name, self._allowed)
            return Observation(one_line(f"Error: {wrong}."), valid=False)
        try:
            arguments = Arguments.parse(call.arguments, self._allowed[call.name])
            observation = self._run[call.name](arguments)
        except BadArgumentError as error:
            # It may list types and relations, which are strangers' words too.
            return Observation(one_line(f"Error in {call.name}: {error}."), valid=False)
        self.handles.show(observation.offered)
        for node in observation.offered:
            self.seen[node] = self.seen.get(node, 0) + 1
            self.first_seen.setdefault(node, self.step)
        if not arguments.ignored:
            return observation
        extra = ", ".join(clip(a, 40) for a in arguments.ignored[:5])
        note = f"\n(ignored: {call.name} has no argument {extra})"
        return replace(observation, text=observation.text + note, valid=False)

    # -- the tools ---------------------------------------------------------------------------

    def _search(self, arguments: Arguments) -> Observation:
        query = arguments.text("query", required=True) or ""
        size = max(1, min(arguments.integer("size") or self.options.global_k, self._most))
        start = (self._page(arguments) - 1) * size
        total = self.search.count(query)
        hits = self.search.search(query, min(start + size, total))[start:]
        if total == 0:
            return Observation("No node matches any of these words. Try other or fewer words.")
        if not hits:
            return Observation(f"{total} nodes match; there is no such page.")
        which = (
            f"the best {len(hits)}" if start == 0 else f"ranks {start + 1} to {start + len(hits)}"
        )
        rows = [
            (f"{self._row(h.node)} | score {h.score:.2f}", match_of(self.graph, h.node, query))
            for h in hits
        ]
        return self._listed(f"{total} nodes match, {which}:", [h.node for h in hits], rows)

    @property
    def _most(self) -> int:
        return self.options.global_k_max

    def _neighbors(self, arguments: Arguments) -> Observation:
        center = self._known(arguments.integer("node_index", required=True))
        head = f"Neighbors of {self._row(center)}"
        return self._around(arguments, [center], head)

    def _common(self, arguments: Arguments) -> Observation:
        given = [as_integer(v, "node_indices") for v in arguments.objects("node_indices")]
        centers = list(dict.fromkeys(self._known(index) for index in given))
        if not 2 <= len(centers) <= MOST_CENTERS:
            raise BadArgumentError(f"node_indices needs 2 to {MOST_CENTERS} different nodes")
        named = ", ".join(f"[{self.handles.of(c)}]" for c in centers)
        return self._around(arguments, centers, f"Common neighbors of {named}")

    def _details(self, arguments: Arguments) -> Observation:
        node = self._known(arguments.integer("node_index", required=True))
        body = details(self.graph, node, self.observation_tokens)
        return Observation(f"{self._row(node)}\n{body}", (node,))

    def _add(self, arguments: Arguments) -> Observation:
        added: list[int] = []
        complaints: list[str] = []
        for item in arguments.objects("answer_nodes"):
            index = item.get("node_index") if isinstance(item, dict) else item
            try:
                node = self._known(as_integer(index, "node_index"))
            except BadArgumentError as error:
                complaints.append(one_line(str(error)))
                continue
            if node not in self.picks:
                self.picks[node] = self.step
                added.append(node)
        lines = [f"Added {len(added)}; the answer list has {len(self.picks)} nodes."]
        lines += [self._row(i) for i in added]
        lines += [f"Error: {c}." for c in complaints]
        return Observation("\n".join(lines), selected=tuple(added), valid=not complaints)

    def _finish(self, _arguments: Arguments) -> Observation:
        return Observation("Finished.", final=True)

    # -- shared ------------------------------------------------------------------------------

    def _around(self, arguments: Arguments, centers: Sequence[int], head: str) -> Observation:
        """Nodes next to all of ``centers`` that pass the filters: ranked, one page of them."""
        query = arguments.text("query")
        several = self.options.multi_filters
        types = arguments.choices("node_type", self.graph.node_types, several=several)
        relations = arguments.choices("edge_type", self.graph.relations, several=several)
        given = [("node_type", types), ("edge_type", relations)]
        filters = ", ".join(f"{n}={clip(' or '.join(v), 200)}" for n, v in given if v)
        head += f" with {filters}" if filters else ""
        nodes = self._filtered(centers, types, relations)
        if len(nodes) == 0:
            advice = "Drop a filter." if filters else "No edges lead there."
            if filters and self.options.hints:
                advice += "".join(f" {self._edges_of(center)}" for center in centers)
            return Observation(f"{head}: none. {advice}")
        start = (self._page(arguments) - 1) * self.options.neighbor_k
        chosen, total = self._ranked(query, nodes, start)
        if total == 0:
            return Observation(
                f"{head}: none of {len(nodes)} matches the query. Drop or change it."
            )
        if not chosen:
            return Observation(f"{head}: {total}, there is no such page.")
        edges = [self._relations(center, chosen) for center in centers]
        rows = [
            (
                self._row(i) + "".join(_directions(found[i]) for found in edges[:1]),
                match_of(self.graph, i, query) if query else "",
            )
            for i in chosen
        ]
        shown = (
            "all shown."
            if len(chosen) == total
            else f"showing {len(chosen)} of them; narrow the query or the filters for others."
        )
        return self._listed(f"{head}: {total}, {shown}", chosen, rows)

    def _edges_of(self, center: int) -> str:
        """Which edges a node has, most first: what a filter could have found."""
        counts: list[tuple[int, str]] = []
        for side, edges in (
            ("out", self.graph.out_edges(center)),
            ("in", self.graph.in_edges(center)),
        ):
            numbers, sizes = np.unique(edges[1], return_counts=True)
            for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True):
                counts.append((size, f"{unbarred(self.graph.relations[number], 80)} {size} {side}"))
        counts.sort(key=lambda pair: (-pair[0], pair[1]))
        shown = ", ".join(text for _, text in counts[:MOST_HINTS]) or "none"
        return f"Edges of [{self.handles.of(center)}]: {shown}."

    def _filtered(
        self, centers: Sequence[int], types: Sequence[str], relations: Sequence[str]
    ) -> Ints:
        """Neighbours shared by all centers; several values of a filter mean any of them."""
        shared: Ints | None = None
        for center in centers:
            parts = [
                self.graph.neighbors(center, relation=relation, node_type=node_type)
                for relation in relations or (None,)
                for node_type in types or (None,)
            ]
            found = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
            shared = found if shared is None else np.intersect1d(shared, found)
        return shared if shared is not None else np.empty(0, dtype=np.int64)

    def _ranked(self, query: str | None, nodes: Ints, start: int) -> tuple[list[int], int]:
        """One page of the nodes from ``start``, and how many there are."""
        end = start + self.options.neighbor_k
        if query is None:  # node order, as the authors' code does
            return [int(i) for i in nodes[start:end]], len(nodes)
        ranked = (self.rank or self.search).rank(query, nodes, len(nodes))
        return [hit.node for hit in ranked[start:end]], len(ranked)

    def _relations(
        self, center: int, chosen: Sequence[int]
    ) -> Mapping[int, tuple[list[str], list[str]]]:
        """For each chosen neighbour the relations of edges (to it, from it), each once, sorted."""
        found: dict[int, tuple[list[str], list[str]]] = {i: ([], []) for i in chosen}
        names = self.graph.relations
        for side, edges in enumerate((self.graph.out_edges(center), self.graph.in_edges(center))):
            others, relations, _ = edges
            kept = np.isin(others, chosen)
            pairs = sorted(set(zip(others[kept].tolist(), relations[kept].tolist(), strict=True)))
            for other, relation in pairs:
                found[other][side].append(names[relation])
        return found

    def _listed(
        self, head: str, nodes: Sequence[int], rows: Sequence[tuple[str, str]]
    ) -> Observation:
        text, shown = within_budget(head, rows, self.observation_tokens)
        return Observation(text, tuple(nodes[:shown]))

    def _row(self, node: int) -> str:
        return row(self.graph, self.handles, node)

    def _page(self, arguments: Arguments) -> int:
        return max(1, arguments.integer("page") or 1)

    def _known(self, index: int | None) -> int:
        known = self.handles.known
        if index is not None and index in known:
            return known[index]
        near = sorted(known, key=lambda i: (abs(i - (index or 0)), i))[:3]
        hint = f"; the nearest shown are {', '.join(map(str, near))}" if near else ""
        raise BadArgumentError(f"no tool has shown a node {index}{hint}")


def _directions(relations: tuple[list[str], list[str]]) -> str:
    out, into = relations
    parts = []
    if out:
        parts.append(f" | out: {', '.join(unbarred(r, 80) for r in out)}")
    if into:
        parts.append(f" | in: {', '.join(unbarred(r, 80) for r in into)}")
    return "".join(parts)
