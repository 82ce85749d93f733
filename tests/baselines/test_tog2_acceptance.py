"""The acceptance tests of ToG-2's specification, in its order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tog2_scripts import CODE, NO, ByTag, all_relations, ask, end, names, small, states

from ark.backbone import LexicalBackbone, RandomBackbone, ScriptedBackbone
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Json
from ark.search import BM25
from baselines.tog2.evidence import Evidence
from baselines.tog2.scores import entity_scores
from baselines.tog2.settings import Settings

STAR = [("t", "Topic", "the topic"), *((f"n{i}", f"Node {i}", f"text {i}") for i in range(1, 6))]
RAYS = [("t", f"relation {i}", f"n{i}") for i in range(1, 6)]


# -- entity score on a hand-computed case --------------------------------------------------------


def test_entity_score_of_four_passages_is_the_sum_computed_by_hand() -> None:
    # exp(-0.8) = 0.449329, exp(-1.6) = 0.201897, exp(-2.4) = 0.090718, exp(-3.2) = 0.040762
    owners, scores = [7, 8, 7, 9], [1.0, 2.0, 3.0, 0.5]
    found = entity_scores(owners, scores, top=10, decay=0.8)
    assert found[7] == pytest.approx(3 * 0.449329 + 1 * 0.090718, abs=1e-5)
    assert found[8] == pytest.approx(2 * 0.201897, abs=1e-5)
    assert found[9] == pytest.approx(0.5 * 0.040762, abs=1e-5)
    assert entity_scores(owners, scores, top=3, decay=0.8)[9] == 0
    assert entity_scores(owners, scores, top=1, decay=0.8) == {
        7: pytest.approx(3 * math.exp(-0.8)),
        8: 0,
        9: 0,
    }


class Table:
    """Scores by the text itself; -1 for what is not in the table."""

    identity: ClassVar[Mapping[str, Json]] = {"ranker": "table"}

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [self.scores.get(text, -1.0) for text in texts]


def test_entity_score_counts_the_top_passages_of_all_candidates_together(
    data_root_path: Path,
) -> None:
    nodes = [("a", "A", "One. Two. Three. Four."), ("b", "B", "Five."), ("c", "C", "Six.")]
    graph = small(data_root_path, nodes, [])
    search = BM25.open_or_build(graph, data_root_path)
    context = Context(graph, search, LexicalBackbone(), None)  # type: ignore[arg-type]
    table = Table({"One. Two. Three.": 0.9, "Four.": 0.3, "Five.": 0.6, "Six.": 0.1})
    weighed = Evidence(context, "q", table, Settings()).weigh(dict.fromkeys(range(3), ""), "q")
    assert weighed.sums[0] == pytest.approx(0.9 * math.exp(-0.8) + 0.3 * math.exp(-2.4))
    assert weighed.sums[1] == pytest.approx(0.6 * math.exp(-1.6))
    assert weighed.sums[2] == pytest.approx(0.1 * math.exp(-3.2))
    assert weighed.best == {0: 0.9, 1: 0.6, 2: 0.1}
    few = Evidence(context, "q", table, Settings(passages=2))
    assert few.weigh(dict.fromkeys(range(3), ""), "q").sums[2] == 0
    assert few.shown == [(0, "One. Two. Three."), (1, "Five.")]


# -- triple sentence -----------------------------------------------------------------------------


@pytest.mark.parametrize(("on", "first"), [(True, "b"), (False, "a")])
def test_the_triple_sentence_before_a_passage_changes_the_ranking(
    data_root_path: Path, on: bool, first: str
) -> None:
    nodes = [("t", "Topic", ""), ("a", "One", "a thing of it"), ("b", "Two", "a thing of it")]
    graph = small(data_root_path, nodes, [("t", "painted", "a"), ("b", "bought by", "t")])
    model = ByTag(relation_prune=all_relations(), reason=NO, answer={"answers": []})
    question = "which thing was bought by it"
    attempt = ask(graph, data_root_path, model, question, ["t"], depth=1, triple_sentence=on)
    assert states(attempt, "entity_prune")[0]["visited"][0] == first
    assert names(graph, attempt)[0] == first


# -- threshold and top W in both ways of pruning -------------------------------------------------


def kept(attempt: Attempt) -> list[tuple[str, float]]:
    return [
        (text.split("—")[1][:10], score)
        for text, score in states(attempt, "relation_prune")[0]["taken"]
    ]


@pytest.mark.parametrize(("way", "top"), [("combined", 10), ("single", 1)])
def test_threshold_and_width_hold_in_both_ways_of_pruning(
    data_root_path: Path, way: str, top: int
) -> None:
    graph = small(data_root_path, STAR, RAYS)
    for scores, expected in (
        (
            (0.9, 0.8, 0.7, 1.0, 0.6),
            [("relation 4", 1.0), ("relation 1", 0.9), ("relation 2", 0.8)],
        ),
        ((0.19, 0.2, 0.1, 0.0, 0.9), [("relation 5", 0.9), ("relation 2", 0.2)]),
    ):
        entries = [{"option": i, "score": s * top} for i, s in enumerate(scores, 1)]
        model = ByTag(relation_prune={"relations": entries}, reason=NO)
        attempt = ask(graph, data_root_path, model, "q", ["t"], depth=1, relation_prune=way)
        assert kept(attempt) == [(name, pytest.approx(s)) for name, s in expected]


def test_width_holds_for_each_entity_of_a_combined_call(data_root_path: Path) -> None:
    nodes = [*STAR, ("u", "Other", "another topic")]
    graph = small(data_root_path, nodes, [*RAYS, *(("u", r, n) for _, r, n in RAYS)])
    model = ByTag(topic_prune={"starts": [1, 2]}, relation_prune=all_relations(10, 9), reason=NO)
    attempt = ask(graph, data_root_path, model, "q", ["t", "u"], depth=1, width=2)
    taken = [text.split(" —")[0] for text, _ in states(attempt, "relation_prune")[0]["taken"]]
    assert taken == ["Topic", "Topic", "Other", "Other"]
    assert model.counts["tog2.relation_prune"] == 1


def test_the_code_preset_applies_neither_in_a_combined_call(data_root_path: Path) -> None:
    graph = small(data_root_path, STAR, RAYS)
    entries = [{"option": i, "score": s} for i, s in enumerate((9, 1, 0, 8, 7), 1)]
    model = ByTag(relation_prune={"relations": entries}, reason=NO)
    attempt = ask(graph, data_root_path, model, "q", ["t"], **{**CODE, "depth": 1})
    assert len(kept(attempt)) == 5
    single = {**CODE, "depth": 1, "relation_prune": "single"}
    entries = [{"option": i, "score": s / 10} for i, s in enumerate((9, 1, 0, 8, 7), 1)]
    model = ByTag(relation_prune={"relations": entries}, reason=NO)
    assert len(kept(ask(graph, data_root_path, model, "q", ["t"], **single))) == 3


# -- names in another case -----------------------------------------------------------------------


def test_a_name_in_another_case_does_no_harm(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    entry = {"option": 1, "score": 9, "entity": "NIGHT BELL", "relation": "Grows In"}
    model = ByTag(relation_prune={"relations": [entry]}, reason=NO)
    attempt = ask(toy_graph, data_root_path, model, "q", ["p2"], depth=1)
    assert [score for _, score in kept(attempt)] == [0.9]
    pruned = [s for s in attempt.trajectory.steps if s.tag == "tog2.relation_prune"]
    assert not any(step.invalid or step.fallbacks for step in pruned)
    model = ByTag(relation_prune=all_relations(), answer={"names": ["nIGHT bell", "EVENING BELL"]})
    code = {**CODE, "depth": 1, "need_text": False}
    attempt = ask(toy_graph, data_root_path, model, "what do moths visit", ["i1"], **code)
    assert names(toy_graph, attempt)[: attempt.ranking.answers] == ["p2"]


# -- nothing there -------------------------------------------------------------------------------


def test_no_topics_end_in_an_answer_from_memory(data_root_path: Path) -> None:
    graph = small(data_root_path, [("a", "Alpha", "first"), ("b", "Beta", "second")], [])
    model = ByTag(link={"mentions": ["zzz"]}, answer={"names": ["BETA", "Gamma"]})
    attempt = ask(graph, data_root_path, model, "what is zzz")
    assert end(attempt) == "no topics"
    assert model.counts == {"tog2.link": 1, "tog2.answer": 1}
    assert names(graph, attempt) == ["b"]
    assert attempt.ranking.answers == 1


def test_topics_that_the_model_drops_end_in_an_answer(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    model = ByTag(topic_prune={"starts": []}, answer={"answers": [2]})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p1", "p2"])
    assert end(attempt) == "no topics"
    assert model.counts == {"tog2.topic_prune": 1, "tog2.answer": 1}
    assert names(toy_graph, attempt) == ["p2", "p1"]
    model = ByTag(topic_prune={"starts": []}, answer={"names": ["silverleaf"]})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p1", "p2", "p3"], **CODE)
    assert "grey leaves" not in model.prompts("answer")[0], "from memory: no evidence"
    assert names(toy_graph, attempt)[: attempt.ranking.answers] == ["p1"]


@pytest.mark.parametrize("settings", [{}, CODE], ids=["paper", "code"])
def test_no_relations_end_in_an_answer(
    toy_graph: KnowledgeGraph, data_root_path: Path, settings: dict[str, Any]
) -> None:
    model = ByTag(topic_prune={"starts": [1]}, reason=NO)
    attempt = ask(toy_graph, data_root_path, model, "Glass house", ["h4"], **settings)
    assert end(attempt) == "no relations"
    assert model.counts["tog2.relation_prune"] == 0
    assert model.counts["tog2.answer"] == 2, "an unreadable answer is asked for once more"
    assert names(toy_graph, attempt) == ["h4"]
    assert attempt.ranking.answers == 0


def test_relations_below_the_threshold_end_in_an_answer(data_root_path: Path) -> None:
    graph = small(data_root_path, STAR, RAYS)
    model = ByTag(relation_prune=all_relations(5, 1.9), reason=NO, answer={"answers": [1]})
    attempt = ask(graph, data_root_path, model, "q", ["t"])
    assert end(attempt) == "relations dropped"
    assert names(graph, attempt) == ["t"]


def test_no_tails_end_in_an_answer_from_what_was_found(data_root_path: Path) -> None:
    graph = small(data_root_path, [("a", "A", "one"), ("b", "B", "two")], [("a", "r", "b")])
    model = ByTag(relation_prune=all_relations(9, 9), reason=NO, answer={"answers": [1]})
    attempt = ask(graph, data_root_path, model, "two", ["a"], revisit=False)
    assert end(attempt) == "no tails", "b leads back to a, which was a topic"
    assert "- A —r→ B." in model.prompts("answer")[0]
    assert names(graph, attempt) == ["b", "a"]
    assert attempt.ranking.answers == 1


def test_without_passages_names_and_relations_decide(data_root_path: Path) -> None:
    nodes = [("t", "Topic", ""), ("a", "Aaa", ""), ("b", "Bbb", "")]
    graph = small(data_root_path, nodes, [("t", "r", "a"), ("t", "s", "b")])
    scores = {"relations": [{"option": 1, "score": 4}, {"option": 2, "score": 8}]}
    model = ByTag(relation_prune=scores, reason=NO)
    attempt = ask(graph, data_root_path, model, "bbb", ["t"], depth=1)
    (state,) = states(attempt, "entity_prune")
    assert state["fallback"].startswith("no passages")
    assert state["taken"] == ["b"]
    attempt = ask(
        graph, data_root_path, ByTag(relation_prune=scores, reason=NO), "zzz", ["t"], depth=1
    )
    (state,) = states(attempt, "entity_prune")
    assert state["fallback"].startswith("no passage has a word")
    assert state["taken"] == ["b", "a"], "the better relation first"
    model = ByTag(relation_prune=scores, answer={"names": ["AAA"]})
    attempt = ask(graph, data_root_path, model, "q", ["t"], **CODE)
    assert end(attempt) == "no tails", "the code drops what has no page"
    assert attempt.ranking.nodes == (0,)


# -- equal names ---------------------------------------------------------------------------------


def test_two_nodes_with_one_name_stay_two(data_root_path: Path) -> None:
    nodes = [
        ("t", "Topic", "start"),
        ("m1", "Mercury", "a silver metal"),
        ("m2", "Mercury", "a walled garden with a statue"),
    ]
    graph = small(data_root_path, nodes, [("t", "see", "m1"), ("t", "see", "m2")])
    model = ByTag(relation_prune=all_relations(1, 9), reason=NO, answer={"answers": [2, 1]})
    attempt = ask(graph, data_root_path, model, "Mercury, the garden", ["t"], depth=1)
    (state,) = states(attempt, "entity_prune")
    assert state["visited"] == ["m2", "m1"]
    assert state["scores"][0] > state["scores"][1] > 0
    assert names(graph, attempt) == ["m1", "m2", "t"], "the model's answer chose by number"


# -- clue ----------------------------------------------------------------------------------------

CHAIN = [
    ("t", "Topic", "start"),
    ("m", "Middle", "between"),
    ("x", "Xxx", "plain words about nothing"),
    ("y", "Yyy", "a lighthouse on a rock"),
]
LINKS = [("t", "r", "m"), ("m", "s", "x"), ("m", "s", "y")]


@pytest.mark.parametrize("clue", [True, False])
def test_the_clue_reaches_the_next_prompt_and_the_next_retrieval(
    data_root_path: Path, clue: bool
) -> None:
    graph = small(data_root_path, CHAIN, LINKS)
    said = {"sufficient": False, "clue": "something with a lighthouse"}
    model = ByTag(relation_prune=all_relations(3, 9), reason=said, answer={"answers": []})
    settings = {"depth": 2, "initial": False, "clue": clue}
    attempt = ask(graph, data_root_path, model, "what plain thing", ["t"], **settings)
    for prompt in (model.prompts("relation_prune")[1], model.prompts("answer")[0]):
        assert ("something with a lighthouse" in prompt) is clue
    assert "lighthouse" not in model.prompts("relation_prune")[0]
    assert states(attempt, "entity_prune")[1]["taken"][0] == ("y" if clue else "x")


def test_the_code_preset_leaves_the_clue_unused(data_root_path: Path) -> None:
    graph = small(data_root_path, CHAIN, LINKS)
    model = ByTag(
        relation_prune=all_relations(3, 9), reason={"sufficient": False, "clue": "a secret word"}
    )
    ask(graph, data_root_path, model, "what", ["t"], **CODE)
    assert model.counts["tog2.reason"] == 3
    assert not any("secret" in prompt for _, prompt in model.calls)


# -- a No that holds the word yes ----------------------------------------------------------------


def test_a_no_with_yes_in_it_is_a_no(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    said = {"sufficient": "No, though one could be tempted to say yes.", "answers": [1]}
    model = ByTag(relation_prune=all_relations(), reason=said, answer={"answers": []})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p2"])
    assert end(attempt) == "depth"
    assert not any(state.get("sufficient") for state in states(attempt, "reason"))
    assert sum(s.fallbacks for s in attempt.trajectory.steps if s.tag == "tog2.reason") == 3
    model = ByTag(reason={"sufficient": "No.", "answers": [1], "clue": "yes or no"})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p2"])
    assert end(attempt) == "depth"
    assert not sum(s.fallbacks for s in attempt.trajectory.steps if s.tag == "tog2.reason")
    model = ByTag(reason={"sufficient": "Yes", "answers": [1]})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p2"])
    assert end(attempt) == "sufficient"
    assert attempt.ranking.answers == 1


# -- bound of calls ------------------------------------------------------------------------------

WAYS = [("combined", 9), ("single", 13)]


@pytest.mark.parametrize("settings", [{}, CODE], ids=["paper", "code"])
@pytest.mark.parametrize(("way", "bound"), WAYS)
def test_a_walk_that_never_ends_early_stays_within_the_bound(
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
    way: str,
    bound: int,
    settings: dict[str, Any],
) -> None:
    how = {**settings, "relation_prune": way, "need_text": False}
    model = ByTag(
        topic_prune={"starts": [1, 2, 3]},
        relation_prune=all_relations(score=9 if way == "combined" else 1),
        reason=NO,
        answer={"answers": [], "names": []},
    )
    question = "plant habitat moth garden dunes water copper visits grows lives"
    attempt = ask(toy_graph, data_root_path, model, question, ["p1", "p2", "i1"], **how)
    assert end(attempt) == "depth"
    assert attempt.status == "ok"
    assert Settings(**how).call_bound == bound
    assert model.walked <= bound
    if way == "single":
        assert model.counts["tog2.relation_prune"] == 9, "three topics at each of three depths"
        assert model.walked == bound
    for seed in range(20):
        drawn = RandomBackbone(seed=seed)
        attempt = ask(toy_graph, data_root_path, drawn, question, seed=seed, **how)
        tags = [m for m in attempt.trajectory.messages if m.role == "system"]
        assert len(tags) <= bound + 3
        assert sum(m.role == "assistant" for m in attempt.trajectory.messages) <= bound + 6


@pytest.mark.parametrize(("way", "bound"), WAYS)
def test_repairs_count_and_fallbacks_answer_at_the_bound(
    toy_graph: KnowledgeGraph, data_root_path: Path, way: str, bound: int
) -> None:
    model = ByTag(topic_prune="no", relation_prune="no", reason="no", answer="no")
    seeds = ["p1", "p2", "i1"]
    attempt = ask(toy_graph, data_root_path, model, "moth", seeds, relation_prune=way)
    assert attempt.status == "ok"
    assert end(attempt) == "depth"
    assert model.walked == bound
    assert model.calls[-1][0] == "tog2.answer", "one call is kept for the last answer"
    spent = [s for s in attempt.trajectory.steps if s.state.get("calls") == "spent"]
    assert spent
    assert all(step.fallbacks for step in spent)
    assert attempt.ranking.nodes


def test_one_script_for_all_calls(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    script = (
        '{"mentions": ["copper moth"], "chosen": [1], "starts": [1], "sufficient": false, '
        '"relations": [{"option": 1, "score": 8}], "clue": "blue flowers", "answers": [1]}'
    )
    backbone = ScriptedBackbone([{"content": script}])
    attempt = ask(toy_graph, data_root_path, backbone, "What do copper moths visit?")
    assert attempt.status == "ok"
    assert attempt.ranking.answers == 1
