"""Schema mode: reading calls out of whatever a model wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.agent.tools import ToolOptions, tool_schemas
from ark.backbone.schema_mode import answer, parse
from ark.records import Message

TOOLS = tool_schemas(ToolOptions())
SEARCH = {"name": "search_in_graph", "arguments": {"query": "x {y}"}}
WORDS = json.dumps(SEARCH)


def read(text: str) -> list[tuple[str, str]] | None:
    calls = parse(text, TOOLS)
    return None if calls is None else [(c.name, c.arguments) for c in calls]


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"  {WORDS}\n",
        json.dumps(SEARCH, indent=2),
        f"```json\n{WORDS}\n```",
        f"```\n{WORDS}",
        f"I look it up. {WORDS} Then I go on.",
        f"<tool_call>\n{WORDS}\n</tool_call>",
        f'<think>{{"name": "finish"}}</think>{WORDS}',
        '{{"name": "search_in_graph", "arguments": {{"query": "x {y}"}}}}',
        '{{"name": "search_in_graph", "arguments": {"query": "x {y}"}}}',
        '{{"name": "search_in_graph", "arguments": {"query": "x {y}"}}',
        json.dumps({"name": "search_in_graph", "arguments": json.dumps(SEARCH["arguments"])}),
        json.dumps({"tool": "search_in_graph", "parameters": SEARCH["arguments"]}),
        json.dumps({"action": " search_in_graph ", "action_input": SEARCH["arguments"]}),
        json.dumps({"name": "search_in_graph", "query": "x {y}", "other": 1}),
        json.dumps({"search_in_graph": SEARCH["arguments"]}),
        json.dumps({"tool_calls": [SEARCH]}),
        json.dumps([SEARCH]),
        json.dumps({"type": "function", "function": SEARCH}),
        '{"an": "object"} ' + WORDS,
        "{ not json " + WORDS,
    ],
)
def test_forms_of_one_call(text: str) -> None:
    assert read(text) == [("search_in_graph", '{"query": "x {y}"}')]


@pytest.mark.parametrize(
    "text",
    [
        f"{WORDS}\n{WORDS}",
        f"{WORDS}{WORDS}",
        json.dumps([SEARCH, SEARCH]),
        json.dumps({"tool_calls": [SEARCH, SEARCH]}),
        '{{"name": "search_in_graph", "arguments": {{"query": "x {y}"}}}}\n' * 2,
    ],
)
def test_several_calls(text: str) -> None:
    assert read(text) == [("search_in_graph", '{"query": "x {y}"}')] * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "finish",
        "{}",
        "null",
        '{"name": "Ada"}',
        '{"query": "x"}',
        '{"name": ["finish"]}',
        '{"name": "add_to_answer", "arguments": {"answer_nodes": [{"node_index": 5, "reason',
        '"{"',
        '<think>{"name": "finish"}</think>',
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert read(text) is None


def test_an_unknown_tool_and_odd_arguments_are_the_toolboxs_to_answer() -> None:
    assert read('{"name": "look", "arguments": [1]}') == [("look", "[1]")]
    assert read('{"name": "finish", "arguments": "{bad"}') == [("finish", "{bad")]
    assert read('{"name": "finish", "arguments": null}') == [("finish", "{}")]
    half = read('{"name": "search_in_graph", "arguments": {"query": "\\ud800"}}')
    assert half == [("search_in_graph", '{"query": "\\ud800"}')]


def test_a_model_that_does_not_stop() -> None:
    assert len(read(WORDS * 500) or []) == 10
    for text in ("{" * 300_000, "{{" * 100_000, '{"a":' * 50_000, "[" * 300_000, '{{"' * 90_000):
        assert read(text) is None


@given(st.text(max_size=200))
def test_text_never_raises(text: str) -> None:
    answer(text, TOOLS, ())
    answer("{" + text + "}", TOOLS, ())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=6), _JSON, max_size=4), st.booleans())
def test_arguments_come_through_unchanged(arguments: dict[str, object], fenced: bool) -> None:
    text = json.dumps({"name": "search_in_graph", "arguments": arguments})
    message = answer(f"```json\n{text}\n```" if fenced else text, TOOLS, ())
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == arguments
    assert message.content is None
    again = answer(
        json.dumps({"name": call.name, "arguments": json.loads(call.arguments)}), TOOLS, ()
    )
    assert again == Message("assistant", None, (call,))
