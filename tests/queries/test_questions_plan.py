"""Programs of patterns, spelled out."""

from __future__ import annotations

import pytest

from ark.graph import KnowledgeGraph
from ark.program import Executor
from ark.queries.plan import Leaf, Planner
from ark.queries.wording import Clause, Described, Named, Pattern, Step

GROWS = Step("grows in", "habitat")
HOLDS = Step("grows in", "plant", out=False)
VISITS = Step("visits", "plant")
VISITED = Step("visits", "insect", out=False)
LIVES = Step("lives in", "habitat")

GROW = Clause((GROWS,), Named(), ("",))
CALLED_ON = Clause((VISITED,), Described(), ("",))
LOOK = Clause((), Described(), ("",))
NEIGHBOUR = Clause((GROWS, HOLDS), Named(), ("",), others=True)
LIVE = Clause((LIVES,), Named(), ("",))
VISIT = Clause((VISITS,), Named(), ("",))
GUEST = Clause((VISITED,), (LIVE, VISIT), ("",))
GUEST_HOME = Clause((VISITED, LIVES), Named(), ("",))

CASES = [
    (
        (GROW, LOOK),
        [("h1", ()), ("p3", ("thorny", "root"))],
        'text(backward(node("h1"), "grows in"), "thorny", "root")',
        ['backward(node("h1"), "grows in")', 'text(type("plant"), "thorny", "root")'],
    ),
    (
        (CALLED_ON,),
        [("i1", ("nectar",))],
        'intersect(type("plant"), forward(text(type("insect"), "nectar"), "visits"))',
        ['intersect(type("plant"), forward(text(type("insect"), "nectar"), "visits"))'],
    ),
    (
        (NEIGHBOUR,),
        [("p1", ())],
        'minus(backward(forward(node("p1"), "grows in"), "grows in"), node("p1"))',
        ['minus(backward(forward(node("p1"), "grows in"), "grows in"), node("p1"))'],
    ),
    (
        (GUEST,),
        [("h3", ()), ("p4", ())],
        'intersect(type("plant"), forward(intersect(backward(node("h3"), "lives in"), '
        'backward(node("p4"), "visits")), "visits"))',
        [
            'intersect(type("plant"), forward(backward(node("h3"), "lives in"), "visits"))',
            'intersect(type("plant"), forward(backward(node("p4"), "visits"), "visits"))',
        ],
    ),
    (
        (GROW, GUEST_HOME),
        [("h3", ()), ("h3", ())],
        'intersect(backward(node("h3"), "grows in"), '
        'forward(backward(node("h3"), "lives in"), "visits"))',
        [
            'backward(node("h3"), "grows in")',
            'intersect(type("plant"), forward(backward(node("h3"), "lives in"), "visits"))',
        ],
    ),
]


@pytest.mark.parametrize(("clauses", "drawn", "whole", "alone"), CASES)
def test_programs(
    toy_graph: KnowledgeGraph,
    clauses: tuple[Clause, ...],
    drawn: list[tuple[str, tuple[str, ...]]],
    whole: str,
    alone: list[str],
) -> None:
    pattern = Pattern("test", "plant", clauses)
    leaves = [Leaf(toy_graph.index(node), words) for node, words in drawn]
    planner = Planner(toy_graph)
    assert str(planner.program(pattern, leaves)) == f"end({whole})"
    assert list(map(str, planner.alone(pattern, leaves))) == [f"end({text})" for text in alone]
    assert len(Executor(toy_graph).run(planner.program(pattern, leaves))) > 0  # type: ignore[arg-type]


def test_a_type_is_asked_for_between_steps_where_a_relation_mixes_types(
    toy_graph: KnowledgeGraph,
) -> None:
    # "visits" enters plants and, once, an insect: the plant in the middle has to be asked for.
    clause = Clause((LIVES, Step("lives in", "insect", out=False), VISITS), Named(), ("",))
    supply = Clause((HOLDS, VISITED), Named(), ("",))
    planner = Planner(toy_graph)
    leaf = [Leaf(toy_graph.index("i2"))]
    assert str(planner.program(Pattern("a", "habitat", (supply,)), leaf)) == (
        'end(forward(intersect(type("plant"), forward(node("i2"), "visits")), "grows in"))'
    )
    leaf = [Leaf(toy_graph.index("p3"))]
    assert str(planner.program(Pattern("b", "insect", (clause,)), leaf)) == (
        'end(backward(forward(backward(node("p3"), "visits"), "lives in"), "lives in"))'
    )


def test_hops_and_chains() -> None:
    pattern = Pattern("test", "plant", (GROW, GUEST, LOOK))
    assert pattern.hops() == 2
    assert pattern.textual()
    assert not Pattern("test", "plant", (GROW, GUEST)).textual()
    assert [len(chain) for chain in GUEST.chains()] == [2, 2]
    assert GUEST.leaves() == 2
