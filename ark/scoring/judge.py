"""From a ranking and its gold to what the measures need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ark.scoring.ranking_rule import Id, countable


@dataclass(frozen=True, slots=True)
class Judged:
    """A ranking seen through its gold.

    ``relevance[i]`` says whether rank ``i + 1`` is gold; ``golds`` is the number of distinct gold
    answers that are candidates. ``answered`` is the number of distinct candidates in the committed
    answer set and ``correct`` how many of them are gold; both are None without a commitment.
    """

    relevance: tuple[bool, ...]
    golds: int
    answered: int | None = None
    correct: int | None = None


def judge(
    ranked: Sequence[Id],
    gold: Iterable[Id],
    *,
    keep: Callable[[Id], bool] | None = None,
    same: Callable[[Id], Id] | None = None,
    answers: int | None = None,
) -> Judged:
    """Mark a ranking, best first, against its gold.

    ``keep`` is the candidate filter and ``same`` sends ids that are one answer (nodes of equal
    name) to one of them; both are applied to ranking and gold alike, before any cut. ``answers``
    is the length of the committed prefix of ``ranked`` *as given*, before the filter. Gold may
    repeat ids. Raises ValueError when ``answers`` is negative or longer than the ranking.
    """
    if answers is not None and not 0 <= answers <= len(ranked):
        raise ValueError(f"answers={answers} is no prefix of a ranking of {len(ranked)}")
    wanted = set(countable(gold, keep=keep, same=same))
    relevance = tuple(i in wanted for i in countable(ranked, keep=keep, same=same))
    if answers is None:
        return Judged(relevance, len(wanted))
    # Filter, mapping and first-keeps all go left to right, so the committed prefix of the given
    # list is a prefix of the countable list too.
    answered = len(countable(ranked[:answers], keep=keep, same=same))
    return Judged(relevance, len(wanted), answered, sum(relevance[:answered]))
