"""Runs the calls of a planner, one at a time, over sets of nodes (arXiv 2402.11163, section 4).

Strict: whatever is wrong, empty or ambiguous is a typed ``CallError`` that the planner reads.
Non-strict, as in the authors' code: a name that the set does not have is bound to the one with the
longest common part, a constraint that nothing satisfies leaves its set as it was, and intersection
leaves out what is empty or not bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import reduce

import numpy as np

from ark.errors import unknown
from ark.protocols import Ints, Relevance
from ark.search.texts import BM25Texts, TextRanker
from ark.text import clip, one_line
from baselines.kg_agent.calls import Call
from baselines.kg_agent.constraints import Constraint, constrained
from baselines.kg_agent.engine import Engine, type_key
from baselines.kg_agent.errors import LITERAL, CallError, quoted
from baselines.kg_agent.literals import EXTREMES, plain
from baselines.kg_agent.sets import NodeSet, Relation, Value, describe_kind, narrowed, of_rows
from baselines.kg_agent.tools import TOOLS, Tool

CANDIDATES = 10  # nodes that a mention may mean
SEARCHED, MOST_SEARCHED = 20, 100  # nodes that search_in gives, without and with a number
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
TEXT = "text"  # the attribute that stands for a node's text, with the operator contains


@dataclass(frozen=True)
class Rules:
    """``empty_fails``: a call that finds nothing is an error, not the empty set."""

    strict: bool = True
    empty_fails: bool = True
    relation_k: int = 10


@dataclass
class Executor:
    """The variables of one program, and the tools. ``notes`` say what was guessed."""

    engine: Engine
    search: Relevance
    question: str
    rules: Rules = field(default_factory=Rules)
    tools: Mapping[str, Tool] = field(default_factory=lambda: TOOLS)
    ranker: TextRanker = field(default_factory=BM25Texts)
    variables: dict[str, Value] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    """Rows of the topics that a call has used, and of entities written by id."""
    notes: list[str] = field(default_factory=list)

    def bind(self, name: str, row: int) -> None:
        """Binds a topic entity."""
        self.variables[name] = of_rows(np.array([row], dtype=np.int64), "topic")

    def run(self, call: Call) -> Value:
        """The call's value, bound to its target. Variables stay as they were on a CallError."""
        self.notes.clear()
        if call.tool == "=":
            value = self._value(call.arguments[0])
        elif call.tool in self.tools:
            value = getattr(self, f"_{call.tool}")(*call.arguments)
        else:
            raise CallError("tool", unknown("tool", call.tool, self.tools))
        if call.target:
            self.variables[call.target] = value
        return value

    # -- arguments -------------------------------------------------------------------------------

    def _value(self, name: str) -> Value:
        if name not in self.variables:
            raise CallError("variable", unknown("variable", name, self.variables))
        return self.variables[name]

    def _set(self, name: str, *, bound: bool = False) -> NodeSet:
        """The set that a variable holds, or the one node of an id unless ``bound`` is asked."""
        value = self.variables.get(name)
        if value is None:
            value = self._entity(name, bound=bound)
        if not isinstance(value, NodeSet):
            raise CallError("kind", f"{name} is {describe_kind(value)}; a set of nodes is due")
        if value.origin == "topic":
            self.used.update(value.rows.tolist())
        return value

    def _entity(self, name: str, *, bound: bool) -> NodeSet:
        try:
            row = self.engine.graph.index(name)
        except KeyError:
            if _VARIABLE.fullmatch(name):
                message = unknown("variable", name, self.variables)
                raise CallError("variable", message) from None
            raise CallError("entity", f"no node has the id {quoted(name)}") from None
        if bound:
            shown = clip(name, LITERAL)
            raise CallError("variable", f"{shown} is no variable: bind it by a call first")
        self.used.add(row)
        return of_rows(np.array([row], dtype=np.int64), "raw")

    def _bound_name(self, name: str, known: Iterable[str]) -> str | None:
        """What a name stands for: itself without regard to case; the most alike if not strict."""
        choices = list(dict.fromkeys(known))
        if name in choices:
            return name
        alike = [c for c in choices if one_line(c) == name]
        alike = alike or [c for c in choices if one_line(c).casefold() == name.casefold()]
        if not alike and not self.rules.strict and choices:
            alike = [max(choices, key=lambda c: _common(name, c))]
            self.notes.append(f"{clip(name, LITERAL)} was taken for {alike[0]}")
        return alike[0] if alike else None

    # -- extraction ------------------------------------------------------------------------------

    def _get_relation(self, name: str) -> Sequence[Relation]:
        return self.engine.relations(self._set(name))

    def _get_head_entity(self, name: str, relation: str) -> NodeSet:
        return self._move(name, relation, backward=True)

    def _get_tail_entity(self, name: str, relation: str) -> NodeSet:
        return self._move(name, relation, backward=False)

    def _move(self, name: str, relation: str, *, backward: bool) -> NodeSet:
        nodes = self._set(name)
        relation = self.engine.spelled(relation)
        known = self.engine.is_relation(relation)
        if known:
            rows = self.engine.follow(nodes, relation, backward=backward)
            if len(rows) or not self.rules.empty_fails:
                return of_rows(rows)
        if not known or not self.rules.strict:
            offered = [r for r in self.engine.relations(nodes) if r.way != "value"]
            right = [r.name for r in offered if (r.way == "in") == backward]
            chosen = self._bound_name(relation, right)
            if chosen is None and not known:
                raise self.engine.no_link(relation, nodes)
            relation = chosen or relation
            rows = self.engine.follow(nodes, relation, backward=backward)
        if not len(rows) and self.rules.empty_fails:
            raise self._nothing_there(nodes, relation, backward=backward)
        return of_rows(rows)

    def _nothing_there(self, nodes: NodeSet, relation: str, *, backward: bool) -> CallError:
        """Says whether the set lacks the relation or has it the other way round."""
        if not len(nodes):
            return CallError("empty", "the set is empty, so nothing is next to it")
        other = "get_tail_entity" if backward else "get_head_entity"
        if len(self.engine.follow(nodes, relation, backward=not backward)):
            shown = clip(relation, LITERAL)
            return CallError("empty", f"{shown} leads the other way: use {other}")
        return self.engine.no_link(relation, nodes)

    def _get_entity_by_type(self, name: str) -> NodeSet:
        known = self.engine.type_names
        exact = name if name in self.engine.graph.node_types else None
        chosen = (
            exact
            or known.get(type_key(name))
            or self._bound_name(name, self.engine.graph.node_types)
        )
        if chosen is None:
            raise CallError("type", unknown("type", name, self.engine.graph.node_types))
        return self.engine.of_type(chosen)

    def _get_entity_by_constraint(
        self, name: str, relation: str, op: str, value: str = ""
    ) -> NodeSet:
        nodes = self._set(name, bound=True)
        try:
            rows = self._constrained(nodes, relation, op, value)
            if len(rows) or not self.rules.empty_fails:
                return narrowed(rows, nodes)
            wanted = " ".join(clip(part, LITERAL) for part in (relation, op, value))
            raise CallError("empty", f"nothing satisfies {wanted}".rstrip())
        except CallError as error:
            if self._merely_lacking(error, relation):
                return of_rows(np.empty(0, dtype=np.int64))
            if self.rules.strict:
                raise
            self.notes.append(f"the set is unchanged: {error}")
            return nodes

    def _constrained(self, nodes: NodeSet, relation: str, op: str, value: str) -> Ints:
        more = "difference" in self.tools
        if relation == TEXT and op == "contains" and more:
            return self.engine.holding(nodes, value)
        wanted = Constraint(relation, op, self._literal(value), self.rules.strict, more)
        return constrained(self.engine, nodes, wanted, self._bound_name)

    def _merely_lacking(self, error: CallError, attribute: str) -> bool:
        """Whether nodes elsewhere have what those of this set lack, and finding nothing is fine."""
        lacks = not self.rules.empty_fails and error.kind == "relation"
        return lacks and attribute in self.engine.attributes

    def _literal(self, text: str) -> str:
        """A value as it is written, or the number that a variable holds."""
        held = self.variables.get(text)
        return plain(held) if isinstance(held, int) else text

    def _get_candidate_entity(self, mention: str) -> NodeSet:
        hits = self.search.search(mention, CANDIDATES)
        if not hits:
            raise CallError("entity", f"no node is found for {quoted(mention)}")
        rows = np.array(sorted(hit.node for hit in hits), dtype=np.int64)
        return of_rows(rows, "candidates", {hit.node: hit.score for hit in hits})

    # -- logic -----------------------------------------------------------------------------------

    def _count(self, name: str) -> int:
        return len(self._set(name, bound=True))

    def _intersect(self, *names: str) -> NodeSet:
        sets = self._sets(names)
        rows = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), [s.rows for s in sets])
        if not len(rows) and not self.rules.strict and self.rules.empty_fails:
            raise CallError("empty", "the intersection is empty")
        return narrowed(rows, *sets)

    def _union(self, *names: str) -> NodeSet:
        sets = self._sets(names)
        return narrowed(reduce(np.union1d, [s.rows for s in sets]), *sets)

    def _sets(self, names: Sequence[str]) -> list[NodeSet]:
        if self.rules.strict:
            return [self._set(name) for name in names]
        found = []
        for name in names:
            try:
                nodes = self._set(name)
            except CallError as error:
                self.notes.append(f"left out: {error}")
                continue
            if len(nodes):
                found.append(nodes)
            else:
                self.notes.append(f"left out: {name} is empty")
        if not found:
            raise CallError("empty", "all sets are empty or unknown")
        return found

    def _difference(self, one: str, other: str) -> NodeSet:
        kept, taken = self._set(one), self._set(other)
        return narrowed(np.setdiff1d(kept.rows, taken.rows, assume_unique=True), kept)

    def _judge(self, name: str, relation: str, op: str, value: str) -> bool:
        if op in EXTREMES:
            raise CallError("operator", f"judge compares with a value; {op} is no comparison")
        return bool(len(self._constrained(self._set(name), relation, op, value)))

    def _end(self, name: str) -> Value:
        value = self.variables[name] if name in self.variables else self._set(name)
        if not isinstance(value, NodeSet | int):
            raise CallError("kind", f"{name} is {describe_kind(value)}; follow one of them first")
        return value

    # -- semantic --------------------------------------------------------------------------------

    def _retrieve_relation(self, name: str) -> Sequence[Relation]:
        held = self._value(name)
        if isinstance(held, NodeSet | int):
            what = describe_kind(held)
            raise CallError("kind", f"{name} is {what}; the result of get_relation is due")
        scores = self.ranker.score(self.question, [r.line for r in held])
        order = sorted(range(len(held)), key=lambda i: (-scores[i], i))
        return [held[i] for i in order[: self.rules.relation_k]]

    def _disambiguate_entity(self, name: str) -> NodeSet:
        nodes = self._set(name)
        if not len(nodes):
            raise CallError("empty", f"{name} is empty")
        hits = self.search.rank(self.question, nodes.rows, CANDIDATES)
        rows = [hit.node for hit in hits]
        if nodes.scores:
            rows = sorted(nodes.scores, key=lambda row: (-nodes.scores[row], row))[:CANDIDATES]
        graph = self.engine.graph
        texts = []
        for row in rows:
            near = self.engine.relations(of_rows(np.array([row], dtype=np.int64)))
            words = " ".join(" ".join((r.name, *r.beyond)) for r in near if r.way != "value")
            texts.append(f"{graph.name(row)} {graph.type(row)} {words}")
        scores = self.ranker.score(self.question, texts)
        best = max(range(len(rows)), key=lambda i: (scores[i], -i))
        return of_rows(np.array([rows[best]], dtype=np.int64))

    # -- extension -------------------------------------------------------------------------------

    def _search_in(self, name: str, text: str, k: str = "") -> NodeSet:
        if k and not (k.isdecimal() and int(k) > 0):
            raise CallError("value", f"k is a whole number of nodes, at least 1; found {quoted(k)}")
        if name in self.variables:
            nodes = self._set(name)
        elif type_key(name) in self.engine.type_names:
            nodes = self._get_entity_by_type(name)
        else:
            nodes = self._set(name)
        most = min(int(k) if k else SEARCHED, MOST_SEARCHED)
        hits = self.search.rank(text, nodes.rows, most)
        scores = {hit.node: hit.score for hit in hits if hit.score > 0}
        rows = np.array(sorted(scores), dtype=np.int64)
        if not len(rows) and self.rules.empty_fails:
            where = clip(name, LITERAL)
            raise CallError("empty", f"no text in {where} has a word of {quoted(text)}")
        return of_rows(rows, scores=scores)


def _common(one: str, other: str) -> int:
    """Length of the longest common part of two names."""
    a, b = one.casefold(), other.casefold()
    return SequenceMatcher(None, a, b, autojunk=False).find_longest_match(0, len(a), 0, len(b)).size
