"""Keys: from the environment, else from a file ``.env`` in the working directory.

A name is looked up when a backbone asks for it, at each call. The file is never loaded into the
environment: child processes, trackers and other libraries would get what was not meant for them.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

LONGEST = 240  # characters of a provider's own words
FILE = ".env"

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"(?:Bearer|Basic)\s+\S+|\b(?:sk|pk|rk|hf|gsk|xai|ghp)[-_][\w*.-]{6,}|\bAIza[\w*-]{10,}"
    r"|(?<=://)[^/\s@]+@"
)


def read_key(name: str) -> str:
    """The value of a variable, the environment before the file; empty where neither has it."""
    return os.environ.get(name, "").strip() or _file().get(name, "").strip()


def in_environment(name: str) -> bool:
    """Whether other libraries see a value of their own accord."""
    return bool(os.environ.get(name, "").strip())


def secrets(environ: Mapping[str, str] | None = None) -> list[str]:
    """Values of variables that look like keys by name, longest first.

    By default those of the environment and of the file.
    """
    entries = [*os.environ.items(), *_file().items()] if environ is None else [*environ.items()]
    found = {v.strip() for k, v in entries if _SECRET_NAME.search(k)}
    return sorted((v for v in found if len(v) >= 8), key=lambda v: (-len(v), v))


def one_line(text: str, hidden: Iterable[str] = (), longest: int = LONGEST) -> str:
    """Printable, on one line, without secrets, clipped."""
    for value in hidden:
        text = text.replace(value, "[hidden]")
    text = _SECRET_TEXT.sub("[hidden]", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def holds_secret(text: str) -> bool:
    """Whether ``text`` looks like a key or holds one of this environment."""
    return bool(_SECRET_TEXT.search(text)) or any(value in text for value in secrets())


def shown_url(url: str) -> str:
    """Scheme, host, port and path: no user, password, query or fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def _file() -> Mapping[str, str]:
    path = Path.cwd() / FILE
    try:
        stat = path.stat()
    except OSError:
        return {}
    return _entries(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _entries(path: Path, _changed: int, _size: int) -> Mapping[str, str]:
    values = importlib.import_module("dotenv").dotenv_values
    try:
        # Not interpolated: a ``$`` is part of a key, and no other variable gets into one.
        found = values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # a folder, or a file of something else
        return {}
    return {str(name): str(value) for name, value in found.items() if value is not None}
