"""Published numbers beside ours: BM25 on STaRK, as the benchmark's own paper has it.

``results/reference/published_stark.csv`` holds published figures with source, n and confidence.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[2] / "results/reference/published_stark.csv"
STARK = ("amazon", "mag", "prime")
METHOD = "BM25"
OWN_PAPER = "STaRK paper, tables 6-7"


@dataclass(frozen=True)
class Published:
    """A published row: percent by measure, without values that are known to be impossible."""

    graph: str
    split: str
    method: str
    n: int
    source: str
    values: Mapping[str, float]
    impossible: tuple[str, ...] = ()


def published(graph: str, split: str, method: str = METHOD) -> Published | None:
    """The row of STaRK's paper (arXiv 2404.13207, tables 6 and 7); None where there is none.

    ``split`` is test, test-0.1 or human. A value that contradicts the others of its row is named
    in ``impossible`` and left out: AMAZON's MRR on human questions.
    """
    rows = [
        row
        for row in _reference(REFERENCE)
        if (row["source"], row["graph"], row["split"], row["method"])
        == (OWN_PAPER, graph, split, method)
    ]
    if not rows:
        return None
    bad = tuple(row["metric"] for row in rows if row["note"].startswith("impossible"))
    values = {row["metric"]: float(row["value"]) for row in rows if row["metric"] not in bad}
    return Published(graph, split, method, int(rows[0]["n"]), OWN_PAPER, values, bad)


@cache
def _reference(path: Path) -> tuple[dict[str, str], ...]:
    """The rows of the file; none where the harness is used without its checkout."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
