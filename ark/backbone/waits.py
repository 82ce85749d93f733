"""How long a server asks to wait: in a header, or in its words."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_TOLD = re.compile(
    r"(?:retrydelay\W{1,6}|(?:retry|try again) (?:in|after) )(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m\b)?",
    re.IGNORECASE,
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def wait_of_headers(headers: Mapping[str, str]) -> float | None:
    """Seconds of ``Retry-After`` (RFC 9110, section 10.2.3) or ``retry-after-ms``, never negative.

    A date counts from the server's own clock where it tells one. None: absent or unreadable.
    """
    named = {str(k).lower(): str(v).strip() for k, v in headers.items()}
    milliseconds = _number(named.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = named.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    now = _date(named.get("date", "")) or datetime.datetime.now(datetime.UTC)
    return max(0.0, (until - now).total_seconds())


def told_wait(text: str) -> float | None:
    """Seconds that a message names: ``Please retry in 36.5s``, ``"retryDelay": "36s"``."""
    found = _TOLD.search(text)
    if found is None:
        return None
    return float(found[1]) * _SECONDS[(found[2] or "").lower()]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _date(text: str) -> datetime.datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)
