"""One ARK agent: ask, run the tool calls, show what came back, until finish or the last step.

A step is one LLM call (paper, section 3). The answer list is what the toolbox holds at the end. As
in the paper, nodes that were never selected are lost and no notice of the budget is given, unless
``LoopSettings`` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ark.agent.toolbox import Observation, Toolbox
from ark.agent.tools import ADD
from ark.errors import QueryLimitError
from ark.protocols import Context, Graph
from ark.records import (
    MAX_RANKED,
    Attempt,
    Json,
    Message,
    Ranking,
    Status,
    Step,
    ToolCall,
    Trajectory,
)

TAG = "ark.step"
NO_CALL = "Answer with a call of one of the tools; call finish when the answer list is complete."


@dataclass(frozen=True)
class LoopSettings:
    """Budget and sampling of one agent."""

    max_steps: int
    temperature: float | None
    max_tokens: int | None
    budget_notice: bool = False
    forced_answer: bool = False
    keep_seen: bool = False


async def run_agent(
    question: str,
    system: str,
    toolbox: Toolbox,
    ctx: Context,
    settings: LoopSettings,
    agent: int,
) -> Attempt:
    """Explore until the model finishes (``ok``) or the budget ends it (``limit``, still scored)."""
    messages = [Message("system", system), Message("user", question)]
    steps: list[Step] = []
    status: Status = "limit"
    for number in range(1, settings.max_steps + 1):
        toolbox.step = number
        forced = settings.forced_answer and number == settings.max_steps and not toolbox.picks
        try:
            completion = await ctx.backbone.complete(
                messages,
                tag=TAG,
                tools=toolbox.schemas,  # all, also where one is forced: the cached prefix stays
                tool_choice=ADD if forced else "required",
                draw=agent,
                max_tokens=settings.max_tokens,
                temperature=settings.temperature,
            )
        except QueryLimitError:
            break
        messages.append(completion.message)
        done, states = _act(toolbox, completion.message, messages, ctx.graph)
        invalid = sum(not s["valid"] for s in states) if states else 1
        steps.append(Step(number, TAG, {"kind": "walk", "calls": states}, invalid))
        if done:
            status = "ok"
            break
        if settings.budget_notice and number < settings.max_steps:
            messages[-1] = _with_notice(messages[-1], settings.max_steps - number)
    ranking = _ranking(toolbox, keep_seen=settings.keep_seen)
    return Attempt(ranking, status, Trajectory(tuple(messages), tuple(steps)))


def _ranking(toolbox: Toolbox, *, keep_seen: bool) -> Ranking:
    """The answer list; with ``keep_seen`` nodes that were only shown follow, most often first."""
    picks = list(toolbox.picks.items())[:MAX_RANKED]
    answers = len(picks)
    if keep_seen:
        rest = [node for node in toolbox.seen if node not in toolbox.picks]
        rest.sort(key=lambda node: -toolbox.seen[node])  # stable: then in order of showing
        picks += [(node, toolbox.first_seen[node]) for node in rest]
    picks = picks[:MAX_RANKED]
    return Ranking(
        nodes=tuple(node for node, _ in picks),
        answers=answers,
        picked_at=tuple(step for _, step in picks),
    )


def _with_notice(message: Message, left: int) -> Message:
    return replace(message, content=f"{message.content}\n({left} steps left)")


def _act(
    toolbox: Toolbox, answer: Message, messages: list[Message], graph: Graph
) -> tuple[bool, list[Json]]:
    """Run the calls of one answer in order; calls after ``finish`` are not executed."""
    if not answer.tool_calls:
        messages.append(Message("user", NO_CALL))
        return False, []
    states: list[Json] = []
    done = False
    for call in answer.tool_calls:
        if done:
            observation = Observation("Not run: the work had ended.")
        else:
            observation = toolbox.execute(call)
            states.append(_state(call, observation, graph))
        messages.append(Message("tool", observation.text, tool_call_id=call.id))
        done = done or observation.final
    return done, states


def _state(call: ToolCall, observation: Observation, graph: Graph) -> Json:
    """One call for the viewer: what was asked, offered and taken, by node id."""
    return {
        "tool": call.name,
        "arguments": call.arguments,
        "offered": [graph.id(i) for i in observation.offered],
        "selected": [graph.id(i) for i in observation.selected],
        "valid": observation.valid,
    }
