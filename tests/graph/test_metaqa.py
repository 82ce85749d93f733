"""MetaQA from official files and from tables, and its programs against the published answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.program import Executor
from ark.queries import check, select
from ark.queries.metaqa import metaqa_questions, program_of
from ark.records import Query
from ark.run.session import all_questions
from ark.run.spec import GraphSpec

TABLE_QUESTIONS = 14_655
KB = """\
Police|directed_by|Ann Gray
Police|starred_actors|Ben Hill
Police|starred_actors|Ann Gray
Police|has_tags|police
Police|release_year|1984
Second|directed_by|Ann Gray
Second|starred_actors|Ben Hill
Second|written_by|Cy "C" Dow
Second|has_tags|Police
Second|release_year|1984
Second|release_year|1984
1984|written_by|Cy "C" Dow
1984|has_imdb_rating|good
[Rec]|directed_by|Eve
"""
FILES = {
    "kb.txt": KB,
    "1-hop/vanilla/qa_test.txt": (
        "what films did [Ann Gray] direct\tPolice|Second\n"
        "which films are about [Police]\tSecond\n"
        "who directed [[Rec]]\tEve\n"
    ),
    "1-hop/qa_test_qtype.txt": "director_to_movie\ntag_to_movie\nmovie_to_director\n",
    "1-hop/vanilla/qa_dev.txt": "when was  [Second] released\t1984\n",
    "1-hop/qa_dev_qtype.txt": "movie_to_year\n",
    "2-hop/vanilla/qa_test.txt": (
        'films by the director of [Police]\tSecond\nwhich years had films by [Cy "C" Dow]\t1984\n'
    ),
    "2-hop/qa_test_qtype.txt": "movie_to_director_to_movie\nwriter_to_movie_to_year\n",
    "3-hop/vanilla/qa_test.txt": "years of films by the director of [Police]\t1984\n",
    "3-hop/qa_test_qtype.txt": "movie_to_director_to_movie_to_year\n",
}


def write(root: Path, **changed: str) -> Path:
    """The official files; a changed one by its last word, such as ``kb="..."``."""
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(changed.get(file.stem, text), encoding="utf-8")
    return root


@pytest.fixture
def official(tmp_path: Path) -> Path:
    return write(tmp_path / "MetaQA")


@pytest.fixture
def graph(official: Path, tmp_path: Path) -> KnowledgeGraph:
    return open_or_build(source_for("metaqa", root=official), tmp_path / "data")


def questions(graph: KnowledgeGraph, root: Path, split: str = "test") -> dict[str, Query]:
    return {q.id: q for q in metaqa_questions(graph, {"root": str(root)}, split)}


class TestOfficialGraph:
    def test_a_node_is_a_type_and_a_name(self, graph: KnowledgeGraph) -> None:
        assert {"movie:Police", "tag:Police", "tag:police"} <= set(
            map(graph.id, range(graph.n_nodes))
        )
        assert graph.type(graph.index("movie:1984")) == "movie"
        assert graph.type(graph.index("year:1984")) == "year"
        ann = graph.index("person:Ann Gray")
        assert sorted(graph.relations[r] for r in graph.in_edges(ann)[1]) == [
            "directed_by",
            "directed_by",
            "starred_actors",
        ]

    def test_edges_are_kept_once_and_the_manifest_counts_the_rest(
        self, graph: KnowledgeGraph
    ) -> None:
        assert graph.n_edges == 13
        notes = graph.manifest["notes"]
        assert (notes["lines"], notes["repeated_lines"]) == (14, 1)
        assert notes["names"] == graph.n_nodes - 2  # Police and 1984 are two nodes each

    def test_licence_and_credit(self, graph: KnowledgeGraph) -> None:
        assert graph.manifest["licence"] == "CC BY 3.0"
        notice = (graph.path / "LICENSE.data").read_text(encoding="utf-8")
        assert "Zhang" in notice
        assert "creativecommons.org/licenses/by/3.0" in notice


def test_a_byte_order_mark_is_no_part_of_a_name(
    graph: KnowledgeGraph, official: Path, tmp_path: Path
) -> None:
    marked = write(tmp_path / "marked")
    for name in FILES:
        (marked / name).write_text(FILES[name], encoding="utf-8-sig")
    again = open_or_build(source_for("metaqa", root=marked), tmp_path / "data")
    assert again.content_hash == graph.content_hash
    assert questions(again, marked, "all") == questions(graph, official, "all")


class TestOfficialQuestions:
    def test_text_has_no_brackets_and_ends_are_typed(
        self, graph: KnowledgeGraph, official: Path
    ) -> None:
        found = questions(graph, official)
        assert set(found) == {
            *("1h-test-0", "1h-test-1", "1h-test-2", "2h-test-0", "2h-test-1", "3h-test-0"),
        }
        about = found["1h-test-1"]
        assert about.text == "which films are about Police"
        assert about.answer_ids == ("movie:Second",)
        assert about.anchor_ids == ("tag:Police",)
        assert (about.cluster, about.hops, about.textual) == ("tag:Police", 1, False)
        assert found["1h-test-2"].text == "who directed [Rec]"
        assert found["1h-test-2"].anchor_ids == ("movie:[Rec]",)
        assert found["3h-test-0"].answer_type == "year"
        assert found["3h-test-0"].answer_ids == ("year:1984",)

    def test_programs_give_the_answers(self, graph: KnowledgeGraph, official: Path) -> None:
        found = questions(graph, official)
        assert check(list(found.values()), graph) == []
        program = found["2h-test-0"].program
        assert program is not None
        assert "minus" in program
        assert 'node("movie:Police", "tag:Police")' in program  # all of that name leave the set
        without = program.replace(", named)", ', node("person:Eve"))')
        assert np.size(Executor(graph).run(without)) == 2  # the topic itself would be an answer

    def test_splits_are_those_of_the_files(self, graph: KnowledgeGraph, official: Path) -> None:
        assert list(questions(graph, official, "val")) == ["1h-dev-0"]
        assert questions(graph, official, "val")["1h-dev-0"].text == "when was Second released"
        assert len(questions(graph, official, "all")) == 7
        assert len(questions(graph, official, "test-0.1")) == 6  # of which ``select`` takes a tenth
        with pytest.raises(UserError, match="qa_train.txt"):
            questions(graph, official, "train")
        with pytest.raises(UserError, match="unknown split"):
            questions(graph, official, "human")

    def test_hops_come_in_turn(self, graph: KnowledgeGraph, official: Path) -> None:
        asked = metaqa_questions(graph, {"root": str(official)}, "test")
        assert [q.hops for q in asked] == [1, 2, 3, 1, 2, 1]
        assert asked == metaqa_questions(graph, {"root": str(official)}, "test")

    def test_a_run_finds_them(self, graph: KnowledgeGraph, official: Path, tmp_path: Path) -> None:
        spec = GraphSpec("metaqa", {"root": str(official)})
        assert len(select(all_questions(spec, graph, tmp_path), "test")) == 6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kb": "A|directed_by\n"}, r"kb\.txt, line 1: .*head\|relation\|tail"),
        ({"kb": "A|directed_by|B\nA|liked_by|B\n"}, r"kb\.txt, line 2: 'liked_by' is no relation"),
        ({"kb": "\n"}, "holds no fact"),
        ({"qa_test": "no topic\tPolice\n"}, "lines and qa_test_qtype.txt"),
        (
            {"qa_test": "no topic\tPolice\n", "qa_test_qtype": "movie_to_year\n"},
            r"line 1: 'no topic",
        ),
        ({"qa_dev": "when was [Third] released\t1984\n"}, "line 1: 'Third' is no name in kb.txt"),
        ({"qa_dev": "when was [Police] released\t1985\n"}, "line 1: '1985' is no name in kb.txt"),
        ({"qa_dev": "when was [Police] released\t|\n"}, "line 1: no answer"),
        ({"qa_dev_qtype": "movie_to_moon\n"}, "line 1: question type 'movie_to_moon' is no walk"),
        ({"qa_dev_qtype": "actor_to_movie_to_year\n"}, "has 2 hops in a folder of 1"),
    ],
)
def test_broken_files_are_one_line(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    root = write(tmp_path / "MetaQA", **changed)

    def read() -> None:
        graph = open_or_build(source_for("metaqa", root=root), tmp_path / "data")
        metaqa_questions(graph, {"root": str(root)}, "all")

    with pytest.raises(UserError, match=message) as raised:
        read()
    assert "\n" not in str(raised.value)


def test_wrong_folders_are_one_line(tmp_path: Path) -> None:
    write(tmp_path / "outer" / "MetaQA")
    (tmp_path / "empty").mkdir()
    for folder, message in (
        (None, r"needs a root: give graph\.root"),
        (tmp_path / "no", "is missing; give graph.root=DIR"),
        (tmp_path / "outer" / "MetaQA" / "kb.txt", "is a file"),
        (tmp_path / "outer", "its folder 'MetaQA' has one"),
        (tmp_path / "empty", "download MetaQA"),
    ):
        with pytest.raises(UserError, match=message) as raised:
            source_for("metaqa", root=folder).key()
        assert "\n" not in str(raised.value)
    kb_only = tmp_path / "kb_only"
    kb_only.mkdir()
    (kb_only / "kb.txt").write_text(KB)
    graph = open_or_build(source_for("metaqa", root=kb_only), tmp_path / "data")
    with pytest.raises(UserError, match="holds no questions"):
        questions(graph, kb_only)


def test_walks_of_types() -> None:
    assert program_of("movie_to_tags", "1") == (
        'topic = node("1")\nhop1 = minus(forward(topic, "has_tags"), topic)\nend(hop1)'
    )
    assert 'backward(topic, "has_tags")' in program_of("tag_to_movie", "1")
    for wrong in ("movie", "actor_to_year", "movie_to_movie", ""):
        with pytest.raises(ValueError, match="is no walk"):
            program_of(wrong, "1")


# -- the table form ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table_root(shared: Path) -> Path:
    return shared / "data" / "metaqa"


@pytest.fixture(scope="module")
def table(table_root: Path, data_root_path: Path) -> KnowledgeGraph:
    return open_or_build(source_for("metaqa", root=table_root), data_root_path)


@pytest.fixture(scope="module")
def asked(table: KnowledgeGraph, table_root: Path) -> list[Query]:
    return metaqa_questions(table, {"root": str(table_root)})


def wrong(graph: KnowledgeGraph, queries: list[Query]) -> list[str]:
    """Questions whose program does not give exactly the published answers."""
    run = Executor(graph)
    out = []
    for query in queries:
        assert query.program is not None
        found = run.run(query.program)
        if {graph.id(i) for i in found} != set(query.answer_ids):  # type: ignore[union-attr]
            out.append(query.id)
    return out


def test_the_tables(table: KnowledgeGraph, asked: list[Query]) -> None:
    assert (table.n_nodes, table.n_edges) == (27_196, 85_343)
    assert "CC BY-SA" in table.manifest["licence"]
    assert len(asked) == TABLE_QUESTIONS
    assert {q.split for q in asked} == {"test"}
    assert [q.hops for q in asked[:6]] == [1, 2, 3, 1, 2, 3]
    assert all(q.mentions[0].text in q.text for q in asked)
    first = asked[:300]
    assert len({q.program.count("minus") for q in first if q.program}) == 3
    assert wrong(table, first) == []
    assert check(first[:30], table) == []  # brute force, which shares no code with the executor


@pytest.mark.slow
def test_every_program_gives_the_published_answers(
    table: KnowledgeGraph, asked: list[Query]
) -> None:
    assert wrong(table, asked) == []


def as_official(table: KnowledgeGraph, root: Path, rows: list[dict[str, str]]) -> list[str]:
    """The tables written as official files, which hold names; the ids of the questions in order."""
    facts = [
        f"{table.name(i)}|{table.relations[r]}|{table.name(int(t))}"
        for i in range(table.n_nodes)
        for t, r in zip(*table.out_edges(i)[:2], strict=True)
    ]
    root.mkdir()
    (root / "kb.txt").write_text("\n".join(facts) + "\n", encoding="utf-8")
    kept = []
    for hops in (1, 2, 3):
        folder = root / f"{hops}-hop"
        (folder / "vanilla").mkdir(parents=True)
        chosen = [row for row in rows if row["hops"] == str(hops)]
        lines = []
        for row in chosen:
            topic = table.name(table.index(row["topic_id"]))
            answers = [table.name(table.index(str(a))) for a in json.loads(row["answer_ids"])]
            lines.append(f"{row['query'].replace(topic, f'[{topic}]', 1)}\t{'|'.join(answers)}")
        (folder / "vanilla" / "qa_test.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        types = "\n".join(row["qtype"] for row in chosen)
        (folder / "qa_test_qtype.txt").write_text(f"{types}\n", encoding="utf-8")
        kept += [row["id"] for row in chosen]
    return kept


@pytest.mark.parametrize("part", [50, pytest.param(1, marks=pytest.mark.slow)])
def test_the_same_facts_as_official_files(
    table: KnowledgeGraph, table_root: Path, tmp_path: Path, part: int
) -> None:
    """Typed nodes change no answer: the walks say which of two equal names is meant."""
    with (table_root / "queries.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[::part]
    kept = as_official(table, tmp_path / "MetaQA", rows)
    source = source_for("metaqa", root=tmp_path / "MetaQA")
    graph = open_or_build(source, tmp_path / "data")
    assert graph.n_edges == table.n_edges
    assert graph.n_nodes > table.n_nodes
    found = questions(graph, tmp_path / "MetaQA")
    assert len(found) == len(kept)
    assert wrong(graph, list(found.values())) == []


# -- tables of the user ----------------------------------------------------------------------------


def small(root: Path, rows: str, *, encoding: str = "utf-8") -> list[Query]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    root.mkdir()
    nodes = {"id": ["0", "1"], "type": ["movie", "person"], "name": ["M", "P"], "text": ["", ""]}
    edges = {"source": ["0"], "target": ["1"], "type": ["starred_actors"]}
    pq.write_table(pa.table(nodes), root / "nodes.parquet")
    pq.write_table(pa.table(edges), root / "edges.parquet")
    head = "id,query,answer_ids,qtype,topic_id\n"
    (root / "queries.csv").write_text(head + rows, encoding=encoding)
    graph = open_or_build(source_for("metaqa", root=root), root / "data")
    return metaqa_questions(graph, {"root": str(root)})


def test_tables_are_read_as_questions_are_elsewhere(tmp_path: Path) -> None:
    """With a byte order mark, and with a question longer than the csv module takes."""
    row = 'a,{},"[""1""]",movie_to_actor,0\n'
    assert [q.hops for q in small(tmp_path / "mark", row.format("x"), encoding="utf-8-sig")] == [1]
    (long,) = small(tmp_path / "long", row.format("x" * 200_000))
    assert len(long.text) == 200_000


def test_a_walk_of_four_hops_is_one_line(tmp_path: Path) -> None:
    row = 'a,x,"[""1""]",movie_to_actor_to_movie_to_actor_to_movie,0\n'
    with pytest.raises(UserError, match=r"row 1: .* has 4 hops; MetaQA has 1 to 3: mend the row"):
        small(tmp_path / "four", row)


def test_a_mention_stands_in_its_question(tmp_path: Path) -> None:
    root = write(
        tmp_path / "spaces",
        kb="A  B|directed_by|Eve\n",
        qa_test="who directed [A  B]\tEve\n",
        qa_test_qtype="movie_to_director\n",
    )
    for hops in (2, 3):
        (root / f"{hops}-hop" / "vanilla" / "qa_test.txt").unlink()
    graph = open_or_build(source_for("metaqa", root=root), tmp_path / "data")
    (query,) = metaqa_questions(graph, {"root": str(root)}, "test")
    assert query.anchor_ids == ("movie:A  B",)
    assert query.mentions[0].text in query.text
