from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from ark.errors import UserError
from ark.scoring.judge import Judged, judge
from ark.scoring.measures import (
    DEFAULT_MEASURES,
    Measure,
    parse_measure,
    score_row,
    zero_row,
)


def value(name: str, judged: Judged) -> float | None:
    return parse_measure(name).score(judged)


@pytest.mark.parametrize(
    "name",
    [
        *("hit@1", "recall@20", "precision@2", "mrr", "mrr@10", "map", "map@20", "map_cut@20"),
        *("ndcg", "ndcg@5", "rprecision", "precision", "recall", "f1"),
    ],
)
def test_names_go_round(name: str) -> None:
    assert parse_measure(name).name == name
    assert parse_measure(f" {name.upper()} ") == parse_measure(name)


def test_rprecision_is_known_by_its_hyphen() -> None:
    assert parse_measure("R-Precision") == Measure("rprecision")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("hits@5", "hit@5"),
        ("hit5", "hit@5"),
        ("hit@0", "hit@"),
        ("ndgc@7", "ndcg@7"),
        ("mmr", "mrr"),
        ("F2", "f1"),
        ("hit", "needs a cut: hit@1"),
        ("map_cut", "needs a cut: map_cut@1"),
        ("f1@5", "takes no cut: f1"),
        ("rprecision@5", "takes no cut: rprecision"),
        ("", "unknown measure"),
        ("hit@1\nmrr", "unknown measure"),
        ("hit@-1", "unknown measure"),
    ],
)
def test_a_wrong_name_is_answered_in_one_line(name: str, part: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_measure(name)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_defaults_hold_what_tables_need() -> None:
    names = [m.name for m in DEFAULT_MEASURES]
    assert {"hit@1", "hit@5", "recall@20", "mrr", "ndcg@20", "map@20"} <= set(names)
    assert len(set(names)) == len(names)


def test_worked_example() -> None:
    """Golds 4, 7 and an unranked 9; ranking 4 0 7 1."""
    judged = judge([4, 0, 7, 1], [4, 7, 9], answers=3)
    assert judged == Judged((True, False, True, False), 3, 3, 2)
    expected = {
        "hit@1": 1.0,
        "recall@1": 1 / 3,
        "recall@20": 2 / 3,
        "precision@2": 1 / 2,
        "precision@10": 2 / 10,
        "mrr": 1.0,
        "rprecision": 2 / 3,
        "map": (1 + 2 / 3) / 3,
        "map@2": 1.0,
        "map_cut@2": 1 / 3,
        "map@20": (1 + 2 / 3) / 2,
        "map_cut@20": (1 + 2 / 3) / 3,
        "ndcg@2": 1 / (1 + 1 / math.log2(3)),
        "ndcg@20": 1.5 / (1.5 + 1 / math.log2(3)),
        "ndcg": 1.5 / (1.5 + 1 / math.log2(3)),
        "precision": 2 / 3,
        "recall": 2 / 3,
        "f1": 2 / 3,
    }
    for name, want in expected.items():
        assert value(name, judged) == pytest.approx(want, abs=1e-15), name


def test_mrr_cut() -> None:
    judged = judge(range(10), [5])
    assert value("mrr", judged) == 1 / 6
    assert value("mrr@6", judged) == 1 / 6
    assert value("mrr@5", judged) == 0.0


def test_recall_is_not_capped() -> None:
    judged = judge(range(30), range(25))
    assert value("recall@20", judged) == 0.8


def test_empty_ranking_scores_zero() -> None:
    judged = judge([], [1], answers=0)
    assert set(score_row(judged).values()) == {0.0}


def test_empty_gold_scores_zero() -> None:
    judged = judge([1, 2], [], answers=1)
    assert set(score_row(judged).values()) == {0.0}
    assert value("rprecision", judged) == value("map", judged) == value("ndcg", judged) == 0.0


def test_gold_that_is_no_candidate_leaves_the_denominator() -> None:
    judged = judge([4, 5, 2], [4, 5], keep=lambda i: i != 4)
    assert value("hit@1", judged) == value("recall@20", judged) == 1.0


def test_candidates_are_filtered_before_the_cut() -> None:
    judged = judge([1, 3, 5, 7, 9, 2], [2], keep=lambda i: i % 2 == 0)
    assert value("hit@1", judged) == 1.0


def test_twins_are_one_answer_on_both_sides() -> None:
    twins = {20: 2, 21: 2}
    judged = judge([20, 2, 3, 21], [21, 3], same=lambda i: twins.get(i, i), answers=3)
    assert judged == Judged((True, True), 2, 2, 2)


def test_without_a_commitment_set_measures_are_absent_not_zero() -> None:
    row = score_row(judge([1], [1]))
    assert {name for name, v in row.items() if v is None} == {"precision", "recall", "f1"}
    assert value("f1", judge([1], [])) is None


def test_the_committed_prefix_is_counted_before_the_filter() -> None:
    """Two committed nodes, one of them no candidate: the third node is not pulled in."""
    judged = judge([1, 2, 4], [2, 4], keep=lambda i: i % 2 == 0, answers=2)
    assert (judged.answered, judged.correct) == (1, 1)
    assert value("precision", judged) == 1.0
    assert value("recall", judged) == 0.5
    assert value("f1", judged) == pytest.approx(2 / 3)


def test_a_commitment_to_nothing_scores_zero() -> None:
    judged = judge([1, 2], [1], answers=0)
    assert [value(n, judged) for n in ("precision", "recall", "f1")] == [0.0, 0.0, 0.0]
    assert value("hit@1", judged) == 1.0


@pytest.mark.parametrize("answers", [-1, 3])
def test_an_impossible_commitment_is_refused(answers: int) -> None:
    with pytest.raises(ValueError, match="no prefix of a ranking of 2"):
        judge([1, 2], [1], answers=answers)


def test_zero_row_covers_the_ranking_and_leaves_sets_open() -> None:
    row = zero_row()
    assert list(row) == [m.name for m in DEFAULT_MEASURES]
    assert {n for n, v in row.items() if v is None} == {"precision", "recall", "f1"}
    assert {v for v in row.values() if v is not None} == {0.0}


class Watched(tuple[bool, ...]):
    """A relevance list that remembers how far it was read."""

    far = 0

    def __getitem__(self, key: Any) -> Any:
        stop = len(self) if key.stop is None else key.stop
        type(self).far = max(self.far, stop)
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[bool]:
        type(self).far = len(self)
        return super().__iter__()


@pytest.mark.parametrize("kind", ["hit", "recall", "precision", "mrr", "map", "map_cut", "ndcg"])
def test_a_cut_reads_k_ranks_only(kind: str) -> None:
    Watched.far = 0
    Measure(kind, 7).score(Judged(Watched([False] * 1000), 50))
    assert Watched.far == 7
