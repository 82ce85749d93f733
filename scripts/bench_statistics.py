"""Measure the intervals and tests of ark.scoring.statistics on simulated data; print two tables.

python scripts/bench_statistics.py [--simulations N] [--seed S]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ark.scoring.estimates import estimate_columns
from ark.scoring.intervals import Estimate, cluster_codes
from ark.scoring.statistics import Comparison, compare_paired, failure_difference, two_level

Floats = NDArray[np.float64]
Names = Sequence[str]
Pair = tuple[Floats, Floats]
Row = tuple[str, float, float]  # name, ours and ours told of no clusters, in percent

# 60 clusters of 1 to 8 questions: 240 questions, worth 49 clusters of equal size.
CLUSTERED = [
    str(i) for i, size in enumerate([1, 2, 3, 3, 4, 4, 4, 5, 6, 8] * 6) for _ in range(size)
]
RANKS = 10
MEAN_RANK = float(np.mean(1 / np.arange(1, RANKS + 1)))  # of 1/rank where all ranks are as likely
AT_ONCE = 20  # data sets that meet the same resamples, drawn once


class Simulator:
    """Values of questions that take their cluster's value so often that they correlate by .5."""

    def __init__(self, seed: int, clusters: Names) -> None:
        self.rng = np.random.default_rng(seed)
        self.codes = cluster_codes(clusters)

    def mixed(self, own: Floats, of_cluster: Floats) -> Floats:
        """Each question's own value or that of its cluster, float64[n]."""
        alike = self.rng.random(len(self.codes)) < 0.5**0.5
        return np.where(alike, of_cluster[self.codes], own)

    def hits(self, rate: float) -> Floats:
        """Hits of mean ``rate``, float64[n]."""
        own, of_cluster = (self.rng.random(len(self.codes)) < rate for _ in range(2))
        return self.mixed(own.astype(np.float64), of_cluster.astype(np.float64))

    def thirds(self, rate: float) -> Floats:
        """Hits averaged over three subsets of agents, float64[n]."""
        return np.asarray(np.mean([self.hits(rate) for _ in range(3)], axis=0))

    def ranks(self) -> Floats:
        """Reciprocal ranks of mean ``MEAN_RANK``, float64[n]."""
        own, of_cluster = (1 / self.rng.integers(1, RANKS + 1, len(self.codes)) for _ in range(2))
        return self.mixed(own, of_cluster)

    def partly(self, a: Floats, b: Floats) -> Floats:
        """``a`` for half the questions and ``b`` for the rest: two methods that are related."""
        return np.where(self.rng.random(len(a)) < 0.5, a, b)

    def repeats(self, spread: float) -> Floats:
        """Three runs of questions hit with chance .1 or .7; runs differ by ``spread``."""
        rates = 0.1 + 0.6 * self.hits(0.5) + spread * self.rng.standard_normal((3, 1))
        return (self.rng.random(rates.shape) < rates).astype(np.float64)


def covered(found: Sequence[Estimate | Comparison], truth: float) -> float:
    """Share of the intervals that hold ``truth``, in percent."""
    held = [e.low is not None and e.high is not None and e.low <= truth <= e.high for e in found]
    return 100 * sum(held) / len(found)


def rejected(p_values: Sequence[float | None]) -> float:
    """Share of p-values of at most .05, in percent."""
    return 100 * sum(p is not None and p <= 0.05 for p in p_values) / len(p_values)


def means(clusters: Names, simulations: int, seed: int) -> list[Row]:
    """Coverage of the interval of a mean."""
    simulator = Simulator(seed, clusters)
    kinds: list[tuple[str, bool, float, Callable[[], Floats]]] = [
        ("hit rate .4", True, 0.4, partial(simulator.hits, 0.4)),
        ("hit rate .1", True, 0.1, partial(simulator.hits, 0.1)),
        ("MRR .29", False, MEAN_RANK, simulator.ranks),
    ]
    out = []
    for name, rate, truth, draw in kinds:
        values = np.column_stack([draw() for _ in range(simulations)])
        judge = partial(_held_by_columns, values, rate, truth)
        out.append((name, *with_and_without(clusters, judge)))
    return out


def _held_by_columns(values: Floats, rate: bool, truth: float, names: Names) -> float:
    codes = cluster_codes(names)
    found: list[Estimate] = []
    for i in range(0, values.shape[1], AT_ONCE):
        some = values[:, i : i + AT_ONCE]
        found += estimate_columns(some, codes, [rate] * some.shape[1], seed=i // AT_ONCE)
    return covered(found, truth)


def differences(clusters: Names, simulations: int, seed: int) -> list[Row]:
    """Coverage of the interval of a paired difference of related methods."""
    simulator = Simulator(seed, clusters)
    hits, ranks = partial(simulator.hits, 0.5), simulator.ranks
    out = []
    for name, binary, truth, first, second in (
        ("hit difference .1", True, 0.1, hits, partial(simulator.hits, 0.3)),
        ("MRR difference 0", False, 0.0, ranks, ranks),
    ):
        drawn = [(first(), second()) for _ in range(simulations)]
        pairs = [(a, simulator.partly(a, b)) for a, b in drawn]
        out.append((name, *with_and_without(clusters, partial(_held, pairs, binary, truth))))
    return out


def _held(pairs: Sequence[Pair], binary: bool, truth: float, names: Names) -> float:
    return covered(
        [
            compare_paired(a, b, names, binary=binary, seed=i // AT_ONCE)
            for i, (a, b) in enumerate(pairs)
        ],
        truth,
    )


def repeated(clusters: Names, simulations: int, seed: int) -> list[Row]:
    """Coverage of the two-level interval of a hit rate over three runs."""
    simulator = Simulator(seed, clusters)
    out = []
    for name, spread in (("3 runs, alike", 0.0), ("3 runs, apart by .03", 0.03)):
        tables = [simulator.repeats(spread) for _ in range(simulations)]
        out.append((name, *with_and_without(clusters, partial(_held_by_repeats, tables))))
    return out


def _held_by_repeats(tables: Sequence[Floats], names: Names) -> float:
    return covered([two_level(t, names, seed=i // AT_ONCE) for i, t in enumerate(tables)], 0.4)


def false_alarms(clusters: Names, simulations: int, seed: int) -> list[Row]:
    """Share of differences at 5 % between methods that are alike in chance."""
    simulator = Simulator(seed, clusters)
    kinds: list[tuple[str, bool | None, Callable[[], Floats]]] = [
        ("hits, rate .4", True, partial(simulator.hits, 0.4)),
        ("hits averaged over 3 subsets", True, partial(simulator.thirds, 0.4)),
        ("MRR", False, simulator.ranks),
        ("failures, rate .05", None, partial(simulator.hits, 0.05)),
    ]
    out = []
    for name, binary, draw in kinds:
        pairs = [(draw(), draw()) for _ in range(simulations)]
        out.append((name, *with_and_without(clusters, partial(alarms, pairs, binary))))
    return out


def alarms(pairs: Sequence[Pair], binary: bool | None, names: Names) -> float:
    """Share of the pairs that are told apart at 5 %; ``binary`` None: values are failures."""
    p_values: list[float | None] = []
    for i, (a, b) in enumerate(pairs):
        if binary is None:
            p_values.append(failure_difference(a, b, names, seed=i))
        else:
            found = compare_paired(a, b, names, binary=binary, seed=i, resamples=1)
            p_values.append(found.p_value)
    return rejected(p_values)


def with_and_without(clusters: Names, share: Callable[[Names], float]) -> tuple[float, float]:
    """What ``share`` gives for the clusters, and for questions that are said to be independent."""
    ours, none = share(clusters), [""] * len(clusters)
    return ours, ours if list(clusters) == none else share(none)


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows of a Markdown table."""
    for name, ours, naive in rows:
        print(f"| {title} | {name} | {ours:.1f} | {naive:.1f} |", flush=True)


def main() -> None:
    """Print coverage and false alarms, in percent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2_000, help="data sets for each number")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated data")
    args = parser.parse_args()
    samples = {
        "240 in 60 clusters": CLUSTERED,
        "80 in 20 clusters": CLUSTERED[:80],
        "240 alone": [""] * 240,
        "30 alone": [""] * 30,
        "10 alone": [""] * 10,
    }
    print(
        "| questions | 95 % interval of | holds the truth | clusters ignored |\n|---|---|---|---|"
    )
    for title, clusters in samples.items():
        for measure in (means, differences, repeated):
            show(title, measure(clusters, args.simulations, args.seed))
    print("\n| questions | methods alike in | p <= .05 | clusters ignored |\n|---|---|---|---|")
    for title, clusters in samples.items():
        show(title, false_alarms(clusters, args.simulations, args.seed))


if __name__ == "__main__":
    main()
