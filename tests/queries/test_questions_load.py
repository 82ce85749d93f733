"""Question files: what is read, and the one line that each mistake is answered with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.graph import KnowledgeGraph
from ark.queries import load_queries, questions_hash
from ark.queries.forms import canonical, from_json, to_json
from ark.records import Mention, Query


def write(folder: Path, text: str, name: str = "queries.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_smallest_file(tmp_path: Path, toy_graph: KnowledgeGraph) -> None:
    write(tmp_path, '\ufeffid,query,answer_ids\n7,Which plant?,"[""p1""]"\n')
    assert load_queries(tmp_path, toy_graph) == [
        Query(id="7", text="Which plant?", answer_ids=("p1",), split="test", cluster="7")
    ]


def test_every_column(tmp_path: Path, toy_graph: KnowledgeGraph) -> None:
    file = write(
        tmp_path,
        "split,id,query,answer_ids,hops,answer_type,anchor_ids,program,cluster,textual,note\n"
        'val,a,"Two\nlines, ""quoted""","[""p1"", ""p2"", ""p1""]",2,plant,"[""h1""]",'
        '"end(node(""p1""))",c1,True,x\n'
        ',b,Plain,"[""p1""]",,,"[""h1"", ""h2""]",,,,\n',
    )
    first, second = load_queries(file, toy_graph)
    assert first == Query(
        id="a",
        text='Two\nlines, "quoted"',
        answer_ids=("p1", "p2"),
        split="val",
        cluster="c1",
        hops=2,
        textual=True,
        answer_type="plant",
        anchor_ids=("h1",),
        program='end(node("p1"))',
    )
    assert second == Query("b", "Plain", ("p1",), cluster="h1", anchor_ids=("h1", "h2"))


class NumberedGraph:
    """Nodes "0" to "99"."""

    node_types = ("thing",)

    def index(self, node_id: str) -> int:
        if node_id.isdigit() and int(node_id) < 100:
            return int(node_id)
        raise KeyError(node_id)


def test_whole_numbers_are_ids(tmp_path: Path) -> None:
    file = write(tmp_path, 'id,query,answer_ids\n007,What?,"[3, ""4"", 3]"\n')
    (query,) = load_queries(file, NumberedGraph())
    assert (query.id, query.answer_ids) == ("007", ("3", "4"))


HEAD = "id,query,answer_ids\n"
ROW = 'q1,What?,"[""p1""]"\n'
MISTAKES = [
    ("id,query\nq1,What?\n", "lacks the column(s) answer_ids; it has id, query"),
    ("", "is no readable CSV"),
    (HEAD, "holds no question"),
    (HEAD + ROW + ROW, "1 id(s) occur more than once: q1"),
    (HEAD + ROW + "q2,What?,[p1]\n", "row 2: answer_ids is no JSON list of ids: Expecting value"),
    (HEAD + "q1,What?,[]\n", "row 1 (id 'q1'): no answers"),
    (HEAD + "q1,What?,\n", "row 1: answer_ids is no JSON list"),
    (HEAD + 'q1,What?,"""p1"""\n', "row 1: answer_ids is no JSON list of ids: not a list"),
    (HEAD + "q1,What?,[1.5]\n", "1.5 is no id (a string or a whole number)"),
    (HEAD + "q1,What?,[true]\n", "True is no id"),
    (HEAD + 'q1,What?,"[""p1""]",x\n', "is no readable CSV"),
    (HEAD + ',What?,"[""p1""]"\n', "row 1: empty id"),
    (HEAD + 'q1, ,"[""p1""]"\n', "row 1: empty question"),
    ("id,id,query,answer_ids\na,b,c,[1]\n", "has the column 'id' twice"),
    (f"hops,{HEAD}two,{ROW}", "row 1: hops is 'two', not a whole number"),
    (f"textual,{HEAD}maybe,{ROW}", "row 1: textual is 'maybe', not true or false"),
    (f"anchor_ids,{HEAD}h1,{ROW}", "row 1: anchor_ids is no JSON list"),
    (f'anchor_ids,{HEAD}"[""h9""]",{ROW}', "1 anchor id(s) are no node of the graph: h9"),
    (f"answer_type,{HEAD}plants,{ROW}", "question 'q1': unknown answer type 'plants'; did you"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_mistakes(tmp_path: Path, toy_graph: KnowledgeGraph, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load_queries(file, toy_graph)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_answers_are_counted_and_five_are_shown(
    tmp_path: Path, toy_graph: KnowledgeGraph
) -> None:
    rows = "".join(f'q{k},What?,"[""p1"", ""x{k}"", ""x0""]"\n' for k in range(7))
    with pytest.raises(UserError) as caught:
        load_queries(write(tmp_path, HEAD + rows), toy_graph)
    message = str(caught.value)
    assert "7 answer id(s) are no node of the graph" in message
    assert "x0 (question q0), x1 (question q1)" in message
    assert "x4" in message
    assert "x5" not in message


def test_no_utf8(tmp_path: Path, toy_graph: KnowledgeGraph) -> None:
    for name in ("queries.csv", "questions.jsonl"):
        file = tmp_path / name
        file.write_bytes(HEAD.encode() + b'q1,\xff,"[""p1""]"\n')
        with pytest.raises(UserError, match="readable"):
            load_queries(file, toy_graph)


def test_missing_files(tmp_path: Path, toy_graph: KnowledgeGraph) -> None:
    with pytest.raises(UserError, match="no question file"):
        load_queries(tmp_path / "nothing.csv", toy_graph)
    with pytest.raises(UserError, match=r"no queries.csv or questions.jsonl in"):
        load_queries(tmp_path, toy_graph)
    with pytest.raises(UserError, match=r"ends in .csv or .jsonl"):
        load_queries(write(tmp_path, "x", "queries.txt"), toy_graph)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Expecting"),
        ("[1]", "line 2: not a JSON object"),
        ('{"id": "b", "answer_ids": ["p1"]}', "line 2: no field 'text'"),
        ('{"id": "b", "text": "t", "answer_ids": "p1"}', "line 2: not a list of ids"),
        ('{"id": "b", "text": "t", "answer_ids": ["p1"], "hops": "1"}', "hops is '1', not of"),
        ('{"id": "b", "text": "t", "answer_ids": ["p1"], "mentions": [{"x": 1}]}', "line 2: "),
    ],
)
def test_mistakes_in_our_own_form(
    tmp_path: Path, toy_graph: KnowledgeGraph, line: str, message: str
) -> None:
    good = canonical(to_json(Query("a", "t", ("p1",))))
    with pytest.raises(UserError) as caught:
        load_queries(write(tmp_path, f"{good}\n{line}\n", "questions.jsonl"), toy_graph)
    assert message in str(caught.value)


_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
_ids = st.lists(_texts, min_size=1, max_size=3, unique=True).map(tuple)
_queries = st.builds(
    Query,
    id=_texts,
    text=_texts,
    answer_ids=_ids,
    split=st.sampled_from(["train", "test", "test-0.1"]),
    cluster=_texts,
    hops=st.none() | st.integers(1, 3),
    textual=st.none() | st.booleans(),
    answer_type=st.none() | _texts,
    anchor_ids=_ids,
    mentions=st.lists(st.builds(Mention, _texts, _texts, _texts), max_size=2).map(tuple),
    program=st.none() | _texts,
)


@given(_queries)
def test_json_round_trip(query: Query) -> None:
    line = canonical(to_json(query))
    assert "\n" not in line
    assert from_json(json.loads(line)) == query


@given(_queries, _queries)
def test_hash_is_of_all_content_and_order(one: Query, two: Query) -> None:
    assert questions_hash([one]) == questions_hash([one])
    assert (questions_hash([one, two]) == questions_hash([two, one])) == (one == two)
    assert questions_hash([one]) != questions_hash([one, one])


def test_metaqa(shared: Path) -> None:
    import pyarrow.parquet as pq

    folder = shared / "data" / "metaqa"
    ids = pq.read_table(folder / "nodes.parquet", columns=["id"]).column("id").to_pylist()
    rows = {str(node_id): k for k, node_id in enumerate(ids)}

    class Nodes:
        node_types = ("movie",)
        index = staticmethod(rows.__getitem__)

    queries = load_queries(folder, Nodes())
    assert len(queries) == 14_655
    assert queries[0].answer_ids == ("17333", "21532", "30878", "36835", "42379")
    assert {q.split for q in queries} == {"test"}
    assert {q.hops for q in queries} == {1, 2, 3}
