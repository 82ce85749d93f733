"""Backbones without an LLM: what they know, that they repeat, and that their calls are valid."""

from __future__ import annotations

import asyncio
import json
import random
import re
from pathlib import Path

import pytest

from ark.agent import Ark
from ark.agent.prompt import shipped
from ark.agent.toolbox import Toolbox
from ark.agent.tools import tool_schemas
from ark.backbone import LexicalBackbone, RandomBackbone, ScriptedBackbone
from ark.backbone.choose import choose
from ark.backbone.conversation import Row
from ark.backbone.linking import asked_type, chunks, links, rest_of
from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Backbone, Context
from ark.records import Attempt, Message, ToolCall
from ark.search import BM25
from ark.text import tokens

SOURCES = Path(__file__).resolve().parents[2] / "ark"


def attempt(
    graph: KnowledgeGraph, root: Path, backbone: Backbone, question: str, agent: int = 0
) -> Attempt:
    context = Context(graph, BM25.open_or_build(graph, root), backbone, random.Random(0))
    return asyncio.run(Ark().attempt(question, context, agent))


def ids(graph: KnowledgeGraph, found: Attempt) -> list[str]:
    return [graph.id(i) for i in found.ranking.nodes]


def test_lexical_links_expands_and_filters(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    found = attempt(
        toy_graph, data_root_path, LexicalBackbone(), "Which plants does Ribbon fly visit?"
    )
    assert set(ids(toy_graph, found)) == {"p1", "p4"}
    assert found.status == "ok"


def test_lexical_intersects(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    question = "Which insect visits both Silverleaf and Marsh candle?"
    found = attempt(toy_graph, data_root_path, LexicalBackbone(), question)
    assert ids(toy_graph, found)[0] == "i3"


def test_lexical_goes_over_a_bridge(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    question = "In which habitat do the flowers grow that Dune beetle feeds on?"
    found = attempt(toy_graph, data_root_path, LexicalBackbone(), question)
    assert "h1" in ids(toy_graph, found)


def test_lexical_searches_when_nothing_is_named(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    question = "a plant with blue flowers that open late"
    found = attempt(toy_graph, data_root_path, LexicalBackbone(), question)
    assert ids(toy_graph, found)[0] == "p2"


def test_lexical_finishes_when_nothing_matches(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    found = attempt(toy_graph, data_root_path, LexicalBackbone(), "Zzzz?")
    assert found.status == "ok"
    assert found.ranking.nodes == ()


@pytest.mark.parametrize("backbone", [LexicalBackbone, RandomBackbone])
def test_runs_repeat_and_draws_differ(
    toy_graph: KnowledgeGraph, data_root_path: Path, backbone: type[LexicalBackbone]
) -> None:
    question = "What is near the Copper moth?"
    same = [attempt(toy_graph, data_root_path, backbone(seed=1), question) for _ in range(2)]
    assert same[0] == same[1]
    texts = {
        json.dumps(
            [
                m.to_json()
                for m in attempt(
                    toy_graph, data_root_path, backbone(seed=s), question, agent
                ).trajectory.messages
            ]
        )
        for s in (1, 2)
        for agent in range(3)
    }
    assert len(texts) > 1


def test_another_wording_of_the_prompt_changes_no_rule_based_row(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path)
    for backbone in (LexicalBackbone(), RandomBackbone()):
        context = Context(toy_graph, search, backbone, random.Random(0))
        found = {
            asyncio.run(
                Ark(prompt=prompt).attempt("What is near the Copper moth?", context, 0)
            ).ranking
            for prompt in shipped()
        }
        assert len(found) == 1


def test_random_calls_are_valid(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    search = BM25.open_or_build(toy_graph, data_root_path)
    for seed in range(15):
        context = Context(toy_graph, search, RandomBackbone(seed), random.Random(0))
        found = asyncio.run(Ark().attempt("Which plants grow in Mercury?", context, seed))
        assert [s.invalid for s in found.trajectory.steps] == [0] * len(found.trajectory.steps)


def test_lexical_calls_are_valid(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    questions = (
        "Which plants grow in Mercury and are visited by the Copper moth?",
        "What lives in Old marsh?",
        "insects plants habitats",
        "",
        ']]] " | \\ 12',
    )
    for question in questions:
        found = attempt(toy_graph, data_root_path, LexicalBackbone(), question)
        assert [s.invalid for s in found.trajectory.steps] == [0] * len(found.trajectory.steps)


@pytest.mark.parametrize("name", ["neighbors", "neighbor_query", "neighbor_filters"])
def test_lexical_follows_the_tools_it_is_given(
    toy_graph: KnowledgeGraph, data_root_path: Path, name: str
) -> None:
    context = Context(
        toy_graph,
        BM25.open_or_build(toy_graph, data_root_path),
        LexicalBackbone(),
        random.Random(0),
    )
    method = Ark(**{name: False})  # type: ignore[arg-type]
    found = asyncio.run(method.attempt("Which plants does Ribbon fly visit?", context, 0))
    assert found.status == "ok"
    assert [s.invalid for s in found.trajectory.steps] == [0] * len(found.trajectory.steps)


def test_policies_are_looked_up_by_tag() -> None:
    backbone = LexicalBackbone(policies={"mine": lambda *_: "chosen"})
    messages = [Message("user", "Pick about moths:\n1. a beetle\n2. a moth\n3. two moths")]
    mine = asyncio.run(backbone.complete(messages, tag="mine"))
    assert mine.message.content == "chosen"
    other = asyncio.run(backbone.complete(messages, tag="other.choose"))
    assert json.loads(other.message.content or "")[0] == 2  # plurals are the same word
    assert mine.usage.calls == 1
    assert mine.usage.prompt_tokens == 0


def test_choose_fills_the_schema() -> None:
    messages = [Message("user", "moth wings\n1. wings of a moth\n2) moth\n3. stone")]
    schema = {"properties": {"picks": {"type": "array", "maxItems": 2}}}
    assert json.loads(choose(messages, (), schema, random.Random(0))) == {"picks": [1, 2]}
    single = {"properties": {"pick": {"type": "integer"}}}
    assert json.loads(choose(messages, (), single, random.Random(0))) == {"pick": 1}
    assert json.loads(choose([Message("user", "none")], (), None, random.Random(0))) == []


def test_random_fills_a_schema_without_tools() -> None:
    messages = [Message("user", "x\n1. a\n2. b")]
    schema = {
        "type": "object",
        "properties": {"pick": {"type": "integer"}, "why": {"type": "string"}},
        "required": ["pick", "why"],
    }
    for draw in range(5):
        done = asyncio.run(RandomBackbone().complete(messages, tag="t", schema=schema, draw=draw))
        value = json.loads(done.message.content or "")
        assert value["pick"] in (1, 2)
        assert isinstance(value["why"], str)


def test_linking_prefers_the_longest_name() -> None:
    rows = [Row(1, "Marsh", "h"), Row(2, "Old marsh", "h"), Row(3, "candle", "p"), Row(4, "x", "p")]
    found = links("What grows in the OLD marsh by the candle?", rows)
    assert [link.row.index for link in found] == [2, 3]
    assert rest_of("What grows in the OLD marsh by the candle?", found) == "grows"


def test_asked_type_is_the_first_named_outside_links() -> None:
    rows = [Row(2, "Plant house", "habitat")]
    question = "Which insects in the plant house visit plants?"
    found = links(question, rows)
    assert asked_type(question, ["plant", "insect"], found) == "insect"
    assert asked_type("Which diseases?", ["disease", "gene"], ()) == "disease"
    assert asked_type("list the body parts", ["body_part"], ()) == "body_part"
    assert asked_type("nothing", ["gene"], ()) is None


def test_chunks_keep_names_whole() -> None:
    found = chunks("Which plants of the Old marsh, and with Silver leaf by night?")
    assert "silver leaf" in found
    assert any("old marsh" in c for c in found)


def test_a_script_is_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"backbone\.script=FILE\.json"):
        ScriptedBackbone(None)
    file = tmp_path / "s.json"
    file.write_text("{}")
    with pytest.raises(UserError, match="must be a JSON list"):
        ScriptedBackbone(str(file))
    with pytest.raises(UserError, match="not a readable JSON list"):
        ScriptedBackbone(str(tmp_path / "none.json"))


def test_tables_will_say_that_there_is_no_llm() -> None:
    assert LexicalBackbone().label == "rule-based controller (no LLM)"
    assert "(no LLM)" in RandomBackbone().label
    assert "(no LLM)" in ScriptedBackbone([{"content": "x"}]).label
    assert LexicalBackbone().identity == {"backbone": "lexical", "rules": LexicalBackbone.version}


def test_the_rules_hold_no_phrase_of_the_question_templates() -> None:
    from ark.queries import wording_cwe, wording_hpo, wording_toy

    templates = [t for m in (wording_cwe, wording_hpo, wording_toy) for t in m.ALL_TEMPLATES]
    runs = {
        tuple(words[i : i + 4])
        for template in templates
        for words in [tokens(re.sub(r"[{}]", " ", template))]
        for i in range(len(words) - 3)
    }
    assert len(runs) > 50
    files = [*(SOURCES / "backbone").glob("*.py"), *(SOURCES / "agent").glob("**/*.jinja")]
    assert len(files) > 5
    for file in files:
        words = tokens(file.read_text(encoding="utf-8"))
        shared = {tuple(words[i : i + 4]) for i in range(len(words) - 3)} & runs
        assert not shared, f"{file.name} shares {shared}"


def test_a_conversation_of_garbage_is_survived() -> None:
    tools = tool_schemas(Toolbox.options)
    messages = [
        Message("system", "["),
        Message("user", "Which?"),
        Message(
            "assistant", None, (ToolCall("a", "search_in_graph", "{"), ToolCall("b", "?", "[]"))
        ),
        Message("tool", '[x] "\n[1] "a" | t\nNeighbors of [', tool_call_id="a"),
    ]
    for backbone in (LexicalBackbone(), RandomBackbone()):
        done = asyncio.run(backbone.complete(messages, tag="ark.step", tools=tools))
        assert done.message.tool_calls
