"""Results that were edited by hand or damaged are refused, with the file and the field."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from analysis_runs import HIT, MISS, A, F, G, call, line, question, write_run
from made_results import ark, write

from ark.errors import UserError
from ark.report import Options, footer, main_table, result_table, strata_table
from ark.report.analysis import analysis_table
from ark.report.analysis_load import find_results, load_result
from ark.report.cells import find, load_all
from ark.report.compare import to_markdown
from ark.report.comparison import compare_cells
from ark.report.figures_budget import grids_of
from ark.report.figures_cost import axis_of, points_of

HITS = [1.0] * 8 + [0.0] * 12
Edit = Callable[[dict[str, Any]], object]
STRANGE = (None, "x", "", [], {}, [1], True, float("nan"), float("inf"), -1, 0, 5.0, 10**30)


def tables(root: Path) -> None:
    """Everything that scripts/tables.py and scripts/compare.py print."""
    cells = load_all(find([root]))
    for fmt in ("md", "tex", "csv"):
        result_table(cells, Options(baseline="bm25", reference="published"), fmt)
    data = [cell.data for cell in cells]
    main_table(data)
    strata_table(data)
    footer(data)
    to_markdown(compare_cells(*cells[:2], allow_unequal=True), 5)


def edited(path: Path, edit: Edit) -> None:
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data))


def hit(**values: Any) -> Edit:
    return lambda data: data["measures"]["hit@1"].update(values)


def without(*names: str) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        for name in names[:-1]:
            data = data[name]
        del data[names[-1]]

    return edit


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (hit(mean=99), r"measures\.hit@1\.mean must be a number from 0 to 1 or null, not 99"),
        (hit(mean=float("nan")), r"measures\.hit@1\.mean must be .*, not nan"),
        (hit(high=float("inf")), r"measures\.hit@1\.high"),
        (hit(mean="0.4"), r"measures\.hit@1\.mean must be .*, not '0.4'"),
        (hit(mean=0.99), r"measures\.hit@1\.mean must be within its interval"),
        (hit(low=0.5), r"measures\.hit@1\.mean must be within its interval"),
        (hit(low=None), r"measures\.hit@1\.low"),
        (hit(n=7), r"measures\.hit@1\.n must be 20"),
        (hit(answered_only={"mean": 2}), r"measures\.hit@1\.answered_only\.mean"),
        (hit(design_effect="1"), r"measures\.hit@1\.design_effect"),
        (without("cell", "method"), r"cell\.method is missing"),
        (without("cell", "split"), r"cell\.split is missing"),
        (without("cell", "candidates"), r"cell\.candidates is missing"),
        (without("cell", "run_id"), r"cell\.run_id is missing"),
        (without("cell", "reading", "cut"), r"cell\.reading\.cut is missing"),
        (without("counts", "ok"), r"counts\.ok is missing"),
        (lambda d: d.update(measures=[]), r"measures must be an object, not \[\]"),
        (lambda d: d["cell"].update(changed="x"), r"cell\.changed must be an object"),
        (lambda d: d["counts"].update(failed=3), r"counts\.queries must be the sum of"),
        (lambda d: d["usage"].update(tokens="many"), r"usage\.tokens must be a number"),
        (lambda d: d.update(single_agents={"mrr": [3]}), r"single_agents\.mrr"),
        (lambda d: d.update(strata={"hops": {"1": {"mrr": 1}}}), r"strata\.hops\.1\.mrr"),
        (hit(mean=0.41), r"per_query\.csv does not belong to its result\.json \(measures\.hit@1"),
    ],
)
def test_an_edited_result_is_named_with_its_field(tmp_path: Path, edit: Edit, field: str) -> None:
    write(tmp_path, HITS[::-1])
    path = ark(tmp_path, HITS)
    tables(tmp_path)
    edited(path, edit)
    of_tables = "candidates" in field or "cut" in field  # an analysis asks for neither
    reads: list[Callable[[], object]] = [lambda: load_all([path])]
    reads += [] if of_tables else [lambda: load_result(path)]
    for read in reads:
        with pytest.raises(UserError, match=field) as error:
            read()
        said = str(error.value)
        assert said.startswith(str(path.parent))
        assert "\n" not in said


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("q003,ok,1.0", "q003,ok,nan", "question q003, hit@1: nan is not from 0 to 1"),
        ("q003,ok,1.0", "q003,ok,5.0", "question q003, hit@1: 5.0 is not from 0 to 1"),
        ("q003,ok,1.0", "q003,ok,much", "question q003, hit@1: 'much' is no number"),
        ("q003,ok,1.0", "q003,fine,1.0", "question q003, status"),
        ("q003,ok,1.0", "q003,ok", "too few or too many cells"),
        ("q003,ok,1.0", "q003,ok,0.0", r"measures\.hit@1\.mean: 0.4 there, 0.35 over"),
        ("q003,ok,1.0", "q003,ok,", r"measures\.hit@1\.mean: 0.4 there, 0.35 over"),
        ("q003,ok,", "q003,failed,", r"counts\.ok: 20 there, 19 here"),
        ("q003,ok,", "q002,ok,", "a question stands twice"),
        ("query,status,hit@1", "query,status,hit@2", r"measures\.hit@1\.mean: 0.4 there, no value"),
        ("query,status", "query,state", "no column status"),
        ("[]\n", "[1]\n", "question q000, ranked"),
        ("[]\n", "{\n", "is damaged"),
        ("q000,ok," + "1.0," * 11 + ",,,[]\n", "", r"counts\.queries: 20 there, 19 rows here"),
    ],
)
def test_edited_questions_are_named(tmp_path: Path, old: str, new: str, place: str) -> None:
    path = write(tmp_path, HITS)
    (path.parents[2] / "run.json").write_text('{"graph": {}, "method": {}}')
    file = path.with_name("per_query.csv")
    text = file.read_text()
    if old not in text:
        old = next(x for x in text.splitlines(keepends=True) if x.startswith("q000"))
    file.write_text(text.replace(old, new, 1))
    for read in (lambda: load_all([path]), lambda: find_results([path])):
        with pytest.raises(UserError, match=place) as error:
            read()
        assert str(error.value).startswith(str(file))
        assert "\n" not in str(error.value)


def test_an_empty_cell_of_a_set_measure_counts_0(tmp_path: Path) -> None:
    path = write(tmp_path, HITS)
    file = path.with_name("per_query.csv")
    file.write_text(re.sub(r"(?<=,)0\.0(?=,)", "", file.read_text()))
    assert load_all([path])[0].per_query is not None


def leaves(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of a JSON value, inner ones too."""
    if at:
        yield at
    if isinstance(data, dict):
        for name, value in data.items():
            yield from leaves(value, (*at, name))


def strange(data: dict[str, Any], rng: random.Random) -> str:
    """Puts something strange at a random place, or takes it away; where."""
    place = rng.choice(list(leaves(data)))
    inner: Any = data
    for name in place[:-1]:
        inner = inner[name]
    if rng.random() < 0.2:
        del inner[place[-1]]
    else:
        inner[place[-1]] = rng.choice(STRANGE)
    return ".".join(map(str, place))


def shorter(data: dict[str, Any]) -> dict[str, Any]:
    """Fewer measures: other fields come up more often."""
    kept = ("hit@1", "mrr")
    return {**data, "measures": {k: v for k, v in data["measures"].items() if k in kept}}


@pytest.mark.parametrize("seed", range(100))
def test_whatever_stands_somewhere_tables_are_printed_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    write(tmp_path, HITS[::-1])
    path = ark(tmp_path, HITS, model="openai/gpt-4.1", graph="hpo")
    data = shorter(json.loads(path.read_text()))
    data["strata"] = {"hops": {"1": data["measures"]}}
    strange(data, rng)
    path.write_text(json.dumps(data))
    try:
        tables(tmp_path)
    except UserError as error:
        assert "\n" not in str(error)  # noqa: PT017 (either is right)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_stands_somewhere_analyses_are_printed_or_refused(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    steps = [[call(G)], [call(A), call(F)]]
    agents = [(line(f"q{i}", a, 2), steps) for i in (1, 2) for a in range(2)]
    values = {"q1": HIT, "q2": MISS}
    run = write_run(tmp_path, "one", [question(1), question(2)], agents, values=values)
    path = run / "readings/cell0/result.json"
    data = json.loads(path.read_text())
    strange(data, rng)
    path.write_text(json.dumps(data))
    try:
        analysis_table([run])
        analysis_table([run], ["hops"], form="csv")
        results = find_results([run])
        points_of(results, axis_of(results)[0])
        grids_of(results)
    except UserError as error:
        assert "\n" not in str(error)  # noqa: PT017 (either is right)
