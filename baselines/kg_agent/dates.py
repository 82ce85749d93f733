"""Dates as knowledge graphs write them: ISO prefixes, years before our era, cut times.

A date stands for the days it may mean: ``1998`` for a year, ``1998-05`` for a month.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NOW = "2015-08-10"  # what the word NOW means in the authors' checker: the date of their Freebase
# A time, or a zone, follows a whole day only: "10 000" and "2001 2nd edition" are no dates. Years
# with a month have three digits at least: "2-1" is no date.
_TIME = r"(?:[T ]\d{1,2}(?::.*|Z)?|T\d{4,6}\S*|Z|[+-]\d\d:\d\d)?"
_ISO = re.compile(
    rf"(-?)(?:(\d{{1,6}})|(\d{{3,6}})-(\d{{1,2}})(?:-(\d{{1,2}}){_TIME})?)",
)
_ERA = re.compile(r"(\d{1,6})\s*(?:BCE|BC|B\.C\.)", re.IGNORECASE)

Day = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Date:
    """``month`` and ``day`` are 0 where not given; ``year`` is negative before our era."""

    year: int
    month: int = 0
    day: int = 0

    @property
    def first(self) -> Day:
        """The first day that it may mean. The calendar's lengths of months play no part."""
        return self.year, self.month or 1, self.day or 1

    @property
    def last(self) -> Day:
        """The last day that it may mean."""
        return self.year, self.month or 12, self.day or 31

    def within(self, other: Date) -> bool:
        """Whether every day of this is a day of ``other``: 1998-05-03 is within 1998."""
        return other.first <= self.first and self.last <= other.last


def read_date(text: str) -> Date | None:
    """A date from its text; None where it is none. The time of day is cut."""
    text = text.strip()
    if text.upper() == "NOW":
        text = NOW
    if era := _ERA.fullmatch(text):
        return Date(-int(era[1]))
    found = _ISO.fullmatch(text)
    if not found:
        return None
    year, month, day = int(found[2] or found[3]), int(found[4] or 0), int(found[5] or 0)
    if (found[4] and not 1 <= month <= 12) or (found[5] and not 1 <= day <= 31):
        return None
    return Date(-year if found[1] else year, month, day)


def is_more_than_a_year(text: str) -> bool:
    """Whether a text is a date that could not be a whole number: 1998-05, 44 BC."""
    date = read_date(text)
    return date is not None and (date.month > 0 or not text.strip().lstrip("-").isdigit())


def overlaps(start: Date | None, end: Date | None, wanted: Date) -> bool:
    """Whether a time from ``start`` to ``end`` meets ``wanted``; a missing end is open.

    Of two missing ends nothing is known: False.
    """
    if start is None and end is None:
        return False
    begun = start is None or start.first <= wanted.last
    return begun and (end is None or end.last >= wanted.first)
