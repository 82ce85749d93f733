"""Executes tool calls for one agent and holds its answer list. Never raises on model output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ark.agent.arguments import Arguments, BadArgumentError, as_integer
from ark.agent.observe import handle, match_of, within_budget
from ark.agent.tools import (
    ADD,
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
    A node exists for the model once a tool has shown it.
    """

    graph: Graph
    search: Relevance
    options: ToolOptions = ToolOptions()
    observation_tokens: int = 2000
    picks: dict[int, int] = field(default_factory=dict)  # node -> step
    seen: set[int] = field(default_factory=set)
    step: int = 0

    def __post_init__(self) -> None:
        self.schemas = tool_schemas(self.options)
        self._allowed = {s["function"]["name"]: parameters_of(s) for s in self.schemas}
        self._run = {
            SEARCH: self._search,
            NEIGHBORS: self._neighbors,
            ADD: self._add,
            FINISH: self._finish,
        }

    def execute(self, call: ToolCall) -> Observation:
        """Run one call; a bad one answers with what is wrong and what is near."""
        if call.name not in self._allowed:
            return Observation(f"Error: {unknown('tool', call.name, self._allowed)}.", valid=False)
        try:
            arguments = Arguments.parse(call.arguments, self._allowed[call.name])
            observation = self._run[call.name](arguments)
        except BadArgumentError as error:
            return Observation(f"Error in {call.name}: {error}.", valid=False)
        self.seen.update(observation.offered)
        if not arguments.ignored:
            return observation
        note = f"\n(ignored: {call.name} has no argument {', '.join(arguments.ignored[:5])})"
        return Observation(
            observation.text + note,
            observation.offered,
            observation.selected,
            valid=False,
            final=observation.final,
        )

    def _search(self, arguments: Arguments) -> Observation:
        query = arguments.text("query", required=True) or ""
        size = arguments.integer("size") or self.options.global_k
        hits = self.search.search(query, max(1, min(size, self.options.global_k_max)))
        total = self.search.count(query)
        if not hits:
            return Observation("No node matches any of these words. Try other or fewer words.")
        head = f"{total} nodes match, the best {len(hits)}:"
        rows = [
            (
                f"{handle(self.graph, hit.node)} | score {hit.score:.2f}",
                match_of(self.graph, hit.node, query),
            )
            for hit in hits
        ]
        text, shown = within_budget(head, rows, self.observation_tokens)
        return Observation(text, tuple(hit.node for hit in hits[:shown]))

    def _neighbors(self, arguments: Arguments) -> Observation:
        center = self._known(arguments.integer("node_index", required=True))
        query = arguments.text("query")
        node_type = arguments.choice("node_type", self.graph.node_types)
        edge_type = arguments.choice("edge_type", self.graph.relations)
        nodes = self.graph.neighbors(center, relation=edge_type, node_type=node_type)
        filters = [
            f"node_type={node_type}" if node_type else "",
            f"edge_type={edge_type}" if edge_type else "",
        ]
        given = ", ".join(f for f in filters if f)
        head = f"Neighbors of {handle(self.graph, center)}{f' with {given}' if given else ''}"
        if len(nodes) == 0:
            advice = "Drop a filter." if given else "This node has no edges."
            return Observation(f"{head}: none. {advice}")
        chosen = self._ranked(query, nodes)
        relations = self._relations(center, chosen)
        rows = [
            (
                handle(self.graph, i) + _directions(relations[i]),
                match_of(self.graph, i, query) if query else "",
            )
            for i in chosen
        ]
        cut = len(chosen) < len(nodes)
        head += f": {len(nodes)}, " + (
            f"showing {len(chosen)} of them; narrow the query or the filters for others."
            if cut
            else "all shown."
        )
        text, shown = within_budget(head, rows, self.observation_tokens)
        return Observation(text, tuple(chosen[:shown]))

    def _ranked(self, query: str | None, nodes: Ints) -> list[int]:
        if query is None:  # node order, as the authors' code does
            return [int(i) for i in nodes[: self.options.neighbor_k]]
        return [hit.node for hit in self.search.rank(query, nodes, self.options.neighbor_k)]

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

    def _add(self, arguments: Arguments) -> Observation:
        added: list[int] = []
        complaints: list[str] = []
        for item in arguments.objects("answer_nodes"):
            index = item.get("node_index") if isinstance(item, dict) else item
            try:
                node = self._known(as_integer(index, "node_index"))
            except BadArgumentError as error:
                complaints.append(str(error))
                continue
            if node not in self.picks:
                self.picks[node] = self.step
                added.append(node)
        lines = [f"Added {len(added)}; the answer list has {len(self.picks)} nodes."]
        lines += [handle(self.graph, i) for i in added]
        lines += [f"Error: {c}." for c in complaints]
        return Observation("\n".join(lines), selected=tuple(added), valid=not complaints)

    def _finish(self, _arguments: Arguments) -> Observation:
        return Observation("Finished.", final=True)

    def _known(self, index: int | None) -> int:
        if index is not None and index in self.seen:
            return index
        near = sorted(self.seen, key=lambda i: (abs(i - (index or 0)), i))[:3]
        hint = f"; the nearest shown are {', '.join(map(str, near))}" if near else ""
        raise BadArgumentError(f"no tool has shown a node {index}{hint}")


def _directions(relations: tuple[list[str], list[str]]) -> str:
    out, into = relations
    parts = []
    if out:
        parts.append(f" | out: {', '.join(out)}")
    if into:
        parts.append(f" | in: {', '.join(into)}")
    return "".join(parts)
