"""The loop with scripted models: steps, ends, order, and what is written down."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ark.agent import Ark
from ark.agent.prompt import Prompt, shipped
from ark.agent.tools import ADD, FINISH, NEIGHBORS, SEARCH
from ark.backbone import ScriptedBackbone
from ark.errors import QueryFailedError, UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt
from ark.search import BM25

Script = Sequence[Mapping[str, Any]]


def one(name: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def play(graph: KnowledgeGraph, root: Path, script: Script, **settings: Any) -> Attempt:
    context = Context(
        graph, BM25.open_or_build(graph, root), ScriptedBackbone(script), random.Random(0)
    )
    return asyncio.run(Ark(**settings).attempt("Which moth?", context, 0))


def test_a_whole_trajectory(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    i1, p2 = toy_graph.index("i1"), toy_graph.index("p2")
    script = [
        one(SEARCH, query="copper moth"),
        one(NEIGHBORS, node_index=i1, node_type="plant"),
        {
            "calls": [
                {"name": ADD, "arguments": {"answer_nodes": [{"node_index": p2}]}},
                {"name": ADD, "arguments": {"answer_nodes": [{"node_index": i1}]}},
                {"name": FINISH, "arguments": {}},
                {"name": ADD, "arguments": {"answer_nodes": [{"node_index": 3}]}},
            ]
        },
    ]
    attempt = play(toy_graph, data_root_path, script)
    assert attempt.status == "ok"
    assert attempt.ranking.nodes == (p2, i1)
    assert attempt.ranking.picked_at == (3, 3)
    assert attempt.ranking.answers == 2
    roles = [m.role for m in attempt.trajectory.messages]
    assert roles == ["system", "user", *["assistant", "tool"] * 2, "assistant", *["tool"] * 4]
    assert attempt.trajectory.messages[-1].content == "Not run: the work had ended."
    walk = [step.state for step in attempt.trajectory.steps]
    assert [len(state["calls"]) for state in walk] == [1, 1, 3]
    assert walk[1]["calls"][0]["offered"] == ["p2", "p4"]
    assert walk[2]["calls"][0]["selected"] == ["p2"]


def test_the_budget_ends_with_what_was_picked(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    i1 = toy_graph.index("i1")
    script = [
        one(SEARCH, query="copper moth"),
        one(ADD, answer_nodes=[{"node_index": i1, "reasoning": "r"}]),
        *[one(SEARCH, query="moth")] * 9,
    ]
    attempt = play(toy_graph, data_root_path, script, max_steps=5)
    assert attempt.status == "limit"
    assert attempt.ranking.nodes == (i1,)
    assert len(attempt.trajectory.steps) == 5


def test_text_instead_of_a_call_is_counted_and_answered(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    attempt = play(toy_graph, data_root_path, [{"content": "I refuse."}, one(FINISH)])
    assert attempt.status == "ok"
    assert attempt.ranking.nodes == ()
    assert [step.invalid for step in attempt.trajectory.steps] == [1, 0]
    assert attempt.trajectory.messages[3].role == "user"


def test_invalid_calls_are_counted_by_step(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    script = [{"calls": [{"name": "x"}, {"name": SEARCH, "arguments": "{"}]}, one(FINISH)]
    attempt = play(toy_graph, data_root_path, script)
    assert [step.invalid for step in attempt.trajectory.steps] == [2, 0]


def test_a_backbone_that_fails_fails_the_question(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    with pytest.raises(QueryFailedError, match="the script has 1 answers"):
        play(toy_graph, data_root_path, [one(SEARCH, query="moth")])


def test_no_question_id_and_no_gold_reach_the_model(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    attempt = play(toy_graph, data_root_path, [one(SEARCH, query="copper"), one(FINISH)])
    text = "\n".join(m.content or "" for m in attempt.trajectory.messages)
    assert not any(f'"{toy_graph.id(i)}"' in text for i in range(toy_graph.n_nodes))


def test_the_prompt_lists_types_and_tools(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    attempt = play(toy_graph, data_root_path, [one(FINISH)], neighbors=False)
    system = attempt.trajectory.messages[0].content or ""
    assert '["habitat", "insect", "plant"]' in system
    assert '"grows in"' in system
    assert "- search_in_graph:" in system
    assert "- search_in_neighborhood:" not in system


def test_prompt_files(tmp_path: Path, toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("Types {{ types }}; {{ tools|length }} tools", encoding="utf-8")
    attempt = play(toy_graph, data_root_path, [one(FINISH)], prompt=str(file))
    assert attempt.trajectory.messages[0].content.endswith("; 4 tools")  # type: ignore[union-attr]
    assert Ark(prompt=str(file)).identity["prompt"] != Ark().identity["prompt"]
    assert "ours" in shipped()
    with pytest.raises(UserError, match="did you mean ours"):
        Prompt.load("our")


@pytest.mark.parametrize(
    "template",
    [
        "{{ nothing }}",
        "{% if %}",
        "{{ tools.__class__.__mro__ }}",
        "{{ ''.__class__.__subclasses__() }}",
        "{{ 1 / 0 }}",
        "{{ types + 1 }}",
    ],
)
def test_a_broken_or_hostile_template_is_one_line(
    template: str, tmp_path: Path, toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    file = tmp_path / "bad.jinja"
    file.write_text(template, encoding="utf-8")
    with pytest.raises(UserError, match=r"method\.prompt: the template fails"):
        play(toy_graph, data_root_path, [one(FINISH)], prompt=str(file))


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"agents": 0}, "method.agents=0"),
        ({"max_steps": -1}, "method.max_steps=-1"),
        ({"global_k": 50}, "global_k_max=30 is below"),
        ({"neighbor_rank": "bm52"}, "did you mean bm25"),
        ({"observation_tokens": 1}, "50 at least"),
    ],
)
def test_wrong_settings_are_one_line(settings: dict[str, Any], wanted: str) -> None:
    with pytest.raises(UserError, match=wanted):
        Ark(**settings)


def test_agents_are_a_reading_and_not_part_of_the_identity() -> None:
    assert Ark(agents=1).identity == Ark(agents=3).identity
    assert Ark(max_steps=5).identity != Ark().identity
