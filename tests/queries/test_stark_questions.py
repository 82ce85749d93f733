"""STaRK's question files: the real ones with their published counts, and broken ones."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_stark import write_all, write_csv, write_questions

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.queries import select
from ark.queries.stark import STARK_GRAPHS, questions_of, stark_questions
from ark.records import Query

REPOSITORY = Path(__file__).resolve().parents[2]
# train, val, test, human questions; mean and largest number of answers (test); rows that repeat one
REAL = {
    "amazon": (5910, 1548, 1642, 81, 5.43, 20, 0),
    "mag": (7993, 2665, 2665, 84, 2.83, 20, 0),
    "prime": (6162, 2241, 2801, 109, 2.47, 20, 36),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_all(tmp_path / "stark")


@pytest.fixture
def graph(root: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeGraph:
    monkeypatch.setenv("ARK_DATA", str(root / "data"))
    return open_or_build(source_for("prime", root=root), root / "data")


def ids(queries: list[Query]) -> list[str]:
    return [q.id for q in queries]


@pytest.mark.parametrize("name", sorted(REAL))
def test_the_published_counts(name: str, shared: Path) -> None:
    train, val, test, human, mean, most, repeated = REAL[name]
    folder = shared / "data" / "stark_qa"
    queries = stark_questions(name, folder)
    counts = {s: len(select(queries, s)) for s in ("train", "val", "test", "human")}
    assert counts == {"train": train, "val": val, "test": test, "human": human}
    assert len(select(queries, "all")) == train + val + test
    sizes = [len(q.answer_ids) for q in select(queries, "test")]
    assert round(sum(sizes) / len(sizes), 2) == mean
    assert max(sizes) == most
    with (folder / name / "stark_qa" / "stark_qa.csv").open(newline="") as file:
        lists = [row[2].strip("[]").split(", ") for row in list(csv.reader(file))[1:]]
    assert len(lists) == train + val + test
    assert sum(len(set(each)) < len(each) for each in lists) == repeated
    single = sum(len(q.answer_ids) == 1 for q in select(queries, "all"))
    assert single == {"amazon": 2018, "mag": 6451, "prime": 7016}[name]
    for q in queries:
        assert q.text.strip()
        assert q.cluster == q.id
        assert len(set(q.answer_ids)) == len(q.answer_ids) > 0
        assert all(a.isdigit() for a in q.answer_ids)


@pytest.mark.parametrize("name", sorted(REAL))
def test_questions_come_in_the_order_of_the_index_files(name: str, shared: Path) -> None:
    folder = shared / "data" / "stark_qa" / name
    queries = stark_questions(name, folder)
    for split in ("train", "val", "test"):
        listed = (folder / "split" / f"{split}.index").read_text().split("\n")
        assert ids(select(queries, split)) == listed
    assert ids(select(queries, "test", 5)) == listed[:5]


@pytest.mark.parametrize(("name", "larger"), [("amazon", 64), ("mag", 34), ("prime", 43)])
def test_human_questions_have_two_columns_of_gold(name: str, larger: int, shared: Path) -> None:
    folder = shared / "data" / "stark_qa"
    usual = select(stark_questions(name, folder, split="human"), "human")
    source = select(stark_questions(name, folder, "answer_ids_source", split="human"), "human")
    assert ids(usual) == ids(source) == [str(i) for i in range(REAL[name][3])]
    pairs = [(set(u.answer_ids), set(s.answer_ids)) for u, s in zip(usual, source, strict=True)]
    assert sum(s < u for u, s in pairs) == larger
    everything = stark_questions(name, folder, "answer_ids_source")
    assert select(everything, "test") == select(stark_questions(name, folder), "test")


def test_a_tenth_that_is_not_there_is_not_drawn(shared: Path) -> None:
    folder = shared / "data" / "stark_qa"
    with pytest.raises(UserError, match=r"no .*test-0\.1\.index: download qa/mag/split/test-0\.1"):
        stark_questions("mag", folder, split="test-0.1")


def test_splits_of_a_tiny_folder(root: Path, graph: KnowledgeGraph) -> None:
    queries = stark_questions("prime", root, graph=graph)
    assert ids(select(queries, "train")) == ["3"]
    assert ids(select(queries, "val")) == ["0"]
    assert ids(select(queries, "test")) == ["1", "2", "4"]
    assert ids(select(queries, "test-0.1")) == ["4"]
    assert ids(select(queries, "all")) == ["3", "0", "1", "2", "4"]
    assert ids(select(queries, "human")) == ["0", "1", "2"]
    (hot,) = [q for q in queries if q.id == "2" and q.split != "human"]
    assert hot.text == "What is linked to pebble fever,\nand hot?"
    assert hot.answer_ids == ("9", "0")
    for split in ("train", "val", "test", "test-0.1", "human"):
        assert select(stark_questions("prime", root / "prime", split=split), split)


def test_human_questions_may_be_missing_unless_asked_for(root: Path) -> None:
    file = root / "mag" / "stark_qa" / "stark_qa_human_generated_eval.csv"
    file.unlink()
    assert len(select(stark_questions("mag", root), "all")) == 4
    with pytest.raises(UserError, match=f"no {file}: download qa/mag/stark_qa/"):
        stark_questions("mag", root, split="human")


def test_by_config(root: Path, graph: KnowledgeGraph) -> None:
    settings = {"root": str(root), "gold": "answer_ids_source", "version": "1.1.0"}
    queries = questions_of(graph, "prime", settings, "human")
    assert [q.answer_ids for q in select(queries, "human")] == [("3",), ("1",), ("6",)]
    with pytest.raises(UserError, match="column of human questions: give split=human"):
        questions_of(graph, "prime", settings, "test")


# -- broken files --------------------------------------------------------------------------------


def complaint(root: Path, graph: KnowledgeGraph | None = None) -> str:
    with pytest.raises(UserError) as caught:
        stark_questions("prime", root, graph=graph)
    text = str(caught.value)
    assert "\n" not in text
    assert str(root / "prime") in text
    return text


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("__import__('os').system('touch ran')", "row 2: Expecting value"),
        ("", "row 2: Expecting value"),
        ("[]", "row 2: no answer_ids"),
        ("7", "row 2: not a list of ids"),
        ("[1.5]", "1.5 is no id"),
        ("[true]", "True is no id"),
        ("[[1]]", "is no id"),
        ("[" * 100000, "row 2: "),
    ],
)
def test_gold_is_parsed_and_never_evaluated(root: Path, cell: str, said: str) -> None:
    file = root / "prime" / "stark_qa" / "stark_qa.csv"
    head, first, _, *rest = file.read_text().split("\n")
    file.write_text("\n".join([head, first, f'1,What?,"{cell}"', *rest]))
    assert said in complaint(root)
    assert not list(Path.cwd().glob("ran"))


def test_csv_files_that_are_none(root: Path) -> None:
    file = root / "prime" / "stark_qa" / "stark_qa.csv"
    file.write_text("id,question,answers\n1,What?,[1]\n")
    assert "lacks the column(s) query, answer_ids" in complaint(root)
    file.write_text("id,query,answer_ids\n")
    assert "has no question" in complaint(root)
    write_csv(file, [(0, "a", [1]), (0, "b", [1])])
    assert "has an id more than once" in complaint(root)
    write_csv(file, [(0, " ", [1])])
    assert "row 1: no id or no question" in complaint(root)
    file.write_text('id,query,answer_ids\n0,"open,[1]\n')
    assert "is no readable CSV" in complaint(root)
    file.write_bytes(b"\xff\xfe")
    assert "cannot be read" in complaint(root)
    file.unlink()
    assert "download qa/prime/stark_qa/stark_qa.csv of snap-stanford/stark there" in complaint(root)


@pytest.mark.parametrize(
    ("split", "text", "said"),
    [
        ("val", "0\n17", "val.index: question '17' is not in stark_qa/stark_qa.csv"),
        ("val", "0\n3", "val.index: question '3' is in two splits"),
        ("val", "0\n0", "val.index: question '0' is in two splits"),
        ("val", "", "val.index is empty"),
        ("val", "zero", "val.index holds 'zero'"),
        ("test", "1\n4", "1 questions are in no split, first 2"),
        ("test-0.1", "4\n3", "1 questions are no test questions, first '3'"),
    ],
)
def test_index_files_that_do_not_fit(root: Path, split: str, text: str, said: str) -> None:
    (root / "prime" / "split" / f"{split}.index").write_text(text)
    assert said in complaint(root)


def test_a_missing_index_file_is_named(root: Path) -> None:
    (root / "prime" / "split" / "val.index").unlink()
    assert "download qa/prime/split/val.index of" in complaint(root)


def test_answers_that_the_graph_lacks_are_listed(root: Path, graph: KnowledgeGraph) -> None:
    file = root / "prime" / "stark_qa" / "stark_qa.csv"
    rows = [(0, "a", [1, 12]), (1, "b", [999999]), (2, "c", [12]), (3, "d", [2]), (4, "e", [11])]
    write_csv(file, rows)
    text = complaint(root, graph)
    assert "2 answers are no node of the graph, first 12 (question 0), 999999 (question 1)" in text
    assert "different releases" in text
    write_csv(file, [*rows[:1], (1, "b", ["01", "-1", "x"]), *rows[3:], (2, "c", [1])])
    assert "4 answers" in complaint(root, graph)


def test_unknown_names(root: Path) -> None:
    with pytest.raises(UserError, match="did you mean prime"):
        stark_questions("primes", root)
    with pytest.raises(UserError, match=r"graph\.gold"):
        stark_questions("prime", root, "answers")


# -- whole runs ----------------------------------------------------------------------------------


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ARK_DATA": str(root / "data"), "HF_HUB_OFFLINE": "1"}
    env |= {"PYTHONPATH": str(REPOSITORY), "HF_HOME": str(root / "hub")}
    command = [sys.executable, str(REPOSITORY / "run.py"), f"results_dir={root / 'out'}"]
    return subprocess.run(
        [*command, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("name", STARK_GRAPHS)
def test_a_run_from_files_to_table(root: Path, name: str) -> None:
    done = run(root, f"graph={name}", f"graph.root={root}", "method=bm25", "split=test", "limit=5")
    assert done.returncode == 0, done.stderr
    assert "STaRK (Wu et al., 2024)" in done.stdout
    queries = next((root / "out").rglob("queries.jsonl")).read_text()
    assert len(queries.splitlines()) == (3 if name == "prime" else 2)


def test_runs_that_cannot_be(root: Path) -> None:
    write_questions(root, "mag")
    done = run(root, "graph=mag", "method=bm25")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: graph 'mag' needs skb/mag/processed.zip of snap-stanford/stark")
    assert line.endswith("give graph.root=DIR")
    done = run(root, "graph=mag", f"graph.root={root}", "method=bm25", "split=dev")
    assert done.returncode == 2
    assert "no questions in split 'dev'; there are: human 3, test 2, test-0.1 1" in done.stderr
