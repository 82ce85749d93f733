"""``method=kg_agent_gold``: the program that a question was made from, as KG-Agent's calls.

It checks the executor: a question whose gold is what its program gives must get exactly that set.
It is no score of a system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import ark.program
from ark.errors import UserError, unknown
from ark.program import Argument, Constant, Name, Program, ProgramError, parse
from ark.program import Call as SetCall
from ark.protocols import Context
from ark.records import Attempt, Json, Query, Ranking, Step, Trajectory
from baselines.common import ids, settings
from baselines.common import ranking as ranking_of
from baselines.kg_agent.answer import ORDERS, Dropped, ranked
from baselines.kg_agent.calls import Call
from baselines.kg_agent.engine import engine_of
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.executor import TEXT, Executor, Rules
from baselines.kg_agent.sets import NodeSet, Value
from baselines.kg_agent.tools import TOOLS

TAG = "kg_agent.gold"
_SETS = {"intersect": "intersect", "union": "union", "minus": "difference"}
_MOVES = {"forward": "get_tail_entity", "backward": "get_head_entity"}
_OPERATORS = {"has": "contains"}


@dataclass
class Translation:
    """Calls in the order in which they run; a repeated call is repeated (the authors' replay of
    gold programs skips it). ``topics`` are variables that must hold a node before the first.
    """

    calls: list[Call] = field(default_factory=list)
    topics: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> Translation:
        """The calls of a checked program of ``ark.program``."""
        made = cls()
        for assignment in program.assignments:
            made.names[assignment.name] = made.variable(assignment.value)
        made.calls.append(Call("end", (made.variable(program.end.value),)))
        return made

    def variable(self, value: Argument) -> str:
        """The variable that holds a value once the calls so far have run."""
        if isinstance(value, Name):
            return self.names[value.id]
        if isinstance(value, Constant):
            raise ProgramError("expected a set or a number, found a constant", value.at)
        return self._call(value)

    def _call(self, call: SetCall) -> str:
        name, given = call.function, call.arguments
        if name == "node":
            topics = [self._topic(_text(argument)) for argument in given]
            return topics[0] if len(topics) == 1 else self._add("union", *topics)
        if name == "type":
            return self._add("get_entity_by_type", _text(given[0]))
        if name in _SETS:
            return self._add(_SETS[name], *map(self.variable, given))
        nodes = self.variable(given[0])
        if name in _MOVES:
            return self._add(_MOVES[name], nodes, _text(given[1]))
        if name == "count":
            return self._add("count", nodes)
        if name == "text":
            return self._keep(nodes, TEXT, "contains", " ".join(map(_text, given[1:])))
        if name == "where":
            op = _text(given[2])
            wanted = given[3]
            value = _text(wanted) if isinstance(wanted, Constant) else self.variable(wanted)
            return self._keep(nodes, _text(given[1]), _OPERATORS.get(op, op), value)
        return self._keep(nodes, _text(given[1]), name)

    def _keep(self, nodes: str, attribute: str, op: str, *value: str) -> str:
        return self._add("get_entity_by_constraint", nodes, attribute, op, *value)

    def _topic(self, node_id: str) -> str:
        known = {held: name for name, held in self.topics.items()}
        return known.get(node_id) or self._named(node_id)

    def _named(self, node_id: str) -> str:
        name = f"e{len(self.topics)}"
        self.topics[name] = node_id
        return name

    def _add(self, tool: str, *arguments: str) -> str:
        target = f"v{len(self.calls)}"
        self.calls.append(Call(tool, arguments, target))
        return target


def _text(argument: Argument) -> str:
    value = argument.value if isinstance(argument, Constant) else str(argument)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def run_gold(program: Program | str, ctx: Context, question: str = "") -> tuple[Value, Json]:
    """What a program's calls give, and the trace of each. Raises CallError and ProgramError."""
    made = Translation.of(parse(program) if isinstance(program, str) else program)
    rules = Rules(strict=True, empty_fails=False)
    executor = Executor(engine_of(ctx.graph), ctx.search, question, rules, TOOLS)
    for name, node_id in made.topics.items():
        try:
            executor.bind(name, ctx.graph.index(node_id))
        except KeyError:
            raise CallError("entity", f"no node has the id {node_id!r}") from None
    trace: list[Json] = []
    for call in made.calls:
        value = executor.run(call)
        size = len(value) if isinstance(value, NodeSet) else value
        trace.append({"call": str(call), "size": size})
    return value, trace


@dataclass(frozen=True)
class KGAgentGold:
    """Runs a question's own program; asks no backbone.

    A question without a program is answered with an empty list. Where there is no question record
    at all, BM25 stands in, and counts as a fallback.
    """

    label: ClassVar[str] = "KG-Agent (gold programs: executor check, not a score)"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()

    order: str = "bm25"
    """Order inside the set: bm25 of the question, or random."""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UserError(unknown("method.order", str(self.order), ORDERS))

    @property
    def agents(self) -> int:
        """One."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings, and the code of the executor: on the toy graph no program tells of it."""
        return {**settings(self), "executor": _code()}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The set of the program in order, as the answer."""
        if ctx.query is None:
            found = ranking_of(ctx.search.search(question, 20))
            state: dict[str, Json] = {"kind": "program", "top": ids(ctx.graph, found.nodes)}
            return Attempt(found, trajectory=Trajectory(steps=(Step(1, TAG, state, fallbacks=1),)))
        ranking, state = _answered(question, ctx, ctx.query, self.order)
        step = Step(1, TAG, {"kind": "program", **state}, invalid=int("error" in state))
        return Attempt(ranking, trajectory=Trajectory(steps=(step,)))


def _answered(
    question: str, ctx: Context, query: Query, order: str
) -> tuple[Ranking, dict[str, Json]]:
    if query.program is None:
        return Ranking((), answers=0), {"error": "the question has no program"}
    try:
        value, trace = run_gold(query.program, ctx, question)
    except (CallError, ProgramError) as error:
        return Ranking((), answers=0), {"error": str(error)}
    nodes = value if isinstance(value, NodeSet) else None
    ranking = ranked(ctx, question, nodes, [], [], Dropped(), order)
    answer = nodes.size if nodes is not None else value
    return ranking, {"calls": trace, "answer": answer}


@cache
def _code() -> str:
    """A hash of the sources of the executor and of the language that programs are written in."""
    here = Path(__file__).parent
    language = Path(ark.program.__file__).parent
    total = hashlib.sha256()
    for file in sorted([*here.glob("*.py"), *language.glob("*.py")]):
        total.update(file.read_bytes())
    return total.hexdigest()[:16]
