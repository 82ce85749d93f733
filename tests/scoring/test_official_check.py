"""The cross-check with another process: equal, unequal, and every way in which it can fail.

A small script stands in for the other environment's interpreter: it reads the real request and
scores it by itself, with the ties that it is told. The real evaluator is asked in
``tests/report/test_official_environment.py``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ark.errors import UserError
from ark.scoring.judge import judge
from ark.scoring.measures import parse_measure
from ark.scoring.official import MEASURES, Item, cross_check, regime, release
from ark.scoring.official_process import interpreter

STANDIN = '''\
import json, sys
from pathlib import Path
request = json.loads(Path(sys.argv[3]).read_text())
def say(**line):
    print(json.dumps(line), flush=True)
def score(question):
    """Unranked candidates are tied, larger ids first: as free as the real one, and stated."""
    scores = dict(zip(question["nodes"], question["scores"]))
    fill = min(question["scores"]) - 1
    ids = sorted(request["candidates"][question["candidates"]], reverse=True)
    order = sorted(ids, key=lambda i: -scores.get(i, fill))
    gold = set(question["gold"]) & set(ids)
    at = [rank for rank, i in enumerate(order, 1) if i in gold]
    filtered = [rank for rank in at if FILTER is False or scores.get(order[rank - 1], fill) > 0]
    return {
        "hit@1": float(any(r <= 1 for r in at)),
        "hit@5": float(any(r <= 5 for r in at)),
        "recall@20": sum(r <= 20 for r in filtered) / max(1, len(gold)),
        "mrr": 1 / min(filtered) if filtered else 0.0,
    }
FILTER = True
versions = {"stark-qa": "1.1.0", "torch": "2.13.0+cpu", "torchmetrics": "1.9.0"}
'''
ANSWER = """
say(versions=versions)
for question in request["questions"]:
    say(number=question["number"], values=score(question))
say(done=len(request["questions"]))
"""


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Makes an environment whose interpreter is the stand-in, with ``body`` at its end."""
    if os.name != "posix":
        pytest.skip("the stand-in is a shell script")

    def make(body: str = ANSWER) -> Path:
        folder = tmp_path / "env"
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "standin.py").write_text(STANDIN + body)
        python = folder / "bin" / "python"
        # -S: no site packages, which makes it quick.
        command = f'exec "{sys.executable}" -I -S "{folder / "standin.py"}"'
        python.write_text(f'#!/bin/sh\n{command} "$@"\n')
        python.chmod(0o755)
        return folder

    return make


def item(query: str, ranked: list[int], gold: list[int], candidates: range | None = None) -> Item:
    keep = (candidates or range(200)).__contains__
    judged = judge(ranked, gold, keep=keep)
    ours = {m: parse_measure(m).score(judged) or 0.0 for m in MEASURES}
    return Item(query, tuple(ranked), tuple(sorted(set(gold))), ours)


ITEMS = [
    item("first", [4, 0, 7], [4]),
    item("second of two", [0, 4], [4, 9]),
    item("unranked", [5, 6], [199]),
    item("empty", [], [3]),
    item("nothing to find", [1, 2], []),
    item("rank 20 of 100", list(range(100)), [19]),
    item("rank 21 of 100", list(range(100)), [20, 150]),
]
ALL = {"all": range(200)}


def test_equal_lists_are_equal_and_bare_ones_are_not(environment: Callable[..., Path]) -> None:
    told: list[tuple[int, int]] = []
    report = cross_check(environment(), ITEMS, ALL, lambda a, b: told.append((a, b)))
    assert report.differences == ()
    assert report.unexplained == report.unchecked == 0
    assert report.queries == 7
    assert report.ours == pytest.approx(report.official)
    # Unranked gold 199 stands third among ties for the stand-in, gold 9 far behind.
    assert report.bare.differ == 1
    assert report.bare.refused == 1
    assert report.bare.means["mrr"] == pytest.approx(report.ours["mrr"] + 1 / 3 / 7)
    assert told[-1] == (9, 9)
    assert report.lines()[0] == (
        "official evaluator: equal on 7 queries (stark-qa 1.1.0, torch 2.13.0+cpu, "
        "torchmetrics 1.9.0)"
    )
    assert json.loads(json.dumps(report.to_json()))["official"]["hit@1"] == report.official["hit@1"]


@settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 39), unique=True, max_size=30), st.sets(st.integers(0, 39))
        ),
        min_size=1,
        max_size=9,
    )
)
def test_any_lists_are_equal(
    environment: Callable[..., Path], pairs: list[tuple[list[int], set[int]]]
) -> None:
    """Forty candidates: some lists cannot be completed to twenty without gold. Those may differ."""
    items = [
        item(str(n), ranked, sorted(gold), range(40)) for n, (ranked, gold) in enumerate(pairs)
    ]
    report = cross_check(environment(), items, {"all": range(40)})
    assert report.unexplained == 0
    few = {
        str(n)
        for n, (ranked, gold) in enumerate(pairs)
        if len({*ranked}) + 40 - len({*ranked} | gold) < 20
    }
    assert {d.query for d in report.differences} <= few


def test_a_wrong_value_is_reported(environment: Callable[..., Path]) -> None:
    wrong = ANSWER.replace("values=score(question)", "values={**score(question), 'mrr': 0.25}")
    report = cross_check(environment(wrong), ITEMS[:2], ALL)
    assert [(d.query, d.measure, d.ours, d.official, d.why) for d in report.differences] == [
        ("first", "mrr", 1.0, 0.25, None),
        ("second of two", "mrr", 0.5, 0.25, None),
    ]
    assert report.unexplained == 2
    lines = report.lines()
    assert lines[0].startswith(
        "official evaluator: 2 of 2 queries differ, 2 of them for no known reason"
    )
    assert "  first mrr: ours 1.000000, official 0.250000" in lines


def test_older_torchmetrics_explains_unranked_gold(environment: Callable[..., Path]) -> None:
    old = "\nFILTER = False\nversions['torchmetrics'] = '1.4.3'" + ANSWER
    report = cross_check(environment(old), ITEMS, ALL)
    assert {d.query for d in report.differences} == {"unranked", "empty"}
    assert {d.measure for d in report.differences} == {"mrr"}
    assert all(d.official <= 1 / 101 and d.why for d in report.differences)
    assert report.unexplained == 0
    assert "does not drop entries scored 0 or less and ranks MRR by topk" in "\n".join(
        report.lines()
    )


@pytest.mark.parametrize(
    ("version", "wanted"),
    [("1.0.3", "argsort"), ("1.1.0", "topk"), ("1.7.3", "topk"), ("1.7.4", ""), ("2.0.0rc1", "")],
)
def test_regimes(version: str, wanted: str) -> None:
    said = regime({"torchmetrics": version})
    assert (wanted in said) if wanted else said == ""
    assert release("1.9.0+cpu") == (1, 9, 0)


def test_sets_of_candidates_and_gold_outside_them(environment: Callable[..., Path]) -> None:
    items = [
        Item("a", (2, 3), (3, 500), {"hit@1": 0, "hit@5": 1, "recall@20": 1, "mrr": 0.5}, "odd"),
        Item("b", (), (1,), dict.fromkeys(MEASURES, 0.0), "one"),
    ]
    report = cross_check(environment(), items, {"odd": [1, 2, 3], "one": [1]})
    assert report.differences == ()
    assert report.unchecked == 1  # its only candidate is gold: there is nothing to rank
    assert "equal on 1 queries" in report.lines()[0]


BODIES = {
    "raise SystemExit(3)": "ended with code 3 after 0 of 2 answers",
    "import nosuchmodule": "ModuleNotFoundError: No module named 'nosuchmodule'",
    "say(versions=versions)": "ended with code 0 after 0 of 2 answers",
    "say(done=2)": "ended with code 0 after 0 of 2 answers",
    ANSWER.replace("say(versions=versions)", ""): "ended with code 0 after 2 of 2 answers",
    ANSWER.replace("number=question", "number=99+question"): "answered",
    ANSWER.replace("score(question)", "{'mrr': 1}"): "answered",
    ANSWER.replace("score(question)", "dict.fromkeys(request['measures'], 7)"): "answered",
    ANSWER.replace(
        "score(question)", "dict.fromkeys(request['measures'], float('nan'))"
    ): "answered",
    "print('hello there')": "answered 'hello there'",
    "print('[1]')": "answered '[1]'",
    "import os; os.write(1, b'\\xff\\xfe')": "answered",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "ended with code -9",
}


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_every_failure_is_one_line(environment: Callable[..., Path], body: str) -> None:
    with pytest.raises(UserError) as caught:
        cross_check(environment(body), ITEMS[:1] + ITEMS[5:6], ALL)
    text = str(caught.value)
    assert BODIES[body] in text
    assert text.startswith("official=")
    assert "python scripts/official_env.py" in text
    assert "\n" not in text


def test_a_missing_environment_says_how_to_build_one(
    tmp_path: Path, environment: Callable[..., Path]
) -> None:
    with pytest.raises(
        UserError, match=r"no Python environment there; python scripts/official_env"
    ):
        interpreter(tmp_path / "nowhere")
    folder = environment()
    (folder / "bin/python").chmod(0o644)
    if os.access(folder / "bin/python", os.X_OK):
        pytest.skip("this user may run everything")
    with pytest.raises(UserError, match="does not start"):
        cross_check(folder, ITEMS[:1], ALL)
