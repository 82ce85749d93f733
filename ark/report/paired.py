"""Two entries on the same questions: paired by id, tested as ``ark.scoring.statistics`` does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ark.report.entry import Entry
from ark.report.unlike import same_data, treatment_differences
from ark.scoring.statistics import Comparison, compare_paired, failure_difference

ALPHA = 0.05


@dataclass(frozen=True)
class Difference:
    """``found`` is None where nothing was tested; ``reasons`` say why, or what is unequal."""

    found: Comparison | None
    reasons: tuple[str, ...] = ()
    failures: float = 1.0  # p that both fail equally often

    @property
    def fail_alike(self) -> bool:
        """Whether failure rates do not differ beyond chance."""
        return self.failures >= ALPHA


def is_rate(measure: str) -> bool:
    """Whether single values are hits: 0 or 1."""
    return measure.startswith("hit@")


def differ(a: Entry, b: Entry, measure: str, *, allow_unequal: bool = False) -> Difference:
    """One measure of ``a`` minus that of ``b``.

    Nothing is tested on other data, under unequal treatment (unless allowed) or without files.
    """
    if not same_data(a.first, b.first):
        return Difference(None, ("the data differ",))
    unequal = tuple(treatment_differences(a, b))
    if unequal and not allow_unequal:
        return Difference(None, unequal)
    if not a.testable or not b.testable:
        return Difference(None, ("a per_query.csv is missing",))
    first, second = a.values(measure), b.values(measure)
    if first is None or second is None:
        return Difference(None)
    if set(a.ids) != set(b.ids):
        return Difference(None, ("the questions differ",))
    if a.ids != b.ids:
        place = {query: i for i, query in enumerate(b.ids)}
        second = second[np.array([place[query] for query in a.ids])]
    found = compare_paired(first, second, a.clusters, binary=is_rate(measure))
    return Difference(found, unequal, failure_p(a, b))


def failure_p(a: Entry, b: Entry) -> float:
    """P that two entries on the same questions fail equally often; 1 where it cannot be told."""
    if not (a.testable and b.testable) or set(a.ids) != set(b.ids):
        return 1.0
    if not a.failed.any() and not b.failed.any():
        return 1.0
    place = {query: i for i, query in enumerate(b.ids)}
    second = b.failed[np.array([place[query] for query in a.ids])]
    return failure_difference(a.failed, second, a.clusters)
