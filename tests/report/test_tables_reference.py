"""Published numbers beside ours, and lifts over the rule-based controller."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from made_results import ark, write

from ark.errors import UserError
from ark.report import Options, result_table
from ark.report.cells import find, load, load_all
from ark.report.reference import beside, model_name
from ark.scoring.statistics import compare_paired

GPT = "openai/gpt-4.1-2025-04-14"
HALF = [1.0, 0.0] * 10
MOST = [1.0] * 18 + [0.0] * 2


def table(root: Path, fmt: str = "md", **options: Any) -> str:
    return result_table(load_all(find([root])), Options(**options), fmt)


def lines(text: str, part: str) -> list[str]:
    return [x for x in text.splitlines() if part in x]


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (GPT, "gpt-4.1"),
        ("gpt-4.1", "gpt-4.1"),
        ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("azure/gpt-4o-20241120", "gpt-4o"),
        ("openai/Qwen/Qwen3-8B", "qwen3-8b"),
        ("ollama/qwen3:8b", "qwen3-8b"),
        (None, ""),
    ],
)
def test_model_names(ours: str | None, theirs: str) -> None:
    assert model_name(ours) == theirs


def value(path: Path, measure: str = "hit@1") -> str | None:
    found = beside(load(path), measure)
    return None if found is None else found.figure.value


def test_a_row_with_a_model_has_its_published_number(tmp_path: Path) -> None:
    assert value(ark(tmp_path, HALF, model=GPT, graph="prime")) == "48.20"
    assert value(ark(tmp_path, HALF, model=GPT, graph="mag")) == "73.40"
    assert value(ark(tmp_path, HALF, model="openai/gpt-4.1-mini", graph="mag")) is None
    assert value(ark(tmp_path, HALF, model="anthropic/claude", graph="mag")) is None
    assert value(ark(tmp_path, HALF, model=GPT, graph="hpo")) is None
    assert value(ark(tmp_path, HALF, model=GPT, graph="mag", split="human")) is None


def test_variants_are_matched(tmp_path: Path) -> None:
    def ours(**more: Any) -> str | None:
        found = beside(load(ark(tmp_path, HALF, model=GPT, graph="mag", **more)), "hit@1")
        return None if found is None else found.figure.variant

    assert ours(ablation="no_query") == "no_query"
    assert ours(reading={"agents": 2, "pool": 3, "steps": 5}) == "agents=2 max_steps=5"
    assert ours(changed={"max_steps": 10}) == "agents=3 max_steps=10"
    assert ours(reading={"fusion": {"kind": "ordering", "ties": "earliest_position"}}) == "ordering"
    assert ours(reading={"fusion": {"kind": "rrf", "ties": "earliest_position"}}) is None
    assert ours(reading={"agents": 2, "steps": 6}) is None


def test_rows_made_without_a_model_have_none(tmp_path: Path) -> None:
    ark(tmp_path, HALF, graph="mag")
    write(tmp_path, HALF, graph="mag")
    write(tmp_path, HALF, graph="mag", method="String match")
    text = table(tmp_path, reference="published")
    (below,) = lines(text, "| published ")
    assert below.startswith("| published BM25 ")
    assert "STaRK paper, tables 6-7" in below
    assert "gpt" not in text


def test_what_differs_is_flagged(tmp_path: Path) -> None:
    ark(tmp_path, HALF, model=GPT, graph="mag", changed={"handles": "opaque"})
    text = table(tmp_path, reference="published")
    (below,) = lines(text, "| published ARK | gpt-4.1 ")
    assert "| arXiv:2601.13969 Table 1, arXiv:2601.13969 Table 5 |" in below
    assert "73.40 (p) (" in below
    (flag,) = lines(text, "published: n 2665 there, 20 here")
    assert "version gpt-4.1 there, gpt-4.1-2025-04-14 here" in flag
    assert "settings changed here: handles" in flag
    assert "data not checked against the release here" in flag


def test_another_part_of_the_test_questions_is_flagged(tmp_path: Path) -> None:
    ark(tmp_path, HALF, model="openai/Qwen/Qwen3-8B", graph="prime", split="test-0.1")
    text = table(tmp_path, reference="published")
    assert "split test there, test-0.1 here" in text
    assert "version" not in text.partition("published: split")[2].partition("\n")[0]


def test_published_numbers_are_ranked_only_where_split_and_n_agree(tmp_path: Path) -> None:
    hits = ([1.0] * 6 + [0.0] * 4) * 265 + [0.0] * 15
    path = ark(tmp_path / "all", hits, model="openai/gpt-4.1", graph="mag")
    ark(tmp_path / "all", [0.0] * len(hits), model="openai/gpt-4o", graph="mag")
    found = beside(load(path), "hit@1")
    assert found is not None
    assert found.alike
    text = table(tmp_path / "all", reference="published", measures=("hit@1",))
    assert "**73.40** (p)" in text
    assert "**59" not in text
    ark(tmp_path / "few", HALF, model="openai/gpt-4.1", graph="mag")
    ark(tmp_path / "few", MOST, model="openai/gpt-4o", graph="mag")
    text = table(tmp_path / "few", reference="published", measures=("hit@1",))
    assert "**90.0**" in text
    assert "**73.40**" not in text
    ark(tmp_path / "all", hits, graph="mag")  # rule-based: no published number is ranked with it
    text = table(tmp_path / "all", reference="published", measures=("hit@1",))
    assert "**73.40**" not in text


def test_a_number_that_papers_copy_shares_its_place(tmp_path: Path) -> None:
    write(tmp_path, [1.0] * 4 + [0.0] * 2661, graph="mag")
    text = table(tmp_path, reference="published:all", measures=("hit@1",))
    rows = [x for x in text.splitlines() if x.startswith("|") and "*" in x]
    assert {x.split("|")[1].strip() for x in rows} == {"ARK"}
    assert sum("**73.4" in x for x in rows) >= 2
    assert sum("*73.1*" in x for x in rows) == 0  # it counts longer trajectories as empty
    assert "*71.24*" in text  # the ordering fusion is next


def test_tracker_numbers_are_marked_and_never_best(tmp_path: Path) -> None:
    hits = [1.0] * 10 + [0.0] * 2655
    ark(tmp_path, hits, model="openai/gpt-4.1", graph="mag")
    ark(tmp_path, [0.0] * 2665, model="openai/gpt-4o", graph="mag")
    text = table(tmp_path, reference="published:all", measures=("hit@1",))
    trackers = lines(text, "(t)")
    assert any("| HybGRAG" in x for x in trackers)
    rows = [x for x in trackers if x.startswith("|")]
    assert rows
    assert all("*" not in x for x in rows)
    assert any("**" in x for x in lines(text, "| GraphFlow") + lines(text, "| ARK"))


def test_whole_published_tables_are_added(tmp_path: Path) -> None:
    ark(tmp_path, HALF, model=GPT, graph="mag")
    text = table(tmp_path, reference="published:table1")
    assert lines(text, "| KAR")
    assert lines(text, "published, arXiv:2601.13969 Table 1, trained on the graph")
    assert not lines(text, "ColBERTv2")
    assert lines(table(tmp_path, reference="published:all"), "| ColBERTv2")
    assert "unknown published table 'table 9'" in str(refused(tmp_path, "published:table 9"))
    assert "write published" in str(refused(tmp_path, "paper"))
    rows = records(table(tmp_path, "csv", reference="published:Table 1", measures=("hit@1",)))
    (kar,) = [r for r in rows if r["method"] == "KAR"]
    assert (kar["published"], kar["mean"], kar["n"]) == ("0.5047", "", "2665")
    assert kar["published_source"].startswith("arXiv:2601.13969 Table 1")


def refused(root: Path, reference: str) -> UserError:
    with pytest.raises(UserError) as error:
        table(root, reference=reference)
    return error.value


def test_lift_is_paired_with_the_rule_based_row(tmp_path: Path) -> None:
    ark(tmp_path, HALF)
    ark(tmp_path, MOST, model=GPT, tokens=50_000, changed={"temperature": 0.7})
    text = table(tmp_path)
    (row,) = lines(text, "| ARK · openai/gpt-4.1-2025-04-14 (")
    wanted = compare_paired(MOST, HALF, [""] * 20, binary=True)
    assert wanted.difference is not None
    assert f"{100 * wanted.difference:+.1f} [" in row
    assert "50,000" in row
    assert "2,500" in row
    got = [r for r in records(table(tmp_path, "csv", measures=("hit@1",))) if r["lift"]]
    assert len(got) == 1
    assert float(got[0]["lift"]) == pytest.approx(wanted.difference)
    assert float(got[0]["lift_p_holm"]) == pytest.approx(wanted.p_value)
    assert got[0]["tokens"] == "50000.0"


@pytest.mark.parametrize(
    "other",
    [{"ablation": "no_query"}, {"reading": {"agents": 2}}, {"changed": {"handles": "opaque"}}],
)
def test_without_such_a_row_there_is_no_lift(tmp_path: Path, other: dict[str, Any]) -> None:
    ark(tmp_path, HALF, **other)
    ark(tmp_path, MOST, model=GPT)
    assert "lift: no rule-based run of the same questions given" in table(tmp_path)


def test_rows_without_a_model_have_no_lift(tmp_path: Path) -> None:
    ark(tmp_path, HALF)
    write(tmp_path, HALF)
    assert "lift" not in table(tmp_path).lower()
