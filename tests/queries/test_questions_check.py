"""The brute-force checker finds wrong gold, and agrees with the executor on random programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ark.graph import KnowledgeGraph
from ark.program import Call, Constant, End, Executor, Program, ProgramError, adjacency
from ark.queries import Mismatch, check
from ark.queries.check import _Brute
from ark.records import Query

GOOD = Query(
    "q", "?", ("i1", "i4"), answer_type="insect", program='end(backward(node("p2"), "visits"))'
)


def test_right_gold_passes_and_other_questions_are_left_alone(toy_graph: KnowledgeGraph) -> None:
    assert check([GOOD, replace(GOOD, program=None, answer_ids=("p1",))], toy_graph) == []


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (replace(GOOD, answer_ids=("i1",)), Mismatch("q", missing=("i4",))),
        (
            replace(GOOD, answer_ids=("i1", "i4", "p1")),
            Mismatch("q", surplus=("p1",), wrong_type=("p1",)),
        ),
        (replace(GOOD, answer_type="plant"), Mismatch("q", wrong_type=("i1", "i4"))),
        (
            replace(GOOD, program='end(count(type("plant")))'),
            Mismatch("q", reason="the program gives a number"),
        ),
    ],
)
def test_wrong_gold_is_found(toy_graph: KnowledgeGraph, query: Query, wanted: Mismatch) -> None:
    assert check([query], toy_graph) == [wanted]


@pytest.mark.parametrize(
    "program", ["end(", "end(x)", 'end(node("zz"))', 'end(forward(type("plant"), "x"))', "end(f())"]
)
def test_programs_that_cannot_run_are_reported(toy_graph: KnowledgeGraph, program: str) -> None:
    (mismatch,) = check([replace(GOOD, program=program)], toy_graph)
    assert mismatch.reason


def _call(function: str, *arguments: object) -> st.SearchStrategy[Call]:
    parts = [a if isinstance(a, st.SearchStrategy) else st.just(a) for a in arguments]
    return st.tuples(*parts).map(lambda found: Call(function, found))


def _constant(*choices: object) -> st.SearchStrategy[Constant]:
    return st.sampled_from(choices).map(Constant)


_ids = _constant("p1", "p2", "p5", "i1", "i2", "i4", "h1", "h3", "h4")
_relations = _constant("grows in", "visits", "lives in", "same record as")
_words = _constant("plant", "Water", "dry", "wings of", "copper", "nothing")
_attributes = _constant("height_m", "colours", "edible", "founded")
_operators = _constant("=", "!=", "<", "<=", ">", ">=", "has")
_values = _constant(1911, 2.5, "blue", "white", True, False, 0)
_leaves = st.one_of(
    _call("type", _constant("plant", "insect", "habitat")),
    _call("node", _ids),
    _call("node", _ids, _ids),
)


def _larger(sets: st.SearchStrategy[Call]) -> st.SearchStrategy[Call]:
    return st.one_of(
        *(_call(f, sets, _relations) for f in ("forward", "backward")),
        *(_call(f, sets, sets) for f in ("intersect", "union", "minus")),
        *(_call(f, sets, sets, sets) for f in ("intersect", "union")),
        _call("text", sets, _words),
        _call("text", sets, _words, _words),
        *(_call(f, sets, _attributes) for f in ("argmax", "argmin")),
        _call("where", sets, _attributes, _operators, _values | _call("count", sets)),
    )


@given(st.recursive(_leaves, _larger, max_leaves=12), st.sampled_from([0, 48]))
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_executor_and_checker_agree(
    toy_graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch, expression: Call, few: int
) -> None:
    monkeypatch.setattr(adjacency, "FEW", few)
    program = Program((), End(expression))
    found = Executor(toy_graph).run(program)
    assert isinstance(found, np.ndarray)
    assert set(found.tolist()) == _Brute(toy_graph).answer(str(program))


def test_names_are_bound_alike(toy_graph: KnowledgeGraph) -> None:
    text = 'a = type("plant")\na = text(a, "water")\nb = backward(a, "visits")\nend(b)'
    query = replace(GOOD, answer_ids=("i1", "i3"), program=text)
    assert check([query], toy_graph) == []
    with pytest.raises(ProgramError):
        _Brute(toy_graph).answer("a = b")
