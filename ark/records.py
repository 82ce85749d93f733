"""Frozen records that pass between the rooms. Nothing here does work.

Inside a process a node is an ``int``: its row in the graph's node table. In files (journal,
questions, results) it is its ``id`` string, so that a file can be read without the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Scalar = str | int | float | bool
Attr = Scalar | tuple[Scalar, ...]
Json = Any  # a value that ``json.dumps`` takes; spelled out nowhere because mypy cannot recurse
Status = Literal["ok", "limit", "failed"]

MAX_RANKED = 100  # longest ranking that a journal keeps


@dataclass(frozen=True, slots=True)
class Node:
    """One node with all that is stored about it. ``index`` is its row, ``id`` its public name."""

    index: int
    id: str
    type: str
    name: str
    text: str
    aliases: tuple[str, ...] = ()
    attrs: Mapping[str, Attr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """One directed edge; parallel edges are separate records with their own ``number``."""

    number: int
    source: int
    relation: str
    target: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A node that a question names, and how it names it."""

    node_id: str
    text: str
    wording: str = "name"


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its gold. Backbones see ``text`` only, never an id.

    ``cluster`` groups questions that are not independent (same anchor) for intervals.
    ``textual`` says whether a condition on node text is part of it; None where unknown.
    """

    id: str
    text: str
    answer_ids: tuple[str, ...]
    split: str = "test"
    cluster: str = ""
    hops: int | None = None
    textual: bool | None = None
    answer_type: str | None = None
    anchor_ids: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A node and its relevance; higher is better."""

    node: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a method answers: at most ``MAX_RANKED`` distinct nodes, best first.

    ``answers`` is how many of the first nodes the method commits to as *the* answer set, or None
    when it only ranks. ``picked_at`` gives the step at which each node entered (readings of a
    shorter budget cut on it); empty when the method has no steps.
    """

    nodes: tuple[int, ...]
    answers: int | None = None
    picked_at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls and tokens. ``cost`` is in US dollars, None when the price is unknown."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    invalid: int = 0  # answers that broke the tool schema or were no call at all
    fallbacks: int = 0  # times a deterministic fallback stood in for the model
    cached_tokens: int = 0  # part of prompt_tokens that the provider had cached
    reasoning_tokens: int = 0  # part of completion_tokens that was not shown
    retries: int = 0  # further requests that a call took
    replayed: int = 0  # part of calls that our own cache answered: paid by an earlier run

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost is None or other.cost is None
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if unknown else (self.cost or 0.0) + (other.cost or 0.0),
            invalid=self.invalid + other.invalid,
            fallbacks=self.fallbacks + other.fallbacks,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            retries=self.retries + other.retries,
            replayed=self.replayed + other.replayed,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as a model wrote it: ``arguments`` is unparsed text and may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message in OpenAI's roles."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The OpenAI chat form, the same that training reads."""
        out: dict[str, Json] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            out["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.name, "arguments": c.arguments},
                }
                for c in self.tool_calls
            ]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        return out


@dataclass(frozen=True, slots=True)
class Completion:
    """A backbone's answer to one call."""

    message: Message
    usage: Usage
    finish: str
    model: str  # as the server names it
    system_fingerprint: str = ""  # of the server's configuration, where it tells one


@dataclass(frozen=True, slots=True)
class Step:
    """One LLM call and what came of it.

    ``state`` is a small JSON object with a ``kind`` (walk, beam, program, evidence), written by
    every method: the viewer reads nothing else. A step that made no call says ``called: false``.
    """

    number: int
    tag: str
    state: Mapping[str, Json]
    invalid: int = 0  # calls that broke the schema, or no call where one was due
    fallbacks: int = 0  # times a deterministic fallback stood in for the model


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All messages of one agent in order, and its steps."""

    messages: tuple[Message, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one agent of a method made of one question. ``limit`` = a budget ended it; it counts."""

    ranking: Ranking
    status: Status = "ok"
    trajectory: Trajectory = Trajectory()


@dataclass(frozen=True, slots=True)
class Call:
    """One answered LLM call of an agent, in order: what a reading of fewer steps adds up."""

    tag: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    invalid: int = 0
    fallbacks: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    retries: int = 0
    replayed: int = 0

    @property
    def usage(self) -> Usage:
        """The same as a ``Usage`` of one call."""
        return Usage(
            1,
            self.prompt_tokens,
            self.completion_tokens,
            self.cost,
            self.invalid,
            self.fallbacks,
            self.cached_tokens,
            self.reasoning_tokens,
            self.retries,
            self.replayed,
        )


@dataclass(frozen=True, slots=True)
class AgentLine:
    """The ``agent`` line of a journal: an attempt with ids in place of rows, without texts."""

    query: str
    agent: int
    status: Status
    nodes: tuple[str, ...] = ()
    answers: int | None = None
    picked_at: tuple[int, ...] = ()
    steps: int = 0
    usage: Mapping[str, Usage] = field(default_factory=dict)  # by tag
    seconds: float = 0.0
    model: str = ""
    system_fingerprint: str = ""
    trajectory: int | None = None  # byte offset in trajectories.jsonl
    error: str | None = None
    calls: tuple[Call, ...] = ()  # empty in journals of versions that did not keep them


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ``query`` line of a journal: written when the last of a question's agents has ended."""

    query: str
    status: Status
    lists: tuple[tuple[str, ...], ...]
    usage: Usage
    seconds: float
    error: str | None = None
