"""A dry run asks nobody, writes nothing, agrees with the run, and says what it does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.backbone import LexicalBackbone
from ark.backbone.prices import Price
from ark.errors import UserError
from ark.protocols import Context
from ark.records import Attempt, Completion, Json, Message, Ranking, Usage
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.dryrun import dry_run
from ark.run.dryrun_row import dollars, tokens
from ark.run.dryrun_table import HEADER
from ark.run.estimate import estimated
from ark.run.journal import JOURNAL
from ark.run.spec import Limits
from ark.scoring.power import smallest_difference

HERE = "test_dryrun"
PRICE = Price(2.0, 8.0, date="2026-11-30", source="a list")


class Paid:
    """The rules as if they were a model: tokens, a price, and a count of all calls."""

    is_llm = True
    label = "paid/model"
    asked: ClassVar[int] = 0

    def __init__(self, seed: int = 0, max_tokens: int | None = None, name: str = "m") -> None:
        self._rules = LexicalBackbone(seed)
        self._max_tokens, self._name = max_tokens, name

    @property
    def price(self) -> Price | None:
        return PRICE

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"backbone": "paid", "model": self._name, "max_tokens": self._max_tokens}

    async def complete(
        self, messages: Sequence[Message], *, tag: str, tools: Any = None, **how: Any
    ) -> Completion:
        type(self).asked += 1
        done = await self._rules.complete(messages, tag=tag, tools=tools, **how)
        prompt = estimated([m.to_json() for m in messages], tools)
        completion = estimated(done.message.to_json())
        usage = Usage(1, prompt, completion, PRICE.cost(prompt, completion))
        return Completion(done.message, usage, done.finish, self._name)


class Unpriced(Paid):
    label = "own/server"

    @property
    def price(self) -> Price | None:
        return None


@dataclass(frozen=True)
class Broken:
    """A plug-in with a bug."""

    label: ClassVar[str] = "Broken"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        raise RuntimeError("a | bug\nof two lines")


@dataclass(frozen=True)
class Mostly(Broken):
    """Fails on one question; asks no model on the others."""

    label: ClassVar[str] = "Mostly"

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        if ctx.query is not None and ctx.query.id == "toy-02":
            raise RuntimeError("this one")
        return Attempt(Ranking((0,)))


def plugin(cls: type, **settings: Json) -> PluginSpec:
    return PluginSpec(cls.__name__.lower(), f"{HERE}:{cls.__name__}", settings)


ARK = PluginSpec("ark", "ark.agent.method:Ark", {"agents": 1})
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
SPEC = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all", limit=5)
PAID = replace(SPEC, backbone=PluginSpec("paid", f"{HERE}:Paid"))


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def paid() -> Iterator[type[Paid]]:
    """The class that cells of this file find by name, which need not be the one above."""
    from ark.run.locate import locate

    found = locate(f"{HERE}:Paid", "backbone")
    found.asked = 0
    yield found
    found.asked = 0


def at(folder: Path, **settings: Any) -> Transport:
    return Transport(results_dir=folder, progress=False, **settings)


def told(text: str) -> list[dict[str, str]]:
    """Rows of the table by column."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert tuple(cells[0]) == HEADER
    assert {len(row) for row in cells} == {len(HEADER)}
    return [dict(zip(HEADER, row, strict=True)) for row in cells[2:]]


def expected(cell: str) -> str:
    return cell.partition(" (at most")[0]


def test_nobody_is_asked_and_nothing_is_written(tmp_path: Path, paid: type[Paid]) -> None:
    text = dry_run([PAID], ["a"], at(tmp_path / "results"))
    (row,) = told(text)
    assert paid.asked == 0
    assert not (tmp_path / "results").exists()
    assert row["done"] == "0/5"
    assert row["from"] == "rehearsal (5 questions)"
    assert row["minutes"] == "unknown"  # no speed is made up
    assert "calls x seconds a call / 4 in flight" in text
    assert "US$ 2 per million prompt tokens, 8 for completions (a list, 2026-11-30)" in text


def test_a_rehearsal_agrees_with_the_run_of_the_same_questions(
    tmp_path: Path, paid: type[Paid]
) -> None:
    before = told(dry_run([PAID], ["a"], at(tmp_path)))[0]
    usage = run_cell(PAID, at(tmp_path)).data["usage"]
    assert usage["calls"] == paid.asked
    assert expected(before["calls"]) == str(usage["calls"])
    assert expected(before["tokens in"]) == tokens(usage["prompt_tokens"])
    assert expected(before["tokens out"]) == tokens(usage["completion_tokens"])
    assert expected(before["US$"]) == dollars(usage["cost"])


def test_what_is_done_costs_nothing(tmp_path: Path, paid: type[Paid]) -> None:
    run_cell(PAID, at(tmp_path))
    (row,) = told(dry_run([PAID], ["a"], at(tmp_path)))
    assert row["done"] == "5/5"
    assert [row[c] for c in ("calls", "tokens in", "tokens out", "US$", "minutes")] == [
        "0",
        "0",
        "0",
        "$0.00",
        "0",
    ]
    assert row["from"] == "nothing left to do"


def test_a_run_that_was_cut_is_counted_by_its_finished_agents(
    tmp_path: Path, paid: type[Paid]
) -> None:
    done = run_cell(replace(PAID, limit=8), at(tmp_path))
    journal = done.path.parents[2] / JOURNAL
    lines = [x for x in journal.read_bytes().splitlines(keepends=True) if b'"agent"' in x]
    agents = [x for x in lines if json.loads(x)["kind"] == "agent"]
    journal.write_bytes(b"".join(agents[:6]) + agents[6][:20])
    (row,) = told(dry_run([replace(PAID, limit=8)], ["a"], at(tmp_path)))
    assert row["done"] == "6/8"
    used = [json.loads(x)["usage"]["ark.step"]["calls"] for x in agents[:6]]
    assert expected(row["calls"]) == f"{2 * sum(used) / 6:.0f}"
    assert row["from"] == "finished runs (6 agents, same graph and settings)"


def test_finished_runs_tell_money_and_speed(tmp_path: Path, paid: type[Paid]) -> None:
    data = run_cell(PAID, at(tmp_path)).data
    asked = paid.asked
    more = replace(PAID, seed=3)
    (row,) = told(dry_run([more], ["a"], at(tmp_path, concurrency=1)))
    assert paid.asked == asked
    assert row["from"] == "finished runs (5 agents, same graph and settings)"
    assert expected(row["calls"]) == str(data["usage"]["calls"])
    assert expected(row["US$"]) == dollars(data["usage"]["cost"])
    assert row["minutes"] != "unknown"


def test_the_nearest_runs_are_taken_and_damaged_ones_passed_over(
    tmp_path: Path, paid: type[Paid]
) -> None:
    far = replace(PAID, method=replace(ARK, settings={"agents": 1, "max_steps": 2}))
    damaged = run_cell(far, at(tmp_path)).path.parents[2]
    assert told(dry_run([PAID], ["a"], at(tmp_path)))[0]["from"] == (
        "finished runs (5 agents, same graph)"
    )
    (damaged / JOURNAL).write_text("no journal\n", encoding="utf-8")
    assert "rehearsal" in told(dry_run([PAID], ["a"], at(tmp_path)))[0]["from"]
    (damaged / "run.json").write_text("[]", encoding="utf-8")
    assert "rehearsal" in told(dry_run([PAID], ["a"], at(tmp_path)))[0]["from"]
    other = replace(PAID, backbone=replace(PAID.backbone, settings={"name": "other"}))
    run_cell(other, at(tmp_path))
    assert "rehearsal" in told(dry_run([PAID], ["a"], at(tmp_path)))[0]["from"]


def test_an_unknown_price_is_unknown_in_the_row_and_in_the_total(tmp_path: Path) -> None:
    unknown = replace(PAID, backbone=PluginSpec("unpriced", f"{HERE}:Unpriced"))
    text = dry_run([unknown, PAID], ["a", "b"], at(tmp_path))
    first, second, total = told(text)
    assert first["US$"] == "unknown"
    assert expected(total["US$"]) == f"{expected(second['US$'])} + unknown"
    assert "own/server: the price is unknown; backbone.price=[PROMPT,COMPLETION] sets it" in text


def test_without_a_model_it_is_free_and_timed(tmp_path: Path) -> None:
    bm25 = replace(SPEC, method=PluginSpec("bm25", "baselines.bm25:BM25Baseline"))
    rules, none, _ = told(dry_run([SPEC, bm25], ["a", "b"], at(tmp_path)))
    calls = run_cell(SPEC, at(tmp_path)).data["usage"]["calls"]
    assert expected(rules["calls"]) == str(calls)
    assert none["calls"] == "0"
    for row in (rules, none):
        assert (row["tokens in"], row["tokens out"], row["US$"]) == ("0", "0", "$0.00")
        assert row["minutes"] not in ("0", "unknown")


def test_a_method_that_asks_nobody_is_free_beside_a_paid_backbone(
    tmp_path: Path, paid: type[Paid]
) -> None:
    bm25 = replace(PAID, method=PluginSpec("bm25", "baselines.bm25:BM25Baseline"))
    (row,) = told(text := dry_run([bm25], ["a"], at(tmp_path)))
    assert (row["calls"], row["US$"]) == ("0", "$0.00")
    assert "price" not in text


def test_readings_of_one_run_are_counted_once(tmp_path: Path) -> None:
    three = replace(PAID, method=replace(ARK, settings={"agents": 3}))
    cells = [PAID, three, replace(three, fusion=Fusion("rrf")), replace(PAID, seed=1)]
    text = dry_run(cells, ["one", "three", "rrf", "other"], at(tmp_path))
    rows = told(text)
    calls = [int(expected(row["calls"])) for row in rows]
    assert calls[1] == calls[2] == 3 * calls[0]
    assert calls[4] == calls[1] + calls[3]
    assert rows[4]["cell"] == "total of 2 runs"
    assert rows[4]["done"] == "0/20"
    assert "Readings of one run, counted once in the total: one; three; rrf." in text


def test_a_plugin_that_fails_is_a_line_and_not_a_crash(tmp_path: Path) -> None:
    broken = replace(SPEC, method=plugin(Broken))
    text = dry_run([broken, SPEC], ["bad", "good"], at(tmp_path))
    bad, good, total = told(text)
    assert [bad[c] for c in ("calls", "US$", "minutes")] == ["unknown"] * 3
    assert bad["from"] == "the rehearsal failed"
    assert expected(good["US$"]) == "$0.00"
    assert expected(total["US$"]) == "$0.00 + unknown"
    assert "bad: the rehearsal failed (RuntimeError: a | bug of two lines)" in text


def test_a_method_that_fails_on_some_questions_is_still_timed(tmp_path: Path) -> None:
    (row,) = told(dry_run([replace(SPEC, method=plugin(Mostly), limit=None)], ["a"], at(tmp_path)))
    assert row["calls"] == "0"
    assert row["from"] == "rehearsal (4 questions)"
    assert row["minutes"] != "unknown"


def test_a_cell_that_cannot_be_opened_is_a_row_of_a_sweep(tmp_path: Path) -> None:
    wrong = replace(SPEC, split="nowhere")
    with pytest.raises(UserError, match="nowhere"):
        dry_run([wrong], ["a"], at(tmp_path))
    text = dry_run([wrong, SPEC], ["wrong|", "right"], at(tmp_path))
    first, second, _ = told(text)
    assert set(first.values()) == {"wrong\\|", "unknown"}
    assert second["calls"] != "unknown"
    assert re.search(r"^wrong\|: .*nowhere", text, re.MULTILINE)


def test_the_difference_that_can_be_shown_counts_clusters(tmp_path: Path) -> None:
    apart, together = tmp_path / "apart.csv", tmp_path / "together.csv"
    for path, cluster in ((apart, ""), (together, "c")):
        rows = [f'q{i},question {i},"[""p1""]",{cluster}' for i in range(40)]
        path.write_text("\n".join(["id,query,answer_ids,cluster", *rows]) + "\n")
    cells = [replace(SPEC, queries=path, limit=None) for path in (apart, together)]
    first, second, _ = told(dry_run(cells, ["a", "b"], at(tmp_path / "results")))
    assert first["queries"] == second["queries"] == "40"
    assert first["shows"] == f"{100 * smallest_difference(40):.1f} points"
    assert second["shows"] == "nothing"  # one cluster is worth one question


def test_a_budget_that_will_not_do_is_named(tmp_path: Path) -> None:
    limits = Limits(calls=7, tokens=10**9, cost=0.001)
    text = dry_run([PAID], ["a"], at(tmp_path, budget=limits))
    assert "a: budget.calls=7 will end it early (spent 0, expected" in text
    assert "a: budget.cost=0.001 will end it early" in text
    assert "budget.tokens" not in text
    unknown = replace(PAID, backbone=PluginSpec("unpriced", f"{HERE}:Unpriced"))
    text = dry_run([PAID, unknown], ["a", "b"], at(tmp_path), Limits(calls=15, cost=1.0))
    assert re.search(r"^sweep_budget.calls=15 will end it early \(spent 0, exp", text, re.MULTILINE)
    assert "b: a budget in money cannot be kept, as the price is unknown." in text
    assert "a: a budget" not in text


def test_words_that_all_names_share_stand_once(tmp_path: Path) -> None:
    names = ["limit=5 seed=0 dry_run=true", "limit=5 seed=1 dry_run=true", "limit=5 dry_run=true"]
    cells = [SPEC, replace(SPEC, seed=1), replace(SPEC, seed=2)]
    text = dry_run(cells, names, at(tmp_path))
    assert [row["cell"] for row in told(text)[:3]] == ["seed=0", "seed=1", "cell 3"]
    assert "All cells: limit=5 dry_run=true" in text.splitlines()
    assert told(dry_run([SPEC], names[:1], at(tmp_path)))[0]["cell"] == names[0]


def test_at_most_holds_for_the_run(tmp_path: Path) -> None:
    cell = replace(PAID, limit=None)
    (row,) = told(dry_run([cell], ["a"], at(tmp_path)))
    usage = run_cell(cell, at(tmp_path)).data["usage"]
    most = row["calls"].partition("at most ")[2].rstrip(")")
    assert usage["calls"] <= int(most.replace(",", ""))
    assert "no bound: set method.max_tokens" in dry_run(
        [replace(cell, seed=1)], ["a"], at(tmp_path)
    )


def test_runs_that_ask_nobody_are_passed_over(tmp_path: Path) -> None:
    """A finished BM25 run in the folder has no backbone in its run.json."""
    transport = Transport(tmp_path, progress=False)
    graph = GraphSpec("toy")
    lexical = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
    bm25 = PluginSpec("bm25", "baselines.bm25:BM25Baseline")
    ark = PluginSpec("ark", "ark.agent.method:Ark")
    run_cell(CellSpec(graph, bm25, lexical, split="all"), transport)
    text = dry_run([CellSpec(graph, ark, lexical, split="all")], ["ark"], transport)
    assert "rehearsal" in text
