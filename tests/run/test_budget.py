"""Budgets stop cleanly, count what was spent before, and can be raised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.errors import BudgetReachedError, UserError
from ark.records import Completion, Message, Usage
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.budget import Purse
from ark.run.spec import Limits

SCRIPT = [{"calls": [{"name": "finish", "arguments": {}}]}]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
ARK = PluginSpec("ark", "ark.agent.method:Ark", {"agents": 2, "max_steps": 3})
PURE = ("cell", "counts", "measures", "usage", "strata", "single_agents")


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@dataclass
class Paid:
    """A backbone whose calls cost a dollar and ten tokens; never finishes."""

    price: float | None = 1.0
    identity: ClassVar[dict[str, str]] = {"backbone": "paid"}
    label = "paid"

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        answer = Message("assistant", "thinking")
        return Completion(answer, Usage(1, 8, 2, self.price), "stop", "paid-1")


def spec(price: float | None = 1.0) -> CellSpec:
    settings = {} if price == 1.0 else {"price": price}
    paid = PluginSpec("paid", "test_budget:Paid", settings)
    return CellSpec(GraphSpec("toy"), ARK, paid, split="all", limit=4)


def transport(folder: Path, **limits: Any) -> Transport:
    return Transport(folder, concurrency=2, progress=False, budget=Limits(**limits))


def test_a_purse_refuses_at_its_limit_and_not_before() -> None:
    purse = Purse(Limits(calls=2))
    purse.check()
    purse.add(Usage(1, 5, 5, 0.1))
    purse.check()
    purse.add(Usage(1, 5, 5, 0.1))
    with pytest.raises(BudgetReachedError, match=r"budget.calls is spent \(2 of 2\)"):
        purse.check()
    over = Purse(Limits(cost=1.5))
    over.add(Usage(2, 0, 0, 2.0))
    with pytest.raises(BudgetReachedError, match=r"\$2.0000 of \$1.5"):
        over.check()
    with pytest.raises(UserError, match="price of this model is unknown"):
        Purse(Limits(cost=1.0)).add(Usage(1, 1, 1, None))
    Purse(Limits(tokens=5)).add(Usage(1, 1, 1, None))  # tokens can be kept without a price


@pytest.mark.parametrize("limits", [{"calls": 7}, {"cost": 7.0}, {"tokens": 70}])
def test_stops_raises_and_resumes_to_the_same_result(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    whole = run_cell(spec(), transport(tmp_path / "a"))
    assert whole.data["usage"]["calls"] == 4 * 2 * 3
    with pytest.raises(BudgetReachedError, match="of 4 questions done"):
        run_cell(spec(), transport(tmp_path / "b", **limits))
    folder = next((tmp_path / "b" / "runs").iterdir())
    assert not list(folder.glob("readings/*"))  # no result of half a run
    paid = (folder / "ledger.jsonl").read_text().splitlines()
    assert 7 <= len(paid) <= 8  # no more than the calls in flight
    with pytest.raises(BudgetReachedError):  # spent stays spent
        run_cell(spec(), transport(tmp_path / "b", **limits))
    assert (folder / "ledger.jsonl").read_text().splitlines() == paid
    done = run_cell(spec(), transport(tmp_path / "b"))
    for key in PURE:
        assert done.data[key] == whole.data[key]
    lost = done.data["lost"]["calls"]
    assert 0 <= lost <= 2 * 2  # two agents in flight, with at most two calls made
    assert len((folder / "ledger.jsonl").read_text().splitlines()) == 24 + lost


def test_zero_forbids_every_call(tmp_path: Path) -> None:
    with pytest.raises(BudgetReachedError, match="0 of 4 questions done"):
        run_cell(spec(), transport(tmp_path, calls=0))


def test_money_cannot_be_limited_without_a_price(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"backbone.price=\[PROMPT,COMPLETION\]"):
        run_cell(spec(None), transport(tmp_path, cost=5.0))


def test_rule_based_calls_count_too(tmp_path: Path) -> None:
    free = replace(spec(), backbone=LEXICAL)
    with pytest.raises(BudgetReachedError):
        run_cell(free, transport(tmp_path, calls=3))
    done = run_cell(free, transport(tmp_path))
    assert json.loads(done.path.read_text())["counts"]["missing"] == 0


def test_wrong_limits_are_one_line() -> None:
    with pytest.raises(UserError, match=r"budget.cost=-1"):
        Limits(cost=-1)
    with pytest.raises(UserError, match=r"budget.calls"):
        Limits(calls="many")  # type: ignore[arg-type]
