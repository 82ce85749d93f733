"""Orders: what a model may answer, and what becomes of the list."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.backbone.choose import options_in
from ark.errors import QueryLimitError, UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Completion, Message, Usage
from ark.run.locate import build
from ark.search import BM25
from baselines.ask import Asker
from baselines.rerank import Listwise, Pointwise, Settings, listwise

QUESTION = "Which plant in the walled garden do moths visit after sunset?"
NODES = (4, 7, 1, 0, 9)


class Saying:
    """Gives the same texts one after the other, and keeps what it was asked."""

    label = "test"
    identity: ClassVar[dict[str, str]] = {"backbone": "test"}

    def __init__(self, *texts: str | None) -> None:
        self._texts = texts
        self.asked: list[tuple[list[Message], dict[str, Any]]] = []

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        if len(self.asked) == len(self._texts):
            raise QueryLimitError("no more calls")
        self.asked.append((list(messages), how))
        text = self._texts[len(self.asked) - 1]
        return Completion(Message("assistant", text), Usage(calls=1), "stop", "test")


@pytest.fixture
def toy(toy_graph: KnowledgeGraph, data_root_path: Path) -> Context:
    search = BM25.open_or_build(toy_graph, data_root_path)
    return Context(toy_graph, search, LexicalBackbone(), random.Random(0))


def reordered(
    toy: Context, reranker: Listwise | Pointwise, *texts: str | None, nodes: Sequence[int] = NODES
) -> tuple[Attempt, Saying]:
    backbone = Saying(*texts)
    ctx = replace(toy, backbone=backbone)
    return asyncio.run(reranker.reorder(QUESTION, nodes, ctx, 3)), backbone


def order(*numbers: object) -> str:
    return json.dumps({"order": numbers})


def scores(**by_option: object) -> str:
    entries = [{"option": int(o[1:]), "score": s} for o, s in by_option.items()]
    return json.dumps({"scores": entries})


@pytest.mark.parametrize(
    ("answer", "wanted", "invalid"),
    [
        (order(5, 4, 3, 2, 1), (9, 0, 1, 7, 4), 0),
        (order(3), (1, 4, 7, 0, 9), 0),  # nodes that are not named keep their order
        (order(3, 3, 2, 3), (1, 7, 4, 0, 9), 0),
        (order(3, 99, -1, "x", None, 2), (1, 7, 4, 0, 9), 1),
        (order("2", 4.0), (7, 0, 4, 1, 9), 0),
        ("Sure! " + order(2) + " as asked", (7, 4, 1, 0, 9), 0),
    ],
)
def test_listwise_orders(toy: Context, answer: str, wanted: tuple[int, ...], invalid: int) -> None:
    attempt, backbone = reordered(toy, Listwise(), answer)
    assert attempt.ranking.nodes == wanted
    assert attempt.status == "ok"
    (step,) = attempt.trajectory.steps
    assert (step.tag, step.invalid, step.fallbacks) == ("rerank.listwise", invalid, 0)
    assert step.state["top"] == [toy.graph.id(i) for i in wanted]
    assert backbone.asked[0][1]["draw"] == 3


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (scores(o5=10, o1=2, o2=7.5), (9, 7, 4, 1, 0)),
        (scores(o4=5, o2=5, o3=5), (7, 1, 0, 4, 9)),  # equal scores: as they stood
        (scores(o4=0), (0, 4, 7, 1, 9)),
        (scores(o2=3, o9=10, o3=11, o4="8"), (0, 7, 4, 1, 9)),
    ],
)
def test_pointwise_scores(toy: Context, answer: str, wanted: tuple[int, ...]) -> None:
    attempt, _ = reordered(toy, Pointwise(), answer)
    assert attempt.ranking.nodes == wanted
    assert [s.tag for s in attempt.trajectory.steps] == ["rerank.pointwise"]


@pytest.mark.parametrize("kind", [Listwise, Pointwise])
@pytest.mark.parametrize(
    "answer", ["I cannot help with that.", None, "{", "[]", order(), order(77), scores(o1=-3)]
)
def test_what_cannot_be_read_leaves_the_order(
    toy: Context, kind: type[Listwise | Pointwise], answer: str | None
) -> None:
    attempt, backbone = reordered(toy, kind(), answer, answer)
    assert attempt.ranking.nodes == NODES
    assert attempt.status == "ok"
    steps = attempt.trajectory.steps
    assert [(s.invalid, s.fallbacks) for s in steps] == [(1, 0), (1, 1)]
    assert len(backbone.asked) == 2


def test_a_repaired_answer_counts(toy: Context) -> None:
    attempt, backbone = reordered(toy, Listwise(), "the third", order(3))
    assert attempt.ranking.nodes == (1, 4, 7, 0, 9)
    assert [(s.invalid, s.fallbacks) for s in attempt.trajectory.steps] == [(1, 0), (0, 0)]
    assert "JSON" in str(backbone.asked[1][0][-1].content)


def test_only_the_first_k_are_shown(toy: Context) -> None:
    attempt, backbone = reordered(toy, Listwise(k=3), order(3, 2, 1))
    assert attempt.ranking.nodes == (1, 7, 4, 0, 9)
    (messages, how), *_ = backbone.asked
    assert [number for number, _ in options_in(str(messages[-1].content))] == [1, 2, 3]
    assert str(messages[-1].content).startswith(f"Question: {QUESTION}\n")
    assert how["schema"]["properties"]["order"]["maxItems"] == 3


@pytest.mark.parametrize("nodes", [(), (5,)])
def test_nothing_is_asked_about_fewer_than_two(toy: Context, nodes: tuple[int, ...]) -> None:
    attempt, backbone = reordered(toy, Listwise(), nodes=nodes)
    assert attempt == Attempt(replace(attempt.ranking, nodes=nodes))
    assert not backbone.asked


def test_reversed_options_and_the_mean_rank(toy: Context) -> None:
    # First call: 9 0 1 7 4. Second, of 9 0 1 7 4: its third and first, so 1 9 and then 4 7 0.
    attempt, backbone = reordered(toy, Listwise(reverse=True), order(5, 4, 3, 2, 1), order(3, 1))
    ranks = {9: 0 + 1, 0: 1 + 4, 1: 2 + 0, 7: 3 + 3, 4: 4 + 2}
    assert attempt.ranking.nodes == (9, 1, 0, 4, 7)
    assert attempt.ranking.nodes == tuple(sorted(NODES, key=lambda n: ranks[n]))
    first, second = (s.state["offered"] for s in attempt.trajectory.steps)
    assert first == second[::-1]
    shown = [options_in(str(messages[-1].content)) for messages, _ in backbone.asked]
    assert [text for _, text in shown[0]] == [text for _, text in shown[1]][::-1]


def test_one_unreadable_call_of_two_counts_as_the_old_order(toy: Context) -> None:
    attempt, _ = reordered(toy, Pointwise(reverse=True), "no", "no", scores(o1=9))
    assert attempt.ranking.nodes == (4, 7, 9, 1, 0)
    assert sum(s.fallbacks for s in attempt.trajectory.steps) == 1


@pytest.mark.parametrize("texts", [(), (order(2),)])
def test_a_limit_leaves_the_list(toy: Context, texts: tuple[str, ...]) -> None:
    attempt, _ = reordered(toy, Listwise(reverse=True), *texts)
    assert attempt.status == "limit"
    assert attempt.ranking.nodes == NODES
    assert len(attempt.trajectory.steps) == len(texts)


def test_others_may_call_it_under_their_own_tag(toy: Context) -> None:
    ctx = replace(toy, backbone=Saying(order(2)))
    asker = Asker(ctx, 0)
    found = asyncio.run(listwise(QUESTION, NODES, ctx, asker, Settings(k=4), tag="mine.rerank"))
    assert found == [7, 4, 1, 0, 9]
    assert asker.steps[0].tag == "mine.rerank"


def test_the_rules_put_the_node_with_the_words_first(toy: Context) -> None:
    nodes = [toy.graph.index(i) for i in ("h1", "i2", "p3", "p2")]
    for reranker in (Listwise(), Pointwise()):
        attempt = asyncio.run(reranker.reorder("Blue flowers after sunset?", nodes, toy, 0))
        assert toy.graph.id(attempt.ranking.nodes[0]) == "p2"
        assert sum(s.fallbacks for s in attempt.trajectory.steps) == 0


@given(st.lists(st.text(max_size=60), min_size=4, max_size=4), st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_answer_gives_the_same_nodes(toy: Context, texts: list[str], reverse: bool) -> None:
    for reranker in (Listwise(reverse=reverse), Pointwise(reverse=reverse)):
        attempt, _ = reordered(toy, reranker, *texts)
        assert sorted(attempt.ranking.nodes) == sorted(NODES)


@pytest.mark.parametrize(
    "wrong", [{"k": 1}, {"k": True}, {"card_tokens": 19}, {"k": "x"}, {"reverse": 1}]
)
def test_wrong_settings_are_one_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"rerank\.{next(iter(wrong))}="):
        build("baselines.rerank:Listwise", "rerank", wrong)


def test_the_probe_is_an_answer_that_can_be_read(toy: Context) -> None:
    for reranker in (Listwise(), Pointwise()):
        ctx = replace(toy, backbone=ScriptedBackbone(list(reranker.probe)))
        attempt = asyncio.run(reranker.reorder(QUESTION, NODES, ctx, 0))
        assert attempt.ranking.nodes == (1, 4, 7, 0, 9)
        assert [s.invalid for s in attempt.trajectory.steps] == [0]
