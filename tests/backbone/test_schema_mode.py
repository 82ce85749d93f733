"""Schema mode: what a plain chat model is sent, and the state that the schema is made of."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import jsonschema
import pytest

from ark.agent.method import Ark, ArkPlus
from ark.agent.tools import ToolOptions, tool_schemas
from ark.backbone.lexical import LexicalBackbone
from ark.backbone.schema_mode import State, answer, contract, plain_messages
from ark.backbone.schema_mode_prompt import ASKED, STEPS, instructions
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Json, Message, ToolCall
from ark.search import BM25, BM25Settings

TOOLS = tool_schemas(ToolOptions())
PLUS = tool_schemas(ToolOptions(details=True, intersection=True, multi_filters=True, paging=True))
SYSTEM = 'Node types: ["gene", "disease"]\nEdge types: ["causes", "treats"]'
START = (Message("system", SYSTEM), Message("user", "Which gene?"))
FOUND = '2 nodes match, the best 2:\n[5] "A" | gene | score 1.00\n[7] "B [9] x" | disease | score 0'
ADDED = 'Added 1; the answer list has 1 nodes.\n[5] "A" | gene'


def after(*turns: tuple[str, Json, str]) -> list[Message]:
    """A conversation with these (tool, arguments, observation)."""
    out = list(START)
    for number, (name, arguments, observation) in enumerate(turns):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = ToolCall(f"call_{number}_0", name, text)
        out.append(Message("assistant", None, (call,)))
        out.append(Message("tool", observation, tool_call_id=call.id))
    return out


SEARCHED = ("search_in_graph", {"query": "a"}, FOUND)
NOTHING = ("search_in_graph", {"query": "a"}, "No node matches any of these words.")
PICKED = ("add_to_answer", {"answer_nodes": [{"node_index": 5, "reasoning": "x"}]}, ADDED)


def calls_of(schema: Json) -> dict[str, Json]:
    """Tool name -> schema of its arguments."""
    every = schema.get("anyOf", [schema])
    return {c["properties"]["name"]["const"]: c["properties"]["arguments"] for c in every}


def offered(messages: list[Message], tools: list[dict[str, Json]] | None = None) -> dict[str, Json]:
    return calls_of(contract(messages, tools or TOOLS)[1])


# -- the schema of the state ---------------------------------------------------------------------


def test_before_any_node_only_the_search_makes_sense() -> None:
    assert set(offered(list(START))) == {"search_in_graph"}
    assert set(offered(after(NOTHING))) == {"search_in_graph"}


def test_shown_nodes_open_the_tools_that_take_them() -> None:
    now = offered(after(SEARCHED))
    assert set(now) == {"search_in_graph", "search_in_neighborhood", "add_to_answer"}
    around = now["search_in_neighborhood"]["properties"]
    assert around["node_index"] == {"enum": [5, 7]}  # not 9, which stands in a name
    assert around["node_type"] == {"enum": ["gene", "disease"]}
    assert around["edge_type"] == {"enum": ["causes", "treats"]}
    assert around["query"]["maxLength"] == 200
    assert now["search_in_graph"]["properties"]["size"]["maximum"] == 100
    added = now["add_to_answer"]["properties"]["answer_nodes"]
    assert added["items"]["properties"]["node_index"] == {"enum": [5, 7]}
    assert (added["minItems"], added["maxItems"]) == (1, 2)


def test_an_answer_opens_finish_and_leaves_the_choice() -> None:
    now = offered(after(SEARCHED, PICKED))
    assert "finish" in now
    inner = now["add_to_answer"]["properties"]["answer_nodes"]["items"]["properties"]
    assert inner["node_index"] == {"enum": [7]}
    assert now["search_in_neighborhood"]["properties"]["node_index"] == {"enum": [7, 5]}


def test_who_has_found_nothing_may_stop() -> None:
    other = ("search_in_graph", {"query": "b"}, NOTHING[2])
    assert set(offered(after(NOTHING, other))) == {"search_in_graph"}
    assert set(offered(after(NOTHING, other, NOTHING))) == {"search_in_graph", "finish"}


def test_who_is_stuck_must_do_something_else() -> None:
    again = ("search_in_neighborhood", {"node_index": 5, "query": "x"}, "Error: x")
    other = ("search_in_neighborhood", {"node_index": 5, "query": "y"}, "Error: x")
    assert "search_in_neighborhood" in offered(after(SEARCHED, again, other))
    now = offered(after(SEARCHED, again, again))
    assert set(now) == {"search_in_graph", "add_to_answer"}
    assert "search_in_neighborhood" in offered(after(SEARCHED, again, again, PICKED))
    assert set(offered(after(NOTHING, NOTHING, NOTHING))) == {"finish"}
    assert set(offered(after(NOTHING, NOTHING))) == {"search_in_graph"}  # the only one there is


def test_tools_of_ark_plus() -> None:
    one_row = ("search_in_graph", {"query": "a"}, '1 nodes match, the best 1:\n[5] "A" | gene')
    assert "common_neighbors" not in offered(after(one_row), PLUS)
    now = offered(after(SEARCHED), PLUS)
    common = now["common_neighbors"]["properties"]
    assert common["node_indices"]["items"] == {"enum": [5, 7]}
    assert common["node_indices"]["minItems"] == 2
    one, several = common["node_type"]["anyOf"]
    assert one == several["items"] == {"enum": ["gene", "disease"]}
    assert now["show_node"]["properties"]["node_index"] == {"enum": [5, 7]}


def test_the_nodes_named_last_stay() -> None:
    rows = [f'[{i}] "n" | gene' for i in range(1, 151)]
    many = ("search_in_graph", {"query": "a"}, "\n".join(["150 nodes match:", *rows]))
    again = ("search_in_neighborhood", {"node_index": 2}, "none")
    now = offered(after(many, again))["search_in_neighborhood"]["properties"]["node_index"]["enum"]
    assert len(now) == 100
    assert now[-1] == 2
    assert 51 not in now
    assert 52 in now


def test_a_forced_tool() -> None:
    assert set(calls_of(contract(after(SEARCHED), TOOLS, tool_choice="add_to_answer")[1])) == {
        "add_to_answer"
    }
    only = [t for t in TOOLS if t["function"]["name"] == "add_to_answer"]
    unfit = calls_of(contract(list(START), only, tool_choice="add_to_answer")[1])
    item = unfit["add_to_answer"]["properties"]["answer_nodes"]["items"]
    assert item["properties"]["node_index"] == {"type": "integer"}  # as it is: nothing was shown


def test_without_the_state_every_tool_is_there_as_it_is() -> None:
    now = calls_of(contract(list(START), TOOLS, state_schema=False)[1])
    assert list(now) == [t["function"]["name"] for t in TOOLS]
    assert now["search_in_neighborhood"]["properties"]["node_index"] == {"type": "integer"}
    assert "description" not in json.dumps(now)


def test_a_state_that_the_caller_knows() -> None:
    state = State(shown=(3,), picked=frozenset({3}), calls=2)
    now = calls_of(contract(list(START), TOOLS, state)[1])
    assert set(now) == {"search_in_graph", "search_in_neighborhood", "finish"}
    assert now["search_in_neighborhood"]["properties"]["node_type"]["type"] == "string"


@pytest.mark.parametrize("arguments", ["", "{", "[1]", "null", '{"node_index": {"a": 1}}'])
def test_broken_calls_of_the_past_are_no_trouble(arguments: str) -> None:
    messages = after(SEARCHED, ("search_in_neighborhood", arguments, "Error: x"))
    assert State.read(messages).shown == (5, 7)
    assert contract(messages, TOOLS)[0][-2].role == "assistant"


# -- the prompt ----------------------------------------------------------------------------------


def test_a_plain_chat_model_gets_plain_turns() -> None:
    messages = [*after(SEARCHED), Message("assistant", "hm"), Message("user", "Call a tool.")]
    plain, _ = contract(messages, TOOLS)
    assert [m.role for m in plain] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert all(not m.tool_calls and m.tool_call_id is None for m in plain)
    assert plain[0].content is not None
    assert plain[0].content.startswith(SYSTEM + "\n\nReply with one JSON object")
    assert plain[2].content == '{"name": "search_in_graph", "arguments": {"query": "a"}}'
    assert plain[3].content == f"Result of search_in_graph:\n{FOUND}"


def test_results_of_one_reply_become_one_turn() -> None:
    calls = (ToolCall("a", "finish", "{}"), ToolCall("b", "nope", "{broken"))
    messages = [
        Message("user", "q"),
        Message("assistant", "Both.", calls),
        Message("tool", "one", tool_call_id="a"),
        Message("tool", "two", tool_call_id="b"),
        Message("user", "Go on."),
    ]
    plain = plain_messages(messages)
    assert [m.role for m in plain] == ["user", "assistant", "user"]
    assert plain[1].content == (
        'Both.\n{"name": "finish", "arguments": {}}\n{"name": "nope", "arguments": "{broken"}'
    )
    assert plain[2].content == "Result of finish:\none\n\nResult of nope:\ntwo\n\nGo on."


def test_nothing_that_the_prompt_has_is_said_again() -> None:
    said = TOOLS[0]["function"]["description"]
    assert said in instructions(TOOLS)
    assert said not in instructions(TOOLS, f"- search_in_graph: {said}")


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        (ToolOptions(neighbors=False), "search_in_neighborhood"),
        (ToolOptions(neighbor_query=False), '"stone"'),
        (ToolOptions(neighbor_filters=False), "node_type"),
    ],
)
def test_an_ablation_is_one_in_the_example_too(options: ToolOptions, absent: str) -> None:
    assert absent in instructions(TOOLS)
    shown = instructions(tool_schemas(options))
    assert ASKED in shown
    assert absent not in shown


def test_the_example_can_be_left_out_and_needs_tools_that_fit() -> None:
    assert ASKED not in instructions(TOOLS, example=False)
    assert ASKED not in instructions([t for t in TOOLS if t["function"]["name"] == "finish"])
    assert ASKED in instructions(PLUS)


def test_the_example_obeys_the_schemas_and_is_about_no_graph_of_ours(
    toy_graph: KnowledgeGraph,
) -> None:
    schema = contract(list(START), TOOLS, state_schema=False)[1]
    for step in STEPS:
        jsonschema.validate({"name": step.tool, "arguments": step.arguments}, schema)
    assert not {"engineer", "bridge", "award"} & set(toy_graph.node_types)


# -- on real conversations -----------------------------------------------------------------------


def walk(graph: KnowledgeGraph, tmp_path: Any, method: Ark) -> Attempt:
    search = BM25.open_or_build(graph, tmp_path, BM25Settings())
    ctx = Context(graph, search, LexicalBackbone(), random.Random(0))
    question = "Which plants does the copper moth visit that flower in the evening?"
    return asyncio.run(method.attempt(question, ctx, 0))


@pytest.mark.parametrize("method", [Ark(agents=1), ArkPlus(agents=1)])
def test_a_real_walk_stays_inside_the_schema_and_grows_at_its_end(
    toy_graph: KnowledgeGraph, data_root_path: Any, method: Ark
) -> None:
    attempt = walk(toy_graph, data_root_path, method)
    tools = PLUS if isinstance(method, ArkPlus) else TOOLS
    messages = attempt.trajectory.messages
    before: list[Message] = []
    checked = 0
    for at, message in enumerate(messages):
        if message.role != "assistant":
            continue
        plain, schema = contract(messages[:at], tools)
        assert plain[: len(before)] == before  # what was sent is a prefix of what is sent
        before = plain
        jsonschema.Draft202012Validator.check_schema(schema)
        first = message.tool_calls[0]
        arguments = json.loads(first.arguments)
        arguments["query"] = str(arguments.get("query", "x"))[:200]
        if first.name in calls_of(schema) and first.name != "add_to_answer":
            known = calls_of(schema)[first.name]["properties"]
            jsonschema.validate(
                {
                    "name": first.name,
                    "arguments": {k: v for k, v in arguments.items() if k in known},
                },
                schema,
            )
            checked += 1
    assert checked >= 2
    assert State.read(messages).picked == set(attempt.ranking.nodes) or method.handles == "opaque"


def test_the_trajectory_is_that_of_native_mode() -> None:
    message = answer('{"name": "finish", "arguments": {"comment": "ok"}}', TOOLS, after(SEARCHED))
    call = ToolCall("call_1_0", "finish", '{"comment": "ok"}')
    assert message == Message("assistant", None, (call,))
    assert answer("no call", TOOLS, START) == Message("assistant", "no call")
    assert answer(None, TOOLS, START) == Message("assistant", None)
    prose = "<think>hm</think>I stop.\n```json\n" + '{"name": "finish"}\n```'
    assert answer(prose, TOOLS, START).content == "I stop."
