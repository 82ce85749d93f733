"""The stamp of a result: what ran it. No paths, host names, keys or environment variables."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from ark.records import Json

SELFCHECK = "selfcheck.json"
PACKAGES = (
    *("ark-harness", "numpy", "scipy", "pandas", "pyarrow", "bm25s", "hydra-core"),
    *("litellm", "openai"),
)


def environment(graph: Path) -> dict[str, Json]:
    """Code version, Python, platform, cores and package versions.

    ``selfcheck`` is the sha256 of what scripts/selfcheck.py left in the folder ``graph``, or None.
    """
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",
        "cores": os.cpu_count(),
        "packages": {name: _version(name) for name in PACKAGES},
        "selfcheck": _sha256(graph / SELFCHECK),
    }


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of the code, with ``+`` where files differ from it; None outside a repository."""
    root = Path(__file__).resolve().parents[2]
    try:
        head = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 (fixed words only)
        ["git", "-C", str(root), *arguments],  # noqa: S607 (git is wherever the user has it)
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
