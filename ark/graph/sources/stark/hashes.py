"""sha256 of large files, remembered as long as a file keeps its size, time and place.

A graph is named by the hash of its source files, and AMAZON's have 7 GB: without a memory every
start would read them through. As in version control, a file that changed within the last seconds
is not trusted by its time, since a second change may bear the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ark.graph.data import file_hashes

_SETTLED = 2.0  # seconds since the last change


def remembered_hashes(files: Mapping[str, Path], memory: Path) -> dict[str, str]:
    """sha256 of each file by the names given. ``memory`` is a folder for what was computed.

    Raises UserError for a file that cannot be read.
    """
    places = "\n".join(str(path.absolute()) for path in files.values())
    notes = memory / f"{hashlib.sha256(places.encode()).hexdigest()[:32]}.json"
    known = _load(notes)
    out, changed = {}, False
    for name, path in files.items():
        if not path.is_file():
            file_hashes([path])  # raises, with the reason
        stamp = _stamp(path)
        entry = known.get(name)
        if isinstance(entry, dict) and entry.get("stamp") == stamp and "sha256" in entry:
            out[name] = str(entry["sha256"])
            continue
        out[name] = file_hashes([path])[path.name]
        if _stamp(path) == stamp and time.time() - stamp[1] / 1e9 > _SETTLED:
            known[name] = {"stamp": stamp, "sha256": out[name]}
            changed = True
    if changed:
        # A shared cache may be read-only; then the files are read through the next time, too.
        with contextlib.suppress(OSError):
            _save(notes, known)
    return out


def _stamp(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _load(notes: Path) -> dict[str, Any]:
    try:
        value = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _save(notes: Path, known: Mapping[str, Any]) -> None:
    notes.parent.mkdir(parents=True, exist_ok=True)
    new = notes.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(known), encoding="utf-8")
    new.replace(notes)
