"""The calls of a walk: each returns something usable, whatever the model says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ark.records import Json
from ark.text import clip, one_line
from baselines.ask import (
    best_by_words,
    by_words,
    numbered,
    object_schema,
    pick_schema,
    read_picks,
    read_scores,
    read_text,
    read_texts,
    read_yes,
    score_schema,
)
from baselines.calls import Caller
from baselines.tog2 import prompts
from baselines.tog2.settings import Settings

MOST_ANSWERS = 20  # nodes that an answer may name: as many as are scored
PASSAGE = 900  # characters of a passage in a prompt
CLUE = 300  # characters of a clue


@dataclass(frozen=True)
class Verdict:
    """What a reasoning call says: positions of answers, or what to look for next."""

    sufficient: bool
    answers: tuple[int, ...] = ()
    clue: str = ""


@dataclass(frozen=True)
class Known:
    """What a prompt shows of the walk: facts and passages are lines without a number."""

    question: str
    clue: str = ""
    facts: Sequence[str] = ()
    passages: Sequence[str] = ()

    def prompt(self, kind: str, options: Sequence[str]) -> str:
        """The question, what is known, and the numbered options at the end."""
        parts = [f"Question: {one_line(self.question)}"]
        if self.clue:
            parts.append(f"Clue from the step before: {clip(self.clue, CLUE)}")
        if self.facts:
            parts.append("Facts:\n" + "\n".join(f"- {one_line(fact)}" for fact in self.facts))
        if self.passages:
            shown = (f"- {clip(text, PASSAGE)}" for text in self.passages)
            parts.append("Passages:\n" + "\n".join(shown))
        return "\n".join([*parts, f"{kind}:\n{numbered(options)}"])


class Calls:
    """The model calls of one attempt; those of the walk are counted against its bound.

    Linking and topic prune come before the walk and are not counted. A repair counts, and where no
    call is left the fallback answers; one call is kept for the last answer.
    """

    def __init__(self, caller: Caller, settings: Settings) -> None:
        self.caller, self.asker, self.settings = caller, caller.asker, settings

    async def topic_prune(
        self, question: str, options: Sequence[str], state: Mapping[str, Json]
    ) -> list[int]:
        """Positions of the topics to start from; the first of all, on failure."""
        most = self.settings.width
        return await self.asker.ask(
            "tog2.topic_prune",
            prompts.TOPIC_PRUNE,
            Known(question).prompt("Nodes", options),
            pick_schema("starts", len(options), most),
            lambda value: _first(read_picks(value, "starts", len(options)), most),
            lambda: list(range(len(options)))[:most],
            state=state,
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
        )

    async def relation_prune(
        self, known: Known, options: Sequence[str], most: int, state: Mapping[str, Json]
    ) -> dict[int, float]:
        """Position of a relation -> score in [0, 1]; by shared words on failure."""
        combined = self.settings.relation_prune == "combined"
        top = 10.0 if combined else 1.0
        task = prompts.RELATIONS_COMBINED if combined else prompts.RELATIONS_SINGLE
        return await self.caller.ask(
            "tog2.relation_prune",
            task.format(width=self.settings.width),
            known.prompt("Relations", options),
            score_schema("relations", len(options), most, top),
            lambda value: read_scores(value, "relations", len(options), top),
            lambda: _scored_by_words(known.question, options),
            state=state,
            temperature=self.settings.temperature,
            reserve=1,
        )

    async def reason(
        self, known: Known, options: Sequence[str], state: Mapping[str, Json]
    ) -> Verdict:
        """Enough for an answer, or what is missing; not enough on failure."""
        answers = pick_schema("answers", len(options), MOST_ANSWERS)["properties"]
        return await self.caller.ask(
            "tog2.reason",
            prompts.REASON,
            known.prompt("Nodes", options),
            object_schema(
                {"sufficient": {"type": "boolean"}, **answers, "clue": {"type": "string"}}
            ),
            lambda value: _verdict(value, len(options)),
            lambda: Verdict(sufficient=False),
            state=state,
            temperature=self.settings.temperature,
            reserve=1,
        )

    async def answer(
        self, known: Known, options: Sequence[str], state: Mapping[str, Json]
    ) -> list[int]:
        """Positions of the best options from what was found; none on failure."""
        return await self.caller.ask(
            "tog2.answer",
            prompts.ANSWER,
            known.prompt("Nodes", options),
            pick_schema("answers", len(options), MOST_ANSWERS),
            lambda value: _first(read_picks(value, "answers", len(options)), MOST_ANSWERS),
            list,
            state=state,
            temperature=self.settings.temperature,
        )

    async def memory(self, question: str, state: Mapping[str, Json]) -> list[str]:
        """Names that the model gives without the graph; none on failure."""
        names: Json = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_ANSWERS}
        return await self.caller.ask(
            "tog2.answer",
            prompts.MEMORY,
            f"Question: {one_line(question)}",
            object_schema({"names": names}),
            lambda value: read_texts(value, "names", MOST_ANSWERS),
            list,
            state=state,
            temperature=self.settings.temperature,
        )


def _first(read: tuple[list[int], int], most: int) -> tuple[list[int], int]:
    return read[0][:most], read[1]


def _scored_by_words(question: str, options: Sequence[str]) -> dict[int, float]:
    scores = by_words(question, options)
    return {i: scores[i] for i in best_by_words(question, options, len(options))}


def _verdict(value: Mapping[str, Json], options: int) -> tuple[Verdict, int]:
    if not read_yes(value, "sufficient"):
        return Verdict(sufficient=False, clue=read_text(value, "clue")), 0
    answers, unusable = read_picks(value, "answers", options, 1)
    return Verdict(sufficient=True, answers=tuple(answers[:MOST_ANSWERS])), unusable
