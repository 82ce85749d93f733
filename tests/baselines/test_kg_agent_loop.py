"""KG-Agent's loop and memory (specification, section 3.12): a worked program, the cap of 30 steps,
the repair path, a memory that keeps its token budget, and what becomes of the answer.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from kg_agent_world import HUB, planned, world

from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.errors import QueryLimitError, UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Completion, Message, Usage
from ark.scoring.judge import judge
from ark.scoring.measures import parse_measure
from ark.search import BM25
from baselines.kg_agent.loop import TAG
from baselines.kg_agent.memory import CHARACTERS, Memory, MemoryFullError
from baselines.kg_agent.method import KGAgent, KGAgentSFT


@pytest.fixture
def graph(data_root_path: Path) -> KnowledgeGraph:
    return world(data_root_path)


class Watched:
    """Plays lines over and over, and keeps every prompt and how it was asked."""

    label, is_llm = "test", True
    identity: ClassVar[dict[str, Any]] = {"backbone": "watched"}

    def __init__(self, lines: Sequence[str], stop_after: int = 10**6) -> None:
        self.lines, self.stop_after = lines, stop_after
        self.prompts: list[list[Message]] = []
        self.asked: list[dict[str, Any]] = []

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        if len(self.prompts) == self.stop_after:
            raise QueryLimitError("calls")
        line = self.lines[len(self.prompts) % len(self.lines)]
        self.prompts.append(list(messages))
        self.asked.append(how)
        text = json.dumps({"call": line})
        return Completion(Message("assistant", text), Usage(calls=1), "stop", "test")


def ids(graph: KnowledgeGraph, done: Attempt) -> list[str]:
    return [graph.id(i) for i in done.ranking.nodes]


def answer(graph: KnowledgeGraph, done: Attempt) -> list[str]:
    return sorted(ids(graph, done)[: done.ranking.answers or 0])


# -- programs ------------------------------------------------------------------------------------


def test_a_program_of_two_moves_a_year_and_an_argmax(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """The shape of the paper's worked example."""
    done = planned(
        graph,
        data_root_path,
        [
            "v1 = get_relation(v0)",
            "v2 = get_tail_entity(v0, home of)",
            "v3 = get_relation(v2)",
            "v4 = get_tail_entity(v2, has player)",
            "v5 = get_entity_by_constraint(v4, signed, =, 1998)",
            "v6 = get_entity_by_constraint(v5, goals, argmax)",
            "ans = end(v6)",
        ],
        topics=["town"],
    )
    assert done.status == "ok"
    assert answer(graph, done) == ["b"]
    assert [s.state.get("size") for s in done.trajectory.steps] == [None, 2, None, 4, 3, 1, 1]
    assert [s.invalid + s.fallbacks for s in done.trajectory.steps] == [0] * 7


def test_each_step_is_one_call_with_its_tag(graph: KnowledgeGraph, data_root_path: Path) -> None:
    watched = Watched(["v1 = get_relation(v0)", "v2 = no_tool(v0)", "end(v0)"])
    done = planned(graph, data_root_path, [], topics=["club"], backbone=watched, max_tokens=128)
    assert [how["tag"] for how in watched.asked] == ["kg_agent.step"] * 3
    assert {how["max_tokens"] for how in watched.asked} == {128}
    assert {how["temperature"] for how in watched.asked} == {0.0}
    assert [s.tag for s in done.trajectory.steps] == [TAG] * 3
    assert {s.state["kind"] for s in done.trajectory.steps} == {"program"}


def test_the_cap_of_thirty_steps(graph: KnowledgeGraph, data_root_path: Path) -> None:
    watched = Watched(["v1 = get_tail_entity(v0, has player)"])
    done = planned(graph, data_root_path, [], topics=["club"], backbone=watched)
    assert len(watched.prompts) == 30 == len(done.trajectory.steps)
    assert done.status == "limit"
    assert answer(graph, done) == ["a", "b", "d"]  # the last set, as there was no end
    assert [s.fallbacks for s in done.trajectory.steps] == [0] * 29 + [1]
    assert (
        len(
            planned(
                graph, data_root_path, ["v1 = count(v0)"] * 9, topics=["club"], max_steps=4
            ).trajectory.steps
        )
        == 4
    )


def test_a_limit_of_the_query_ends_with_what_there_is(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    for calls in range(3):
        watched = Watched(["v1 = get_tail_entity(v0, has player)"], stop_after=calls)
        done = planned(graph, data_root_path, [], topics=["club"], backbone=watched)
        assert done.status == "limit"
        assert answer(graph, done) == (["a", "b", "d"] if calls else [])
        assert "club" in ids(graph, done)


def test_a_result_without_a_name_gets_the_next_free_one(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    watched = Watched(["get_tail_entity(v0, has player)", "end(v1)"])
    done = planned(graph, data_root_path, [], topics=["club"], backbone=watched)
    assert "v1: 3 nodes" in str(watched.prompts[1][-1].content)
    assert answer(graph, done) == ["a", "b", "d"]


# -- repair --------------------------------------------------------------------------------------


def test_an_error_is_shown_and_repaired(graph: KnowledgeGraph, data_root_path: Path) -> None:
    watched = Watched(
        ["v1 = get_tail_entity(v0, players)", "v1 = get_tail_entity(v0, has player)", "end(v1)"]
    )
    done = planned(graph, data_root_path, [], topics=["club"], backbone=watched)
    assert "error (relation): unknown relation of this set: 'players'" in str(
        watched.prompts[1][-1].content
    )
    assert "did you mean has player" in str(watched.prompts[1][-1].content)
    assert [s.invalid for s in done.trajectory.steps] == [1, 0, 0]
    assert answer(graph, done) == ["a", "b", "d"]
    assert done.status == "ok"


def test_two_repairs_in_a_row_and_then_the_last_set_is_the_answer(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    good, bad = "v1 = get_tail_entity(v0, has player)", "v2 = count(nothing)"
    lines = [good, bad, bad, good, bad, bad, bad, "end(v0)"]
    done = planned(graph, data_root_path, lines, topics=["club"])
    assert [s.invalid for s in done.trajectory.steps] == [0, 1, 1, 0, 1, 1, 1]
    assert answer(graph, done) == ["a", "b", "d"]
    assert done.trajectory.steps[-1].fallbacks == 1
    assert done.trajectory.steps[-1].state["ended"] is False


def test_the_released_codes_way_stops_at_the_first_failure_with_nothing(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    code = {"strict": False, "repairs": 0, "keep_last": False, "search_in": False}
    good, bad = "v1 = get_tail_entity(v0, has player)", "v2 = count(nothing)"
    done = planned(graph, data_root_path, [good, bad, "end(v1)"], topics=["club"], **code)
    assert done.ranking.answers == 0
    assert len(done.trajectory.steps) == 2
    loose = [good, "v2 = get_entity_by_constraint(v1, goals, >, 99)", "end(v2)", "end(v1)"]
    done = planned(graph, data_root_path, loose, topics=["club"], **code)
    assert answer(graph, done) == ["a", "b", "d"]
    assert "unchanged" in done.trajectory.steps[1].state["notes"][0]
    strict = planned(graph, data_root_path, loose, topics=["club"])
    assert strict.trajectory.steps[1].state["error"] == (
        "error (empty): nothing satisfies goals > 99"
    )


# -- memory --------------------------------------------------------------------------------------


def size(messages: Sequence[Message]) -> int:
    return sum(len(m.content or "") for m in messages)


@pytest.mark.parametrize("tokens", [1500, 2048, 4000])
@pytest.mark.parametrize(
    "question", ["Which?", "has player home of " * 3000], ids=["short", "long"]
)
def test_the_memory_never_exceeds_its_token_budget(
    graph: KnowledgeGraph, data_root_path: Path, tokens: int, question: str
) -> None:
    lines = [
        "v1 = get_relation(v0)",
        "v2 = get_candidate_entity(club town plays wing goal king)",
        "v3 = get_entity_by_constraint(v0, founded, =, " + "9" * 700 + ")",
        "v4 = get_entity_by_type(fan)",
        "v5 = union(v4, v2)",
        "v6 = get_relation(v5)",
    ]
    watched = Watched(lines)
    done = planned(
        graph,
        data_root_path,
        [],
        topics=["club", "a", "town"],
        backbone=watched,
        question=question,
        memory_tokens=tokens,
        max_steps=60,
    )
    assert len(watched.prompts) > 5
    assert max(map(size, watched.prompts)) <= CHARACTERS * tokens
    assert done.status == "limit"
    if len(watched.prompts) < 60:  # memory was full: the next call would not have fitted
        assert size(watched.prompts[-1]) > CHARACTERS * tokens - 1200


def test_the_relation_list_is_cut_first_and_the_history_never() -> None:
    lines = [f"link {i} | get_tail_entity | thing | {i}" for i in range(500)]
    lines[333] = "painted by | get_tail_entity | painter | 1"
    memory = Memory("system", "Who painted it, painted by whom?", ["It | thing"], 600)
    history = [(f"v{i} = get_tail_entity(v0, link {i})", f"v{i}: 1 nodes") for i in range(20)]
    for call, result in history:
        memory.add(call, result, lines)
    messages = memory.messages()
    assert size(messages) <= 600 * CHARACTERS
    text = "\n".join(m.content or "" for m in messages)
    assert all(json.dumps({"call": call}) in text and result in text for call, result in history)
    assert "- painted by | get_tail_entity | painter | 1" in text  # fits the question best
    assert text.endswith("more")
    memory.tokens = 200
    with pytest.raises(MemoryFullError):
        memory.messages()


def test_the_current_information_is_that_of_the_last_call_only(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    watched = Watched(["v1 = get_relation(v0)", "v2 = get_tail_entity(v0, has player)", "end(v2)"])
    planned(graph, data_root_path, [], topics=["club"], backbone=watched)
    first, second, third = watched.prompts
    assert str(first[-1].content).endswith("Knowledge graph information:\nnone")
    assert "- has player | get_tail_entity | player | 3" in str(second[-1].content)
    assert "| get_tail_entity |" not in "".join(str(m.content) for m in third[1:])
    assert "v2: 3 nodes, player: Ada; Ben; Dee" in str(third[-1].content)
    assert third[:3] == second[:3]  # what a provider has cached stays


def test_a_type_of_many_nodes_is_shown_by_its_size_and_five_names(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    watched = Watched(["v1 = get_entity_by_type(fan)", "end(v1)"])
    done = planned(graph, data_root_path, [], backbone=watched)
    shown = str(watched.prompts[1][-1].content)
    assert f"v1: {HUB} nodes, fan: fan0; fan1; fan2; fan3; fan4; …" in shown
    assert "fan5" not in shown
    assert done.ranking.answers == 100


# -- answers -------------------------------------------------------------------------------------


def test_numbers_and_truth_values_give_no_ranked_answer(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    for last, value in (("v2 = count(v1)", 3), ("v2 = judge(v1, goals, >, 99)", False)):
        lines = ["v1 = get_tail_entity(v0, has player)", last, "end(v2)"]
        done = planned(graph, data_root_path, lines, topics=["club"])
        assert done.ranking.answers == 0
        assert done.trajectory.steps[-1].state["answer"] == value
        assert ids(graph, done)[:3] == ["a", "b", "d"]  # tier B


def test_tiers_answer_then_newer_sets_then_linked_entities(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    lines = [
        "v1 = get_tail_entity(v0, has player)",
        "v2 = get_head_entity(b, has player)",
        "v3 = get_tail_entity(a, friend of)",
        "end(v2)",
    ]
    done = planned(graph, data_root_path, lines, topics=["club"])
    assert answer(graph, done) == ["city"]  # the topic is no answer
    assert ids(graph, done) == ["city", "twin2", "d", "club"]  # nor are a and b, written by id


def test_a_set_is_in_the_order_of_search_in_else_of_the_question(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    move = "v1 = get_tail_entity(v0, has player)"
    asked = {"topics": ["club"], "question": "Who plays in goal?"}
    plain = planned(graph, data_root_path, [move, "end(v1)"], **asked)
    assert ids(graph, plain)[0] == "b"
    lines = [move, "v2 = search_in(v1, left wing, 5)", "end(v2)"]
    searched = planned(graph, data_root_path, lines, search_in=True, **asked)
    assert ids(graph, searched)[0] == "a"
    drawn = {
        tuple(
            ids(
                graph,
                planned(graph, data_root_path, [move, "end(v1)"], seed=s, order="random", **asked),
            )[:3]
        )
        for s in range(30)
    }
    assert len(drawn) == 6


def test_expected_hit_at_1_of_an_unordered_set_is_the_precision_of_the_answer(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """Closed form |A and G| / |A| against drawing an order, as the paper does 100 times."""
    lines = ["v1 = get_tail_entity(v0, has player)", "end(v1)"]
    hits, gold = [], [graph.index("a"), graph.index("c")]
    for seed in range(150):
        done = planned(graph, data_root_path, lines, topics=["club"], seed=seed, order="random")
        judged = judge(done.ranking.nodes, gold, answers=done.ranking.answers)
        assert parse_measure("precision").score(judged) == pytest.approx(1 / 3)
        hits.append(parse_measure("hit@1").score(judged) or 0.0)
    assert sum(hits) / len(hits) == pytest.approx(1 / 3, abs=0.12)
    empty = planned(graph, data_root_path, ["x"] * 3, topics=["club"])
    judged = judge(empty.ranking.nodes, gold, answers=empty.ranking.answers)
    assert parse_measure("precision").score(judged) == 0.0


# -- settings ------------------------------------------------------------------------------------


def test_entities_are_linked_from_the_question_unless_given(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    search = BM25.open_or_build(graph, data_root_path)
    context = Context(graph, search, LexicalBackbone(), random.Random(0))
    question = "Which players has the Harbour Club?"
    done = asyncio.run(KGAgent().attempt(question, context, 0))
    assert done.trajectory.steps[0].tag == "kg_agent.link"
    assert answer(graph, done) == ["a", "b", "d"]
    assert KGAgent.links_seeds


def test_the_extensions_are_off_unless_a_preset_turns_them_on() -> None:
    assert not KGAgent().search_in
    assert not KGAgent().more_tools


def test_rows_are_called_by_what_plans() -> None:
    assert KGAgent.label == "KG-Agent (prompted planner)"
    assert KGAgentSFT.label == "KG-Agent (SFT planner)"
    assert KGAgent.label_without_model == "KG-Agent (rule-based planner)"
    assert KGAgentSFT.label_without_model == KGAgent.label_without_model  # rules are not trained


def test_without_search_in_the_planner_does_not_hear_of_it(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    for on in (True, False):
        watched = Watched(["v1 = search_in(v0, sea)", "end(v0)"])
        planned(graph, data_root_path, [], topics=["club"], backbone=watched, search_in=on)
        assert ("search_in" in str(watched.prompts[0][0].content)) is on
        assert ("unknown tool 'search_in'" in str(watched.prompts[1][-1].content)) is not on


@pytest.mark.parametrize(
    "wrong",
    [{"max_steps": 0}, {"memory_tokens": 100}, {"order": "names"}, {"strict": 1}, {"repairs": -1}],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"method\.{next(iter(wrong))}"):
        KGAgent(**wrong)


def test_the_probe_of_the_fingerprint_plays_a_whole_program(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    script = ScriptedBackbone(list(KGAgent.probe))
    search = BM25.open_or_build(toy_graph, data_root_path)
    context = Context(toy_graph, search, script, random.Random(0))
    method = KGAgent(search_in=True)
    done = asyncio.run(method.attempt("Which plants do moths visit?", context, 0))
    steps = [s.state for s in done.trajectory.steps if s.tag == TAG]
    assert len(steps) == len(KGAgent.probe)
    assert [s["call"] for s in steps if "error" in s] == ["v4 = get_tail_entity(v0, grow in)"]
    assert steps[-1]["ended"] is True
