"""Measures, the ranking rule and intervals: from rankings and gold to the numbers of a table."""

from ark.scoring.intervals import Estimate, bootstrap, wilson
from ark.scoring.judge import Judged, judge
from ark.scoring.measures import (
    DEFAULT_MEASURES,
    Measure,
    parse_measure,
    score_row,
    zero_row,
)
from ark.scoring.ranking_rule import countable, rank_scores
from ark.scoring.summary import summarise

__all__ = [
    "DEFAULT_MEASURES",
    "Estimate",
    "Judged",
    "Measure",
    "bootstrap",
    "countable",
    "judge",
    "parse_measure",
    "rank_scores",
    "score_row",
    "summarise",
    "wilson",
    "zero_row",
]
