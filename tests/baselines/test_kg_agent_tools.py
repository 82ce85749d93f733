"""KG-Agent's tools one by one (specification of the method, section 3.12): what each gives for a
set, for the empty set, for unknown ids, relations and types, and for a hub.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kg_agent_world import HUB, Desk, world

from ark.graph import KnowledgeGraph
from ark.records import Json
from baselines.kg_agent.errors import CallError
from baselines.kg_agent.sets import NodeSet, Relation
from baselines.kg_agent.tools import TOOLS, offered


@pytest.fixture
def graph(data_root_path: Path) -> KnowledgeGraph:
    return world(data_root_path)


@pytest.fixture
def desk(graph: KnowledgeGraph, data_root_path: Path) -> Desk:
    return Desk(graph, data_root_path).bind(v0="club", v1="city", t="town").empty()


@pytest.fixture
def loose(graph: KnowledgeGraph, data_root_path: Path) -> Desk:
    return Desk(graph, data_root_path, strict=False).bind(v0="club", v1="city", t="town")


def refused(desk: Desk, line: str, kind: str, words: str = ".") -> None:
    before = dict(desk.executor.variables)
    with pytest.raises(CallError, match=words) as raised:
        desk(line)
    assert raised.value.kind == kind
    assert raised.value.line.startswith(f"error ({kind}): ")
    assert "\n" not in raised.value.line
    assert desk.executor.variables == before


def test_there_are_the_thirteen_tools_of_the_paper() -> None:
    assert len(offered(search_in=False, more_tools=False)) == 13
    assert set(offered(search_in=True, more_tools=True)) == set(TOOLS)


# -- 1 get_relation ------------------------------------------------------------------------------


def test_get_relation(desk: Desk) -> None:
    found = desk("r = get_relation(v1)")
    assert found == [
        Relation("has player", "out", ("player",), 2),
        Relation("home of", "in", ("place",), 1),
        Relation("founded", "value", ("1899",), 1),
    ]
    assert found[0].line == "has player | get_tail_entity | player | 2"
    both = desk("u = union(v0, v1)", "r = get_relation(u)")
    assert both[0] == Relation("has player", "out", ("player",), 4)  # distinct: b is in both


def test_get_relation_of_the_empty_set_and_of_an_isolated_node(desk: Desk) -> None:
    assert desk("r = get_relation(none)") == []
    assert desk("r = get_relation(alone)") == []


def test_get_relation_of_something_unknown(desk: Desk) -> None:
    refused(desk, "r = get_relation(v9)", "variable", "unknown variable 'v9'")
    refused(desk, "r = get_relation(no such: id)", "entity", "no node has the id")


def test_get_relation_of_a_hub_and_of_a_set_too_large_to_count(desk: Desk) -> None:
    assert Relation("fan of", "in", ("fan",), HUB) in desk("r = get_relation(v0)")
    large = desk("f = get_head_entity(v0, fan of)", "r = get_relation(f)")
    assert large == [Relation("fan of", "out", ("team",), None)]


# -- 2, 3 get_head_entity, get_tail_entity -------------------------------------------------------


def test_get_tail_entity(desk: Desk) -> None:
    assert desk.ids("p = get_tail_entity(v0, has player)") == ["a", "b", "d"]
    assert desk.ids("q = get_tail_entity(t, HOME OF)") == ["club", "city"]


def test_get_head_entity(desk: Desk) -> None:
    assert desk.ids("p = get_head_entity(b, has player)") == ["club", "city"]
    assert len(desk.ids("f = get_head_entity(v0, fan of)")) == HUB  # a hub


@pytest.mark.parametrize("tool", ["get_head_entity", "get_tail_entity"])
def test_a_move_of_the_empty_set_or_along_an_unknown_relation(desk: Desk, tool: str) -> None:
    refused(desk, f"x = {tool}(none, has player)", "empty", "the set is empty")
    refused(desk, f"x = {tool}(v0, has plaier)", "relation", "did you mean has player")
    refused(desk, f"x = {tool}(v0, close to)", "relation", "unknown relation of this set")
    refused(desk, f"x = {tool}(v8, has player)", "variable")


def test_a_move_the_wrong_way_says_so(desk: Desk) -> None:
    refused(desk, "x = get_head_entity(v0, has player)", "empty", "use get_tail_entity")
    refused(desk, "x = get_tail_entity(v0, home of)", "empty", "use get_head_entity")


def test_not_strict_binds_a_relation_to_the_longest_common_part(loose: Desk) -> None:
    assert loose.ids("p = get_tail_entity(v0, the player)") == ["a", "b", "d"]
    assert loose.executor.notes == ["the player was taken for has player"]
    with pytest.raises(CallError, match="unknown relation"):
        loose("x = get_tail_entity(alone, has player thing)")


# -- 4 get_entity_by_type ------------------------------------------------------------------------


def test_get_entity_by_type(desk: Desk) -> None:
    assert desk.ids("x = get_entity_by_type(team)") == ["club", "city"]
    refused(desk, "x = get_entity_by_type(teams)", "type", "did you mean team")
    fans = desk("x = get_entity_by_type(Fan)")
    assert isinstance(fans, NodeSet)
    assert fans.size == HUB
    assert "rows" not in vars(fans)  # nothing but its size was read


def test_not_strict_binds_a_type_to_the_longest_common_part(loose: Desk) -> None:
    assert loose.ids("x = get_entity_by_type(football team)") == ["club", "city"]


# -- 5 get_entity_by_constraint ------------------------------------------------------------------


def test_get_entity_by_constraint(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)")
    assert desk.ids("x = get_entity_by_constraint(p, goals, >, 12)") == ["b", "c"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, >=, 12)") == ["a", "b", "c"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, <, 12)") == ["d"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, ==, 3.5)") == ["d"]


def test_a_constraint_reads_the_names_beyond_a_relation(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)")
    assert desk.ids("x = get_entity_by_constraint(p, active in, <, 2000)") == ["a"]
    assert desk.ids("x = get_entity_by_constraint(p, friend of, =, TWIN)") == ["a"]


def test_a_head_qualifies_if_any_of_its_values_does(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)")
    assert desk.ids("x = get_entity_by_constraint(p, active in, =, 2001)") == ["a", "b"]


def test_ties_in_argmax_and_argmin_are_kept(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)")
    assert desk.ids("x = get_entity_by_constraint(p, goals, argmax)") == ["b", "c"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, argmin, )") == ["d"]
    assert desk.ids("x = get_entity_by_constraint(p, active in, argmax)") == ["a", "b"]


def test_a_constraint_on_something_that_is_no_variable_is_rejected(desk: Desk) -> None:
    refused(desk, "x = get_entity_by_constraint(club, founded, =, 1911)", "variable", "no variable")
    assert desk.ids("x = get_entity_by_constraint(v0, founded, =, 1911)") == ["club"]


def test_a_constraint_that_cannot_hold_is_an_error_in_strict_mode(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)")
    refused(desk, "x = get_entity_by_constraint(p, goals, >, 99)", "empty", "nothing satisfies")
    refused(desk, "x = get_entity_by_constraint(p, height, >, 9)", "relation", "height")
    refused(desk, "x = get_entity_by_constraint(none, goals, >, 9)", "empty")
    refused(desk, "x = get_entity_by_constraint(p, goals, >, many)", "value", "no int")
    refused(desk, "x = get_entity_by_constraint(p, goals, ~, 3)", "operator", "known: = >")
    refused(desk, "x = get_entity_by_constraint(p, goals, >)", "value", "needs a value")
    refused(desk, "x = get_entity_by_constraint(p, friend of, <, zz)", "operator", "no order")


def test_not_strict_leaves_the_set_as_it_was(loose: Desk) -> None:
    loose("p = get_entity_by_type(player)")
    everybody = ["a", "b", "c", "d", "e"]
    assert loose.ids("x = get_entity_by_constraint(p, goals, >, 99)") == everybody
    assert loose.ids("x = get_entity_by_constraint(v0, has player, argmax, )") == ["club"]
    assert loose.ids("x = get_entity_by_constraint(p, goals, ~, 99)") == everybody
    assert "unchanged" in loose.executor.notes[0]


def test_a_literal_may_hold_commas(desk: Desk) -> None:
    desk("p = get_entity_by_type(place)")
    assert desk.ids("x = get_entity_by_constraint(p, motto, =, One, two, three)") == ["town"]
    assert desk.ids('x = get_entity_by_constraint(p, motto, =, "one, two, three")') == ["town"]
    assert desk.ids("x = get_head_entity(v0, home of)") == ["town"]


def test_text_and_unequal_are_an_extension(desk: Desk, graph: KnowledgeGraph) -> None:
    desk("p = get_entity_by_type(player)")
    assert desk.ids("x = get_entity_by_constraint(p, text, contains, Wing PLAYS)") == ["a", "c"]
    assert desk.ids("x = get_entity_by_constraint(p, goals, !=, 31)") == ["a", "d"]
    desk.executor.tools = offered(search_in=False, more_tools=False)
    refused(desk, "x = get_entity_by_constraint(p, text, contains, wing)", "operator")
    refused(desk, "x = difference(p, none)", "tool", "unknown tool")


# -- 6 get_candidate_entity, 13 disambiguate_entity ----------------------------------------------


def test_get_candidate_entity(desk: Desk) -> None:
    assert desk.ids("x = get_candidate_entity(twin)") == ["twin1", "twin2"]
    refused(desk, "x = get_candidate_entity(zzz)", "entity", "no node is found")
    refused(desk, "x = get_candidate_entity()", "arity")


def test_disambiguate_entity(graph: KnowledgeGraph, data_root_path: Path) -> None:
    for question, wanted in (("the friend of which player?", "twin2"), ("close to what", "twin1")):
        desk = Desk(graph, data_root_path, question).empty()
        found = desk.ids("x = get_candidate_entity(twin)", "y = disambiguate_entity(x)")
        assert found == [wanted]
        refused(desk, "y = disambiguate_entity(none)", "empty")
        refused(desk, "y = disambiguate_entity(nobody)", "variable")


# -- 7 count, 8 intersect, 9 union ---------------------------------------------------------------


def test_count(desk: Desk) -> None:
    assert desk("p = get_tail_entity(v0, has player)", "n = count(p)") == 3
    assert desk("n = count(none)") == 0
    refused(desk, "n = count(club)", "variable", "no variable")
    refused(desk, "m = count(n)", "kind", "n is a number")


def test_intersect(desk: Desk) -> None:
    desk("p = get_tail_entity(v0, has player)", "q = get_tail_entity(v1, has player)")
    assert desk.ids("x = intersect(p, q)") == ["b"]
    assert desk.ids("x = intersect([p, q, b])") == ["b"]


def test_intersect_with_the_empty_set_is_empty_in_strict_mode(desk: Desk) -> None:
    assert desk.ids("x = intersect(v0, none)") == []
    refused(desk, "x = intersect(v0, v7)", "variable")
    refused(desk, "x = intersect(v0)", "arity")


def test_not_strict_intersect_leaves_out_what_is_empty_or_unknown(loose: Desk) -> None:
    loose.empty()
    assert loose.ids("x = intersect(v0, none, v9)") == ["club"]
    assert len(loose.executor.notes) == 2
    with pytest.raises(CallError, match="intersection is empty"):
        loose("x = intersect(v0, v1)")
    with pytest.raises(CallError, match="all sets are empty"):
        loose("x = intersect(none, v9)")


def test_union(desk: Desk) -> None:
    desk("p = get_tail_entity(v0, has player)", "q = get_tail_entity(v1, has player)")
    assert desk.ids("x = union(p, q, none)") == ["a", "b", "c", "d"]
    refused(desk, "x = union(p, zz)", "variable")


# -- 10 judge ------------------------------------------------------------------------------------


def test_judge_asks_whether_any_node_has_such_a_value(desk: Desk) -> None:
    desk("p = get_tail_entity(v0, has player)")
    assert desk("j = judge(p, goals, >, 30)") is True
    assert desk("j = judge(p, goals, >, 31)") is False
    assert desk("j = judge(club, founded, =, 1911)") is True
    assert desk("j = judge(none, goals, >, 1)") is False
    refused(desk, "j = judge(p, height, >, 1)", "relation")
    refused(desk, "j = judge(p, goals, argmax, 1)", "operator")
    refused(desk, "j = judge(p, goals, >)", "arity")


# -- 11 end, 12 retrieve_relation ----------------------------------------------------------------


def test_end_gives_back_what_it_is_given(desk: Desk) -> None:
    assert desk.ids("end(v0)") == ["club"]
    assert desk.ids("ans = end(none)") == []
    assert desk("n = count(v0)", "end(n)") == 1
    refused(desk, "end(v77)", "variable")


def test_retrieve_relation_keeps_the_best_of_all(
    graph: KnowledgeGraph, data_root_path: Path
) -> None:
    desk = Desk(graph, data_root_path, "who has a player?", relation_k=1).bind(v0="club")
    best = desk("r = get_relation(v0)", "s = retrieve_relation(r)")
    assert [r.name for r in best] == ["has player"]
    many = [Relation(f"link {i}", "out", ("t",), 1) for i in range(900)]
    for place in (0, 450, 899):  # the authors' release ranks the last 300 only
        listed = [*many[:place], Relation("has player", "out", ("t",), 1), *many[place:]]
        desk.executor.variables["r"] = listed
        assert [r.name for r in desk("s = retrieve_relation(r)")] == ["has player"]
    desk.executor.variables["r"] = []
    assert desk("s = retrieve_relation(r)") == []
    refused(desk, "s = retrieve_relation(v0)", "kind", "get_relation is due")
    refused(desk, "s = retrieve_relation(v5)", "variable")


# -- extensions ----------------------------------------------------------------------------------


def test_search_in_ranks_a_set_or_a_type(desk: Desk) -> None:
    desk("p = get_tail_entity(v0, has player)")
    assert desk.ids("x = search_in(p, who is on the left wing, and plays?, 5)") == ["a", "b"]
    found = desk("x = search_in(player, left wing, 1)")
    assert isinstance(found, NodeSet)
    assert found.size == 1
    assert list(found.scores) == [desk.graph.index("a")]
    refused(desk, "x = search_in(p, zzz)", "empty", "no text")
    refused(desk, "x = search_in(none, wing)", "empty")
    refused(desk, "x = search_in(p, wing, 0)", "value")
    refused(desk, "x = search_in(nothing, wing)", "variable")
    desk.executor.tools = offered(search_in=False, more_tools=False)
    refused(desk, "x = search_in(p, wing)", "tool")


def test_a_ranked_set_keeps_its_order_when_it_is_narrowed(desk: Desk) -> None:
    ranked = desk(
        "x = search_in(player, plays on the left wing)", "p = get_tail_entity(v0, has player)"
    )
    both = desk("y = intersect(p, x)")
    assert isinstance(both, NodeSet)
    best = max(both.scores, key=lambda row: both.scores[row])
    assert desk.graph.id(best) == "a"
    assert ranked is not None


def test_difference(desk: Desk) -> None:
    assert desk.ids("p = get_tail_entity(v0, has player)", "x = difference(p, b)") == ["a", "d"]


# -- variables -----------------------------------------------------------------------------------


def test_a_name_may_be_bound_again(desk: Desk) -> None:
    assert desk.ids("v1 = get_tail_entity(v1, has player)") == ["b", "c"]
    assert desk.ids("v2 = v1") == ["b", "c"]
    assert desk.ids("v1 = v0") == ["club"]
    assert desk.ids("end(v2)") == ["b", "c"]
    refused(desk, "v1 = v55", "variable")


def test_a_value_may_be_a_number_that_a_variable_holds(desk: Desk) -> None:
    desk("p = get_entity_by_type(player)", "t2 = get_entity_by_type(team)", "n = count(t2)")
    found: Json = desk.ids("x = get_entity_by_constraint(p, goals, >, n)")
    assert found == ["a", "b", "c", "d"]
