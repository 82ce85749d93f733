"""Which calls of a run misbehave, and how. A pure function of seed, conversation and attempt.

An accident of the way (``ACCIDENTS``) is drawn anew for every attempt: it passes. A bad answer
(``ANSWERS``) is the model's own and depends on the conversation alone: asked again, the model says
the same again. So a run that is stopped and resumed meets the same model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SILENT = (
    "rate_limit",
    "rate_limit_wait",
    "error_500",
    "error_503",
    "reset",
    "reset_in_body",
    "stall",
    "html",
    "broken_json",
    "invalid_utf8",
)
"""No tokens are told: refused, or the answer does not arrive whole."""
WASTED = ("empty_choices", "null_content")
"""Whole answers without a message; their tokens are told and paid."""
ACCIDENTS = (*SILENT, *WASTED)
HARMLESS = ("dribble",)
"""Slow, but right."""
ANSWERS = (
    "truncated_arguments",
    "unknown_tool",
    "several_calls",
    "wrong_types",
    "unknown_node",
    "content_filter",
    "length",
    "megabyte",
    *HARMLESS,
)


@dataclass(frozen=True)
class FaultPlan:
    """``share`` of all requests misbehave: half of them by accident, half by a bad answer.

    ``in_a_row``: accidents that one call meets at most, fewer than a run's attempts.
    """

    seed: int = 0
    share: float = 0.3
    accidents: tuple[str, ...] = ACCIDENTS
    answers: tuple[str, ...] = ANSWERS
    in_a_row: int = 3

    def __call__(self, conversation: str, attempt: int) -> str | None:
        """The fault of the ``attempt``-th request (from 0) with these messages, or None."""
        accident = self.share / 2 if self.accidents else 0.0
        if attempt < self.in_a_row and self._drawn(conversation, attempt) < accident:
            return self._one_of(self.accidents, conversation, attempt)
        if self.answers and self._drawn(conversation, "said") < self.share / (2 - self.share):
            return self._one_of(self.answers, conversation, "said")
        return None

    def _drawn(self, *what: Any) -> float:
        text = json.dumps([self.seed, *what])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64

    def _one_of(self, kinds: tuple[str, ...], *what: Any) -> str:
        return kinds[int(self._drawn("kind", *what) * len(kinds))]


Answer = dict[str, Any]


def spoil(kind: str, answer: Answer) -> Answer:
    """The answer as a fault of ``ANSWERS`` or ``WASTED`` leaves it; others change nothing."""
    change = _CHANGES.get(kind)
    return answer if change is None else change(answer)


def _first_call(answer: Answer) -> dict[str, Any]:
    """The first tool call of an answer, which gets one where it has none."""
    message = answer["choices"][0]["message"]
    if not message.get("tool_calls"):
        message["tool_calls"] = [_call("call_x", "finish", {})]
    first: dict[str, Any] = message["tool_calls"][0]
    return first


def _call(name: str, tool: str, arguments: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"id": name, "type": "function", "function": function}


def _truncated_arguments(answer: Answer) -> Answer:
    function = _first_call(answer)["function"]
    text = function["arguments"]
    function["arguments"] = text[: max(1, len(text) // 2)]
    return answer


def _unknown_tool(answer: Answer) -> Answer:
    _first_call(answer)["function"]["name"] = "delete everything"
    return answer


def _several_calls(answer: Answer) -> Answer:
    first = _first_call(answer)
    answer["choices"][0]["message"]["tool_calls"] = [
        _call(first["id"], "search_in_graph", {"query": "lamp"}),  # an id twice
        _call("", "search_in_graph", {"query": "rope", "size": 3}),
        first,
    ]
    return answer


def _wrong_types(answer: Answer) -> Answer:
    function = _first_call(answer)["function"]
    function["arguments"] = json.dumps(
        {"query": ["lamp"], "node_index": {"a": 1}, "size": "many", "answer_nodes": "all"}
    )
    return answer


def _unknown_node(answer: Answer) -> Answer:
    function = _first_call(answer)["function"]
    function["name"] = "search_in_neighborhood"
    function["arguments"] = json.dumps({"node_index": 10**9})
    return answer


def _megabyte(answer: Answer) -> Answer:
    answer["choices"][0]["message"]["content"] = "thinking " * 116_509  # 1 MiB
    return answer


def _cut_short(finish: str, text: str) -> Callable[[Answer], Answer]:
    def change(answer: Answer) -> Answer:
        choice = answer["choices"][0]
        choice["message"] = {"role": "assistant", "content": text}
        choice["finish_reason"] = finish
        return answer

    return change


def _null_content(answer: Answer) -> Answer:
    answer["choices"][0]["message"] = {"role": "assistant", "content": None}
    answer["choices"][0]["finish_reason"] = "stop"
    return answer


_CHANGES: dict[str, Callable[[Answer], Answer]] = {
    "truncated_arguments": _truncated_arguments,
    "unknown_tool": _unknown_tool,
    "several_calls": _several_calls,
    "wrong_types": _wrong_types,
    "unknown_node": _unknown_node,
    "megabyte": _megabyte,
    "content_filter": _cut_short("content_filter", ""),
    "length": _cut_short("length", "I was about to"),
    "empty_choices": lambda answer: answer | {"choices": []},
    "null_content": _null_content,
}
