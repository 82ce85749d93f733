"""The rules for ``ark.step``: search, link names, expand, intersect, verify, select, finish.

All that the rules know stands in the conversation: the plan is made anew at every step.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ark.backbone.conversation import Conversation, Row, Seen
from ark.backbone.linking import Link, asked_type, chunks, links, rest_of
from ark.backbone.rules import Calls
from ark.records import Json, Message
from ark.text import tokens

SEARCH, NEIGHBORS = "search_in_graph", "search_in_neighborhood"
ADD, FINISH, COMMON = "add_to_answer", "finish", "common_neighbors"
WIDE, NARROW = 30, 8  # sizes of the search with the question and of those with its chunks
MOST_CHUNKS = 10
MOST_LINKS = 4
TOP = 10  # hits that say whether the question describes answers or what is near them
BRIDGES = 6  # nodes between a linked name and the answers
VERIFIED = 10  # candidates that are looked up from their own side
MOST_STEPS = 8
MOST_ANSWERS = 20
FILL_TO = 10


def ark_step(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Json]],
    _schema: Mapping[str, Json] | None,
    rng: random.Random,
) -> Calls | str:
    """The next calls of an ARK agent."""
    view = Conversation.read(messages)
    available = {t["function"]["name"]: t["function"]["parameters"]["properties"] for t in tools}
    if any(call.tool == ADD for call in view.calls) and FINISH in available:
        return [(FINISH, {"comment": "All candidates are listed."})]
    if not view.calls and SEARCH in available:
        return _searches(view.question) or [(FINISH, {"comment": "No words to look for."})]
    plan = _Plan.make(view, available, rng)
    steps = sum(m.role == "assistant" for m in messages)
    if NEIGHBORS in available and steps < MOST_STEPS:
        missing = plan.expansions()
        if missing:
            return missing
    chosen = plan.answers()
    if not chosen and FINISH in available:
        return [(FINISH, {"comment": "Nothing fits."})]
    nodes = [{"node_index": row.index, "reasoning": why} for row, why in chosen]
    calls: Calls = [(ADD, {"answer_nodes": nodes}), (FINISH, {"comment": "Done."})]
    return [(name, arguments) for name, arguments in calls if name in available]


def _searches(question: str) -> Calls:
    if not tokens(question):
        return []
    calls: Calls = [(SEARCH, {"query": question, "size": WIDE})]
    calls += [(SEARCH, {"query": c, "size": NARROW}) for c in chunks(question)[:MOST_CHUNKS]]
    return calls


def _anchors(linked: Sequence[Link], wanted: str | None) -> list[Row]:
    """One node for each linked name; of equal names one that is not what is asked for."""
    spans: dict[tuple[int, int], Row] = {}
    for link in linked:
        kept = spans.setdefault((link.start, link.end), link.row)
        if kept.type == wanted and link.row.type != wanted:
            spans[link.start, link.end] = link.row
    return list(spans.values())


def _stand_ins(hits: Sequence[Row], wanted: str | None) -> list[Row]:
    """Nothing is named: if the best hits are of another type than asked, answers are near them."""
    others = [row for row in hits[:TOP] if wanted is not None and row.type != wanted]
    leading = bool(others) and others[0] == hits[0] and 2 * len(others) > min(TOP, len(hits))
    return others[:MOST_LINKS] if leading else []


@dataclass
class _Plan:
    view: Conversation
    arguments: Mapping[str, Json]  # of the neighborhood tool
    can_intersect: bool
    rng: random.Random
    anchors: list[Row]
    linked: list[Link]
    wanted: str | None
    rest: str

    @classmethod
    def make(cls, view: Conversation, tools: Mapping[str, Json], rng: random.Random) -> _Plan:
        searched = [row for call in view.calls if call.tool == SEARCH for row in call.rows]
        linked = links(view.question, searched)
        types = view.type_lists()[0] or list(dict.fromkeys(row.type for row in view.rows()))
        wanted = asked_type(view.question, types, linked)
        anchors = _anchors(linked, wanted)[:MOST_LINKS]
        if not anchors and view.calls:
            anchors = _stand_ins(view.calls[0].rows, wanted)
        rest = rest_of(view.question, linked)
        arguments = tools.get(NEIGHBORS, {})
        return cls(view, arguments, COMMON in tools, rng, anchors, linked, wanted, rest)

    # -- expanding ---------------------------------------------------------------------------

    def expansions(self) -> Calls:
        """The calls that are still missing: from the anchors, over bridges, back to anchors."""
        return (
            self._intersection()
            or self._from_anchors()
            or self._over_bridges()
            or self._verifications()
        )

    def _intersection(self) -> Calls:
        """Where there is a tool for it: what is next to all linked names, asked for once."""
        tried = any(call.tool == COMMON for call in self.view.calls)
        if not self.can_intersect or tried or len(self.linked) < 2 or len(self.anchors) < 2:
            return []
        values = {
            "node_indices": [row.index for row in self.anchors],
            "query": self.rest,
            "node_type": self.wanted,
        }
        kept = {k: v for k, v in values.items() if v and (k in self.arguments or k[-1] == "s")}
        return [(COMMON, kept)]

    def _from_anchors(self) -> Calls:
        calls = []
        for row in self.anchors:
            made = self._made(row.index)
            typed = [c for c in made if c.arguments.get("node_type")]
            if not made:
                calls.append(self._call(row.index, self.wanted, self.rest))
            elif typed and typed[0].total == 0 and len(made) == len(typed):
                calls.append(self._call(row.index, None, self.rest))
        return calls

    def _over_bridges(self) -> Calls:
        """Where no neighbour has the wanted type, the answers are one more step away."""
        if self.wanted is None or self._candidates():
            return []
        anchored = {row.index for row in self.anchors}
        shared: dict[int, int] = defaultdict(int)
        rows: dict[int, Row] = {}
        for call in self._neighborhoods(anchored):
            for row in call.rows:
                shared[row.index] += 1
                rows[row.index] = row
        order = sorted(rows, key=lambda i: (-shared[i], self.rng.random()))
        bridges = [i for i in order if i not in anchored and not self._made(i)][:BRIDGES]
        already = sum(call.center is not None for call in self._neighborhoods()) > len(anchored) * 2
        return [] if already else [self._call(i, self.wanted, self.rest) for i in bridges]

    def _verifications(self) -> Calls:
        """Ask a candidate of one anchor whether it is next to the others, where lists were cut."""
        if len(self.anchors) < 2 or not {"query"} <= set(self.arguments):
            return []
        supports = self._supports()
        cut = [a for a in self.anchors if self._cut(a.index)]
        open_pairs = []
        order = self._order(supports)
        # Where one anchor's list is complete, only its members can be next to all anchors.
        whole = {row.index for a in self.anchors if a not in cut for row in self._shown(a)}
        order.sort(key=lambda i: i not in whole)
        for index in order[:VERIFIED]:
            missing = [a for a in cut if a.index not in supports[index]]
            if missing and not self._made(index):
                open_pairs.append((index, missing[0]))
        return [self._call(index, anchor.type, anchor.name) for index, anchor in open_pairs]

    def _shown(self, anchor: Row) -> list[Row]:
        return [row for call in self._made(anchor.index) for row in call.rows]

    def _cut(self, index: int) -> bool:
        return any(call.total > len(call.rows) for call in self._made(index))

    def _call(self, index: int, node_type: str | None, query: str) -> tuple[str, dict[str, Json]]:
        values = {"node_index": index, "query": query, "node_type": node_type}
        kept = {
            k: v for k, v in values.items() if v is not None and v != "" and k in self.arguments
        }
        return NEIGHBORS, kept

    # -- reading what came back --------------------------------------------------------------

    def _neighborhoods(self, centers: set[int] | None = None) -> list[Seen]:
        calls = [c for c in self.view.calls if c.tool == NEIGHBORS and c.center is not None]
        return [c for c in calls if c.center and (centers is None or c.center.index in centers)]

    def _made(self, index: int) -> list[Seen]:
        calls = [c for c in self.view.calls if c.tool == NEIGHBORS]
        return [c for c in calls if c.arguments.get("node_index") == index]

    def _fits(self, row: Row) -> bool:
        named = {link.row.index for link in self.linked}
        return row.index not in named and (self.wanted is None or row.type == self.wanted)

    def _candidates(self) -> dict[int, Row]:
        shown = [r for c in self._neighborhoods() for r in c.rows]
        shared = [r for c in self.view.calls if c.tool == COMMON for r in c.rows]
        return {r.index: r for r in [*shared, *shown] if self._fits(r)}

    def _supports(self) -> dict[int, set[int]]:
        """For each candidate the nodes it was found next to, from either side."""
        found: dict[int, set[int]] = defaultdict(set)
        candidates = self._candidates()
        for call in self.view.calls:
            if call.tool == COMMON:
                centers = set(call.arguments.get("node_indices", ()))
                found.update((r.index, set(centers)) for r in call.rows if r.index in candidates)
        for call in self._neighborhoods():
            if call.center is None:
                continue
            for row in call.rows:
                if row.index in candidates:
                    found[row.index].add(call.center.index)
                if call.center.index in candidates:
                    found[call.center.index].add(row.index)
        return found

    def _order(self, supports: Mapping[int, set[int]]) -> list[int]:
        anchored = {row.index for row in self.anchors}
        words = set(tokens(self.rest))
        rows = self._candidates()

        def key(index: int) -> tuple[float, float, float, float]:
            row = rows[index]
            overlap = len(words & set(tokens(f"{row.name} {row.match}")))
            near = supports[index]
            return -len(near & anchored), -overlap, -len(near), self.rng.random()

        return sorted(supports, key=key)

    def answers(self) -> list[tuple[Row, str]]:
        """Candidates next to most anchors first; without any, the hits of the first search."""
        supports = self._supports()
        rows = self._candidates()
        anchored = {row.index for row in self.anchors}
        order = self._order(supports)
        best = max((len(supports[i] & anchored) for i in order), default=0)
        kept = [i for i in order if len(supports[i] & anchored) == best][:MOST_ANSWERS]
        kept += [i for i in order if i not in kept][: max(0, FILL_TO - len(kept))]
        if kept:
            return [(rows[i], f"next to {len(supports[i] & anchored)} of the named") for i in kept]
        first = self.view.calls[0].rows if self.view.calls else ()
        hits = [r for r in first if self._fits(r)] or list(first)
        return [(row, "matches the question") for row in hits[: WIDE // 2]]
