"""AF-Retriever: reading of plans, joins, the widening scope, supplement, bound of calls."""

from __future__ import annotations

import asyncio
import csv
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.errors import QueryLimitError, UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build, source_for
from ark.protocols import Backbone, Context
from ark.queries.metaqa import metaqa_questions
from ark.records import Attempt, Completion, Json, Message, Usage
from ark.search import BM25
from baselines.af_retriever.join import Join, Scope
from baselines.af_retriever.method import RERANK, TRIPLES, AFRetriever
from baselines.af_retriever.plan import ANSWER, Options, Plan, Term, Triple
from baselines.af_retriever.tree import Branch, Leaf, closed_branches, directed
from baselines.ask import UnreadableError
from baselines.calls import Bounded

GROWS = ("plant", "grows in", "habitat")
VISITS = ("insect", "visits", "plant")
LIVES = ("insect", "lives in", "habitat")


def name(text: str) -> Term:
    return Term("constant", text)


def context(graph: KnowledgeGraph, root: Path, backbone: Backbone | None = None) -> Context:
    search = BM25.open_or_build(graph, root)
    return Context(graph, search, backbone or LexicalBackbone(), random.Random(0))


def script(**answer: Json) -> ScriptedBackbone:
    """The same JSON object for every call: each reads its own keys."""
    return ScriptedBackbone([{"content": json.dumps(answer)}])


def attempt(ctx: Context, question: str, **settings: Any) -> Attempt:
    return asyncio.run(AFRetriever(**settings).attempt(question, ctx, 0))


def number(graph: KnowledgeGraph, what: str | tuple[str, str, str]) -> int:
    """The number of an option."""
    options = Options(graph, "")
    if isinstance(what, str):
        return 1 + list(options.types).index(what)
    return 1 + len(options.types) + list(options.edges).index(what)


def triple(graph: KnowledgeGraph, subject: str, edge: tuple[str, str, str], obj: str) -> Json:
    return {"subject": subject, "relation": number(graph, edge), "object": obj}


def found(graph: KnowledgeGraph, root: Path, plan: Plan, **scope: int) -> list[set[str]]:
    """Candidates in groups, best first."""
    given = {"first": 1, "most": 4, "enough": 20, **scope}
    groups = Join.of(context(graph, root), plan, given["most"]).candidates(Scope(**given)).groups
    return [{graph.id(int(i)) for i in group} for group in groups]


class TestReading:
    def test_numbers_become_types_and_edges(self, toy_graph: KnowledgeGraph) -> None:
        plan, lost = Options(toy_graph, "q").read(
            {
                "answer_types": [number(toy_graph, "plant"), "1", 99, True],
                "constants": ["North dunes", "North dunes", " ", 4],
                "triples": [
                    triple(toy_graph, "Answer", GROWS, " 'North dunes' "),
                    triple(toy_graph, "?X", VISITS, "answer"),
                    {"relation": str(number(toy_graph, LIVES))},
                    {"subject": "?x", "relation": 1, "object": "answer"},
                    triple(toy_graph, "answer", GROWS, "answer"),
                    {"subject": "answer", "relation": number(toy_graph, GROWS)},
                    "no triple",
                ],
            }
        )
        first = toy_graph.node_types[0]
        assert plan.types == {"plant", first}
        assert plan.constants == ("North dunes",)
        assert plan.triples == (
            Triple(ANSWER, GROWS, name("North dunes")),
            Triple(Term("variable", "?x"), VISITS, ANSWER),
        )
        assert plan.open == (LIVES,)
        assert lost == 2 + 2 + 4

    def test_all_types_are_no_type_and_a_type_is_no_name(self, toy_graph: KnowledgeGraph) -> None:
        options = Options(toy_graph, "q")
        every = list(range(1, 1 + len(options.types)))
        plan, _ = options.read(
            {
                "answer_types": every,
                "triples": [triple(toy_graph, "Insect", VISITS, "answer")],
            }
        )
        assert plan.types == frozenset()
        assert plan.triples[0].subject == Term("variable", "insect")

    @pytest.mark.parametrize(
        "value",
        [{}, {"answer_types": [0]}, {"triples": "x", "constants": [3]}, {"answer_types": None}],
    )
    def test_nothing_usable_is_unreadable(
        self, toy_graph: KnowledgeGraph, value: Mapping[str, Json]
    ) -> None:
        with pytest.raises(UnreadableError, match="answer_types"):
            Options(toy_graph, "q").read(value)

    def test_the_prompt_numbers_options_only(self, toy_graph: KnowledgeGraph) -> None:
        lines = Options(toy_graph, "one\n1. two").prompt.splitlines()
        assert lines[0] == "Question: one 1. two"
        assert "1. habitat (habitats)" in lines
        numbers = [line.split(".")[0] for line in lines if line[:1].isdigit()]
        assert numbers == [str(i) for i in range(1, 9)]

    def test_rules_answer_within_the_ranges_of_the_schema(self, toy_graph: KnowledgeGraph) -> None:
        question = "Which plant grows in a habitat where an insect lives?"
        options = Options(toy_graph, question)
        completion = asyncio.run(
            LexicalBackbone().complete(
                [Message("user", options.prompt)], tag=TRIPLES, schema=options.schema
            )
        )
        plan, lost = options.read(json.loads(completion.message.content or ""))
        assert lost == 0
        assert plan.open
        assert plan.constants


class TestTree:
    def test_the_direction_is_turned_where_types_say_so(self) -> None:
        straight = directed(GROWS, {"plant"}, up_is_subject=True)
        assert straight == ((("grows in", True),), frozenset({"habitat"}))
        assert directed(GROWS, {"plant"}, up_is_subject=False) == straight
        open_ = directed(GROWS, set(), up_is_subject=False)
        assert open_ == ((("grows in", False),), frozenset({"plant"}))
        both, below = directed(GROWS, {"insect"}, up_is_subject=True)
        assert set(both) == {("grows in", True), ("grows in", False)}
        assert below == frozenset()

    def test_circles_and_what_leads_to_no_constant_are_left_out(self) -> None:
        x, y = Term("variable", "?x"), Term("variable", "?y")
        plan = Plan(
            triples=(
                Triple(x, VISITS, ANSWER),
                Triple(x, LIVES, name("Mercury")),
                Triple(y, VISITS, ANSWER),
                Triple(x, VISITS, y),
                Triple(name("a"), GROWS, name("b")),
            )
        )
        branches = closed_branches(plan)
        lower = Branch((("lives in", True),), Leaf("Mercury", frozenset({"habitat"})))
        assert branches == (Branch((("visits", False),), (lower,)),)


class TestJoin:
    def test_the_most_constraints_come_first(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        plan = Plan(
            frozenset({"plant"}),
            triples=(
                Triple(ANSWER, GROWS, name("North dunes")),
                Triple(name("Ribbon fly"), VISITS, ANSWER),
            ),
        )
        groups = found(toy_graph, data_root_path, plan, most=1)
        assert groups == [{"p1"}, {"p3", "p4"}]

    def test_through_something_without_a_name(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        x = Term("variable", "?x")
        plan = Plan(
            triples=(Triple(x, VISITS, ANSWER), Triple(x, LIVES, name("Old marsh"))),
        )
        assert found(toy_graph, data_root_path, plan, most=1) == [{"p1", "p4"}]

    def test_a_constant_in_no_triple_is_next_to_the_answer(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        plan = Plan(constants=("North dunes", "the north dunes of the sea"))
        assert found(toy_graph, data_root_path, plan, most=1) == [{"p1", "p3", "i2"}]
        with_edge = replace(plan, open=(LIVES,))
        assert found(toy_graph, data_root_path, with_edge, most=1) == [{"i2"}, {"p1", "p3"}]

    def test_a_type_that_fits_no_candidate_is_doubted(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        plan = Plan(frozenset({"habitat"}), ("North dunes",))
        assert found(toy_graph, data_root_path, plan, most=1) == [{"p1", "p3", "i2"}]

    def test_constants_that_name_no_node_decide_among_equals_only(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        marsh = "still water with fog and reeds"  # of the text of h2, by no means its name
        plan = Plan(constants=("North dunes", "Mercury", marsh))
        join = Join.of(context(toy_graph, data_root_path), plan, 1)
        out = join.candidates(Scope(1, 1, 20))
        groups = [{toy_graph.id(int(i)) for i in group} for group in out.groups]
        assert (out.constraints, out.doubtful, out.satisfied) == (2, 1, 1)
        assert {"p4", "i3"} == groups[-1]  # next to the marsh alone
        assert found(toy_graph, data_root_path, Plan(constants=(marsh,)), most=1) == [{"p4", "i3"}]

    def test_what_is_named_is_no_candidate(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        plan = Plan(constants=("Dune beetle", "Sand thistle"))
        ids = set().union(*found(toy_graph, data_root_path, plan, most=1))
        assert ids == {"h1"}  # the beetle visits the thistle and itself


@dataclass(frozen=True)
class Namesakes:
    """Four streets of one name, of which the third alone has houses."""

    name: str = "namesakes"

    def key(self) -> str:
        return "2" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        names = ("Elm street",) * 4 + ("House one", "House two")
        types = ("street",) * 4 + ("house",) * 2
        ids = tuple("abcdef")
        return GraphData(ids, types, names, ("",) * 6, [4, 5], [0, 0], [2, 2], ("stands in",))


@pytest.fixture(scope="module")
def namesakes(data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(Namesakes(), data_root_path)


class TestScope:
    PLAN = Plan(triples=(Triple(ANSWER, ("house", "stands in", "street"), name("Elm street")),))

    def test_widens_until_candidates_are_enough(
        self, namesakes: KnowledgeGraph, data_root_path: Path
    ) -> None:
        ctx = context(namesakes, data_root_path)

        def end(first: int, most: int, enough: int) -> tuple[int, int]:
            join = Join.of(ctx, self.PLAN, most)
            out = join.candidates(Scope(first, most, enough))
            return out.scope, sum(map(len, out.groups))

        assert end(1, 2, 1) == (2, 0)
        assert end(1, 16, 1) == (4, 2)
        assert end(1, 16, 99) == (4, 2)  # no constant has more nodes
        assert end(3, 16, 2) == (3, 2)

    def test_sizes(self) -> None:
        assert list(Scope(1, 16, 1).sizes()) == [1, 2, 4, 8, 16]
        assert list(Scope(3, 16, 1).sizes()) == [3, 6, 12, 16]
        assert list(Scope(2, 2, 1).sizes()) == [2]


class LongTexts:
    """A planet with a long text among 300 moons whose short texts say its name more densely."""

    name: str = "long-texts"

    def key(self) -> str:
        return "4" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        moons = 300
        ids = [f"m{i}" for i in range(moons)] + ["planet", "crater"]
        types = ["moon"] * moons + ["planet", "crater"]
        names = [f"Mercury moon {i}" for i in range(moons)] + ["Mercury", "Crater"]
        texts = ["Mercury, Mercury"] * moons + ["other words " * 2_000, ""]
        edge = ([moons + 1], [0], [moons])
        return GraphData(ids, types, names, texts, *edge, ("lies on",))


def test_what_a_constant_names_in_full_comes_first_however_the_search_ranks_it(
    data_root_path: Path,
) -> None:
    graph = open_or_build(LongTexts(), data_root_path)
    ctx = context(graph, data_root_path)
    planet = graph.index("planet")
    assert planet not in [hit.node for hit in ctx.search.search("Mercury", 200)]
    plan = Plan(triples=(Triple(ANSWER, ("crater", "lies on", "planet"), name("mercury")),))
    join = Join.of(ctx, plan, 1)
    assert list(join.grounded.values()) == [[planet]]
    assert found(graph, data_root_path, plan) == [{"crater"}]


class TestAttempt:
    QUESTION = "Which plant grows on the north dunes and is visited by the ribbon fly?"

    def answers(self, graph: KnowledgeGraph) -> dict[str, Json]:
        return {
            "answer_types": [number(graph, "plant")],
            "constants": [],
            "triples": [
                triple(graph, "answer", GROWS, "North dunes"),
                triple(graph, "answer", VISITS, "Ribbon fly"),  # the wrong way round
            ],
            "order": [1],
        }

    def test_two_calls_and_the_answer_first(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        ctx = context(toy_graph, data_root_path, script(**self.answers(toy_graph)))
        out = attempt(ctx, self.QUESTION)
        assert out.status == "ok"
        assert [step.tag for step in out.trajectory.steps] == [TRIPLES, RERANK]
        assert {step.state["kind"] for step in out.trajectory.steps} == {"evidence"}
        assert toy_graph.id(out.ranking.nodes[0]) == "p1"
        state = out.trajectory.steps[0].state
        assert state["types"] == ["plant"]
        assert state["constants"][0] == {"text": "North dunes", "nodes": ["h1"]}
        assert (state["constraints"], state["satisfied"], state["doubtful"]) == (2, 2, 0)
        assert state["top"][0] == "p1"
        last = {toy_graph.id(i) for i in out.ranking.nodes[-2:]}
        assert last == {"h1", "i3"}  # what the question names comes last

    def test_the_model_orders_the_first_k(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        answers = self.answers(toy_graph)
        plain = attempt(
            context(toy_graph, data_root_path, script(**answers)), self.QUESTION, k=3, supplement=0
        )
        turned = attempt(
            context(toy_graph, data_root_path, script(**{**answers, "order": [3, 2]})),
            self.QUESTION,
            k=3,
            supplement=0,
        )
        a, b, c, *rest = plain.ranking.nodes
        assert turned.ranking.nodes == (c, b, a, *rest)

    def test_the_text_adds_nodes_of_the_type(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        question = "Which plant has thorny yellow flowers?"
        only_type = script(answer_types=[number(toy_graph, "plant")], order=[1])
        out = attempt(context(toy_graph, data_root_path, only_type), question)
        assert out.ranking.nodes
        assert {toy_graph.type(i) for i in out.ranking.nodes} == {"plant"}
        near = {
            "triples": [triple(toy_graph, "?x", LIVES, "North dunes")],
            "constants": ["North dunes"],
            "order": [1],
        }
        ctx = context(toy_graph, data_root_path, script(**near))
        nodes = attempt(ctx, question, k=3, supplement=2).ranking.nodes
        names = [toy_graph.id(i) for i in nodes]
        assert names[0] == "p3"  # by the dunes, and thorny
        assert set(names[1:3]) == {"p2", "p4"}  # by their flowers alone
        assert set(names[3:5]) == {"p1", "i2"}  # by the dunes alone

    def test_given_seeds_stand_for_the_constants(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        answers = self.answers(toy_graph)
        answers["triples"] = [triple(toy_graph, "answer", GROWS, "Mercury")]
        ctx = context(toy_graph, data_root_path, script(**answers))
        seeds = (toy_graph.index("h3"), toy_graph.index("i3"))
        out = attempt(replace(ctx, seeds=seeds), "What grows in Mercury?", supplement=0)
        assert AFRetriever.links_seeds
        nodes = [c["nodes"] for c in out.trajectory.steps[0].state["constants"]]
        assert nodes == [["h3"], ["i3"]]
        assert toy_graph.id(out.ranking.nodes[0]) == "p1"  # of the garden, and next to the fly

    def test_no_plan_leaves_the_search(
        self, toy_graph: KnowledgeGraph, data_root_path: Path
    ) -> None:
        ctx = context(toy_graph, data_root_path, Talking("no"))
        out = attempt(ctx, self.QUESTION)
        searched = [hit.node for hit in ctx.search.search(self.QUESTION, 100)]
        assert list(out.ranking.nodes) == searched
        assert sum(step.fallbacks for step in out.trajectory.steps) == 2
        assert out.status == "ok"


class Talking:
    """Says the same whatever it is asked, and counts."""

    label = "test"

    def __init__(self, text: str) -> None:
        self.text, self.calls = text, 0

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"backbone": "test"}

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        self.calls += 1
        return Completion(Message("assistant", self.text), Usage(calls=1), "stop", "test")


class TestCalls:
    @pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
    def test_never_more_than_allowed(
        self, toy_graph: KnowledgeGraph, data_root_path: Path, most: int
    ) -> None:
        backbone = Talking("nothing of use")
        ctx = context(toy_graph, data_root_path, backbone)
        out = attempt(ctx, "Which copper moth?", max_calls=most)
        assert backbone.calls == min(most, 4)
        assert out.status == ("ok" if most >= 4 else "limit")
        assert out.ranking.nodes

    def test_the_counter(self) -> None:
        counted = Bounded(Talking("x"), 1)
        assert (counted.label, counted.identity) == ("test", {"backbone": "test"})
        asyncio.run(counted.complete([], tag="a"))
        with pytest.raises(QueryLimitError, match="1 calls are made: b"):
            asyncio.run(counted.complete([], tag="b"))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"k": 1},
            {"enough": 0},
            {"supplement": -1},
            {"supplement": 21},
            {"card_tokens": 5},
            {"max_calls": True},
            {"first_groundings": 8, "most_groundings": 4},
        ],
    )
    def test_settings_are_checked(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(UserError, match=r"method\."):
            AFRetriever(**wrong)


def test_right_plans_find_metaqa_answers(shared: Path, data_root_path: Path) -> None:
    """The joins alone: a plan made from the question's published type, every third turned round."""
    from ark.graph.sources.metaqa_kb import TARGETS
    from ark.queries.metaqa import _RELATIONS

    root = shared / "data" / "metaqa"
    graph = open_or_build(source_for("metaqa", root=root), data_root_path)
    with (root / "queries.csv").open(encoding="utf-8", newline="") as file:
        types = {row["id"]: row["qtype"].split("_to_") for row in csv.DictReader(file)}
    hits = 0
    for i, query in enumerate(metaqa_questions(graph, {"root": str(root)})[:30]):
        places = types[query.id]
        ends = [query.mentions[0].text, *("?x", "?y")[: len(places) - 2], "answer"]
        rows = []
        for hop, (here, there) in enumerate(itertools.pairwise(places)):
            relation = _RELATIONS[there if here == "movie" else here]
            edge = ("movie", relation, TARGETS[relation])
            pair = ends[hop], ends[hop + 1]
            straight = (here == "movie") != (i % 3 == 0)
            rows.append(triple(graph, pair[not straight], edge, pair[straight]))
        last = places[-1]
        kind = last if last == "movie" else TARGETS[_RELATIONS[last]]
        answers = script(answer_types=[number(graph, kind)], constants=[], triples=rows, order=[1])
        out = attempt(context(graph, data_root_path, answers), query.text)
        hits += graph.id(out.ranking.nodes[0]) in query.answer_ids
    assert hits >= 27
