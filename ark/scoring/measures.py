"""Retrieval measures as value objects; ``docs/measures.md`` has the definitions for readers.

With a cut (``hit@5``) and for ``mrr``, ``map``, ``ndcg`` and ``rprecision`` the ranking is
measured; ``precision``, ``recall`` and ``f1`` without a cut measure the committed answer set.

Sources: STaRK (arXiv 2404.13207, section 4) for hit@k, recall@20 and MRR; its evaluator's
torchmetrics functions for precision@k, map, map@k, ndcg@k and rprecision; trec_eval for map_cut@k.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ark.errors import UserError, unknown
from ark.scoring.judge import Judged

Cut = int | None
_Score = Callable[[Judged, Cut], float | None]


def _hit(judged: Judged, cut: Cut) -> float:
    return float(any(judged.relevance[:cut]))


def _recall(judged: Judged, cut: Cut) -> float:
    return sum(judged.relevance[:cut]) / judged.golds


def _precision(judged: Judged, cut: Cut) -> float:
    """Over k, also where fewer than k are ranked."""
    return sum(judged.relevance[:cut]) / cut if cut else 0.0


def _mrr(judged: Judged, cut: Cut) -> float:
    for rank, relevant in enumerate(judged.relevance[:cut], 1):
        if relevant:
            return 1.0 / rank
    return 0.0


def _precisions(judged: Judged, cut: Cut) -> list[float]:
    """Precision at the rank of each gold that stands within the cut."""
    ranks = [rank for rank, relevant in enumerate(judged.relevance[:cut], 1) if relevant]
    return [found / rank for found, rank in enumerate(ranks, 1)]


def _map_of_gold(judged: Judged, cut: Cut) -> float:
    return math.fsum(_precisions(judged, cut)) / judged.golds


def _map_of_found(judged: Judged, cut: Cut) -> float:
    found = _precisions(judged, cut)
    return math.fsum(found) / len(found) if found else 0.0


def _ndcg(judged: Judged, cut: Cut) -> float:
    ideal = judged.golds if cut is None else min(cut, judged.golds)
    top = math.fsum(1.0 / math.log2(rank + 1) for rank in range(1, ideal + 1))
    ranks = (rank for rank, relevant in enumerate(judged.relevance[:cut], 1) if relevant)
    return math.fsum(1.0 / math.log2(rank + 1) for rank in ranks) / top


def _rprecision(judged: Judged, _: Cut) -> float:
    return _precision(judged, judged.golds)


def _of_answers(part: Callable[[int, int, int], float]) -> _Score:
    def score(judged: Judged, _: Cut) -> float | None:
        if judged.answered is None or judged.correct is None:
            return None
        return part(judged.correct, judged.answered, judged.golds)

    return score


_AT_K: dict[str, _Score] = {
    "hit": _hit,
    "recall": _recall,
    "precision": _precision,
    "mrr": _mrr,
    "map": _map_of_found,
    "map_cut": _map_of_gold,
    "ndcg": _ndcg,
}
_OF_LIST: dict[str, _Score] = {
    "mrr": _mrr,
    "map": _map_of_gold,
    "ndcg": _ndcg,
    "rprecision": _rprecision,
}
_OF_SET: dict[str, _Score] = {
    "precision": _of_answers(lambda correct, answered, _: correct / answered if answered else 0.0),
    "recall": _of_answers(lambda correct, _, golds: correct / golds),
    "f1": _of_answers(lambda correct, answered, golds: 2 * correct / (answered + golds)),
}

_BARE = {**_OF_LIST, **_OF_SET}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: a kind and, for most, a cut k. Made by ``parse_measure``."""

    kind: str
    cut: int | None = None

    @property
    def name(self) -> str:
        """What tables and result files call it: ``hit@1``, ``mrr``."""
        return self.kind if self.cut is None else f"{self.kind}@{self.cut}"

    @property
    def of_answers(self) -> bool:
        """Whether it measures the committed answer set, not the ranking."""
        return self.cut is None and self.kind in _OF_SET

    @property
    def is_rate(self) -> bool:
        """Whether a question scores 0 or 1 and nothing between (a hit rate)."""
        return self.kind == "hit"

    def score(self, judged: Judged) -> float | None:
        """Value in [0, 1] for one question, in O(k) (O(list + gold) without a cut).

        0 without candidate gold. None only where the answer set is measured and there is none.
        """
        kinds = _BARE if self.cut is None else _AT_K
        if self.of_answers and judged.answered is None:
            return None
        return kinds[self.kind](judged, self.cut) if judged.golds else 0.0


_NAME = re.compile(r"([a-z][a-z0-9_]*)(?:@([1-9][0-9]{0,5}))?")


def parse_measure(name: str) -> Measure:
    """A measure by name, case ignored: ``hit@1``, ``mrr``, ``map@20``; ``r-precision`` is known.

    Raises UserError with the nearest names for an unknown one, and with the fix for a cut that is
    missing or not taken.
    """
    plain = "rprecision" if name.strip().casefold() == "r-precision" else name.strip().casefold()
    found = _NAME.fullmatch(plain)
    if found:
        kind, cut = found[1], int(found[2]) if found[2] else None
        if kind in (_AT_K if cut else _BARE):
            return Measure(kind, cut)
        if kind in _AT_K:
            raise UserError(f"measure {name!r} needs a cut: {kind}@1 or another number")
        if kind in _BARE:
            raise UserError(f"measure {name!r} takes no cut: {kind}")
    digits = re.search(r"([1-9][0-9]{0,5})$", plain)
    cuts = [f"{kind}@{digits[1] if digits else 10}" for kind in _AT_K]
    raise UserError(unknown("measure", name, [*cuts, *_BARE]))


DEFAULT_MEASURES: tuple[Measure, ...] = tuple(
    parse_measure(name)
    for name in (
        *("hit@1", "hit@5", "hit@10"),
        *("recall@5", "recall@10", "recall@20"),
        *("mrr", "ndcg@10", "ndcg@20", "map@20", "map_cut@20"),
        *("precision", "recall", "f1"),
    )
)


def score_row(
    judged: Judged, measures: Iterable[Measure] = DEFAULT_MEASURES
) -> dict[str, float | None]:
    """One question's values by measure name."""
    return {measure.name: measure.score(judged) for measure in measures}


def zero_row(measures: Sequence[Measure] = DEFAULT_MEASURES) -> dict[str, float | None]:
    """The row of a question that failed or is missing: 0 on every measure of the ranking.

    The measures of the answer set are None, because it is not known whether this question would
    have had one; ``summarise`` counts it as 0 if any other question of the cell has.
    """
    return {measure.name: None if measure.of_answers else 0.0 for measure in measures}
