"""ToG by its specification: one test or more for each of the acceptance tests 1 to 10."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tog_script import (
    NO,
    ByTag,
    built,
    counted,
    dense,
    entities,
    names,
    relations,
    star,
    walked,
    yes,
)

from ark.graph import KnowledgeGraph
from ark.scoring.judge import judge
from ark.scoring.measures import parse_measure
from ark.search import BM25
from baselines.tog.method import Tog, TogFaithful

P1, P2, P3, P4, I1, I4, H1, H3, H4 = 0, 1, 2, 3, 5, 8, 9, 11, 12  # rows of the toy graph
MEMORY = json.dumps({"answers": ["Sand thistle"]})
PRUNE, SCORE, REASON, ANSWER = "tog.relation_prune", "tog.entity_prune", "tog.reason", "tog.answer"


def script(**more: Any) -> ByTag:
    """Copper moth: 1 lives in, 2 same record as (in), 3 visits. Tails: 1 Night bell, 2 candle."""
    named = {f"tog.{tag}": entry for tag, entry in more.items()}
    return ByTag(
        {
            PRUNE: [relations((3, 1.0))],
            SCORE: [entities((1, 0.8), (2, 0.4))],
            REASON: [NO],
            ANSWER: [MEMORY],
            **named,
        }
    )


# -- the ten acceptance tests --------------------------------------------------------------------


def test_01_walk_back_filter_is_kept_for_each_entity(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """Night bell was reached by ``visits``: not back by it. Sand thistle was not: it has it."""
    plays = script(
        relation_prune=[relations((3, 1.0)), relations((1, 0.9)), relations((1, 1.0))],
        entity_prune=[entities((1, 1.0)), entities((2, 0.5)), entities((1, 1.0))],
    )
    walked(Tog(depth=2), toy_graph, data_root_path, plays, seeds=(I1, H1))
    third, fourth = plays.prompts(PRUNE)[2:]
    assert "Entity: Night bell" in third
    assert "-[visits]->" not in third
    assert "Night bell -[grows in]-> habitat" in third
    assert "Entity: Sand thistle" in fourth
    assert "insect -[visits]-> Sand thistle" in fourth
    assert "Sand thistle -[grows in]->" not in fourth  # its own way back to the dunes


def test_02_an_incoming_edge_is_printed_in_its_own_direction(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relation_prune=[relations((2, 1.0))])
    walked(Tog(depth=1), toy_graph, data_root_path, plays, seeds=(P2,))
    (offered,) = plays.prompts(PRUNE)
    assert "1. Night bell -[grows in]-> habitat (1)" in offered
    assert "2. insect -[visits]-> Night bell (2)" in offered
    assert "Step: ? -[visits]-> Night bell" in plays.prompts(SCORE)[0]
    (facts,) = plays.prompts(REASON)
    assert "- Copper moth (option 1) -[visits]-> Night bell\n" in facts
    assert "Night bell -[visits]->" not in facts


@pytest.mark.parametrize(
    ("replies", "first", "invalid", "fallbacks"),
    [
        pytest.param([relations((3, 1.0), (1, 0.2))], "p2", 0, 0, id="valid"),
        pytest.param([relations((99, 1.0), (1, 0.7))], "h3", 1, 0, id="partially invalid"),
        pytest.param(['{"relations": []}', relations((1, 0.9))], "h3", 1, 0, id="empty, repaired"),
        pytest.param(['{"relations": []}', '{"relations": []}'], "p2", 2, 1, id="empty"),
        pytest.param(["I cannot help."] * 2, "p2", 2, 1, id="refusing"),
    ],
)
def test_03_relation_prune_falls_back_and_counts(
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
    replies: list[str],
    first: str,
    invalid: int,
    fallbacks: int,
) -> None:
    plays = script(relation_prune=[replies])
    question = "What does it visits?"  # by words the option with "visits" is best
    done = walked(
        Tog(width=2, depth=1), toy_graph, data_root_path, plays, seeds=(I1,), question=question
    )
    assert names(toy_graph, done)[1] == first  # after the answer
    assert counted(done).get(PRUNE, (0, 0)) == (invalid, fallbacks)
    assert set(counted(done)) <= {PRUNE}


def test_04_twenty_tails_are_cut_by_bm25_the_same_each_time(data_root_path: Path) -> None:
    graph, question = built(star(25, "a25"), data_root_path), "copper"
    search = BM25.open_or_build(graph, data_root_path)
    tails = graph.neighbors(0)
    plays = [
        ByTag({PRUNE: [relations((1, 1.0))], SCORE: [entities((1, 1.0))], REASON: [yes(1)]})
        for _ in range(2)
    ]
    for play, seed in zip(plays, (1, 2), strict=True):
        walked(Tog(), graph, data_root_path, play, seeds=(0,), question=question, seed=seed)
    first, second = (play.prompts(SCORE)[0] for play in plays)
    assert first == second
    best = [graph.name(hit.node) for hit in search.rank(question, tails, 20)]
    assert [line.split(". ")[1].split(" |")[0] for line in first.splitlines()[3:]] == best


@pytest.mark.parametrize(("leaves", "shown"), [(19, 19), (20, 5), (25, 5)])
def test_04_the_faithful_preset_draws_five_of_twenty_or_more(
    data_root_path: Path, leaves: int, shown: int
) -> None:
    graph = built(star(leaves, f"b{leaves}"), data_root_path)

    def offered(seed: int) -> list[str]:
        play = ByTag({PRUNE: [relations((1, 1.0))], SCORE: [entities((1, 1.0))], REASON: [yes(1)]})
        walked(TogFaithful(), graph, data_root_path, play, seeds=(0,), seed=seed)
        return play.prompts(SCORE)[0].splitlines()[3:]

    assert len(offered(1)) == shown
    assert offered(1) == offered(1)
    assert shown == leaves or any(offered(1) != offered(seed) for seed in range(2, 6))


def test_05_scores_of_zero_end_in_an_answer_from_the_triples(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """C5 sees the triples of depth 1 and answers by their numbers."""
    plays = script(
        relation_prune=[relations((3, 1.0)), relations((1, 0.0))],
        answer=[json.dumps({"answers": [2]})],
    )
    done = walked(Tog(), toy_graph, data_root_path, plays, seeds=(I1,))
    assert plays.tags == [PRUNE, SCORE, REASON, PRUNE, PRUNE, ANSWER]
    (prompt,) = plays.prompts(ANSWER)
    assert "Copper moth -[visits]-> Night bell (option 1)" in prompt
    assert names(toy_graph, done)[0] == "p4"
    assert done.ranking.answers == 1


def test_05_scores_of_zero_at_depth_one_leave_no_triples_and_memory_answers(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(entity_prune=[entities((1, 0.0), (2, 0.0))])
    done = walked(Tog(), toy_graph, data_root_path, plays, seeds=(I1,))
    assert plays.tags == [PRUNE, SCORE, ANSWER]
    assert names(toy_graph, done) == ["p3", "p4", "p2"]  # the answer, then what was scored


def test_06_yes_at_depth_one_stops_within_two_n_and_one_calls(data_root_path: Path) -> None:
    graph = built(dense("c1"), data_root_path)
    plays = ByTag(
        {
            PRUNE: [relations((1, 0.9), (2, 0.8), (3, 0.7))],
            SCORE: [entities((3, 1.0), (2, 0.5))],
            REASON: [yes(1)],
        }
    )
    done = walked(Tog(), graph, data_root_path, plays, seeds=(0, 1, 2))
    assert len(plays.tags) == 2 * 3 + 1
    assert plays.tags[-1] == REASON
    assert done.ranking.answers == 1


def test_07_depth_exhausted_asks_memory_and_still_ranks_all_tiers(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """C6 is asked without triples, as in paper and code; frontier and scored nodes follow."""
    plays = script()
    done = walked(Tog(width=1, depth=1), toy_graph, data_root_path, plays, seeds=(I1,))
    assert plays.prompts(ANSWER) == ["Question: Which plant do copper moths visit?"]
    assert names(toy_graph, done) == ["p3", "p2", "p4"]
    assert done.ranking.answers == 1
    last = done.trajectory.steps[-1].state
    assert (last["source"], last["ended"], last["taken"]) == ("memory", "depth exhausted", ["p3"])


def test_08_the_call_bound_of_22_is_reached_and_not_exceeded(data_root_path: Path) -> None:
    graph = built(dense("c2"), data_root_path)
    plays = ByTag(
        {
            PRUNE: [relations((1, 0.9), (3, 0.8), (5, 0.7))],
            SCORE: [entities((3, 1.0), (2, 0.5), (1, 0.4))],
            REASON: [NO],
            ANSWER: [MEMORY],
        }
    )
    done = walked(Tog(), graph, data_root_path, plays, seeds=(0, 1, 2))
    assert len(plays.tags) == 22 == Tog().most_calls
    assert plays.tags.count(PRUNE) == plays.tags.count(SCORE) == 9
    assert plays.tags[-1] == ANSWER
    assert not counted(done)


@pytest.mark.parametrize("reply", ["no", '{"relations": [{"option": 99, "score": 1}]}', "{}"])
def test_08_repairs_count_and_at_the_bound_fallbacks_answer(
    data_root_path: Path, reply: str
) -> None:
    graph = built(dense("c3"), data_root_path)
    plays = ByTag({tag: [[reply, reply]] for tag in (PRUNE, SCORE, REASON, ANSWER)})
    done = walked(Tog(), graph, data_root_path, plays, seeds=(0, 1, 2))
    assert len(plays.tags) <= 22
    assert plays.tags.count(REASON) >= 3, "each depth still asks whether it is enough"
    assert plays.tags[-1] == ANSWER
    made = 9 + 9 + 3 + 1  # decisions: each was the fallback's
    assert sum(fallbacks for _, fallbacks in counted(done).values()) == made
    roles = Counter(message.role for message in done.trajectory.messages)
    begun = sum(len(messages) == 2 for _, messages, _ in plays.asked)
    sent = {"system": begun, "user": len(plays.tags), "assistant": len(plays.tags)}
    assert dict(roles) == sent, "no message that was not sent"


def test_09_a_tail_reached_by_two_relations_is_one_with_the_higher_score(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """Walled garden: Copper moth lives in it (0.9), Night bell grows in it (0.6).

    The higher score comes first here; test_tog_parts has merging with the higher one last.
    """
    plays = script(relation_prune=[relations((1, 0.9)), relations((1, 0.6))], reason=[yes(1)])
    done = walked(Tog(), toy_graph, data_root_path, plays, seeds=(I1, P2))
    (facts,) = plays.prompts(REASON)
    assert "1. Mercury | habitat" in facts
    assert "2. " not in facts
    assert "- Copper moth -[lives in]-> Mercury (option 1)" in facts
    assert "grows in" not in facts
    assert names(toy_graph, done) == ["h3"]
    (beam,) = done.trajectory.steps[-1].state["beam"]
    assert (beam["to"], beam["score"]) == ("h3", 0.9)


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        pytest.param(f"Yes, that is enough. The answer: {yes(2)}", True, id="yes and the answer"),
        pytest.param('{"enough": "yes", "answers": [2]}', True, id="yes as a word"),
        pytest.param('{"enough": "Yes", "answers": ["2"]}', True, id="number as a text"),
        pytest.param(yes(1), False, id="another answer"),
        pytest.param(yes(), False, id="yes without an answer"),
        pytest.param('{"enough": true}', False, id="yes alone"),
        pytest.param('{"enough": true, "answers": ["Marsh candle"]}', False, id="free text"),
        pytest.param('{"enough": "No, yes would be wrong", "answers": [2]}', False, id="no"),
        pytest.param(NO, False, id="no answer"),
        pytest.param("", False, id="empty"),
        pytest.param("Y", False, id="one letter"),
    ],
)
def test_10_scorer_yes_with_answer_is_scored_on_the_answer_and_empty_is_wrong(
    toy_graph: KnowledgeGraph, data_root_path: Path, reply: str, right: bool
) -> None:
    plays = script(reason=[[reply, reply]], answer=['{"answers": []}'])
    done = walked(Tog(width=2, depth=1), toy_graph, data_root_path, plays, seeds=(I1,))
    answered = done.ranking.nodes[: done.ranking.answers]
    judged = judge([toy_graph.id(i) for i in answered], ["p4"])
    assert parse_measure("hit@1").score(judged) == float(right)
