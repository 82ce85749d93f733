"""The default policy: choose and score numbered options by the words they share with the question.

Words count by their rarity among the options, and a long option needs more of them: the cosine of
the question's words with the option's; function words and plurals do not matter. The answer
follows the JSON schema.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ark.backbone.linking import HARD_BREAKS, SOFT_BREAKS, chunks, rest_of, stem
from ark.records import Json, Message
from ark.text import tokens

_OPTION = re.compile(r"^\s*(\d+)[.)]\s+(.*)$")
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
ENOUGH = 0.9  # share of the question's words that the options must hold for a yes


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
    """A JSON answer of the schema's shape. Ties are drawn.

    Lists of integers hold the numbers of the options, most shared words first; lists of objects
    the same with a score, 0 to the schema's maximum; lists of texts stretches of the question that
    may be names. A yes or no tells if the options cover the question. ``minItems`` and
    ``maxItems`` are respected.
    """
    last = next((m.content or "" for m in reversed(messages) if m.role == "user"), "")
    view = _View.read(last, rng)
    properties = (schema or {}).get("properties", {})
    if not properties:
        return json.dumps([number for number, _ in view.ranked])
    return json.dumps({name: view.value(kind) for name, kind in properties.items()})


class _View:
    """A prompt: the question, and its options by their scores, best first."""

    def __init__(self, question: str, options: Sequence[tuple[int, str]], rng: random.Random):
        self.question = question
        self.words = [_content(text) for _, text in options]
        scores = _cosines(_content(question), self.words)
        order = sorted(
            (-score, rng.random(), number)
            for (number, _), score in zip(options, scores, strict=True)
        )
        self.ranked = [(number, -score) for score, _, number in order]

    @classmethod
    def read(cls, prompt: str, rng: random.Random) -> _View:
        named = _QUESTION.search(prompt)
        rest = "\n".join(x for x in prompt.splitlines() if not _OPTION.match(x))
        return cls(named.group(1) if named else rest, options_in(prompt), rng)

    def value(self, schema: Mapping[str, Json]) -> Json:
        kind = schema.get("type")
        if kind == "array":
            return self._values(schema)[: schema.get("maxItems")]
        if kind == "integer":
            ranked = self._within(schema)
            return ranked[0][0] if ranked else 0
        if kind == "boolean":
            return self._covered() >= ENOUGH
        if kind == "string":
            return self.question
        return self.ranked[0][1] if self.ranked else 0.0

    def _values(self, schema: Mapping[str, Json]) -> list[Json]:
        items = schema.get("items", {})
        if items.get("type") == "string":
            return list(chunks(self.question))
        fields = items.get("properties", {})
        option = next((n for n, k in fields.items() if k.get("type") == "integer"), "option")
        ranked = self._within(fields.get(option, {}) if items.get("type") == "object" else items)
        some = [pair for pair in ranked if pair[1] > 0] or ranked
        most = max(len(some), schema.get("minItems", 0))
        if items.get("type") != "object":
            return [number for number, _ in ranked[:most]]
        score = next((n for n, k in fields.items() if k.get("type") == "number"), "score")
        top = fields.get(score, {}).get("maximum", 1)
        best = max((s for _, s in some), default=0.0)
        return [
            {option: number, score: round(top * s / best, 3) if best > 0 else top}
            for number, s in ranked[:most]
        ]

    def _within(self, schema: Mapping[str, Json]) -> list[tuple[int, float]]:
        """The options whose numbers the schema of an integer allows."""
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        return [pair for pair in self.ranked if low <= pair[0] <= high]

    def _covered(self) -> float:
        """Share of the question's content words among those of the options."""
        wanted = _content(rest_of(self.question, []))
        held = set().union(*self.words) if self.words else set()
        return len(wanted & held) / len(wanted) if wanted else 0.0


def _content(text: str) -> set[str]:
    """Words that carry something, without the endings of plurals."""
    return {stem(w) for w in tokens(text) if w not in HARD_BREAKS and w not in SOFT_BREAKS}


def _cosines(wanted: set[str], options: Sequence[set[str]]) -> list[float]:
    counts = Counter(word for words in options for word in words)
    weight = {word: math.log(1 + len(options) / n) for word, n in counts.items()}
    out = []
    for words in options:
        shared = math.fsum(weight[w] for w in words & wanted)
        length = math.fsum(weight[w] for w in words)
        out.append(round(shared / math.sqrt(length), 6) if length else 0.0)
    return out
