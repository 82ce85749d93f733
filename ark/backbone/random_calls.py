"""``backbone=random``: valid random calls, the floor under every controller and model."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

from ark.backbone.choose import options_in
from ark.backbone.conversation import Conversation
from ark.backbone.rules import Calls, Policy, PolicyBackbone
from ark.records import Json, Message
from ark.text import tokens

MOST_ITEMS = 10


class RandomBackbone(PolicyBackbone):
    """Draws a tool and fills its arguments by their types: words of the question, shown nodes."""

    name = "random"
    version = 3
    is_llm = False
    label = "random valid calls (no LLM)"

    def defaults(self) -> dict[str, Policy]:
        """One policy for every tag."""
        return {"": _random_policy}


def _random_policy(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Json]],
    schema: Mapping[str, Json] | None,
    rng: random.Random,
) -> Calls | str:
    conversation = Conversation.read(messages)
    shown = sorted({row.index for row in conversation.rows()})
    if not tools:
        options = [n for n, _ in options_in(conversation.question)]
        filler = _Filler(conversation.question, options, rng)
        return json.dumps(filler.value(schema or {"type": "array", "items": {"type": "integer"}}))
    filler = _Filler(conversation.question, shown, rng)
    called = {call.tool for call in conversation.calls}
    usable = _usable([t["function"] for t in tools], called, bool(shown))
    tool = rng.choice(usable)
    return [(tool["name"], filler.value(tool["parameters"]))]


def _usable(
    functions: Sequence[Mapping[str, Json]], called: set[str], any_shown: bool
) -> list[Mapping[str, Json]]:
    """Tools whose arguments can be had. Those that need none (finish) wait for all others.

    Else half of all runs would end before they began, which is no floor but an empty list.
    """
    with_arguments = [f for f in functions if f["parameters"].get("required")]
    possible = [f for f in with_arguments if any_shown or not _needs_node(f)]
    if any(f["name"] not in called for f in with_arguments) and possible:
        return possible
    return [*possible, *(f for f in functions if f not in with_arguments)]


def _needs_node(function: Mapping[str, Json]) -> bool:
    return "node_index" in json.dumps(function["parameters"])


def _of_numbers(items: Mapping[str, Json]) -> bool:
    """Whether a list holds numbers of options, alone or with a score."""
    kinds = [items, *items.get("properties", {}).values()]
    return any(kind.get("type") == "integer" for kind in kinds)


class _Filler:
    """Random values for a JSON schema: integers from ``numbers``, texts from the question."""

    def __init__(self, question: str, numbers: Sequence[int], rng: random.Random) -> None:
        self._words = tokens(question) or ["x"]
        self._numbers = list(numbers)
        self._rng = rng

    def value(self, schema: Mapping[str, Json]) -> Json:
        if "enum" in schema:
            return self._rng.choice(list(schema["enum"]))
        kind = schema.get("type")
        if kind == "object":
            # Optional arguments are left out: a random type name would hardly ever be valid.
            properties = schema.get("properties", {})
            return {k: self.value(properties[k]) for k in schema.get("required", ())}
        if kind == "array":
            items = schema.get("items", {})
            if "node_index" in json.dumps(items) or _of_numbers(items):
                most = max(1, min(MOST_ITEMS, schema.get("maxItems", MOST_ITEMS)))
                count = min(len(self._numbers), self._rng.randint(1, most))
                chosen = self._rng.sample(self._numbers, count)
                return [_Filler(self._text(), [n], self._rng).value(items) for n in chosen]
            return [self.value(items)]
        if kind == "number" and "maximum" in schema:
            return round(self._rng.uniform(schema.get("minimum", 0), schema["maximum"]), 3)
        if kind in ("integer", "number"):
            return self._rng.choice(self._numbers) if self._numbers else 1
        if kind == "boolean":
            return self._rng.random() < 0.5
        return self._text()

    def _text(self) -> str:
        start = self._rng.randrange(len(self._words))
        return " ".join(self._words[start : start + self._rng.randint(1, 4)])
