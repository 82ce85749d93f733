"""What may leave the machine: settings without secrets and paths, numbers, per-question values."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from ark.backbone.keys import one_line, secrets
from ark.records import Json

MOST_ROWS = 1000
_LONGEST = 2000  # characters of one setting

_PLACES = frozenset({"folder", "results"})  # where files lie: for adapters only
_SECRET_WORDS = frozenset(
    "secret secrets password passwd passphrase credential credentials authorization auth bearer "
    "cookie cookies header headers apikey env environ environment".split()
)
_SECRET_ENDS = frozenset({"key", "keys", "token"})  # not ``max_tokens``
_USERINFO = re.compile(r"(\b[A-Za-z][\w+.-]*://)[^/\s?#]*@")
_URL_TAIL = re.compile(r"(\b[A-Za-z][\w+.-]*://[^\s?#]*)[?#]\S*")
_PATH = re.compile(r"(?<![\w:/.~-])~?/(?:[^/\s'\",;:]+/)*([^/\s'\",;:]+)/?")
_WINDOWS = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\)")


def config(cell: Mapping[str, Json]) -> dict[str, Json]:
    """A cell's settings as they may be shown: no files' places, nothing that may be a secret."""
    kept = {key: value for key, value in cell.items() if key not in _PLACES}
    cleaned = _clean(kept, secrets())
    assert isinstance(cleaned, dict)
    return cleaned


def title(cell: Mapping[str, Json]) -> str:
    """Graph, method and backbone, for people."""
    parts = [cell.get(name) for name in ("graph", "method", "backbone")]
    return clean_text(" ".join(str(part) for part in parts if part), secrets())


def _clean(value: Json, hidden: list[str]) -> Json:
    if isinstance(value, Mapping):
        return {
            clean_text(str(k), hidden): _clean(v, hidden)
            for k, v in value.items()
            if not _is_secret(str(k))
        }
    if isinstance(value, list | tuple):
        return [_clean(item, hidden) for item in value]
    if isinstance(value, str):
        return clean_text(value, hidden)
    return value if value is None or isinstance(value, bool | int | float) else str(type(value))


def _is_secret(key: str) -> bool:
    words = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower())
    return bool(words) and (words[-1] in _SECRET_ENDS or not _SECRET_WORDS.isdisjoint(words))


def clean_text(text: str, hidden: list[str]) -> str:
    """One line without URL credentials or queries, keys, and directories (file names stay)."""
    for value in hidden:  # before paths are cut: a key may hold a slash
        text = text.replace(value, "[hidden]")
    text = _URL_TAIL.sub(r"\1", _USERINFO.sub(r"\1", text))
    if text.startswith(("/", "~/")):
        text = PurePosixPath(text).name
    elif _WINDOWS.match(text):
        text = PureWindowsPath(text).name
    return one_line(_PATH.sub(r"\1", text), hidden, _LONGEST)


def scalars(result: Mapping[str, Json]) -> dict[str, float]:
    """Means with their intervals (fractions), counts, totals of usage, seconds.

    What is unknown (a price, say) is left out, not 0.
    """
    out: dict[str, float] = {}
    for name, estimate in _mapping(result, "measures").items():
        _put(out, name, _mapping(estimate).get("mean"))
        for end in ("low", "high"):
            _put(out, f"{name}/{end}", _mapping(estimate).get(end))
    for group in ("counts", "usage", "timings"):
        for name, value in _mapping(result, group).items():
            _put(out, f"{group}/{name}", value)
    return out


def _mapping(value: Json, key: str | None = None) -> Mapping[str, Json]:
    found = value if key is None else value.get(key)
    return found if isinstance(found, Mapping) else {}


def _put(out: dict[str, float], name: str, value: Json) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        out[name] = value


def per_query(cell: Mapping[str, Json]) -> tuple[list[str], list[list[Json]]]:
    """Columns and at most ``MOST_ROWS`` rows of per_query.csv, without the ranked ids.

    The file lies in the folder ``cell["results"]``; without it there are no columns and no rows.
    """
    place = Path(str(cell.get("results"))) / "per_query.csv"
    if not place.is_file():
        return [], []
    hidden = secrets()
    with place.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        columns = [name for name in reader.fieldnames or () if name != "ranked"]
        rows: list[list[Json]] = []
        for row in reader:
            if len(rows) == MOST_ROWS:
                break
            rows.append([_cell(name, row[name], hidden) for name in columns])
    return columns, rows


def _cell(column: str, text: str | None, hidden: list[str]) -> Json:
    if not text:
        return None
    if column in ("query", "status"):
        return one_line(text, hidden)
    try:
        return float(text)
    except ValueError:
        return one_line(text, hidden)
