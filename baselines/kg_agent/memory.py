"""The four parts of KG-Agent's memory, as messages that never exceed a budget of tokens.

Question and toolbox stay; the current knowledge-graph information is that of the last call only;
the history program grows by every call. When space runs out the list of relations is cut, never the
history. Tokens are estimated at four characters each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ark.protocols import Graph
from ark.records import Message
from ark.text import clip
from baselines.ask import best_by_words
from baselines.kg_agent.calls import MAX_LINE
from baselines.kg_agent.sets import NodeSet, Value, describe_kind

CHARACTERS = 4  # a token
QUESTION = 1_600  # characters of the question that are shown
NAME = 80  # characters of a name
SAMPLES = 5  # nodes of a set that are shown
REFUSED = 200  # characters of a line that was refused
INFO = "Knowledge graph information:"
NOTHING = "none"


class MemoryFullError(Exception):
    """Question, toolbox and history alone exceed the budget."""


@dataclass
class Memory:
    """What the planner sees. ``tokens`` is the budget of all messages together."""

    system: str
    question: str
    topics: list[str]
    tokens: int
    history: list[tuple[str, str]] = field(default_factory=list)
    """Each call with one line that says what it gave."""
    info: list[str] = field(default_factory=list)
    """What the last call read of the graph, one line each."""

    def add(self, call: str, result: str, info: list[str]) -> None:
        """A call that was run; ``info`` replaces what was known of the graph."""
        self.history.append((call, clip(result, MAX_LINE)))
        self.info = info

    def refuse(self, line: str, error: str) -> None:
        """A line that was not run: it stays with its error, and so does what is known."""
        self.history.append((clip(line, REFUSED), error))

    def messages(self) -> list[Message]:
        """The prompt of the next call. Raises MemoryFullError."""
        first = "\n".join(
            [f"Question: {clip(self.question, QUESTION)}", "Topic entities:", *self._topics()]
        )
        talk = [Message("system", self.system), Message("user", first)]
        for call, result in self.history:
            said = json.dumps({"call": call}, ensure_ascii=False)
            talk += [Message("assistant", said), Message("user", result)]
        last = talk.pop().content or ""
        used = sum(len(m.content or "") for m in talk) + len(last) + len(INFO) + 2
        room = CHARACTERS * self.tokens - used
        shown = self._fitting(room)
        return [*talk, Message("user", f"{last}\n{INFO}\n{shown}")]

    def _topics(self) -> list[str]:
        return [f"- v{i} = {topic}" for i, topic in enumerate(self.topics)] or [f"- {NOTHING}"]

    def _fitting(self, room: int) -> str:
        """As many lines as fit, the most like the question before the others; order is kept."""
        if room < len(NOTHING) + len("- … 999999 more"):
            raise MemoryFullError
        if not self.info:
            return NOTHING
        lines = [f"- {line}" for line in self.info]
        if sum(len(line) + 1 for line in lines) <= room:
            return "\n".join(lines)
        left = room - len("- … 999999 more")
        kept: set[int] = set()
        for i in best_by_words(self.question, lines, len(lines)):
            if len(lines[i]) + 1 > left:
                break
            kept.add(i)
            left -= len(lines[i]) + 1
        more = len(lines) - len(kept)
        return "\n".join([*(lines[i] for i in sorted(kept)), f"- … {more} more"])


def result_line(graph: Graph, target: str, value: Value) -> str:
    """What a call gave, on one line: a set by its size, types and a few names."""
    name = target or "result"
    if isinstance(value, bool):
        return f"{name}: {'true' if value else 'false'}"
    if isinstance(value, int):
        return f"{name}: {value}"
    if not isinstance(value, NodeSet):
        return f"{name}: {describe_kind(value)}, {len(value)}"
    if not len(value):
        return f"{name}: 0 nodes"
    rows = sample(value)
    types = ", ".join(dict.fromkeys(clip(graph.type(i), NAME) for i in rows))
    names = "; ".join(clip(graph.name(i), NAME) for i in rows)
    return f"{name}: {len(value)} nodes, {types}: {names}{'; …' if len(value) > len(rows) else ''}"


def sample(nodes: NodeSet) -> list[int]:
    """A few rows of a set: the best of a ranked one, else the first."""
    if nodes.scores:
        return sorted(nodes.scores, key=lambda row: (-nodes.scores[row], row))[:SAMPLES]
    return [int(row) for row in nodes.rows[:SAMPLES]]


def info_lines(graph: Graph, value: Value) -> list[str]:
    """What a call that reads the graph shows: relations, or nodes with their ids."""
    if isinstance(value, int):
        return []
    if not isinstance(value, NodeSet):
        return [clip(relation.line, 2 * NAME) for relation in value]
    rows = sorted(value.scores, key=lambda row: (-value.scores[row], row))
    return [
        f"{clip(graph.id(i), NAME)} | {clip(graph.name(i), NAME)} | {clip(graph.type(i), NAME)}"
        for i in rows
    ]
