"""Coverage and false alarms on simulated data: a smaller run of scripts/bench_statistics.py."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

BENCH: dict[str, Any] = runpy.run_path(
    str(Path(__file__).resolve().parents[2] / "scripts" / "bench_statistics.py")
)


def rows(
    measure: str, clusters: list[str], simulations: int, seed: int
) -> dict[str, tuple[float, float]]:
    return {name: pair for name, *pair in BENCH[measure](clusters, simulations, seed)}


@pytest.mark.parametrize(
    ("measure", "many"), [("means", 3000), ("differences", 300), ("repeated", 300)]
)
def test_intervals_over_clusters_cover_and_naive_ones_do_not(measure: str, many: int) -> None:
    names = BENCH["CLUSTERED"]
    if measure == "means":  # 120 clusters: 60 leave skewed values at the edge of the band
        names = [*names, *(f"more {name}" for name in names)]
    for name, (ours, naive) in rows(measure, names, many, int(measure == "means")).items():
        assert 93 <= ours <= 97, name
        assert naive < 90, name


@pytest.mark.parametrize("measure", ["means", "differences"])
def test_intervals_of_independent_questions_cover(measure: str) -> None:
    for name, (ours, naive) in rows(measure, [""] * 240, 300, 0).items():
        assert ours == naive
        assert 92 <= ours <= 98, name  # standard error of 300 simulations: 1.3


@pytest.mark.parametrize("clustered", [True, False])
@pytest.mark.parametrize("binary", [True, False])
def test_methods_alike_are_rarely_told_apart(clustered: bool, binary: bool) -> None:
    names = BENCH["CLUSTERED"] if clustered else [""] * 240
    simulator = BENCH["Simulator"](0, names)
    draw = partial(simulator.hits, 0.4) if binary else simulator.ranks
    pairs = [(draw(), draw()) for _ in range(1000)]
    assert BENCH["alarms"](pairs, binary, names) <= 6
    if clustered:
        assert BENCH["alarms"](pairs[:200], binary, [""] * 240) > 10
