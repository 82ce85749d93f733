"""Two runs question by question."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from made_results import ark, write

from ark.errors import UserError
from ark.report.compare import to_csv, to_markdown
from ark.report.comparison import Compared, compare_cells, open_reading
from ark.scoring.statistics import compare_paired

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/compare.py"
A = [1.0] * 12 + [0.0] * 8
B = [1.0] * 2 + [0.0] * 17 + [1.0]


def compared(a: Path, b: Path, *measures: str, allow_unequal: bool = False) -> Compared:
    cells = open_reading(a), open_reading(b)
    return compare_cells(*cells, measures, allow_unequal=allow_unequal)


def test_every_number_follows_from_the_questions(tmp_path: Path) -> None:
    found = compared(ark(tmp_path, A), write(tmp_path, B))
    assert [m.measure for m in found.whole] == ["hit@1", "hit@5", "recall@20", "mrr"]
    one = found.whole[0]
    wanted = compare_paired(A, B, [""] * 20, binary=True)
    assert one.found == wanted
    assert (one.found.wins, one.found.losses, one.found.ties) == (10, 1, 9)
    assert (one.both, one.neither) == (2, 7)
    assert one.p_holm is not None
    assert wanted.p_value is not None
    assert one.p_holm == pytest.approx(min(1.0, 4 * wanted.p_value))
    assert one.arrow(1.0) == 1
    assert one.arrow(0.01) == 0
    assert found.answered is None
    other_way = compared(write(tmp_path / "2", B), ark(tmp_path / "2", A)).whole[0]
    assert other_way.arrow(1.0) == -1
    assert other_way.found.difference == pytest.approx(-(wanted.difference or 0))


def test_both_denominators_where_questions_failed(tmp_path: Path) -> None:
    found = compared(ark(tmp_path, A, failed=[0, 1]), write(tmp_path, B, failed=[19]))
    assert found.answered is not None
    assert found.whole[0].found.n == 20
    assert found.whole[0].found.mean_a == pytest.approx(0.5)
    assert found.answered[0].found.n == 17
    assert found.answered[0].found.mean_a == pytest.approx(10 / 17)
    text = to_markdown(found)
    assert "The 17 questions that both answered:" in text
    assert "Failed or missing: 2 of A, 1 of B" in text
    assert "failed" in text


def test_no_winner_where_failure_rates_differ(tmp_path: Path) -> None:
    text = to_markdown(compared(ark(tmp_path, [1.0] * 20), write(tmp_path, A, failed=range(12))))
    assert "Failure rates differ beyond chance, so no winner is marked" in text
    assert not any("▲ |" in line or "▼ |" in line for line in text.splitlines())


def test_the_questions_that_differ_most_come_first(tmp_path: Path) -> None:
    a = write(tmp_path, [0.5, 1.0, 0.25, 0.0])
    b = ark(tmp_path, [0.5, 0.5, 1.0, 0.0])
    found = compared(a, b, "mrr")
    assert [found.ids[i] for i in found.most_different(20)] == ["q002", "q001"]
    assert [found.ids[i] for i in found.most_different(1)] == ["q002"]
    assert [found.a.rank(i) for i in range(4)] == [2, 1, 4, None]
    text = to_markdown(found, 1)
    (row,) = [x for x in text.splitlines() if x.startswith("| q002")]
    cells = [c.strip() for c in row.strip("|").split("|")]
    assert cells == ["q002", "question q002", "2", "25.0", "100.0", "4", "1"]
    assert "No question differs" in to_markdown(compared(a, a))


def test_csv_has_every_question(tmp_path: Path) -> None:
    found = compared(ark(tmp_path, A, failed=[0]), write(tmp_path, B))
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    assert [r["query"] for r in rows] == list(found.ids)
    assert rows[0]["failed_a"] == "yes"
    assert (rows[3]["hit@1_a"], rows[3]["hit@1_b"]) == ("1.0", "0.0")
    assert rows[3]["hit@1_difference"] == "1.0"
    assert (rows[3]["first_answer_a"], rows[3]["first_answer_b"]) == ("1", "")


def test_order_of_questions_does_not_matter(tmp_path: Path) -> None:
    a, b = ark(tmp_path, A), write(tmp_path, B)
    before = compared(a, b)
    file = b.with_name("per_query.csv")
    head, *rows = file.read_text().splitlines()
    file.write_text("\n".join([head, *reversed(rows)]) + "\n")
    assert compared(a, b).whole == before.whole


def test_unequal_runs_are_refused_unless_allowed(tmp_path: Path) -> None:
    a, b = ark(tmp_path, A, reading={"backfill": "bm25"}), write(tmp_path, B)
    with pytest.raises(UserError, match=r"backfill differs \(bm25, none\); --allow-unequal"):
        compared(a, b)
    text = to_markdown(compared(a, b, allow_unequal=True))
    assert "- Unequal: backfill differs (bm25, none)" in text
    short = write(tmp_path, B[:10], method="String match")
    with pytest.raises(UserError, match=r"questions \(n 20, 10;"):
        compared(b, short)
    found = compared(b, short, allow_unequal=True)
    assert found.whole[0].found.n == 10
    assert "only the 10 questions that both have are compared" in to_markdown(found)
    with pytest.raises(UserError, match="two graphs"):
        compared(b, write(tmp_path, B, graph="cwe"), allow_unequal=True)


def test_mistakes_are_named(tmp_path: Path) -> None:
    a, b = ark(tmp_path, A), write(tmp_path, B)
    with pytest.raises(UserError, match="unknown measure 'hit@3'"):
        compared(a, b, "hit@3")
    with pytest.raises(UserError, match="no finished run"):
        open_reading(tmp_path / "runs")
    assert open_reading(a.parents[2]).path == a
    second = a.parents[1] / "other/result.json"
    second.parent.mkdir()
    second.write_text(a.read_text())
    with pytest.raises(UserError, match="has 2 readings: give one"):
        open_reading(a.parents[2])
    b.with_name("per_query.csv").unlink()
    with pytest.raises(UserError, match=r"per_query\.csv is missing"):
        compared(a, b)


def test_the_script(tmp_path: Path) -> None:
    a, b = ark(tmp_path, A), write(tmp_path, B)

    def script(*arguments: str, code: int = 0) -> str:
        command = [sys.executable, str(SCRIPT), *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == code, run.stderr
        return run.stdout if code == 0 else run.stderr

    text = script(str(a.parents[2]), str(b), "--measure", "hit@1", "--top", "3")
    assert "The 3 questions that differ most" in text
    assert text == script(str(a), str(b), "--measure", "hit@1", "--top", "3")
    assert script(str(a), str(b), "--format", "csv").count("\n") == 21
    assert "--top -1 must be" in script(str(a), str(b), "--top", "-1", code=2)
    data = json.loads(b.read_text())
    del data["measures"]
    b.write_text(json.dumps(data))
    error = script(str(a), str(b), code=2)
    assert error.startswith("error: ")
    assert error.count("\n") == 1
