"""The price table: complete, dated, and silent about what it does not know."""

from __future__ import annotations

import datetime
import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.backbone.litellm import LiteLLMBackbone
from ark.backbone.prices import Price, find_price, own_price, price_table

NAMED = [
    *("openai/gpt-4.1", "openai/gpt-4.1-2025-04-14", "openai/gpt-4.1-mini", "openai/gpt-4.1-nano"),
    *("openai/gpt-4o", "openai/gpt-4o-2024-08-06", "openai/gpt-4o-mini-2024-07-18"),
    *("openai/gpt-5-2025-08-07", "openai/gpt-5-mini", "anthropic/claude-sonnet-4-5-20250929"),
    *("anthropic/claude-haiku-4-5-20251001", "gemini/gemini-2.5-pro", "gemini/gemini-2.5-flash"),
    "openai/text-embedding-3-large",
]
HEADER = "model,prompt,cached_prompt,cache_write,completion,longest_prompt,date,source\n"
amounts = st.integers(0, 10**7)
rates = st.floats(0, 1000)


@pytest.mark.parametrize("model", NAMED)
def test_models_of_the_paper_and_the_presets_have_a_price(model: str) -> None:
    assert find_price(model) is not None


def test_every_row_is_dated_sourced_and_never_free() -> None:
    for model, price in price_table().items():
        assert datetime.date.fromisoformat(price.date) <= datetime.date(2026, 11, 30), model
        assert price.source
        assert price.prompt > 0
        assert price.completion > 0 or "embedding" in model, model
        assert price.cached is None or 0 < price.cached < price.prompt, model
        assert price.written is None or price.written > price.prompt, model


def test_the_rows_agree_with_the_list_that_they_name_as_their_source() -> None:
    found = find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    theirs = json.loads(path.read_text(encoding="utf-8"))
    for model, price in price_table().items():
        entry = theirs.get(model) or theirs[model.partition("/")[2]]
        for ours, key in (
            (price.prompt, "input_cost_per_token"),
            (price.completion, "output_cost_per_token"),
            (price.cached, "cache_read_input_token_cost"),
            (price.written, "cache_creation_input_token_cost"),
        ):
            assert (ours or 0) == pytest.approx((entry.get(key) or 0) * 1e6), (model, key)


@pytest.mark.parametrize(
    "model",
    ["openai/nobody-knows-it", "azure/gpt-4.1", "gpt-4.1", "openrouter/openai/gpt-4.1", "", "x/"],
)
def test_what_is_not_in_the_table_has_no_price(model: str) -> None:
    assert find_price(model) is None


def test_parameters_that_choose_another_price_make_it_unknown() -> None:
    assert find_price("openai/gpt-5", {"service_tier": "flex"}) is None
    assert find_price("anthropic/claude-opus-5-5", {"speed": "fast"}) is None
    assert find_price("openai/gpt-5", {"service_tier": "default", "reasoning_effort": "low"})


def test_a_call_is_priced_by_its_parts() -> None:
    price = Price(2.0, 8.0, cached=0.5, written=2.5)
    assert price.cost(1_000_000, 0) == 2.0
    assert price.cost(0, 1_000_000) == 8.0
    assert price.cost(1000, 10, cached=600, written=100) == pytest.approx(
        (300 * 2.0 + 600 * 0.5 + 100 * 2.5 + 10 * 8.0) / 1e6
    )
    plain = own_price([2, 8])
    assert plain.cost(1000, 10, cached=600, written=100) == plain.cost(1000, 10)


def test_longer_prompts_than_the_price_holds_for_are_unknown() -> None:
    price = Price(2.0, 8.0, longest_prompt=1000)
    assert price.cost_of_call(1000, 1) is not None
    assert price.cost_of_call(1001, 1) is None


@given(rates, rates, rates, amounts, amounts, amounts, amounts)
def test_a_discount_never_costs_more_and_nothing_is_counted_twice(
    prompt: float, share: float, out: float, n: int, cached: int, written: int, completion: int
) -> None:
    dear = Price(prompt, out)
    cheap = Price(prompt, out, cached=prompt * share / 1000)
    cost = cheap.cost(n, completion, cached=cached, written=written)
    assert 0 <= cost <= dear.cost(n, completion) * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize(
    "row",
    [
        "a/b,0,,,1,,2026-11-30,x",  # lists of others write 0 for unknown
        "a/b,-1,,,1,,2026-11-30,x",
        "a/b,nan,,,1,,2026-11-30,x",
        "a/b,1,,,inf,,2026-11-30,x",
        "a/b,1,,,1,,,x",
        "a/b,1,,,1,,2026-11-30,",
        "a/b,1,,,1,,2026-11-30,x\na/b,1,,,1,,2026-11-30,x",
    ],
)
def test_a_wrong_row_is_refused(tmp_path: Path, row: str) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(HEADER + row + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a/b"):
        price_table(path)


def test_the_adapter_looks_into_the_table_only() -> None:
    assert LiteLLMBackbone("gpt-4.1").price == find_price("openai/gpt-4.1")
    assert LiteLLMBackbone("openai/gpt-4.1").price == find_price("openai/gpt-4.1")
    # litellm's own list has a price for this one.
    assert LiteLLMBackbone("openai/gpt-3.5-turbo").price is None
    own_server = LiteLLMBackbone("openai/gpt-4.1", api_base="http://127.0.0.1:9/v1")
    assert own_server.price is None


def test_the_users_price_goes_first_and_is_not_identity() -> None:
    plain, priced = LiteLLMBackbone("openai/gpt-4.1"), LiteLLMBackbone("gpt-4.1", price=[1, 2])
    assert priced.price == own_price([1, 2])
    assert {**priced.identity, "model": ""} == {**plain.identity, "model": ""}
    free = LiteLLMBackbone("openai/x", api_base="http://127.0.0.1:9/v1", price=[0, 0])
    assert free.price is not None
    assert free.price.cost(10, 10) == 0.0
