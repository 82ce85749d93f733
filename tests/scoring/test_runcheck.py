"""What of a run file counts, what does not, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ark.graph import KnowledgeGraph
from ark.records import Query
from ark.scoring.runcheck import Counts, check_run, notes
from ark.scoring.runfile import Listed, RunFile

QUERIES = [Query(f"q{i}", "?", ("p1",), answer_type="plant") for i in range(4)]
KNOWN = [*(q.id for q in QUERIES), "train1"]


def run_of(
    lists: dict[str, list[str] | dict[str, float]], repeated: tuple[str, ...] = ()
) -> RunFile:
    found = {
        query: Listed(tuple(x), tuple(x.values()) if isinstance(x, dict) else None)
        for query, x in lists.items()
    }
    return RunFile(Path("my run.csv"), "csv", "0" * 16, found, repeated)


def test_everything_that_does_not_count_is_counted(toy_graph: KnowledgeGraph) -> None:
    run = run_of(
        {
            "q0": ["p1", "nowhere", "p2", "p1", "-1", "i1"],
            "q1": [],
            "q3": {"p2": 0.0, "p1": -1.0, "nowhere": -2.0},
            "train1": ["p1", "ignored"],
            "zz": ["p1"],
        },
        ("q0",),
    )
    checked = check_run(run, QUERIES, KNOWN, toy_graph, lambda q: (str(q.answer_type),))
    row = toy_graph.index
    assert checked.rankings == {
        "q0": (row("p1"), row("p2")),
        "q1": (),
        "q3": (row("p2"), row("p1")),
    }
    assert checked.counts == Counts(
        questions=3,
        entries=9,
        missing=("q2",),
        empty=("q1",),
        other=("train1",),
        unknown=("zz",),
        repeated=("q0",),
        unsigned=1,
        repeats=1,
        foreign={"nowhere": 2, "-1": 1},
        outside={"i1": 1},
        longest=2,
    )
    text = "\n".join(notes(run, checked.counts, 20))
    for line in (
        "run file my run.csv (csv): 9 entries for 3 of 4 questions",
        "missing: 1 questions of the split have no list and count as failed: q2",
        "empty: 1 lists hold nothing and score 0: q1",
        "repeated: 1 questions have more than one list; the first counts: q0",
        "other splits: 1 questions of the file are not in this split: train1",
        "unknown: 1 question ids are in no split: zz",
        "foreign: 3 entries are ids of no node and were dropped: nowhere, -1",
        "outside: 1 entries are no candidates by their type and were dropped: i1",
        "duplicates: 1 entries repeat an answer; the first counts",
    ):
        assert line in text.splitlines()
    assert "warning: 1 lists have scores that are zero or negative" in text
    assert "MRR, recall, precision and MAP (hit@k and R-precision count them)" in text


def test_a_clean_file_says_nothing_more(toy_graph: KnowledgeGraph) -> None:
    run = run_of({q.id: {"p1": 2.0, "p2": 1.0} for q in QUERIES})
    checked = check_run(run, QUERIES, KNOWN, toy_graph)
    assert notes(run, checked.counts, 20) == [
        "run file my run.csv (csv): 8 entries for 4 of 4 questions"
    ]
    assert notes(run, checked.counts, 1)[1].startswith("cut: lists are scored to rank 1, MRR too")


def test_ties_go_by_node_order_and_strangers_after(toy_graph: KnowledgeGraph) -> None:
    ids = [toy_graph.id(i) for i in (5, 2, 9)]
    run = run_of({"q0": {"zz": 1.0, **dict.fromkeys(ids, 1.0)}})
    checked = check_run(run, QUERIES[:1], KNOWN, toy_graph)
    assert checked.rankings["q0"] == (2, 5, 9)
    assert checked.counts.tied == 1
    assert any(x.startswith("ties: 1 lists") for x in notes(run, checked.counts, 20))


def test_equal_answers_are_one(toy_graph: KnowledgeGraph) -> None:
    twins = [i for i in range(toy_graph.n_nodes) if toy_graph.canonical(i) != i]
    if not twins:
        pytest.skip("the toy graph has no twins")
    first, second = toy_graph.canonical(twins[0]), twins[0]
    run = run_of({"q0": [toy_graph.id(second), toy_graph.id(first)]})
    checked = check_run(run, QUERIES[:1], KNOWN, toy_graph)
    assert checked.rankings["q0"] == (second,)
    assert checked.counts.repeats == 1


def test_names_of_strangers_stay_on_their_line(toy_graph: KnowledgeGraph) -> None:
    run = run_of({"q0": ["a\nresult: /x", *(f"z{i}" for i in range(9))]})
    lines = notes(run, check_run(run, QUERIES[:1], KNOWN, toy_graph).counts, 20)
    (line,) = (x for x in lines if x.startswith("foreign"))
    assert line.endswith("first a result: /x, z0, z1")
    assert not any("\n" in x for x in lines)
