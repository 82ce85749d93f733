"""Walks of a run's agents, read from its trajectories: which tools, in which order, to what end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Literal

from ark.agent.tools import ADD, COMMON, DETAILS, FINISH, NEIGHBORS, SEARCH
from ark.errors import UserError, unknown
from ark.records import AgentLine, Json
from ark.report.analysis_load import Run, cluster_of
from ark.run.journal import read_trajectory

EXTENSIONS, UNKNOWN = "extensions", "unknown tools"
GROUPS = (SEARCH, NEIGHBORS, ADD, FINISH, EXTENSIONS, UNKNOWN)
_FINDS = (SEARCH, NEIGHBORS, COMMON)  # tools that answer with a list of nodes, maybe an empty one
_OF = {SEARCH: SEARCH, NEIGHBORS: NEIGHBORS, ADD: ADD, FINISH: FINISH}
_OF |= {DETAILS: EXTENSIONS, COMMON: EXTENSIONS}

Came = Literal["result", "empty", "invalid"]
SUCCESS = ("hit@1", "any")
MEANS = {
    "hit@1": "the first node of the agent's own list is an answer",
    "any": "any node that the agent committed to is an answer",
}


@dataclass(frozen=True, slots=True)
class Move:
    """One executed tool call: the tool's group, and what came of it."""

    tool: str
    came: Came
    searches: bool  # it asked for a list of nodes
    repeats: bool = False  # the agent had made the same call before


@dataclass(frozen=True, slots=True)
class Walk:
    """One agent that ended (``ok`` or ``limit``) on one question."""

    query: str
    cluster: str
    moves: tuple[Move, ...]
    first_right: bool
    any_right: bool

    def succeeded(self, success: str) -> bool:
        """Under one of the two definitions of ``SUCCESS``."""
        return self.first_right if success == "hit@1" else self.any_right

    def count(self, tool: str) -> int:
        """Calls of a group of tools."""
        return sum(move.tool == tool for move in self.moves)


@dataclass(frozen=True)
class Walks:
    """All walks of a run with a tool call in them, and what is not among them."""

    walks: tuple[Walk, ...]
    without_calls: int  # ended without any tool call, or of a method that has no tools
    failed: int  # broke off
    missing: int  # ended, but the trajectory is cut, damaged or not there

    def said(self) -> str:
        """Whatever was left out, in words; empty if nothing was."""
        parts = []
        if self.missing:
            parts.append(f"{self.missing} trajectories are missing or damaged")
        if self.failed:
            parts.append(f"{self.failed} agents broke off")
        if self.without_calls and self.walks:
            parts.append(f"{self.without_calls} agents made no tool call")
        return ", ".join(parts)


def check_success(success: str) -> str:
    """The definition itself. UserError for an unknown one."""
    if success not in SUCCESS:
        raise UserError(unknown("success", success, SUCCESS))
    return success


def walks_of(run: Run) -> Walks:
    """Every agent's walk. A trajectory that cannot be read is counted, never an error."""
    found: list[Walk] = []
    without = failed = missing = 0
    for line in run.entries.agents.values():
        if line.status == "failed":
            failed += 1
            continue
        question = run.questions.get(line.query)
        moves = _moves(run, line)
        if moves is None or question is None:
            missing += 1
        elif not moves:
            without += 1
        else:
            found.append(_walk(line, question, moves))
    return Walks(tuple(found), without, failed, missing)


def _walk(line: AgentLine, question: Json, moves: tuple[Move, ...]) -> Walk:
    gold = set(question["answer_ids"])
    committed = line.nodes if line.answers is None else line.nodes[: line.answers]
    first = bool(line.nodes) and line.nodes[0] in gold
    return Walk(line.query, cluster_of(question), moves, first, not gold.isdisjoint(committed))


def _moves(run: Run, line: AgentLine) -> tuple[Move, ...] | None:
    """Executed calls in order; None where the trajectory should be there and is not."""
    if line.trajectory is None:
        return None if line.steps else ()
    try:
        steps = read_trajectory(run.folder, line)["steps"]
        calls = chain.from_iterable(step["state"].get("calls", ()) for step in steps)
        seen: set[tuple[str, str]] = set()
        return tuple(_move(call, seen) for call in calls)
    except (UserError, KeyError, TypeError, AttributeError):
        return None


def _move(call: Json, seen: set[tuple[str, str]]) -> Move:
    made = (str(call["tool"]), str(call["arguments"]))
    repeats = made in seen
    seen.add(made)
    name = str(call["tool"])
    searches = name in _FINDS
    came: Came = "result"
    if not call["valid"]:
        came = "invalid"
    elif searches and not call["offered"]:
        came = "empty"
    return Move(_OF.get(name, UNKNOWN), came, searches, repeats)
