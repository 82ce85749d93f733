"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ark.errors import UserError

_PREFIX = ".building-"
_STALE = 24 * 3600.0  # seconds after which a build of another machine counts as dead


@contextmanager
def folder(final: Path) -> Iterator[Path]:
    """An empty folder beside ``final`` that is renamed to ``final`` when the block succeeds.

    The files in it are flushed to disk first. If ``final`` has come to exist by then, it stays
    and the new folder is dropped; if the block raises, too.
    """
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())
    name = f"{_PREFIX}{final.name}@{host}@{os.getpid()}@{uuid.uuid4().hex[:8]}"
    new = final.parent / name
    try:
        new.mkdir(parents=True)
    except OSError as error:
        raise UserError(
            f"cannot write to {final.parent} ({error.strerror}): set ARK_DATA to another folder"
        ) from error
    try:
        yield new
        for file in sorted(new.iterdir()):
            _flush(file)
        _flush(new)
        try:
            new.rename(final)
        except OSError:
            # Renaming onto a folder with files in it is refused: another builder was first.
            if not final.is_dir():
                raise
        else:
            _flush(final.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)  # gone already after the rename


def sweep(parent: Path) -> None:
    """Removes the folders that builds left in ``parent`` when they were killed."""
    for old in sorted(parent.glob(f"{_PREFIX}*")):
        if _dead(old):
            shutil.rmtree(old, ignore_errors=True)


def _dead(path: Path) -> bool:
    parts = path.name.split("@")
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return False
    if age > _STALE:
        return True
    host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())
    if os.name != "posix" or len(parts) != 4 or parts[1] != host or not parts[2].isdigit():
        return False
    try:
        os.kill(int(parts[2]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _flush(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
