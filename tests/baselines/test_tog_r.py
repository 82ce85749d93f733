"""ToG-R: relations are pruned, entities drawn; reasoning sees chains with all their tails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tog_script import NO, ByTag, built, counted, dense, names, relations, star, walked, yes

from ark.graph import KnowledgeGraph
from baselines.tog.method import TogR, TogRBM25

P2, I1, I4, H3 = 1, 5, 8, 11  # rows of the toy graph
PRUNE, REASON, ANSWER = "tog_r.relation_prune", "tog_r.reason", "tog_r.answer"
NOTHING = json.dumps({"answers": []})


def script(*pruned: str, reason: str = NO, answer: str = NOTHING) -> ByTag:
    return ByTag({PRUNE: pruned, REASON: [reason], ANSWER: [answer]})


def test_entities_are_never_scored_by_a_call(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((3, 1.0)), relations((1, 0.5)))
    walked(TogR(), toy_graph, data_root_path, plays, seeds=(I1,))
    assert set(plays.tags) == {PRUNE, REASON, ANSWER}


def test_reasoning_sees_topic_relation_chain_and_the_whole_tail_set(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    """Copper moth visits two plants; from both the chain goes on to where they grow."""
    plays = script(relations((3, 0.8), (1, 0.6)), relations((1, 0.5)))
    walked(TogR(depth=2), toy_graph, data_root_path, plays, seeds=(I1,))
    first, second = plays.prompts(REASON)
    assert "- Copper moth -[visits]-> options 1, 2\n" in first
    assert "- Copper moth -[lives in]-> options 3\n" in first
    assert [x.split(" |")[0] for x in first.splitlines()[5:]] == [
        "1. Night bell",
        "2. Marsh candle",
        "3. Mercury",
    ]
    assert "- Copper moth -[visits]-> … -[grows in]-> options " in second
    assert "- Copper moth -[lives in]-> … <-[grows in]- options " in second


def test_an_incoming_edge_points_at_the_topic(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((2, 1.0)))
    walked(TogR(depth=1), toy_graph, data_root_path, plays, seeds=(P2,))
    assert "- Night bell <-[visits]- options 1, 2\n" in plays.prompts(REASON)[0]


def test_where_only_the_way_back_is_left_the_last_paths_answer(data_root_path: Path) -> None:
    graph = built(star(19, "ra"), data_root_path)
    plays = script(relations((1, 1.0)), answer='{"answers": [4]}')
    done = walked(TogR(), graph, data_root_path, plays, seeds=(0,))
    assert plays.tags == [PRUNE, REASON, ANSWER]
    assert names(graph, done)[0] == "n4"
    assert len(done.ranking.nodes) == 19


def test_a_no_draws_n_of_all_tails_by_the_seed(data_root_path: Path) -> None:
    graph = built(dense("rb"), data_root_path)

    def topics(seed: int) -> tuple[str, ...]:
        plays = script(relations((1, 0.9), (3, 0.8), (5, 0.7)))
        walked(TogR(depth=2), graph, data_root_path, plays, seeds=(0,), seed=seed)
        return tuple(p.splitlines()[1] for p in plays.prompts(PRUNE)[1:])

    draws = [topics(seed) for seed in range(12)]
    assert [topics(seed) for seed in range(12)] == draws
    assert all(len(set(draw)) == 3 for draw in draws)
    assert len({entity for draw in draws for entity in draw}) == 7, "every tail has a chance"


def test_the_call_bound_of_13_is_reached_and_not_exceeded(data_root_path: Path) -> None:
    graph = built(dense("rc"), data_root_path)
    plays = script(relations((1, 0.9), (3, 0.8), (5, 0.7)))
    done = walked(TogR(), graph, data_root_path, plays, seeds=(0, 1, 2))
    assert len(plays.tags) == 13 == TogR().most_calls
    assert not counted(done)


def test_repairs_stay_within_the_bound_of_13(data_root_path: Path) -> None:
    graph = built(dense("rc"), data_root_path)
    plays = ByTag({tag: ["I would rather not."] for tag in (PRUNE, REASON, ANSWER)})
    done = walked(TogR(), graph, data_root_path, plays, seeds=(0, 1, 2))
    assert len(plays.tags) <= 13
    assert sum(fallbacks for _, fallbacks in counted(done).values()) == 9 + 3 + 1


def test_a_yes_answers_by_number_and_all_tails_are_ranked(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((3, 0.8), (1, 0.9)), reason=yes(3))
    done = walked(TogR(), toy_graph, data_root_path, plays, seeds=(I1,))
    assert names(toy_graph, done)[0] == "p4"  # options by the better relation: h3, p2, p4
    assert done.ranking.answers == 1
    assert names(toy_graph, done)[1:] == ["h3", "p2"]


def test_depth_exhausted_asks_memory_and_the_tails_are_ranked(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((3, 1.0)), answer=json.dumps({"answers": ["Dune beetle"]}))
    done = walked(TogR(width=1, depth=1), toy_graph, data_root_path, plays, seeds=(I1,))
    assert names(toy_graph, done)[0] == "i2"
    assert set(names(toy_graph, done)[1:]) == {"p2", "p4"}


def test_zero_scores_end_in_an_answer_from_the_last_paths(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((3, 1.0)), relations((1, 0.0)), answer='{"answers": [1]}')
    done = walked(TogR(), toy_graph, data_root_path, plays, seeds=(I1,))
    (prompt,) = plays.prompts(ANSWER)
    assert "- Copper moth -[visits]-> options 1, 2\n" in prompt
    assert names(toy_graph, done) == ["p2", "p4"]


@pytest.mark.parametrize("large_rule", ["bm25", "random"])
def test_large_tail_sets_are_cut(data_root_path: Path, large_rule: str) -> None:
    graph = built(star(25, "rd"), data_root_path)
    plays = script(relations((1, 1.0)), reason=yes(1))
    method = TogR(large_rule=large_rule, large_keep=10)
    done = walked(method, graph, data_root_path, plays, seeds=(0,), question="copper")
    assert len(done.ranking.nodes) == 10


def test_bm25_prunes_relations_and_the_model_only_reasons(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    plays = script(relations((1, 1.0)))
    walked(TogRBM25(), toy_graph, data_root_path, plays, seeds=(I1, I4, H3))
    assert set(plays.tags) == {REASON, ANSWER}
    assert len(plays.tags) <= 4
