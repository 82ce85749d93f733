"""Reading a tool call's arguments: whatever a model wrote becomes values or a helpful complaint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ark.errors import unknown
from ark.records import Json

LONGEST = 4000  # characters of a text argument that are read; a query has no use for more


class BadArgumentError(Exception):
    """The message is shown to the model; it never leaves the toolbox."""


@dataclass
class Arguments:
    """Typed access to one call's arguments. Null counts as absent: many models fill in nulls."""

    values: Mapping[str, Json]
    allowed: Sequence[str]
    ignored: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str, allowed: Sequence[str]) -> Arguments:
        """Raises BadArgumentError unless ``text`` is a JSON object."""
        try:
            values = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            raise BadArgumentError(f"the arguments are not valid JSON ({error})") from None
        if not isinstance(values, dict):
            raise BadArgumentError("the arguments must be a JSON object")
        extra = sorted(str(key) for key in values if key not in allowed)
        return cls(values, allowed, extra)

    def _get(self, key: str) -> Json:
        return self.values.get(key) if key in self.allowed else None

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A non-empty text, or None where absent; numbers are taken as text."""
        value = self._get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if value is not None and not isinstance(value, str):
            raise BadArgumentError(f"{key} must be a text, not {_kind(value)}")
        value = (value or "").strip()[:LONGEST]
        if not value and required:
            raise BadArgumentError(f"the field {key} is missing")
        return value or None

    def integer(self, key: str, *, required: bool = False) -> int | None:
        """A whole number; ``"12"`` and ``12.0`` are taken for 12."""
        value = self._get(key)
        if value is None or value == "":
            if required:
                raise BadArgumentError(f"the field {key} is missing")
            return None
        return as_integer(value, key)

    def choices(self, key: str, known: Sequence[str], *, several: bool) -> tuple[str, ...]:
        """Values out of ``known``, exactly or up to case; empty where absent.

        With ``several`` a list is taken too, and means any of its values.
        """
        value = self._get(key)
        if not several or not isinstance(value, list):
            one = self.text(key)
            return () if one is None else (_known(key, one, known),)
        if not all(isinstance(v, str) for v in value):
            raise BadArgumentError(f"{key} must be a text or a list of texts")
        return tuple(dict.fromkeys(_known(key, v.strip(), known) for v in value if v.strip()))

    def objects(self, key: str) -> list[Json]:
        """A non-empty list; one lone object or number is taken for a list of one."""
        value = self._get(key)
        if isinstance(value, dict | int) and not isinstance(value, bool):
            value = [value]
        if not isinstance(value, list) or not value:
            raise BadArgumentError(f"the field {key} must be a non-empty list")
        return value


def _known(key: str, value: str, known: Sequence[str]) -> str:
    if value in known:
        return value
    folded = [c for c in known if c.casefold() == value.casefold()]
    if len(folded) == 1:
        return folded[0]
    raise BadArgumentError(unknown(key, value, known))


def as_integer(value: Json, key: str) -> int:
    """A whole number from JSON, or BadArgumentError."""
    if isinstance(value, str):
        stripped = value.strip().strip("[]")
        if stripped.removeprefix("-").isdecimal() and len(stripped) < 19:
            return int(stripped)
    elif isinstance(value, int) and not isinstance(value, bool):
        return value
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    raise BadArgumentError(f"{key} must be a whole number, not {_shown(value)}")


def _kind(value: Json) -> str:
    names = {list: "a list", dict: "an object", bool: "true or false"}
    return names.get(type(value), type(value).__name__)


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"
