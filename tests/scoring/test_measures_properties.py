"""Properties of the measures, and a naive reference written without the code under test."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.scoring.judge import Judged, judge
from ark.scoring.measures import parse_measure

IDS = st.integers(0, 25)
RANKED = st.lists(IDS, max_size=40)
GOLD = st.lists(IDS, max_size=12)
AT_K = ["hit", "recall", "precision", "mrr", "map", "map_cut", "ndcg"]
WHOLE = ["mrr", "map", "ndcg", "rprecision"]
SETS = ["precision", "recall", "f1"]
NAMES = [f"{kind}@{k}" for kind in AT_K for k in (1, 2, 5, 20, 100)] + WHOLE


def scores(judged: Judged) -> dict[str, float | None]:
    return {name: parse_measure(name).score(judged) for name in NAMES + SETS}


def naive(name: str, ranking: list[int], gold: set[int]) -> float:
    """The textbook formula over a list of distinct candidates and a set of gold."""
    if not gold:
        return 0.0
    kind, _, cut = name.partition("@")
    top = ranking[: int(cut)] if cut else list(ranking)
    found = [i for i, node in enumerate(top) if node in gold]
    precisions = [len(gold.intersection(top[: i + 1])) / (i + 1) for i in found]
    ideal = min(len(gold), int(cut)) if cut else len(gold)
    if kind == "hit":
        return 1.0 if gold.intersection(top) else 0.0
    if kind == "recall":
        return len(gold.intersection(top)) / len(gold)
    if kind == "precision":
        return len(gold.intersection(top)) / int(cut)
    if kind == "mrr":
        return max((1 / (ranking.index(g) + 1) for g in gold if g in top), default=0.0)
    if kind == "map_cut" or name == "map":
        return sum(precisions) / len(gold)
    if kind == "map":
        return sum(precisions) / len(precisions) if precisions else 0.0
    if kind == "rprecision":
        return len(gold.intersection(ranking[: len(gold)])) / len(gold)
    assert kind == "ndcg"
    gain = sum(1 / math.log2(i + 2) for i in found)
    return gain / sum(1 / math.log2(i + 2) for i in range(ideal))


@given(RANKED, GOLD, st.sets(IDS), st.dictionaries(IDS, IDS, max_size=5))
def test_equals_a_naive_reference(
    ranked: list[int], gold: list[int], refused: set[int], twins: dict[int, int]
) -> None:
    def same(i: int) -> int:
        return twins.get(i, i)

    ranking: list[int] = []
    for i in ranked:
        if i not in refused and same(i) not in ranking:
            ranking.append(same(i))
    wanted = {same(g) for g in gold if g not in refused}
    judged = judge(ranked, gold, keep=lambda i: i not in refused, same=same)
    for name in NAMES:
        expected = pytest.approx(naive(name, ranking, wanted), abs=1e-12)
        assert parse_measure(name).score(judged) == expected, name


@given(RANKED, GOLD, st.data())
def test_set_measures_equal_set_arithmetic(
    ranked: list[int], gold: list[int], data: st.DataObject
) -> None:
    answers = data.draw(st.integers(0, len(ranked)))
    judged = judge(ranked, gold, keep=lambda i: i % 2 == 0, answers=answers)
    given_set = {i for i in ranked[:answers] if i % 2 == 0}
    wanted = {g for g in gold if g % 2 == 0}
    both = len(given_set & wanted)
    p = both / len(given_set) if given_set and wanted else 0.0
    r = both / len(wanted) if wanted else 0.0
    f = 2 * p * r / (p + r) if p + r else 0.0
    got = scores(judged)
    assert [got[name] for name in SETS] == pytest.approx([p, r, f], abs=1e-12)


@given(RANKED, GOLD, st.data())
def test_bounds(ranked: list[int], gold: list[int], data: st.DataObject) -> None:
    answers = data.draw(st.integers(0, len(ranked)))
    for name, v in scores(judge(ranked, gold, answers=answers)).items():
        assert v is not None, name
        assert 0.0 <= v <= 1.0, name


@given(RANKED, GOLD)
def test_a_longer_cut_never_loses(ranked: list[int], gold: list[int]) -> None:
    judged = judge(ranked, gold)
    for kind in ("hit", "recall", "mrr", "map_cut"):
        values = [parse_measure(f"{kind}@{k}").score(judged) or 0.0 for k in range(1, 30)]
        assert values == sorted(values), kind


def test_map_at_k_may_lose_with_a_longer_cut() -> None:
    """Its known defect, kept because the official evaluator has it; map_cut is free of it."""
    judged = judge([1, 0, 0, 2], [1, 2])
    at = [parse_measure(f"map@{k}").score(judged) for k in (1, 5)]
    assert at == [1.0, pytest.approx((1 + 2 / 3) / 2)]


@given(RANKED, st.permutations(range(0, 24, 2)))
def test_order_and_repeats_of_gold_do_not_matter(ranked: list[int], gold: list[int]) -> None:
    assert judge(ranked, gold) == judge(ranked, sorted(gold)) == judge(ranked, [*gold, *gold])


@given(RANKED, GOLD)
def test_duplicates_keep_the_first(ranked: list[int], gold: list[int]) -> None:
    distinct = list(dict.fromkeys(ranked))
    assert judge(ranked, gold) == judge(distinct, gold) == judge(ranked + ranked, gold)


@given(RANKED, GOLD, st.lists(st.integers(100, 200)))
def test_an_irrelevant_tail_changes_nothing(
    ranked: list[int], gold: list[int], tail: list[int]
) -> None:
    before, after = judge(ranked, gold), judge(ranked + tail, gold)
    assert scores(before) == scores(after)


@given(st.lists(IDS, unique=True, min_size=2), st.data())
def test_swapping_two_gold_nodes_changes_nothing(ranked: list[int], data: st.DataObject) -> None:
    pair = st.lists(st.sampled_from(range(len(ranked))), min_size=2, max_size=2, unique=True)
    a, b = data.draw(pair)
    gold = [ranked[a], ranked[b], *data.draw(GOLD)]
    swapped = list(ranked)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    assert judge(ranked, gold) == judge(swapped, gold)


@given(st.lists(IDS, unique=True, min_size=2), GOLD, st.data())
def test_moving_gold_up_never_loses(
    ranked: list[int], gold: list[int], data: st.DataObject
) -> None:
    i = data.draw(st.integers(1, len(ranked) - 1))
    better = list(ranked)
    if better[i] in gold and better[i - 1] not in gold:
        better[i - 1], better[i] = better[i], better[i - 1]
    before, after = judge(ranked, gold), judge(better, gold)
    for name in NAMES:
        if name.partition("@")[0] == "map" and name != "map":
            continue  # not monotone by definition, see above
        low, high = parse_measure(name).score(before), parse_measure(name).score(after)
        assert low is not None
        assert high is not None
        assert high >= low - 1e-12, name


@given(RANKED, GOLD, st.sets(IDS))
def test_filter_before_cut_equals_filtered_input(
    ranked: list[int], gold: list[int], refused: set[int]
) -> None:
    filtered = judge([i for i in ranked if i not in refused], [g for g in gold if g not in refused])
    assert judge(ranked, gold, keep=lambda i: i not in refused) == filtered


@given(RANKED, GOLD)
def test_a_perfect_ranking_scores_one(ranked: list[int], gold: list[int]) -> None:
    distinct = list(dict.fromkeys(gold))
    judged = judge([*distinct, *ranked], gold, answers=len(distinct))
    expected = 1.0 if distinct else 0.0
    for name in ("hit@1", "mrr", "map", "map@20", "ndcg@5", "ndcg", "rprecision", *SETS):
        assert parse_measure(name).score(judged) == pytest.approx(expected, abs=1e-12), name
