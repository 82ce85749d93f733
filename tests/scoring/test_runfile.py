"""Run files of every form say the same; broken ones are one line; strange contents run nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.scoring.runfile import Listed, RunFile, read_run_file

LISTS = {"q1": ["7", "2", "HP:1"], "q2": []}
FORMS = {
    "json": json.dumps({"q1": [7, "2", "HP:1"], "q2": []}),
    "jsonl": '{"query_id": "q1", "pred_rank": [7, 2, "HP:1"]}\n\n'
    '{"query_id": "q2", "pred_rank": []}\n',
    "jsonl in a list": '[{"query_id": "q1", "pred_rank": [7, 2, "HP:1"]},'
    '{"query_id": "q2", "pred_rank": []}]',
    "csv": 'query_id,pred_rank\nq1,"[7, ""2"", ""HP:1""]"\nq2,[]\n',
    "csv of Python": "query_id,pred_rank\nq1,\"[7, '2', 'HP:1']\"\nq2,\n",
    "csv with more": "idx,query_id,pred_rank,mrr\n0,q1,\"(7,2,'HP:1')\",1.0\n1,q2,[],0.0\n",
    "csv of ours": 'query,status,hit@1,ranked\nq1,ok,0.5,"[""7"", ""2"", ""HP:1""]"\n'
    "q2,failed,0,[]\n",
}
SCORED = {
    "trec": "q1 Q0 2 1 0.5 t\nq1 Q0 7 9 0.75 t\nq1 Q0 HP:1 1 -3 t\n",
    "trec of Windows": "q1\tQ0\t2\t1\t0.5\tt\r\nq1 Q0 7 1 7.5e-1 t\r\nq1 Q0 HP:1 1 -3 t\r\n",
    "json": '{"q1": {"2": 0.5, "7": 0.75, "HP:1": -3}}',
    "jsonl": '{"query_id": "q1", "scores": {"2": 0.5, "7": 0.75, "HP:1": -3}}',
    "csv": "query_id,pred_rank\nq1,\"{2: 0.5, 7: 0.75, 'HP:1': -3}\"\n",
}


def read(folder: Path, text: str) -> RunFile:
    file = folder / "run"
    file.write_bytes(text.encode())
    return read_run_file(file)


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_every_form(tmp_path: Path, form: str) -> None:
    run = read(tmp_path, FORMS[form])
    assert {q: x.ranked(str) for q, x in run.lists.items()} == LISTS
    assert all(x.scores is None and not x.tied for x in run.lists.values())
    assert run.form == form.split()[0]


@pytest.mark.parametrize("form", SCORED)
def test_scores_of_every_form_decide_the_order(tmp_path: Path, form: str) -> None:
    run = read(tmp_path, SCORED[form])
    assert run.form == form.split()[0]
    assert run.lists["q1"].ranked(str) == LISTS["q1"]
    assert sorted(run.lists["q1"].scores or ()) == [-3, 0.5, 0.75]


def test_ties_go_by_the_order_that_is_given(tmp_path: Path) -> None:
    run = read(tmp_path, "q 0 b 1 2 t\nq 0 c 2 2 t\nq 0 a 3 2 t\nq 0 z 4 5 t\n")
    assert run.lists["q"].tied
    assert run.lists["q"].ranked(str) == ["z", "a", "b", "c"]
    assert run.lists["q"].ranked({"a": 2, "b": 1, "c": 0, "z": 9}.__getitem__) == list("zcba")


@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=2), st.sampled_from([0.0, 1.0, -2.5])),
        max_size=12,
    ),
    st.integers(0, 99),
)
def test_the_order_of_lines_never_matters(pairs: list[tuple[str, float]], seed: int) -> None:
    other = random.Random(seed).sample(pairs, len(pairs))
    first, second = (
        Listed(tuple(i for i, _ in x), tuple(s for _, s in x)).ranked(str) for x in (pairs, other)
    )
    assert first == second


@pytest.mark.parametrize(
    "text",
    [
        '{"q": [1], "p": [2], "q": [3]}',
        '{"query_id": "q", "pred_rank": [1]}\n{"query_id": "p", "pred_rank": [2]}\n'
        '{"query_id": "q", "pred_rank": [3]}\n',
        "query_id,pred_rank\nq,[1]\np,[2]\nq,[3]\n",
    ],
)
def test_the_first_of_two_lists_is_kept(tmp_path: Path, text: str) -> None:
    run = read(tmp_path, text)
    assert run.repeated == ("q",)
    assert {q: x.ids for q, x in run.lists.items()} == {"q": ("1",), "p": ("2",)}


def test_repeats_inside_an_object_are_seen(tmp_path: Path) -> None:
    listed = read(tmp_path, '{"q": {"a": 1, "b": 2, "a": 3}}').lists["q"]
    assert listed.ranked(str) == ["a", "b", "a"]
    assert not listed.tied


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    first = read(tmp_path, FORMS["csv"])
    again, other = read(tmp_path, FORMS["csv"]), read(tmp_path, FORMS["json"])
    assert first.sha256 == again.sha256 != other.sha256
    assert read(tmp_path, "\ufeff" + FORMS["csv"]).lists == first.lists


def test_long_cells_and_separators_in_ids(tmp_path: Path) -> None:
    many = list(range(50_000))
    text = json.dumps(many)
    assert len(text) > 200_000
    run = read(tmp_path, f'query_id,pred_rank\nq,"{text}"\n')
    assert len(run.lists["q"].ids) == 50_000
    strange = "a\u2028b,c\td"
    run = read(tmp_path, json.dumps({"query_id": strange, "pred_rank": [strange]}))
    assert run.lists[strange].ids == (strange,)


BROKEN = {
    "": None,  # no lines: a run without lists
    "{": "not valid JSON",
    '{"q": 3}': "question 'q' must have a list",
    '{"q": "abc"}': "question 'q' must have a list",
    '{"q": [[1, 2]]}': "ids are text or whole numbers",
    '{"q": [1.5]}': r"the id '1\.5'",
    '{"q": [true]}': "the id 'True'",
    '{"q": [null]}': "the id 'None'",
    '{"q": {"a": "high"}}': "the score 'high'",
    '{"q": {"a": NaN}}': "the score 'nan'",
    "[1, 2]": "row 1: expected",
    '{"query_id": "q", "pred_rank": [1]}\n{"query_id": "p"}\n': "row 2: expected",
    '{"query_id": "q", "pred_rank": [1]}\n{"query_id"': "not valid JSON",
    "query_id,score\nq,1\n": "lacks the column pred_rank; it has query_id, score",
    "id,pred_rank\nq,[1]\n": "lacks the column query_id",
    "query_id,pred_rank,pred_rank\nq,[1],[2]\n": "has twice the column pred_rank",
    "query_id,pred_rank\nq,[1],[2]\n": "no readable CSV",
    'query_id,pred_rank\nq,"[1, 2"\n': "row 1: '.1, 2' is no JSON and no Python list",
    "query_id,pred_rank\nq,7\n": "row 1 must have a list",
    "query_id,pred_rank\nq,{1}\n": "row 1 must have a list",
    "query_id,pred_rank\nq,__import__('os').getcwd()\n": "is no JSON and no Python list",
    "query_id,pred_rank\nq,[0x" + "f" * 5000 + "]\n": "the id a huge number",
    "query_id,pred_rank\nq,{1: 0x" + "f" * 5000 + "}\n": "the score a huge number",
    "query_id,pred_rank\nq," + "[" * 20_000 + "\n": "is no JSON and no Python list",
    "q Q0 n 1\n": "line 1: expected 'question Q0 node rank score tag'",
    "q Q0 n 1 2 t\n\nq Q0 m 2 nan t\n": "line 3: expected",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_files_are_one_line(tmp_path: Path, text: str) -> None:
    wanted = BROKEN[text]
    if wanted is None:
        assert read(tmp_path, text).lists == {}
        return
    with pytest.raises(UserError, match=wanted) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"run file {tmp_path / 'run'}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run").write_bytes(content)
    with pytest.raises(UserError, match="cannot be read"):
        read_run_file(tmp_path / "run")


def test_real_rankings(shared: Path) -> None:
    """What eval.py wrote for STaRK's human questions: 1,000 ids a question."""
    run = read_run_file(shared / "data/stark_golden/prime_eval_results_human_generated_eval.csv")
    assert run.form == "csv"
    assert len(run.lists) == 109
    assert {len(x.ids) for x in run.lists.values()} == {1000}
