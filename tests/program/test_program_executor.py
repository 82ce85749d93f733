"""The executor on the toy graph: what each function gives, and what planners are told."""

from __future__ import annotations

import numpy as np
import pytest

from ark.graph import KnowledgeGraph
from ark.program import Executor, ProgramError, Value, adjacency, parse_statement, words


def ids(graph: KnowledgeGraph, value: Value) -> list[str]:
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.int64
    assert (np.diff(value) > 0).all()
    return [graph.id(i) for i in value.tolist()]


CASES = [
    ('type("insect")', ["i1", "i2", "i3", "i4"]),
    ('node("p3", "p1", "p3")', ["p1", "p3"]),
    ('forward(node("i1"), "visits")', ["p2", "p4"]),
    ('forward(node("i2"), "visits")', ["p3", "i2"]),
    ('forward(node("h4"), "visits")', []),
    ('backward(node("p2"), "visits")', ["i1", "i4"]),
    ('backward(type("habitat"), "grows in")', ["p1", "p2", "p3", "p4", "p5"]),
    ('forward(forward(node("i3"), "visits"), "grows in")', ["h1", "h2", "h3"]),
    ('intersect(backward(node("h1"), "grows in"), backward(node("h3"), "grows in"))', ["p1"]),
    ('intersect(type("plant"), type("plant"), type("insect"))', []),
    ('union(node("p2"), node("p1"), node("h1"))', ["p1", "p2", "h1"]),
    ('minus(type("insect"), backward(type("plant"), "visits"))', []),
    ('minus(type("plant"), forward(type("insect"), "visits"))', ["p5"]),
    ('text(type("plant"), "plant")', ["p2", "p3", "p4"]),
    ('text(type("plant"), "PLANT", "Sunset")', ["p2"]),
    ('text(type("plant"), "dry dunes")', ["p3"]),
    ('text(type("plant"), "plan")', []),
    ('where(type("plant"), "height_m", ">", 2)', ["p2"]),
    ('where(type("plant"), "height_m", "<=", 2)', []),
    ('where(type("plant"), "colours", "=", "white")', ["p2"]),
    ('where(type("plant"), "colours", "has", "WHITE")', ["p2"]),
    ('where(type("plant"), "edible", "=", false)', ["p2"]),
    ('where(type("plant"), "edible", "=", 0)', []),
    ('where(type("habitat"), "founded", ">", count(type("plant")))', ["h3"]),
    ('where(type("habitat"), "height_m", ">", 0)', []),
    ('where(node("h4"), "founded", "!=", 1)', []),
    ('argmax(type("habitat"), "founded")', ["h3"]),
    ('argmin(union(type("plant"), type("habitat")), "height_m")', ["p2"]),
]


@pytest.mark.parametrize("few", [adjacency.FEW, -1])
@pytest.mark.parametrize(("expression", "wanted"), CASES)
def test_functions(
    toy_graph: KnowledgeGraph,
    monkeypatch: pytest.MonkeyPatch,
    few: int,
    expression: str,
    wanted: list[str],
) -> None:
    monkeypatch.setattr(adjacency, "FEW", few)  # -1: whole relations at once, never node by node
    found = ids(toy_graph, Executor(toy_graph).run(f"end({expression})"))
    assert found == sorted(wanted, key=toy_graph.index)


def test_texts_are_scanned_where_an_index_would_be_too_large(
    toy_graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "INDEX_LIMIT", 5)
    found = Executor(toy_graph).run('end(text(type("plant"), "Flower", "water"))')
    assert ids(toy_graph, found) == ["p4"]


def test_graph_without_edge_arrays(toy_graph: KnowledgeGraph) -> None:
    class Bare:
        """The protocol and nothing more."""

        n_nodes = toy_graph.n_nodes
        out_edges = staticmethod(toy_graph.out_edges)

    every = np.arange(toy_graph.n_nodes, dtype=np.int64)
    for relation in range(len(toy_graph.relations)):
        for backward in (False, True):
            whole = adjacency.Adjacency(Bare())  # type: ignore[arg-type]
            whole_set = np.repeat(every, 5)[: 5 * len(every)]
            expected = adjacency.Adjacency(toy_graph).follow(every, relation, backward=backward)
            found = whole.follow(whole_set, relation, backward=backward)
            assert found.tolist() == expected.tolist()


def test_count_is_a_number_and_names_are_bound(toy_graph: KnowledgeGraph) -> None:
    executor = Executor(toy_graph)
    assert executor.run('a = type("plant")\nb = minus(a, a)\nend(count(b))') == 0
    assert executor.run('a = type("plant")\na = text(a, "shrub")\nend(count(a))') == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('end(type("plnat"))', "column 10: unknown type 'plnat'; did you mean plant"),
        ('end(forward(node("i1"), "visit"))', "unknown relation 'visit'; did you mean visits"),
        ('end(foward(node("i1"), "visits"))', "unknown function 'foward'; did you mean forward"),
        ('end(node("I1"))', "no node has the id 'I1'; did you mean i1"),
        ("end(a)", "unknown name 'a'"),
        ('aa = type("plant")\nend(count(ab))', "line 2, column 11: unknown name 'ab'"),
        ('end(forward(count(type("plant")), "visits"))', "expected a set, found a number"),
        ('end(count("plant"))', 'expected a set, found "plant"'),
        ('end(type(type("plant")))', "expected a string in double quotes"),
        ("end(type(3))", "expected a string in double quotes"),
        ('end(minus(type("plant")))', "wrong number of arguments (1): minus(A, B)"),
        ('end(minus(type("plant"), type("plant"), type("plant")))', "arguments (3)"),
        ('end(intersect(type("plant")))', "wrong number of arguments (1)"),
        ("end(node())", "wrong number of arguments (0)"),
        ('end(text(type("plant"), "- !"))', "holds no word"),
        ('end(where(type("plant"), "height_m", "~", 1))', "unknown operator '~'"),
        ('end(where(type("plant"), "height_m", "=", type("plant")))', "found a set"),
        ('end(where(type("plant"), "hight_m", "=", 1))', "unknown attribute 'hight_m'; did you"),
        ('end(argmax(type("plant"), "colour"))', "did you mean colours"),
    ],
)
def test_mistakes_are_answered_with_near_matches(
    toy_graph: KnowledgeGraph, text: str, message: str
) -> None:
    with pytest.raises(ProgramError) as caught:
        Executor(toy_graph).run(text)
    assert message in str(caught.value)


def test_nothing_runs_before_the_whole_program_is_checked(toy_graph: KnowledgeGraph) -> None:
    tight = Executor(toy_graph, max_nodes=2)
    with pytest.raises(ProgramError, match="unknown name"):
        tight.run('a = type("plant")\nend(b)')
    with pytest.raises(ProgramError, match=r"type\(...\) gives 5 nodes, more than 2"):
        tight.run('a = type("plant")\nend(a)')


def test_step_by_step(toy_graph: KnowledgeGraph) -> None:
    executor = Executor(toy_graph)
    env: dict[str, Value] = {}
    executor.step(parse_statement('v1 = backward(node("p2"), "visits")'), env)
    executor.step(parse_statement("v2 = count(v1)"), env)
    before = dict(env)
    for wrong in ('v3 = forward(v2, "visits")', "v3 = count(v9)", 'v1 = type("x")'):
        with pytest.raises(ProgramError):
            executor.step(parse_statement(wrong), env)
    assert env == before
    assert env["v2"] == 2
    assert ids(toy_graph, executor.step(parse_statement("end(v1)"), env)) == ["i1", "i4"]
    assert sorted(env) == ["v1", "v2"]
