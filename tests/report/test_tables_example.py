"""The committed example: its tables come out byte for byte."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from ark.report import Options, result_table
from ark.report.cells import find, load_all
from ark.report.compare import to_markdown
from ark.report.comparison import compare_cells, open_reading

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "results/reference/example"


@pytest.mark.parametrize("fmt", ["md", "tex", "csv"])
def test_tables_come_out_byte_for_byte(fmt: str) -> None:
    made = result_table(load_all(find([EXAMPLE])), Options(baseline="bm25"), fmt)
    assert made.encode() == (EXAMPLE / f"table.{fmt}").read_bytes()


def test_the_comparison_comes_out_byte_for_byte() -> None:
    (a,) = [p for p in find([EXAMPLE]) if is_full_ark(p)]
    (b,) = [p for p in find([EXAMPLE]) if "string_match" in str(p)]
    made = to_markdown(compare_cells(open_reading(a), open_reading(b)), 5)
    assert made.encode() == (EXAMPLE / "compare.md").read_bytes()


def is_full_ark(path: Path) -> bool:
    return '"method": "ARK"' in (text := path.read_text()) and '"ablation": "full"' in text


def test_the_example_is_small_and_holds_only_what_tables_read() -> None:
    files = [p for p in EXAMPLE.rglob("*") if p.is_file()]
    known = {"result.json", "per_query.csv", "queries.jsonl", "compare.md"}
    assert {p.name for p in files} == known | {"table.md", "table.tex", "table.csv"}
    assert sum(p.stat().st_size for p in files) < 250_000
    script = runpy.run_path(str(REPOSITORY / "scripts/example_tables.py"))
    assert len(find([EXAMPLE])) == len(script["RUNS"])
