"""Answers that were paid for once: SQLite, shared by processes, never between draws.

The key is the sha256 of canonical JSON of all that may change an answer: the backbone's identity
(model, sampling), messages, tools, schema, the settings of the call, its tag, the draw and the
run's seed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ark.errors import UserError, unknown
from ark.records import Completion, Json, Message, ToolCall, Usage

MODES = ("read_write", "read_only", "off")
PATIENCE = 30.0  # seconds that a writer waits for another process
_TABLE = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)"


def key_of(call: Mapping[str, Json]) -> str:
    """The name of a call: sha256 of its canonical JSON."""
    text = json.dumps(call, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass
class Counters:
    """What a cache did for one process."""

    hits: int = 0
    misses: int = 0
    written: int = 0


class Cache:
    """A file of answers. ``read_only`` never writes; ``off`` does nothing at all.

    An entry once written is never changed. SQLite's write-ahead log keeps the file whole when a
    process dies in the middle of a write.
    """

    def __init__(self, path: Path, mode: str = "read_write") -> None:
        if mode not in MODES:
            raise UserError(unknown("cache.mode", mode, MODES))
        self.path, self.mode = path, mode
        self.counters = Counters()
        self._base = None if mode == "off" else self._open()

    def _open(self) -> sqlite3.Connection:
        if self.mode == "read_only" and not self.path.is_file():
            raise UserError(f"cache.path={self.path} is not there, and cache.mode=read_only")
        base = None
        try:
            if self.mode == "read_only":
                return self._open_read_only()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            base = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            base.execute("PRAGMA journal_mode=WAL")
            base.execute("PRAGMA synchronous=NORMAL")
            base.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            if base is not None:
                base.close()
            raise self._failed(error) from None
        return base

    def _open_read_only(self) -> sqlite3.Connection:
        """SQLite wants to write beside a file in WAL mode even to read it; on a read-only disk it
        reads the file as it stands, unless a log that nobody merged lies beside it.
        """
        uri = f"{self.path.absolute().as_uri()}?mode=ro"
        log = self.path.with_name(f"{self.path.name}-wal")
        for option in ("", "&immutable=1"):
            base = sqlite3.connect(uri + option, uri=True, timeout=PATIENCE, isolation_level=None)
            try:
                base.execute("SELECT key FROM answers LIMIT 1")
            except sqlite3.Error:
                base.close()
                if option or (log.is_file() and log.stat().st_size > 0):
                    raise
            else:
                return base
        raise AssertionError("the second attempt returns or raises")

    def get(self, key: str) -> Completion | None:
        """The answer with its usage as it was paid then, ``replayed`` once for each call."""
        if self._base is None:
            return None
        try:
            row = self._base.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        if row is None:
            self.counters.misses += 1
            return None
        self.counters.hits += 1
        found = _from_json(json.loads(row[0]))
        return replace(found, usage=replace(found.usage, replayed=found.usage.calls))

    def put(self, key: str, completion: Completion) -> None:
        """Keep an answer; the first one of a key stays. Raises UserError where it cannot."""
        if self._base is None or self.mode != "read_write":
            return
        text = json.dumps(asdict(completion), ensure_ascii=False)
        text = text.encode("utf-8", "replace").decode("utf-8")
        try:
            self._base.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, text))
        except sqlite3.Error as error:
            raise self._failed(error) from None
        self.counters.written += 1

    def close(self) -> None:
        """Let go of the file."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _failed(self, error: Exception) -> UserError:
        return UserError(
            f"the cache of answers {self.path} cannot be used ({error}): free space or make it "
            "writable, or give another cache.path, or cache.mode=off; nothing that ended is lost"
        )


def _from_json(row: Mapping[str, Json]) -> Completion:
    message = dict(row["message"])
    message["tool_calls"] = tuple(ToolCall(**call) for call in message["tool_calls"])
    return Completion(
        Message(**message),
        Usage(**row["usage"]),
        row["finish"],
        row["model"],
        row["system_fingerprint"],
    )
