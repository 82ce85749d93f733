"""Where STaRK's files lie: in a folder that the user names, or fetched from the data hub.

A given folder holds ``prime/``, ``mag/`` and ``amazon/`` as stark-qa's own root does, or is one
of them. Without one the official archives are fetched once with ``huggingface_hub`` (which
resumes, shows its progress, keeps its own cache and honours ``HF_HUB_OFFLINE``), compared with
the hashes on record and unpacked beside the built graphs.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ark.errors import UserError
from ark.graph import staging
from ark.graph.data import file_hashes
from ark.graph.sources.stark.names import (
    DATASET,
    QUESTION_FILES,
    REVISION,
    SHA256,
    Benchmark,
)

_BLOCK = 1 << 22
_SPARE = 1 << 28  # bytes of disk that are left alone


def graph_files(
    bench: Benchmark, root: Path | None, downloads: Path, revision: str, *, offline: bool
) -> dict[str, Path]:
    """The files that the conversion reads, by base name; fetched first if ``root`` is None.

    Raises UserError, one line that says what to put where, if one is missing.
    """
    if root is not None:
        folder = given(bench, root) / bench.folder
        lost = [name for name in bench.files if not (folder / name).is_file()]
        if lost:
            raise UserError(
                f"graph {bench.name!r} lacks {', '.join(lost)} in {folder}: unpack "
                f"{bench.archive} of {DATASET} ({_address(REVISION)}) into {folder}, or give "
                f"another folder as graph.root=DIR"
            )
    else:
        folder = _downloaded(downloads, revision) / bench.name / bench.folder
        if not folder.is_dir():
            archive = _fetch(bench, bench.archive, revision, offline=offline)
            _unpack(bench, archive, folder)
    return {name: folder / name for name in bench.files}


def question_folder(
    bench: Benchmark, root: Path | None, downloads: Path, revision: str, *, offline: bool
) -> Path:
    """A folder with ``stark_qa/`` and ``split/``; fetched first if ``root`` is None."""
    if root is not None:
        return given(bench, root)
    folder = _downloaded(downloads, revision) / bench.name / "questions"
    if not folder.is_dir():
        names = {name: f"qa/{bench.name}/{name}" for name in QUESTION_FILES}
        files = {n: _fetch(bench, path, revision, offline=offline) for n, path in names.items()}
        staging.sweep(folder.parent)
        with staging.folder(folder) as new:
            for name, file in files.items():
                (new / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(file, new / name)
    return folder


def given(bench: Benchmark, root: Path) -> Path:
    """The folder of this graph in, or as, the folder that the user names."""
    root = Path(root).expanduser()
    if (root / bench.name).is_dir():
        return root / bench.name
    if any((root / name).is_dir() for name in ("processed", "stark_qa")):
        return root
    what = "a file" if root.is_file() else "missing" if not root.exists() else "neither"
    raise UserError(
        f"graph {bench.name!r} needs a folder with {bench.name}/{bench.folder}/, or with "
        f"{bench.folder}/, and {root} is {what}: {_where(bench, REVISION)}"
    )


def _downloaded(downloads: Path, revision: str) -> Path:
    return downloads / f"stark-{revision[:12]}"


def _address(revision: str) -> str:
    return f"https://huggingface.co/datasets/{DATASET}/tree/{revision}"


def _where(bench: Benchmark, revision: str) -> str:
    """Exactly what to download by hand and where to put it."""
    name = bench.name
    return (
        f"download {bench.archive} from {_address(revision)} and unpack it so that "
        f"DIR/{name}/{bench.folder}/ holds {', '.join(bench.files)}; download qa/{name}/stark_qa/ "
        f"and qa/{name}/split/ as DIR/{name}/stark_qa/ and DIR/{name}/split/; then give "
        "graph.root=DIR"
    )


def _fetch(bench: Benchmark, path: str, revision: str, *, offline: bool) -> Path:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise UserError(
            f"graph {bench.name!r} is fetched with huggingface_hub: pip install "
            f"'ark-harness[hub]', or {_where(bench, revision)}"
        ) from None
    silent = offline or _unreachable()
    try:
        found = Path(
            hf_hub_download(
                DATASET, path, repo_type="dataset", revision=revision, local_files_only=silent
            )
        )
    except _hub_errors() as error:
        cause = error.__cause__ or error
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())[:120]
        if silent:
            reason = "offline" if offline else "the data hub has no address here"
        raise UserError(
            f"graph {bench.name!r} needs {path} of {DATASET}, which cannot be fetched "
            f"({reason}): {_where(bench, revision)}"
        ) from error
    _compare(found, path, revision)
    return found


def _hub_errors() -> tuple[type[Exception], ...]:
    """What the hub's client lets through: its own errors, and those of its transport.

    The transport is another library from release to release; the error class for HTTP answers
    names it.
    """
    from huggingface_hub.errors import HfHubHTTPError

    transport = [kind for kind in HfHubHTTPError.__bases__ if issubclass(kind, Exception)]
    return (OSError, ValueError, HfHubHTTPError, *transport)


def _unreachable() -> bool:
    """Whether the hub has no address here: its client would try for half a minute to find out."""
    import socket
    import urllib.parse
    import urllib.request

    from huggingface_hub.constants import ENDPOINT

    if urllib.request.getproxies():
        return False
    try:
        socket.getaddrinfo(urllib.parse.urlsplit(ENDPOINT).hostname, None)
    except OSError:
        return True
    return False


def _compare(file: Path, path: str, revision: str) -> None:
    known = SHA256.get(path) if revision == REVISION else None
    if known is None:
        return
    (found,) = file_hashes([file]).values()
    if not found.startswith(known):
        raise UserError(
            f"{file} has sha256 {found[:16]}... and {path} of {DATASET} has {known[:16]}...: "
            "delete that file and run the same command again to fetch it anew"
        )


def _unpack(bench: Benchmark, archive: Path, folder: Path) -> None:
    """The wanted members of an archive as files in ``folder``, all of them or none."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = _members(bench, archive, opened)
            staging.sweep(folder.parent)
            with staging.folder(folder) as new:
                _check_space(bench, new, members)
                for name, member in members.items():
                    _copy(opened, member, new / name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise UserError(
            f"{archive} is not a whole zip archive ({reason}): delete it and fetch it again"
        ) from error
    except OSError as error:
        raise UserError(
            f"cannot unpack {archive} into {folder} ({error.strerror}): free the disk, or set "
            "ARK_DATA to another folder"
        ) from error


def _members(
    bench: Benchmark, archive: Path, opened: zipfile.ZipFile
) -> Mapping[str, zipfile.ZipInfo]:
    """The members to unpack by base name. Their paths are compared, never used as paths."""
    ends = PurePosixPath(bench.folder).parts
    found: dict[str, zipfile.ZipInfo] = {}
    for member in opened.infolist():
        parts = PurePosixPath(member.filename).parts
        if member.filename.startswith("/") or ".." in parts or "\\" in member.filename:
            raise UserError(
                f"{archive} has a member {member.filename[:80]!r} that leads out of its folder: "
                "nothing was unpacked; delete the archive and fetch it again"
            )
        if parts and parts[-1] in bench.files and parts[:-1][-len(ends) :] == ends:
            if parts[-1] in found:
                raise UserError(f"{archive} has {parts[-1]} more than once: fetch it again")
            if member.file_size > bench.max_file:
                raise UserError(
                    f"{archive}: {parts[-1]} would unpack to {member.file_size:,} bytes, at most "
                    f"{bench.max_file:,} are taken: fetch it again"
                )
            found[parts[-1]] = member
    lost = [name for name in bench.files if name not in found]
    if lost:
        raise UserError(f"{archive} lacks {', '.join(lost)} under {bench.folder}/: fetch it again")
    return found


def _check_space(bench: Benchmark, folder: Path, members: Mapping[str, Any]) -> None:
    needed = sum(member.file_size for member in members.values()) + _SPARE
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"graph {bench.name!r} needs {needed / 1e9:.1f} GB of disk and {folder.parent} has "
            f"{free / 1e9:.1f} GB: free some, or set ARK_DATA to another folder"
        )


def _copy(opened: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> None:
    # Reading stops at the size that the archive states, and compares the checksum there.
    with opened.open(member) as source, path.open("wb") as out:
        shutil.copyfileobj(source, out, _BLOCK)
    if path.stat().st_size != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename} is shorter than stated")
