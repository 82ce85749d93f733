"""Holm's correction of a column of p-values."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the order given; those at most alpha are significant as a family.

    The i-th smallest of m becomes the largest of (m-j+1) p_(j) over j <= i, at most 1 (Holm 1979,
    Scand. J. Stat. 6:65). None (nothing was tested) stays None and is not counted in m. Raises
    ValueError for values outside [0, 1], NaN among them.
    """
    for p in p_values:
        if p is not None and not 0 <= p <= 1:
            raise ValueError(f"p-value {p} is not between 0 and 1")
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    out: list[float | None] = [None] * len(p_values)
    so_far = 0.0
    for rank, (p, i) in enumerate(tested):
        so_far = min(1.0, max(so_far, (len(tested) - rank) * p))
        out[i] = so_far
    return out
