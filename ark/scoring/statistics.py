"""Statistics of results: intervals, paired tests, Holm, repeats, power. See docs/statistics.md.

Everything resamples whole clusters of questions (``Query.cluster``), and the same input gives the
same numbers on every machine.
"""

from ark.scoring.estimates import estimate_mean
from ark.scoring.holm import holm
from ark.scoring.intervals import Estimate
from ark.scoring.paired import (
    CLUSTER_SIGN_FLIP,
    MCNEMAR,
    SIGN_FLIP,
    Comparison,
    compare_paired,
    failure_difference,
)
from ark.scoring.power import smallest_difference
from ark.scoring.signflip import sign_flip_p
from ark.scoring.twolevel import RepeatedEstimate, two_level

__all__ = [
    "CLUSTER_SIGN_FLIP",
    "MCNEMAR",
    "SIGN_FLIP",
    "Comparison",
    "Estimate",
    "RepeatedEstimate",
    "compare_paired",
    "estimate_mean",
    "failure_difference",
    "holm",
    "sign_flip_p",
    "smallest_difference",
    "two_level",
]
