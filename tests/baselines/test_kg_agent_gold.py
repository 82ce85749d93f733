"""Gold programs through KG-Agent's executor give exactly the gold set (``kg_agent_gold``)."""

from __future__ import annotations

import asyncio
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.program import Executor, parse
from ark.protocols import Context
from ark.queries.cache import questions_folder, questions_for
from ark.records import Query
from ark.search import BM25
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.gold import KGAgentGold, Translation, run_gold
from baselines.kg_agent.sets import NodeSet


def context(graph: KnowledgeGraph, root: Path, query: Query | None = None) -> Context:
    search = BM25.open_or_build(graph, root)
    return Context(graph, search, LexicalBackbone(), random.Random(0), query)


def check(graph: KnowledgeGraph, root: Path, queries: list[Query]) -> None:
    """Gold programs search nothing, so the index of the toy graph does for all."""
    toy = open_or_build(source_for("toy"), root)
    ctx = replace(context(toy, root), graph=graph)
    for query in queries:
        assert query.program is not None
        value, _ = run_gold(query.program, ctx, query.text)
        assert isinstance(value, NodeSet)
        found = {graph.canonical(i) for i in value.rows.tolist()}
        assert found == {graph.canonical(graph.index(i)) for i in query.answer_ids}, query.id


def test_every_composed_question_of_toy(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    queries = questions_for(toy_graph, "toy", data_root_path)
    assert len(queries) > 20
    check(toy_graph, data_root_path, queries)


@pytest.mark.parametrize("name", ["hpo", "cwe"])
def test_300_composed_questions_where_they_are_built(name: str) -> None:
    """Composing takes long: only where ``ARK_DATA`` has the questions already."""
    root = Path(os.environ.get("ARK_DATA", "nowhere"))
    if not (root / "questions").is_dir():
        pytest.skip("ARK_DATA has no composed questions")
    graph = open_or_build(source_for(name), root)
    if not questions_folder(graph, name, root).is_dir():
        pytest.skip(f"ARK_DATA has no composed questions of {name}")
    check(graph, root, questions_for(graph, name, root)[::5])


def test_60_questions_of_metaqa(shared: Path, data_root_path: Path) -> None:
    """One of 245; all 14,655 take a minute: ``python run.py method=kg_agent_gold graph=metaqa``."""
    from ark.queries.metaqa import metaqa_questions

    root = shared / "data" / "metaqa"
    if not root.is_dir():
        pytest.skip("../shared/data/metaqa is not here")
    graph = open_or_build(source_for("metaqa", root=str(root)), data_root_path)
    queries = metaqa_questions(graph, {"root": str(root)})
    assert len(queries[::245]) == 60
    check(graph, data_root_path, queries[::245])


PROGRAMS = [
    'end(node("p1", "h1"))',
    'a = type("plant")\nb = a\nend(minus(b, node("p1")))',
    'end(minus(type("plant"), forward(type("insect"), "visits")))',
    'end(forward(node("h4"), "visits"))',
    'end(intersect(forward(node("h4"), "visits"), type("plant")))',
    'end(union(node("i1"), backward(node("p2"), "visits")))',
    'end(text(type("plant"), "dry dunes", "root"))',
    'end(where(type("plant"), "height_m", ">", 2))',
    'end(where(type("plant"), "colours", "=", "white"))',
    'end(where(type("plant"), "colours", "has", "WHITE"))',
    'end(where(type("plant"), "edible", "=", false))',
    'end(where(type("habitat"), "founded", ">", count(type("plant"))))',
    # none of the set has the attribute: nothing satisfies, as others of the graph have it
    'end(where(type("insect"), "height_m", ">", 2))',
    'end(union(node("i1"), argmin(type("insect"), "founded")))',
    'end(argmax(type("habitat"), "founded"))',
    # as for MetaQA: the topic leaves the set after every hop
    't = node("p4")\na = minus(backward(t, "visits"), t)\n'
    'b = minus(forward(a, "visits"), t)\nend(b)',
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_set_language_and_the_tools_agree(
    toy_graph: KnowledgeGraph, data_root_path: Path, program: str
) -> None:
    value, trace = run_gold(program, context(toy_graph, data_root_path))
    wanted = Executor(toy_graph).run(program)
    assert isinstance(value, NodeSet)
    assert value.rows.tolist() == wanted.tolist()  # type: ignore[union-attr]
    assert str(trace[-1]["call"]).startswith("end(")


def test_a_number_and_a_repeated_call(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    ctx = context(toy_graph, data_root_path)
    assert run_gold('end(count(type("plant")))', ctx)[0] == 5
    twice = 'end(intersect(type("plant"), type("plant")))'
    calls = [call.tool for call in Translation.of(parse(twice)).calls]
    assert calls == ["get_entity_by_type", "get_entity_by_type", "intersect", "end"]


def test_a_wrong_program_is_a_typed_error(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    ctx = context(toy_graph, data_root_path)
    for program in ('end(node("no"))', 'end(type("plants"))', 'end(forward(node("p1"), "eats"))'):
        with pytest.raises(CallError):
            run_gold(program, ctx)


def test_an_attribute_that_no_node_has_is_an_error_in_a_program(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    with pytest.raises(CallError, match="height"):
        run_gold('end(where(type("plant"), "height", ">", 2))', context(toy_graph, data_root_path))


@pytest.mark.parametrize("order", ["", "BM25", None, 3])
def test_the_order_is_one_of_two(order: Any) -> None:
    with pytest.raises(UserError, match="choices: bm25, random"):
        KGAgentGold(order=order)


def test_the_row(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    method = KGAgentGold()
    assert method.label == "KG-Agent (gold programs: executor check, not a score)"
    query = next(
        q for q in questions_for(toy_graph, "toy", data_root_path) if len(q.answer_ids) > 1
    )

    def attempt(query: Query | None) -> tuple[list[str], int | None, int]:
        ctx = context(toy_graph, data_root_path, query)
        done = asyncio.run(method.attempt("Which?", ctx, 0))
        step = done.trajectory.steps[0]
        assert step.state["kind"] == "program"
        return (
            [toy_graph.id(i) for i in done.ranking.nodes],
            done.ranking.answers,
            step.invalid,
        )

    found, answers, wrong = attempt(query)
    assert set(found) == set(query.answer_ids)
    assert answers == len(found)
    assert wrong == 0
    for program in (None, "end(", 'end(node("no"))', "end(" * 10_000):
        assert attempt(Query("q", "Which?", ("p1",), program=program)) == ([], 0, 1)


def test_a_change_of_the_executor_changes_the_run_id() -> None:
    assert len(str(KGAgentGold().identity["executor"])) == 16
