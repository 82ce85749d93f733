"""``backbone=replay``: plays a recorded run again, without a model, and stops at any difference.

Each call is looked up by all messages before it and by its draw. Methods whose trajectory is one
conversation (ARK) can be replayed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ark.errors import FatalBackboneError, UserError
from ark.records import Completion, Json, Message, ToolCall, Usage
from ark.text import clip

Key = tuple[int, str]


class ReplayBackbone:
    """The answers of the run folder ``run``, with the tokens and dollars that they cost then."""

    is_llm = False  # asks nobody; the recorded run says what answered

    def __init__(self, run: str | Path | None = None) -> None:
        """``run``: a folder as ``results/runs/NAME``. Raises UserError unless it holds one."""
        if run is None:
            raise UserError("backbone=replay needs a recorded run: backbone.run=results/runs/NAME")
        self._folder = Path(run)
        try:
            recorded = json.loads((self._folder / "run.json").read_text(encoding="utf-8"))
            self._recorded = recorded["backbone"]
            self._answers = dict(_answers(self._folder))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"backbone.run={run} is no run folder that can be replayed "
                f"({type(error).__name__}: {clip(str(error), 120)})"
            ) from None
        if not self._answers:
            raise UserError(f"backbone.run={run} has no recorded conversations to replay")

    @property
    def identity(self) -> Mapping[str, Json]:
        """What was recorded; where it lies does not matter."""
        said = hashlib.sha256(repr(sorted(self._answers)).encode()).hexdigest()[:16]
        return {"backbone": "replay", "recorded": self._recorded, "conversations": said}

    @property
    def label(self) -> str:
        """What tables print."""
        what = self._recorded.get("model") or self._recorded.get("backbone", "a run")
        return f"replay of {what} (no LLM)"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tag: str,
        tools: Sequence[Mapping[str, Json]] | None = None,  # noqa: ARG002
        tool_choice: str | None = None,  # noqa: ARG002
        schema: Mapping[str, Json] | None = None,  # noqa: ARG002
        draw: int = 0,
        max_tokens: int | None = None,  # noqa: ARG002
        temperature: float | None = None,  # noqa: ARG002
    ) -> Completion:
        """The recorded answer. Raises FatalBackboneError where the run went on otherwise."""
        found = self._answers.get((draw, _hash([m.to_json() for m in messages])))
        if found is None:
            raise FatalBackboneError(self._difference(messages, tag, draw))
        return found

    def _difference(self, messages: Sequence[Message], tag: str, draw: int) -> str:
        said = [m.to_json() for m in messages]
        known = 0
        for n in range(len(said), 0, -1):
            if said[n - 1]["role"] != "assistant" and (draw, _hash(said[:n])) in self._answers:
                known = n
                break
        changed = said[known] if known < len(said) else said[-1]
        question = next((m["content"] for m in said if m["role"] == "user"), "")
        return (
            f"replay of {self._folder.name}: no recorded answer for call {tag}, agent {draw}, on "
            f"{clip(str(question), 80)!r}; the conversations are equal up to message {known}, then "
            f"comes {changed['role']}: {clip(str(changed['content']), 120)!r}"
        )


def _answers(folder: Path) -> Iterator[tuple[Key, Completion]]:
    """Every recorded answer by draw and conversation; the last agent line of each counts."""
    kept = {}
    for line in _rows(folder / "journal.jsonl"):
        if line.get("kind") == "agent":
            kept[line["query"], line["agent"]] = line
    repeat = json.loads((folder / "run.json").read_text(encoding="utf-8")).get("repeat", 0)
    texts = (folder / "trajectories.jsonl").read_bytes()
    for line in kept.values():
        if line["trajectory"] is None:
            continue
        start = line["trajectory"]
        record = json.loads(texts[start : texts.index(b"\n", start)])
        calls = list(line.get("calls", ()))
        said = record["messages"]
        places = [i for i, message in enumerate(said) if message["role"] == "assistant"]
        for number, place in enumerate(places):
            usage = Usage(1, replayed=1)
            if len(calls) == len(places):
                _, prompt, completion, cost, *_ = calls[number]
                usage = replace(
                    usage, prompt_tokens=prompt, completion_tokens=completion, cost=cost
                )
            made = Completion(_message(said[place]), usage, "stop", line["model"])
            # The runner adds the draws of a repeat itself; agents are numbered from 0 in each.
            draw = line["agent"] + 1_000 * repeat
            yield (draw, _hash(said[:place])), made


def _rows(path: Path) -> Iterator[dict[str, Json]]:
    for line in path.read_bytes().split(b"\n")[:-1]:  # a torn last line is dropped
        yield json.loads(line)


def _message(record: Mapping[str, Json]) -> Message:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in record.get("tool_calls", ())
    )
    return Message("assistant", record["content"], calls)


def _hash(messages: Sequence[Mapping[str, Json]]) -> str:
    text = json.dumps(messages, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
