"""The journal: one line when an agent ends, one when a question ends, each flushed.

``trajectories.jsonl`` holds the texts; an ``agent`` line names its trajectory by byte offset.
A torn last line of either file (a kill in mid-write) is dropped on the next open.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO

from ark.errors import UserError
from ark.records import AgentLine, Call, Json, Outcome, Trajectory, Usage
from ark.run.identity import canonical_bytes

JOURNAL, TRAJECTORIES = "journal.jsonl", "trajectories.jsonl"


@dataclass
class Entries:
    """What a journal says: the last line of each agent, and of each question."""

    agents: dict[tuple[str, int], AgentLine] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def ended(self, query: str, agent: int) -> bool:
        """Whether nothing is left to do: a failed agent is done again on resume."""
        line = self.agents.get((query, agent))
        return line is not None and line.status != "failed"


def read_journal(folder: Path) -> Entries:
    """All whole lines of the journal. A broken line before the end is a UserError."""
    out = Entries()
    for number, line in _lines(folder / JOURNAL):
        try:
            record = json.loads(line)
            _take(out, record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{folder / JOURNAL}, line {number} is damaged ({error}); remove that line and "
                "run the same command again"
            ) from None
    return out


def _take(out: Entries, record: dict[str, Json]) -> None:
    kind = record.pop("kind")
    if kind == "agent":
        record["usage"] = {tag: Usage(**u) for tag, u in record["usage"].items()}
        for name in ("nodes", "picked_at"):
            record[name] = tuple(record[name])
        record["calls"] = tuple(Call(*row) for row in record.get("calls", ()))
        line = AgentLine(**record)
        _check(line)
        out.agents[line.query, line.agent] = line
    elif kind == "query":
        record["usage"] = Usage(**record["usage"])
        record["lists"] = tuple(tuple(one) for one in record["lists"])
        outcome = Outcome(**record)
        out.outcomes[outcome.query] = outcome
    else:
        raise ValueError(f"unknown kind {kind!r}")


def _check(line: AgentLine) -> None:
    texts = (line.query, *line.nodes, *line.usage)
    numbers = [n for u in line.usage.values() for n in (u.calls, u.prompt_tokens)]
    numbers += [n for c in line.calls for n in (c.prompt_tokens, c.completion_tokens)]
    if not all(isinstance(text, str) for text in texts) or not all(
        type(number) is int for number in (line.agent, *numbers)
    ):
        raise ValueError("a field is of the wrong type")
    if line.status not in ("ok", "limit", "failed") or not isinstance(line.answers, int | None):
        raise ValueError(f"status {line.status!r}, answers {line.answers!r}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):  # else torn: the writer died in it
                yield number, line.decode("utf-8", errors="replace")


def read_trajectory(folder: Path, line: AgentLine) -> dict[str, Json]:
    """The trajectory that an ``agent`` line names by byte offset.

    Raises UserError if it is not there any more: the file was cut, or another lies in its place.
    """
    try:
        with (folder / TRAJECTORIES).open("rb") as file:
            file.seek(line.trajectory or 0)
            record: dict[str, Json] = json.loads(file.readline())
        if (record["query"], record["agent"]) == (line.query, line.agent):
            return record
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UserError(
        f"the trajectory of agent {line.agent} on {line.query} is not in {folder / TRAJECTORIES} "
        "any more; its result still counts"
    )


class JournalWriter:
    """Appends to a run folder. One process at a time: the folder is locked while it is open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = _lock(folder)
        self._journal = open_whole(folder / JOURNAL)
        self._texts = open_whole(folder / TRAJECTORIES)

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failed = None
        for file in (self._texts, self._journal):
            try:
                file.flush()
                os.fsync(file.fileno())
            except OSError as failure:  # what is still in the buffer is a line that was reported
                failed = cannot_write(Path(file.name), failure)
            with contextlib.suppress(OSError):
                file.close()
        self._lock.close()
        if failed is not None and error is None:
            raise failed

    def trajectory(self, query: str, agent: int, trajectory: Trajectory) -> int:
        """Write the texts of one agent; returns their byte offset."""
        offset = self._texts.tell()
        record = {
            "query": query,
            "agent": agent,
            "messages": [m.to_json() for m in trajectory.messages],
            "steps": [asdict(step) for step in trajectory.steps],
        }
        _append(self._texts, record)
        return offset

    def agent(self, line: AgentLine) -> None:
        """One agent has ended."""
        _append(self._journal, {"kind": "agent", **_plain(line)})

    def query(self, outcome: Outcome) -> None:
        """The last agent of a question has ended."""
        _append(self._journal, {"kind": "query", **_plain(outcome)})


def _plain(record: AgentLine | Outcome) -> dict[str, Json]:
    out = asdict(record)
    if isinstance(record, AgentLine):  # rows, not objects: names would be most of the file
        out["calls"] = [list(astuple(call)) for call in record.calls]
    return out


def _append(file: IO[bytes], record: Mapping[str, Json]) -> None:
    try:
        file.write(canonical_bytes(record) + b"\n")
        file.flush()
    except OSError as error:
        raise cannot_write(Path(file.name), error) from None


def cannot_write(path: Path, error: OSError) -> UserError:
    """What a full disk, a quota or a folder that became read-only means for a run."""
    return UserError(
        f"cannot write to {path} ({error.strerror}): free space or make it writable and run the "
        "same command again; nothing that ended is lost"
    )


def open_whole(path: Path) -> IO[bytes]:
    """Open for appending, after cutting off a torn last line: a line after it would be lost too."""
    file = path.open("ab+")
    size = file.tell()
    end = size
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        file.truncate(end)
    file.seek(0, os.SEEK_END)
    return file


def _lock(folder: Path) -> IO[bytes]:
    file = (folder / "lock").open("ab")
    try:
        import fcntl
    except ImportError:  # no such call on this system: nothing to hold two writers apart
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UserError(
            f"another process is writing to {folder}; wait for it, or change the command"
        ) from None
    return file


def summed(usages: Sequence[Usage]) -> Usage:
    """Total of several usages, added in the given order."""
    total = Usage()
    for usage in usages:
        total = total + usage
    return total
