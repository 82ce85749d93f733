"""What plug-ins hand over is checked where it enters: a bad record fails its question only."""

from __future__ import annotations

import math
import operator
from dataclasses import replace

from ark.records import MAX_RANKED, Attempt, Completion, Message, Ranking, Usage
from ark.run.identity import canonical_json


def checked(attempt: Attempt, n_nodes: int) -> Attempt:
    """The attempt with plain numbers. TypeError or ValueError where it breaks the contract."""
    if not isinstance(attempt, Attempt):
        raise TypeError(f"the method returned {type(attempt).__name__}, not an Attempt")
    if attempt.status not in ("ok", "limit", "failed"):
        raise ValueError(f"the method returned the status {attempt.status!r}")
    ranking = attempt.ranking
    nodes = tuple(operator.index(node) for node in ranking.nodes)
    if len(nodes) > MAX_RANKED or len(set(nodes)) < len(nodes):
        raise ValueError(f"a ranking holds at most {MAX_RANKED} distinct nodes, not {len(nodes)}")
    outside = [node for node in nodes if not 0 <= node < n_nodes]
    if outside:
        raise ValueError(f"the method ranked node {outside[0]}; the graph has {n_nodes}")
    answers = None if ranking.answers is None else operator.index(ranking.answers)
    if answers is not None and not 0 <= answers <= len(nodes):
        raise ValueError(f"answers={answers} of a ranking of {len(nodes)}")
    picked = tuple(operator.index(step) for step in ranking.picked_at)
    if picked and len(picked) != len(nodes):
        raise ValueError("picked_at must name a step for every node, or be empty")
    for step in attempt.trajectory.steps:
        canonical_json(dict(step.state))  # must be plain JSON
    return replace(attempt, ranking=Ranking(nodes, answers, picked))


def checked_completion(completion: Completion) -> Completion:
    """The completion itself. TypeError or ValueError where it breaks the contract."""
    if not isinstance(completion, Completion) or not isinstance(completion.message, Message):
        raise TypeError(f"the backbone returned {type(completion).__name__}, not a Completion")
    message, usage = completion.message, completion.usage
    if not isinstance(message.content, str | None):
        raise TypeError(f"the content of a message is {type(message.content).__name__}")
    for call in message.tool_calls:
        if not all(isinstance(part, str) for part in (call.id, call.name, call.arguments)):
            raise TypeError("id, name and arguments of a tool call must be texts")
    if not isinstance(usage, Usage):
        raise TypeError(f"the usage is {type(usage).__name__}, not a Usage")
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens)
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError(f"calls and tokens must be whole numbers, not {counts}")
    if usage.cost is not None and not (math.isfinite(usage.cost) and usage.cost >= 0):
        raise ValueError(f"the cost of a call is {usage.cost}")
    return completion
