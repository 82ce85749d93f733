"""Asking a model so that its answer cannot break a method: the contract of all prompted baselines.

Options stand in the prompt as numbered lines; the answer is JSON that refers to the numbers. What
cannot be read is sent back once with the reason; after that a deterministic fallback answers, and
is counted. The originals turn malformed replies silently into "no relation" or "uniform scores".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ark.backbone.schema_mode_parse import json_objects
from ark.protocols import Context
from ark.records import Json, Message, Step, Trajectory
from ark.search.texts import BM25Texts
from ark.text import clip, one_line

T = TypeVar("T")
OPTION_WIDTH = 240  # characters of an option
MOST_TEXT = 2_000  # characters of a free text that is read


class UnreadableError(Exception):
    """What is wrong with an answer, in words that go back to the model."""


@dataclass
class Asker:
    """The calls of one attempt, with their messages and steps; each call is its own conversation.

    ``draw`` is the agent's number. QueryLimitError passes through: a method ends with what it has.
    """

    ctx: Context
    draw: int
    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    """Tags of the calls that a fallback answered, in order."""

    async def ask(
        self,
        tag: str,
        system: str,
        user: str,
        schema: Mapping[str, Json],
        read: Callable[[Mapping[str, Json]], tuple[T, int]],
        fallback: Callable[[], T],
        *,
        state: Mapping[str, Json],
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> T:
        """One question to the model and at most one repair.

        Args:
            tag: kind of the call, such as ``tog.relation_prune``.
            system: the task.
            user: the question, what is known, and numbered options.
            schema: JSON schema of the answer; an object.
            read: the value of the JSON answer and how many of its parts were unusable and left
                out. Raises UnreadableError where nothing can be made of it.
            fallback: what stands in for the model.
            state: what the viewer shows of the step, ``kind`` included. ``answer`` is added.
            temperature: of this call; None: the backbone's own.
            max_tokens: longest answer; None: the backbone's own.
        """  # noqa: D413
        talk = [Message("system", system), Message("user", user)]
        self.messages += talk
        for last in (False, True):
            completion = await self.ctx.backbone.complete(
                talk,
                tag=tag,
                schema=schema,
                draw=self.draw,
                temperature=temperature,
                max_tokens=max_tokens,
            )
            talk.append(completion.message)
            self.messages.append(completion.message)
            try:
                value, unusable = read(_object(completion.message.content))
            except UnreadableError as error:
                self._step(tag, state, None, 1, int(last))
                if not last:
                    repair = Message("user", f"{error} Answer again, with the JSON object only.")
                    talk.append(repair)
                    self.messages.append(repair)
            else:
                self._step(tag, state, completion.message.content, min(unusable, 1), 0)
                return value
        self.fallbacks.append(tag)
        return fallback()

    def _step(
        self, tag: str, state: Mapping[str, Json], answer: str | None, invalid: int, fallback: int
    ) -> None:
        shown = None if answer is None else clip(answer, MOST_TEXT)
        entry = {**state, "answer": shown}
        self.steps.append(Step(len(self.steps) + 1, tag, entry, invalid, fallback))

    def note(self, tag: str, state: Mapping[str, Json]) -> None:
        """Adds to the last step what came of it; a step of its own where no call was made."""
        if self.steps and self.steps[-1].tag == tag:
            last = self.steps[-1]
            merged = {**last.state, **state}
            self.steps[-1] = Step(last.number, tag, merged, last.invalid, last.fallbacks)
        else:
            self.steps.append(Step(len(self.steps) + 1, tag, {**state, "called": False}))

    @property
    def trajectory(self) -> Trajectory:
        """All that was said, and the steps."""
        return Trajectory(tuple(self.messages), tuple(self.steps))


def _object(text: str | None) -> Mapping[str, Json]:
    for value in itertools.islice(json_objects(text), 1):
        if isinstance(value, dict):
            return value
    raise UnreadableError("There is no JSON object in the answer.")


_MARKS = re.compile(r"-\[|\]->|[|—→]|\(option")


def plain(text: str, width: int) -> str:
    """Strangers' text on one line of ``width`` characters, without the marks of our own prompts.

    Edges are written with arrows, cards with bars: a name must not be able to look like either.
    """
    return _MARKS.sub(" ", clip(text, width)) if _MARKS.search(text) else clip(text, width)


# -- options -------------------------------------------------------------------------------------


def numbered(options: Iterable[str], first: int = 1) -> str:
    """Options as lines ``1. text``; strangers' text stays on its line."""
    return "\n".join(
        f"{number}. {clip(text, OPTION_WIDTH)}" for number, text in enumerate(options, first)
    )


def pick_schema(name: str, options: int, most: int, least: int = 0) -> dict[str, Json]:
    """``{name: [numbers of options]}``; the schema knows how many options there are."""
    numbers: Json = {"type": "array", "items": _number_of(options), "maxItems": most}
    return _closed({name: {**numbers, "minItems": least}})


def score_schema(name: str, options: int, most: int, top: float = 1.0) -> dict[str, Json]:
    """``{name: [{"option": number, "score": 0..top}]}``."""
    score: Json = {"type": "number", "minimum": 0, "maximum": top}
    item = _closed({"option": _number_of(options), "score": score})
    return _closed({name: {"type": "array", "items": item, "minItems": 1, "maxItems": most}})


def _number_of(options: int) -> dict[str, Json]:
    # Small models take any number in an option's text for its own; those held to a schema cannot.
    return {"type": "integer", "minimum": 1, "maximum": max(1, options)}


def _closed(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


object_schema = _closed


def read_picks(
    value: Mapping[str, Json], name: str, options: int, least: int = 0
) -> tuple[list[int], int]:
    """Positions from 0, in the order given, each once; and how many numbers name no option."""
    given = _list(value, name)
    found = [_number(n) for n in given]
    good = [n for n in found if n is not None and 1 <= n <= options]
    if len(good) < least or (given and not good):
        raise UnreadableError(
            f'"{name}" must hold numbers of options, from 1 to {options}'
            f"{f', at least {least}' if least else ''}."
        )
    return [n - 1 for n in dict.fromkeys(good)], len(given) - len(good)


def read_scores(
    value: Mapping[str, Json], name: str, options: int, top: float = 1.0
) -> tuple[dict[int, float], int]:
    """Position from 0 -> score in [0, 1], as given in order; and how many entries are unusable."""
    given = _list(value, name)
    scores: dict[int, float] = {}
    unusable = 0
    for entry in given:
        pair = entry if isinstance(entry, Mapping) else {}
        number, score = _number(pair.get("option")), _real(pair.get("score"))
        if number is None or score is None or not (1 <= number <= options and 0 <= score <= top):
            unusable += 1
        else:
            scores.setdefault(number - 1, score / top)
    if not scores:
        raise UnreadableError(
            f'"{name}" must hold objects with "option" from 1 to {options} and "score" from 0 to '
            f"{top:g}."
        )
    return scores, unusable


def read_yes(value: Mapping[str, Json], name: str) -> bool:
    """True or false, also as the words yes and no alone: "No, yes would be wrong" is neither."""
    given = value.get(name)
    if isinstance(given, bool):
        return given
    word = given.strip().rstrip(".").lower() if isinstance(given, str) else ""
    if word in ("yes", "true"):
        return True
    if word in ("no", "false"):
        return False
    raise UnreadableError(f'"{name}" must be true or false.')


def read_text(value: Mapping[str, Json], name: str) -> str:
    """A text on one line; empty where it is missing or no text."""
    given = value.get(name)
    return one_line(given)[:MOST_TEXT] if isinstance(given, str) else ""


def read_texts(value: Mapping[str, Json], name: str, most: int) -> tuple[list[str], int]:
    """Different texts, at most ``most``; and how many entries are none."""
    given = _list(value, name)
    texts = [one_line(t)[:MOST_TEXT] for t in given if isinstance(t, str) and one_line(t)]
    return list(dict.fromkeys(texts))[:most], len(given) - len(texts)


def _list(value: Mapping[str, Json], name: str) -> Sequence[Json]:
    given = value.get(name)
    if not isinstance(given, list):
        raise UnreadableError(f'The answer needs a list "{name}".')
    return given


def _number(value: Json) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _real(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if number == number else None  # noqa: PLR0124 (not a number)


# -- what stands in for the model ----------------------------------------------------------------


def by_words(question: str, options: Sequence[str]) -> dict[int, float]:
    """Position -> BM25 of the option's text for the question, the best 1; all 1 without a match."""
    scores = BM25Texts().score(question, options)
    best = max(scores, default=0.0)
    return {i: s / best if best > 0 else 1.0 for i, s in enumerate(scores)}


def best_by_words(question: str, options: Sequence[str], most: int) -> list[int]:
    """Positions of the ``most`` options with the highest ``by_words``, ties as they stand."""
    scores = by_words(question, options)
    return sorted(scores, key=lambda i: (-scores[i], i))[:most]
