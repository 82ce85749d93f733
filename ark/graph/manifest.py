"""Reads the manifest of a graph folder and refuses folders that are not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ark.errors import UserError
from ark.graph import layout


def broken(path: Path, what: str) -> UserError:
    """The error of a damaged folder; ``what`` continues "graph folder PATH"."""
    return UserError(f"graph folder {path} {what}: delete the folder and build the graph again")


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a graph folder, after a look at the size of every file it names.

    Raises UserError if the folder is missing, was not built to its end, has another format or
    lacks a file.
    """
    if not path.is_dir():
        raise UserError(f"no graph folder {path}: build it, or give the path of a built graph")
    try:
        manifest = json.loads((path / layout.MANIFEST).read_text(encoding="utf-8"))
        version, files, counts = manifest["format"], manifest["files"], manifest["counts"]
        complete = {"nodes", "edges"} <= counts.keys() and "content_hash" in manifest
        sizes = {name: int(entry["bytes"]) for name, entry in files.items()}
    except FileNotFoundError:
        raise broken(path, f"has no {layout.MANIFEST} (its build was not finished)") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise broken(path, f"has an unreadable {layout.MANIFEST}") from None
    if version != layout.FORMAT:
        raise broken(path, f"has format {version}, this version reads {layout.FORMAT}")
    if not complete:
        raise broken(path, f"has an incomplete {layout.MANIFEST}")
    for name, size in sizes.items():
        file = path / name
        if not file.is_file():
            raise broken(path, f"lacks {name}")
        if file.stat().st_size != size:
            raise broken(path, f"has {name} of {file.stat().st_size} bytes instead of {size}")
    result: dict[str, Any] = manifest
    return result
