"""The autonomous loop: memory, planner, parser, executor, memory (arXiv 2402.11163, section 4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from ark.errors import QueryLimitError
from ark.protocols import Context
from ark.records import Attempt, Json, Status, Step
from ark.text import clip, one_line, tokens
from baselines.ask import Asker
from baselines.common import ids
from baselines.kg_agent.answer import Dropped, last_set, ranked
from baselines.kg_agent.calls import Call, parse
from baselines.kg_agent.engine import engine_of
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.executor import Executor, Rules
from baselines.kg_agent.memory import Memory, MemoryFullError, info_lines, result_line, sample
from baselines.kg_agent.prompts import system_message
from baselines.kg_agent.reading import SCHEMA, line_of
from baselines.kg_agent.sets import NodeSet, Value
from baselines.kg_agent.tools import TOOLS, offered
from baselines.seeds import describe, link_seeds

PREFIX = "kg_agent"
TAG = f"{PREFIX}.step"


@dataclass(frozen=True)
class Settings:
    """What the method's fields say to one attempt; described in ``method``."""

    seeds: int
    max_steps: int
    memory_tokens: int
    max_tokens: int | None
    temperature: float | None
    repairs: int
    strict: bool
    keep_last: bool
    drop_topics: str
    relation_k: int
    search_in: bool
    more_tools: bool
    order: str


async def run_program(question: str, ctx: Context, settings: Settings, agent: int) -> Attempt:
    """Links the question's entities, then one call a step until ``end`` or a limit."""
    asker = Asker(ctx, agent)
    program = _Program(question, asker, settings)
    status: Status = "limit"
    try:
        program.start(await link_seeds(asker, PREFIX, question, settings.seeds))
        status = await program.steps()
    except (QueryLimitError, MemoryFullError):
        pass
    dropped = Dropped.by(settings.drop_topics, program.executor.used, program.topics)
    answer = program.conclude(dropped)
    ranking = ranked(ctx, question, answer, program.bound, program.topics, dropped, settings.order)
    return Attempt(ranking, status, asker.trajectory)


@dataclass
class _Program:
    """One program while it is written."""

    question: str
    asker: Asker
    settings: Settings
    topics: list[int] = field(default_factory=list)
    bound: list[Value] = field(default_factory=list)
    """Every value that was bound, in order; a name may be bound again."""
    ended: bool = False
    answer: Value | None = None

    def __post_init__(self) -> None:
        ctx, chosen = self.asker.ctx, self.settings
        tools = offered(search_in=chosen.search_in, more_tools=chosen.more_tools)
        self.graph = ctx.graph
        self.executor = Executor(
            engine_of(ctx.graph),
            ctx.search,
            self.question,
            Rules(strict=chosen.strict, relation_k=chosen.relation_k),
            tools,
        )
        system = system_message(ctx.graph, tools)
        self.memory = Memory(system, self.question, [], chosen.memory_tokens)

    def start(self, topics: list[int]) -> None:
        """Binds the linked entities to v0, v1, ..."""
        self.topics = topics
        for number, row in enumerate(topics):
            self.executor.bind(f"v{number}", row)
            alias = self._alias(row)
            also = f" | also: {clip(alias, 80)}" if alias else ""
            self.memory.topics.append(one_line(describe(self.asker.ctx, row)) + also)

    def _alias(self, row: int) -> str:
        """The longest other name of a topic that stands in the question."""
        asked = f" {' '.join(tokens(self.question))} "
        names = [a for a in self.graph.aliases(row) if f" {' '.join(tokens(a))} " in asked]
        return max(names, key=len, default="")

    async def steps(self) -> Status:
        """Until the program has ended, cannot go on, or has had its steps."""
        wrong = 0
        for number in range(1, self.settings.max_steps + 1):
            talk = self.memory.messages()
            self.asker.messages += talk if number == 1 else talk[-1:]
            completion = await self.asker.ctx.backbone.complete(
                talk,
                tag=TAG,
                schema=SCHEMA,
                draw=self.asker.draw,
                temperature=self.settings.temperature,
                max_tokens=self.settings.max_tokens,
            )
            self.asker.messages.append(completion.message)
            wrong = 0 if self._step(completion.message.content) else wrong + 1
            if self.ended or wrong > self.settings.repairs:
                return "ok"
        return "limit"

    def _step(self, reply: str | None) -> bool:
        """Runs the call of a reply; False where it was refused."""
        line = (reply or "").strip()
        try:
            line = line_of(reply)
            call = self._bound(parse(line, self.executor.tools))
            value = self.executor.run(call)
        except CallError as error:
            self.memory.refuse(line, error.line)
            # A call that is right and finds nothing is no broken answer.
            self._record({"call": line[:200], "error": error.line}, int(error.kind != "empty"))
            return False
        self._remember(call, value)
        state: dict[str, Json] = {"call": str(call), "tool": call.tool, "target": call.target}
        if isinstance(value, NodeSet):
            state |= {"size": len(value), "sample": ids(self.graph, sample(value))}
        elif isinstance(value, int):
            state["value"] = value
        else:
            state["relations"] = [relation.line for relation in value[:20]]
        self._record(state | ({"notes": list(self.executor.notes)} if self.executor.notes else {}))
        return True

    def _bound(self, call: Call) -> Call:
        """A call without a name for its result gets the next that is free."""
        if call.target or call.tool == "end":
            return call
        names = (f"v{number}" for number in count(len(self.executor.variables)))
        free = next(name for name in names if name not in self.executor.variables)
        return replace(call, target=free)

    def _remember(self, call: Call, value: Value) -> None:
        if call.tool == "end":
            self.ended, self.answer = True, value
            return
        self.bound.append(value)
        reads = call.tool in TOOLS and TOOLS[call.tool].reads
        result = result_line(self.graph, call.target, value)
        notes = "".join(f" ({note})" for note in self.executor.notes)
        self.memory.add(str(call), result + notes, info_lines(self.graph, value) if reads else [])

    def _record(self, state: dict[str, Json], invalid: int = 0) -> None:
        steps = self.asker.steps
        steps.append(Step(len(steps) + 1, TAG, {"kind": "program", **_plain(state)}, invalid))

    def conclude(self, dropped: Dropped) -> NodeSet | None:
        """The answer set: that of ``end``; without one the last set, which counts as a fallback."""
        chosen = self.answer
        fallback = not self.ended and self.settings.keep_last
        if fallback:
            chosen = last_set(self.bound)
        nodes = dropped.of(chosen) if isinstance(chosen, NodeSet) else None
        steps = self.asker.steps
        if steps:
            last = steps[-1]
            answer = {"size": len(nodes)} if nodes else chosen if isinstance(chosen, int) else None
            state = {**last.state, "ended": self.ended, "answer": answer}
            again = last.fallbacks + int(fallback and last.tag == TAG)
            steps[-1] = Step(last.number, last.tag, state, last.invalid, again)
        return nodes


def _plain(state: dict[str, Json]) -> dict[str, Json]:
    """Text that a file can hold: a model may write half a character."""
    return {
        k: v.encode(errors="replace").decode() if isinstance(v, str) else v
        for k, v in state.items()
    }
