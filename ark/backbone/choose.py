"""The default policy: choose among numbered options by the words they share with the question."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence

from ark.records import Json, Message
from ark.text import tokens

_OPTION = re.compile(r"^\s*(\d+)[.)]\s+(.*)$")


def options_in(text: str) -> list[tuple[int, str]]:
    """``1. text`` or ``1) text`` lines as (number, text)."""
    found = (_OPTION.match(line) for line in text.splitlines())
    return [(int(m.group(1)), m.group(2)) for m in found if m]


def choose(
    messages: Sequence[Message],
    _tools: Sequence[Mapping[str, Json]],
    schema: Mapping[str, Json] | None,
    rng: random.Random,
) -> str:
    """A JSON answer: the numbers of the options, most shared words first, ties drawn.

    The shape follows the schema: for an object with a list of integers in it that list is filled;
    ``maxItems`` is respected. Without numbered options the list is empty.
    """
    last = next((m.content or "" for m in reversed(messages) if m.role == "user"), "")
    options = options_in(last)
    wanted = set(tokens("\n".join(x for x in last.splitlines() if not _OPTION.match(x))))
    scored = sorted(
        ((-len(wanted & set(tokens(text))), rng.random(), number) for number, text in options)
    )
    numbers = [number for _, _, number in scored]
    properties = (schema or {}).get("properties", {})
    for name, kind in properties.items():
        if kind.get("type") == "array":
            return json.dumps({name: numbers[: kind.get("maxItems", len(numbers))]})
        if kind.get("type") == "integer" and numbers:
            return json.dumps({name: numbers[0]})
    return json.dumps(numbers)
