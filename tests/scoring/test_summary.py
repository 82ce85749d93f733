from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.scoring.intervals import NOTHING, bootstrap, cluster_codes, wilson
from ark.scoring.judge import judge
from ark.scoring.measures import DEFAULT_MEASURES, parse_measure, score_row, zero_row
from ark.scoring.summary import Row, summarise

HIT, MRR, F1 = parse_measure("hit@1"), parse_measure("mrr"), parse_measure("f1")


def pairs(values: list[tuple[float, float]]) -> list[Row]:
    return [{"hit@1": hit, "mrr": mrr} for hit, mrr in values]


ROWS = pairs([(1.0, 1.0), (0.0, 0.5), (0.0, 1 / 3), (1.0, 1.0), (0.0, 0.0)])


def test_hit_rates_get_wilson_and_the_rest_a_bootstrap() -> None:
    out = summarise(ROWS, list("abcde"), [MRR, HIT], seed=4)
    assert list(out) == ["mrr", "hit@1"]
    assert out["hit@1"] == wilson(2, 5).rounded(10)
    column = np.array([[1.0], [0.5], [1 / 3], [1.0], [0.0]])
    assert out["mrr"] == bootstrap(column, np.arange(5), seed=4)[0].rounded(10)


def test_shared_clusters_widen_but_move_no_mean() -> None:
    rows = pairs([(float(i // 4 % 2), i // 4 % 2 / 2) for i in range(80)])
    alone = summarise(rows, [""] * 80, [HIT, MRR])
    shared = summarise(rows, [str(i // 4) for i in range(80)], [HIT, MRR])
    for name, estimate in alone.items():
        wide = shared[name]
        assert (wide.mean, wide.n) == (estimate.mean, estimate.n)
        assert wide.low is not None
        assert estimate.low is not None
        assert wide.low < estimate.low, name


def test_an_empty_split_is_none_everywhere() -> None:
    out = summarise([], [])
    assert list(out) == [m.name for m in DEFAULT_MEASURES]
    assert set(out.values()) == {NOTHING}


def test_set_measures_without_any_commitment_are_absent() -> None:
    rows = [score_row(judge([1, 2], [2])), zero_row()]
    out = summarise(rows, ["a", "b"])
    assert out["f1"] == NOTHING
    assert out["mrr"].mean == 0.25
    assert out["mrr"].n == 2


def test_a_failed_question_counts_as_zero_once_others_commit() -> None:
    rows = [score_row(judge([1, 2], [1], answers=1)), zero_row()]
    out = summarise(rows, ["a", "b"])
    assert (out["f1"].mean, out["f1"].n) == (0.5, 2)


def test_no_spread_is_not_certainty() -> None:
    """All alike, or one cluster only: resampling would give an interval of width nought."""
    zeros = summarise(pairs([(0.0, 0.0)] * 3), list("abc"), [MRR])["mrr"]
    assert zeros == wilson(0, 3).rounded(10)
    single = summarise(pairs([(1.0, 0.5), (1.0, 0.25)]), ["a", "a"], [HIT, MRR])
    assert (single["mrr"].mean, single["mrr"].n) == (0.375, 2)
    assert single["mrr"].low == pytest.approx(wilson(0.375, 1).low, abs=1e-9)
    assert single["hit@1"].low == pytest.approx(wilson(1, 1).low, abs=1e-9)


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.1, float("inf")])
def test_values_that_are_no_measure_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"row 1: mrr=.* is not between 0 and 1"):
        summarise([{"mrr": 0.0}, {"mrr": bad}], ["a", "b"], [MRR])


def test_missing_values_of_the_ranking_are_refused() -> None:
    with pytest.raises(ValueError, match="no value for hit@1"):
        summarise([{"mrr": 0.0}, {"mrr": 1.0, "hit@1": None}], ["a", "b"], [HIT])


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="5 rows but 1 clusters"):
        summarise(ROWS, ["a"], [MRR])


def test_one_measure_does_not_depend_on_the_others() -> None:
    names = list("aabbc")
    assert summarise(ROWS, names, [HIT, MRR])["mrr"] == summarise(ROWS, names, [MRR])["mrr"]


def test_results_are_plain_json_of_ten_decimals() -> None:
    out = summarise(ROWS, list("aabbc"), [HIT, MRR, F1])
    text = json.dumps({name: e.to_json() for name, e in out.items()}, allow_nan=False)
    assert json.loads(text)["mrr"]["mean"] == 0.5666666667
    assert json.loads(text)["f1"] == dict.fromkeys(["mean", "low", "high", "design_effect"]) | {
        "n": 0,
        "clusters": 0,
    }
    assert json.loads(text)["mrr"]["clusters"] == 3
    digits = [part.split(".")[1] for part in text.replace(",", " ").split() if "." in part]
    assert max(len(d.rstrip("}")) for d in digits) <= 10


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(["", "a", "b", "c"]), st.booleans(), st.floats(0, 1)),
        min_size=1,
        max_size=20,
    )
)
def test_intervals_bracket_means(rows: list[tuple[str, bool, float]]) -> None:
    values = pairs([(float(hit), mrr) for _, hit, mrr in rows])
    clusters = [cluster for cluster, _, _ in rows]
    out = summarise(values, clusters, [HIT, MRR])
    assert out == summarise(values, clusters, [HIT, MRR])
    for e in out.values():
        assert e.mean is not None
        assert e.low is not None
        assert e.high is not None
        assert 0 <= e.low <= e.high <= 1
        assert e.n == len(rows)
    rate = out["hit@1"]
    assert rate.low is not None
    assert rate.mean is not None
    assert rate.high is not None
    assert rate.low <= rate.mean <= rate.high
    assert len(cluster_codes(clusters)) == len(rows)
