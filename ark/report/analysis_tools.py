"""Tables of tool use: shares, first calls, outcomes, neighbour calls (paper, figure 2 and text)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ark.agent.tools import ADD, NEIGHBORS, SEARCH
from ark.report.analysis_load import Run
from ark.report.analysis_numbers import Number, Row, Table, Value, mean, plain, quantile, share
from ark.report.analysis_walks import (
    EXTENSIONS,
    GROUPS,
    MEANS,
    UNKNOWN,
    Move,
    Walk,
    Walks,
    walks_of,
)

NO_CALLS = "no calls"
MANY = 10  # neighbour calls: successes rarely exceed them (arXiv 2601.13969, tool use)
GLOBAL = "global share of searches"


class WalkedRun:
    """A run with its walks, read once for all tables."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def read(self) -> Walks:
        """What the trajectories say."""
        return walks_of(self.run)

    def row(self, cells: dict[str, Value], group: str = "") -> Row:
        """A line of a table."""
        return Row(self.run.where, self.run.folder.name, cells, group)


def tool_shares(walks: Sequence[Walk]) -> dict[str, Number]:
    """Share of each group of tools in all executed calls; the last is global over both searches."""
    calls = [(move.tool, walk.cluster) for walk in walks for move in walk.moves]
    clusters = [cluster for _, cluster in calls]
    out = {tool: share([name == tool for name, _ in calls], clusters) for tool in GROUPS}
    both = [(name, cluster) for name, cluster in calls if name in (SEARCH, NEIGHBORS)]
    out[GLOBAL] = share([name == SEARCH for name, _ in both], [cluster for _, cluster in both])
    return out


def tools_table(runs: Sequence[WalkedRun]) -> Table:
    """Which tools were called."""
    rows = []
    for one in runs:
        walks = one.read.walks
        cells: dict[str, Value] = {"agents": len(walks) or NO_CALLS}
        if walks:
            cells["calls"] = sum(len(w.moves) for w in walks)
            for tool, value in tool_shares(walks).items():
                if tool not in (EXTENSIONS, UNKNOWN) or value.value:
                    cells[tool] = value if tool == GLOBAL else plain(value)
        rows.append(one.row(cells))
    note = (
        "Percent of executed tool calls, calls with mistakes among them. The last share is "
        f"{SEARCH} / ({SEARCH} + {NEIGHBORS}), which the paper's figure 2 shows."
    )
    return Table("tools", "Tool use", _note(note, runs), rows)


def first_table(runs: Sequence[WalkedRun]) -> Table:
    """What agents called first, and how many searched globally only."""
    rows = []
    for one in runs:
        walks = one.read.walks
        clusters = [w.cluster for w in walks]
        cells: dict[str, Value] = {"agents": len(walks) or NO_CALLS}
        if walks:
            firsts = [w.moves[0].tool for w in walks]
            for tool in (t for t in GROUPS if t in firsts or t in (SEARCH, NEIGHBORS)):
                cells[f"first: {tool}"] = plain(share([f == tool for f in firsts], clusters))
            cells["global search only"] = share([_global_only(w) for w in walks], clusters)
            cells["no search"] = plain(share([not _searched(w) for w in walks], clusters))
        rows.append(one.row(cells))
    note = (
        "Percent of trajectories with a tool call. Global search only: it searched, and never "
        "asked for neighbours, common neighbours or a node."
    )
    return Table("first", "First call", _note(note, runs), rows)


def outcome_table(runs: Sequence[WalkedRun], success: str) -> Table:
    """What came of calls, for trajectories that succeeded and for those that did not."""
    rows = []
    for one in runs:
        for name, walks in _by_success(one.read.walks, success):
            moves = [(move, w.cluster) for w in walks for move in w.moves]
            cells: dict[str, Value] = {"agents": len(walks), "calls": len(moves)}
            if walks:
                per = mean([len(w.moves) for w in walks], [w.cluster for w in walks])
                cells["calls per agent"] = per
                cells |= _came(moves)
            rows.append(one.row(cells, name))
        if not one.read.walks:
            rows.append(one.row({"agents": NO_CALLS}, "all"))
    note = (
        "Percent of executed calls. Invalid: an unknown tool, or arguments that the tool refused "
        f"in whole or part. Empty: a valid search that found no node. {_defined(success)}"
    )
    return Table("outcomes", "Calls by outcome", _note(note, runs), rows, "trajectories")


def validity_table(runs: Sequence[WalkedRun]) -> Table:
    """How well agents call: what shows on few questions already, as n is the number of calls."""
    rows = []
    for one in runs:
        walks = one.read.walks
        cells: dict[str, Value] = {"agents": len(walks) or NO_CALLS}
        if walks:
            moves = [(move, w.cluster) for w in walks for move in w.moves]
            clusters = [cluster for _, cluster in moves]
            cells["calls"] = len(moves)
            cells["valid"] = share([m.came != "invalid" for m, _ in moves], clusters)
            cells["empty"] = share([m.came == "empty" for m, _ in moves], clusters)
            cells["repeated"] = share([m.repeats for m, _ in moves], clusters)
            selects = [any(m.tool == ADD and m.came == "result" for m in w.moves) for w in walks]
            cells["agents that select"] = share(selects, [w.cluster for w in walks])
        rows.append(one.row(cells))
    note = (
        "Percent of executed calls, the last column of agents. Valid: no argument was refused. "
        "Empty: a valid search that found no node. Repeated: the agent had made the same call "
        "before, to the letter. Selects: a node came into the answer list."
    )
    return Table("validity", "Validity of calls", _note(note, runs), rows)


def neighbor_table(runs: Sequence[WalkedRun], success: str) -> Table:
    """How many neighbour calls trajectories needed that succeeded, and those that did not."""
    rows = []
    for one in runs:
        for name, walks in _by_success(one.read.walks, success):
            counts = [w.count(NEIGHBORS) for w in walks]
            clusters = [w.cluster for w in walks]
            cells: dict[str, Value] = {"agents": len(walks)}
            if walks:
                cells["mean"] = mean(counts, clusters)
                cells["median"] = quantile(counts, 0.5)
                cells["90 %"] = quantile(counts, 0.9)
                cells["most"] = max(counts)
                cells[f"above {MANY}, %"] = share([c > MANY for c in counts], clusters)
            rows.append(one.row(cells, name))
        if not one.read.walks:
            rows.append(one.row({"agents": NO_CALLS}, "all"))
    note = f"Calls of {NEIGHBORS} in one trajectory. {_defined(success)}"
    return Table("neighbors", "Neighbour calls", _note(note, runs), rows, "trajectories")


def _by_success(walks: Sequence[Walk], success: str) -> list[tuple[str, list[Walk]]]:
    if not walks:
        return []
    right = [w for w in walks if w.succeeded(success)]
    wrong = [w for w in walks if not w.succeeded(success)]
    return [("successful", right), ("failed", wrong)]


def _came(moves: Sequence[tuple[Move, str]]) -> dict[str, Value]:
    clusters = [cluster for _, cluster in moves]
    searches = [(move, cluster) for move, cluster in moves if move.searches]
    out: dict[str, Value] = {
        f"{name}, %": plain(share([move.came == came for move, _ in moves], clusters))
        for name, came in (("valid", "result"), ("empty", "empty"), ("invalid", "invalid"))
    }
    empty = [move.came == "empty" for move, _ in searches]
    out["empty of searches, %"] = share(empty, [cluster for _, cluster in searches])
    return out


def _searched(walk: Walk) -> bool:
    return any(move.searches for move in walk.moves)


def _global_only(walk: Walk) -> bool:
    used = {move.tool for move in walk.moves}
    return SEARCH in used and not used & {NEIGHBORS, EXTENSIONS}


def _defined(success: str) -> str:
    return f"Successful: {MEANS[success]}."


def _note(note: str, runs: Sequence[WalkedRun]) -> str:
    lines = [note]
    for one in runs:
        said = one.read.said()
        if said:
            graph, split, method = one.run.where
            lines.append(f"{graph} {split}, {method}: {said}; not in these numbers.")
    return "\n".join(lines)
