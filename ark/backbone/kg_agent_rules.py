"""The rules for ``kg_agent.step``: follow a relation from each named entity, combine, search, end.

All that the rules know stands in the conversation: the topic entities, the calls so far with one
line each, and the list of relations that the last call showed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ark.backbone.conversation import Row
from ark.backbone.linking import Link, asked_type, links, rest_of, stem
from ark.records import Json, Message
from ark.text import tokens

RANKED = 50  # nodes that search_in is asked for
_TYPES = re.compile(r"^Node types: (\[.*\])", re.MULTILINE)
_TOPIC = re.compile(r"^- (v\d+) = (.*?) \| ([^|]*?)(?: \| also: (.*))?$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_CALL = re.compile(r"^(?:(\w+) = )?(\w+)\((.*)\)$")
_SIZE = re.compile(r"^\w+: (\d+) nodes(?:, ([^:]*))?")
_ROW = re.compile(r"^- (.*) \| (get_tail_entity|get_head_entity) \| (.*?)(?: \| (\d+))?$")


@dataclass(frozen=True)
class _Done:
    """A call with what came of it; ``size`` is None for what is no set, or was refused."""

    target: str
    tool: str
    arguments: tuple[str, ...]
    size: int | None
    types: tuple[str, ...]
    refused: bool


@dataclass(frozen=True)
class _Move:
    relation: str
    tool: str
    types: tuple[str, ...]
    count: int


def kg_agent_step(
    messages: Sequence[Message],
    _tools: Sequence[Mapping[str, Json]],
    _schema: Mapping[str, Json] | None,
    rng: random.Random,
) -> str:
    """The next call of the program, as the JSON object that the planner is asked for."""
    return json.dumps({"call": _View.read(messages, rng).next_call()}, ensure_ascii=False)


@dataclass
class _View:
    question: str
    rng: random.Random
    types: list[str]
    topics: dict[str, Row]  # by variable
    searches: bool
    done: list[_Done] = field(default_factory=list)
    moves: list[_Move] = field(default_factory=list)

    @classmethod
    def read(cls, messages: Sequence[Message], rng: random.Random) -> _View:
        """Never raises: what cannot be read is left out."""
        texts = [m.content or "" for m in messages if m.role != "assistant"]
        system, first = [*texts, "", ""][:2]
        question = _QUESTION.search(first)
        listed = _TYPES.search(system)
        view = cls(
            question.group(1) if question else "",
            rng,
            [str(t) for t in json.loads(listed.group(1))] if listed else [],
            {v: Row(i, n, t, alias=a) for i, (v, n, t, a) in enumerate(_TOPIC.findall(first))},
            "search_in(" in system,
        )
        said = [m.content or "" for m in messages if m.role == "assistant"]
        view.done = [_done(*pair) for pair in zip(said, texts[2:], strict=False)]
        rows = [m for line in texts[-1].splitlines() if (m := _ROW.match(line))] if texts else []
        view.moves = [
            _Move(m[1], m[2], tuple(m[3].split(", ")), int(m[4] or 0)) for m in reversed(rows)
        ]
        return view

    def next_call(self) -> str:
        """One line of the tool language."""
        linked = links(self.question, self.topics.values())
        wanted = asked_type(self.question, self.types, linked)
        words = {stem(w) for w in rest_of(self.question, linked).split()}
        reached: list[_Done] = []
        for variable in self._anchors(linked, wanted):
            call, made = self._hop(variable, wanted, words, self._type_of(variable))
            if call:
                return call
            reached += made
        found = [d for d in reached if wanted is None or wanted in d.types]
        bridges = [d for d in reached if d not in found]
        call, starts = self._bridge(bridges, named=bool(linked))
        if call:
            return call
        for start in starts:
            call, made = self._hop(start.target, wanted, words, start.types[0])
            if call:
                return call
            found += [d for d in made if wanted in d.types]
        found = found or starts
        return self._combined(found, named=bool(linked)) or self._last(found, linked, wanted)

    def _type_of(self, variable: str) -> str:
        return self.topics[variable].type if variable in self.topics else ""

    def _bridge(self, sets: list[_Done], *, named: bool) -> tuple[str, list[_Done]]:
        """Sets that are not yet of the wanted type: what they have in common, if anything."""
        if len(sets) < 2 or not named:
            return "", sets
        joined = ", ".join(d.target for d in sets)
        common = self._made("intersect", joined)
        if common is None:
            return f"{self._new()} = intersect({joined})", []
        return "", [common] if common.size else sets

    def _made(self, tool: str, arguments: str) -> _Done | None:
        made = (d for d in self.done if d.tool == tool and ", ".join(d.arguments) == arguments)
        return next(made, None)

    def _new(self) -> str:
        return f"v{len(self.topics) + len(self.done)}"

    def _anchors(self, linked: Sequence[Link], wanted: str | None) -> list[str]:
        """One variable for each name in the question; without any, topics of another type."""
        variables = list(self.topics)
        if not linked:
            return [v for v, row in self.topics.items() if wanted and row.type != wanted]
        spans: dict[tuple[int, int], Row] = {}
        for link in linked:
            kept = spans.setdefault((link.start, link.end), link.row)
            if kept.type == wanted and link.row.type != wanted:
                spans[link.start, link.end] = link.row
        return [variables[row.index] for row in spans.values()]

    # -- from a set to what is asked for ---------------------------------------------------------

    def _hop(
        self, variable: str, wanted: str | None, words: set[str], own: str
    ) -> tuple[str, list[_Done]]:
        """The next call at a set, or the move that was made from it, or neither."""
        look = self._made("get_relation", variable)
        if look is None:
            return f"{self._new()} = get_relation({variable})", []
        made = [d for d in self.done if d.tool in _MOVES and d.arguments[0] == variable]
        good = [d for d in made if not d.refused and d.size]
        if good:
            return "", good[-1:]
        if look.refused or look not in self.done[-1 - len(made) :]:
            return "", []  # its relations are no longer shown
        tried = {d.arguments[1] + d.tool for d in made}
        open_moves = [m for m in self.moves if m.relation + m.tool not in tried]
        if not open_moves:
            return "", []

        def fit(move: _Move) -> tuple[float, ...]:
            named = {stem(w) for w in tokens(f"{move.relation} {' '.join(move.types)}")}
            shared = len(named & words)
            inside = own in move.types
            return -2.0 * (wanted in move.types), -shared, inside, -move.count, self.rng.random()

        best = min(open_moves, key=fit)
        return f"{self._new()} = {best.tool}({variable}, {best.relation})", []

    # -- from sets to the answer -----------------------------------------------------------------

    def _combined(self, found: Sequence[_Done], *, named: bool) -> str:
        """What all have in common; where that is nothing, or nothing is named, what any has."""
        if len(found) < 2:
            return ""
        joined = ", ".join(d.target for d in found)
        common = self._made("intersect", joined)
        if named and common is None:
            return f"{self._new()} = intersect({joined})"
        if (common is None or not common.size) and self._made("union", joined) is None:
            return f"{self._new()} = union({joined})"
        return ""

    def _last(self, found: Sequence[_Done], linked: Sequence[Link], wanted: str | None) -> str:
        """Order the set by the rest of the question, then end."""
        sets = [d for d in self.done if d.tool in _RESULTS and not d.refused and d.size]
        kind = {stem(w) for w in tokens(wanted or "")}
        rest = " ".join(w for w in rest_of(self.question, linked).split() if stem(w) not in kind)
        if self.searches and rest and all(d.tool != "search_in" for d in self.done):
            if found and sets and (sets[-1].size or 0) > 1:
                return f"{self._new()} = search_in({sets[-1].target}, {rest}, {RANKED})"
            if not found and wanted:
                return f"{self._new()} = search_in({wanted}, {rest}, {RANKED})"
        if sets:
            return f"end({sets[-1].target})"
        if all(d.tool not in _ALL for d in self.done):
            named = f"get_entity_by_type({wanted})" if wanted else f"get_candidate_entity({rest})"
            return f"{self._new()} = {named}"
        made = [d.target for d in self.done if d.tool in _ALL and not d.refused]
        return f"end({(made or [*self.topics, 'v0'])[0]})"


_MOVES = ("get_tail_entity", "get_head_entity")
_RESULTS = (*_MOVES, "intersect", "union", "search_in")
_ALL = ("get_entity_by_type", "get_candidate_entity")


def _done(said: str, result: str) -> _Done:
    try:
        value = json.loads(said)
    except ValueError:
        value = None
    line = value.get("call") if isinstance(value, dict) else None
    found = _CALL.match(line) if isinstance(line, str) else None
    refused = result.startswith("error (")
    if not found:
        return _Done("", "", ("",), None, (), refused=True)
    size = _SIZE.match(result)
    types = tuple((size.group(2) or "").split(", ")) if size else ()
    arguments = tuple(part.strip() for part in found[3].split(", ", 1))
    number = int(size.group(1)) if size else None
    return _Done(found[1] or "", found[2], arguments, number, types, refused)
