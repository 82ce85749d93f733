"""Distinct neighbours are what numpy's own set of both rows is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ark.graph.merge import merged

ROWS = st.lists(st.integers(0, 30), max_size=40).map(lambda row: np.array(sorted(row), np.int32))


@given(ROWS, ROWS)
def test_merged_rows_are_the_distinct_values(one: np.ndarray, other: np.ndarray) -> None:
    kept = one.copy(), other.copy()
    found = merged(one, other)
    assert found.dtype == np.int64
    assert found.tolist() == np.unique(np.concatenate((one, other))).tolist()
    assert (one == kept[0]).all()
    assert (other == kept[1]).all()
    found += 1  # never a view of a mapped file
    assert (one == kept[0]).all()
