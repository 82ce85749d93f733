"""The archive of a bundle: written with fixed bytes, read in memory as if a stranger made it.

A zip file of a few members with known names. Nothing in it is ever unpacked to disk.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from ark.errors import UserError
from ark.text import clip

MOST_PACKED = 64 << 20  # bytes of an archive
MOST_UNPACKED = 512 << 20  # bytes of all members together
MOST_MEMBERS = 4_000
SUMS = "SHA256SUMS"
RUN, QUESTIONS, NODES, JOURNAL = "run.json", "questions.jsonl", "nodes.jsonl", "journal.jsonl"
ABOUT, CARD = "bundle.json", "card.md"
RESULT, PER_QUERY, BACKFILL = "result.json", "per_query.csv", "backfill.jsonl"
TREC, QRELS = "run.trec", "qrels.trec"
REQUIRED = (ABOUT, CARD, JOURNAL, NODES, QUESTIONS, RUN, SUMS)
_OF_READING = (BACKFILL, PER_QUERY, QRELS, RESULT, TREC)
_NAME = re.compile(
    "|".join(map(re.escape, REQUIRED))
    + f"|readings/[0-9a-f]{{16}}/(?:{'|'.join(map(re.escape, _OF_READING))})"
)
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can say
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def in_reading(cell_id: str, name: str) -> str:
    """The member of a reading."""
    return f"readings/{cell_id}/{name}"


def cells_of(members: Mapping[str, bytes]) -> list[str]:
    """Ids of the readings that an archive holds, sorted."""
    return sorted({name.split("/")[1] for name in members if name.startswith("readings/")})


def sums(members: Mapping[str, bytes]) -> bytes:
    """``SHA256SUMS`` of all other members, as ``sha256sum --check`` reads it."""
    lines = (
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
        for name in sorted(members)
        if name != SUMS
    )
    return "".join(lines).encode()


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """The zip file: sorted names, one date, one mode. Same members and zlib, same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3  # Unix, on every system
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, members[name], zipfile.ZIP_DEFLATED, compresslevel=9)
    return out.getvalue()


def read_archive(path: Path) -> dict[str, bytes]:
    """All members by name.

    Raises UserError for whatever a bundle cannot be: no zip file, too large, unknown or repeated
    names (so no path leads anywhere), links, encryption, sizes that lie, missing members.
    """
    try:
        if not path.is_file():
            raise UserError(f"no bundle {path}: give the file that scripts/bundle.py wrote")
        if path.stat().st_size > MOST_PACKED:
            raise _broken(path, f"is larger than {MOST_PACKED >> 20} MB")
        packed = path.read_bytes()
    except OSError as error:
        raise UserError(f"bundle {path} cannot be read ({error.strerror})") from None
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            members = _members(path, archive)
    except _BROKEN as error:
        raise _broken(path, f"is no whole zip file ({clip(str(error), 200)})") from None
    missing = [name for name in REQUIRED if name not in members]
    if missing:
        raise _broken(path, f"lacks {missing[0]}")
    return members


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    infos = archive.infolist()
    if archive.comment or any(info.comment for info in infos):
        raise _broken(path, "has comments, where anything may stand")
    if len(infos) > MOST_MEMBERS:
        raise _broken(path, f"has more than {MOST_MEMBERS} members")
    if sum(info.file_size for info in infos) > MOST_UNPACKED:
        raise _broken(path, f"would unpack to more than {MOST_UNPACKED >> 20} MB")
    members: dict[str, bytes] = {}
    for info in infos:
        name, kind = info.filename, stat.S_IFMT(info.external_attr >> 16)
        if not _NAME.fullmatch(name):
            raise _broken(path, f"has a member {name[:80]!r}, which no bundle has")
        if name in members:
            raise _broken(path, f"has {name} twice")
        if kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
            raise _broken(path, f"has {name} as something else than a plain file")
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise _broken(path, f"has {name} with a size that is not true")
        members[name] = data
    return members


def _broken(path: Path, what: str) -> UserError:
    return UserError(f"bundle {path} {what}: ask for it again, and do not trust this one")
