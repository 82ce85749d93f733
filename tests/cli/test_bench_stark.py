"""The benchmark script at a hundredth of the size: every row, numbers above 0. Nothing is timed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_stark.py"
ROWS = (
    "score one query, 957,192 candidates, 4 measures",
    "neighbours of a node, p50",
    "neighbours of a node, p99",
    "neighbours of a hub of 1,000",
    "open 18,730 nodes, 199,009 stored edges",
    "– RssAnon after 1,000 tool calls, graph alone",
    "– mapped pages",
    "– RssAnon after 1,000 tool calls with the BM25 index",
    "one of these tool calls",
    "convert PRIME",
    "– peak resident set",
    "convert MAG",
    "convert AMAZON at 0.1 of its size, 1,0",
    "– the whole, extrapolated: ten times",
    "BM25 index over 0.1 of AMAZON's products",
    "– of the whole, extrapolated: ten times",
    "BM25 index over 18,730 documents",
    "– on disk",
    "BM25 query, 100 of 18,730 documents, bm25s numpy",
    "BM25 query, 100 of 18,730 documents, bm25s numba",
    "first answer, imports done",
    "first answer, from the start of the process",
    "27 questions: BM25 and scoring",
    "BM25 index over 7,002 papers alone",
    "run.py graph=mag method=bm25 search=stark, 27 questions",
    "– CPU time of that",
)
NUMBER = re.compile(r"([\d,.]+(?:e[+-]\d+)?) (?:µs|ms|s|MB)")


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
def test_the_table_has_every_row_with_its_numbers(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--scale", "0.01", "--no-numba", "--work", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = [line.strip("| ").split(" | ") for line in run.stdout.splitlines() if "|" in line]
    head, _, *rows = lines
    assert head == ["what", "peer", "ours", "peer / ours", "target", "reached"]
    for wanted in ROWS:
        assert any(row[0].startswith(wanted) for row in rows), wanted
    for row in rows:
        found = NUMBER.fullmatch(row[2])
        assert found, row
        assert float(found[1].replace(",", "")) > 0, row
    without = {row[0]: row[1] for row in rows}
    assert without[ROWS[0]] == without[ROWS[1]] == "not installed"
    assert re.search(r"^20\d\d-\d\d-\d\d, scale 0.01, Python 3", run.stdout, re.MULTILINE)
