"""What a backbone without a model answers to numbered options and a schema."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ark.backbone import LexicalBackbone, RandomBackbone
from ark.backbone.choose import choose, options_in
from ark.records import Json, Message

OPTIONS = ("night bell | plant", "copper moth | insect", "north dunes | habitat", "copper | metal")
NUMBERS: Json = {"type": "array", "items": {"type": "integer"}}
SCORES: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "option": {"type": "integer"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["option", "score"],
    },
}


def prompt(question: str, options: tuple[str, ...] = OPTIONS) -> str:
    lines = [f"{n}. {text}" for n, text in enumerate(options, 1)]
    return "\n".join([f"Question: {question}", "Facts:", "- a -[b]-> c", "Options:", *lines])


def chosen(
    question: str, *, seed: int = 0, options: tuple[str, ...] = OPTIONS, **fields: Json
) -> Any:
    messages = [Message("system", "Choose."), Message("user", prompt(question, options))]
    schema = {"type": "object", "properties": fields}
    return json.loads(choose(messages, (), schema, random.Random(seed)))


def test_numbers_of_the_options_that_share_words_best_first() -> None:
    assert chosen("Where is the copper moth?", x=NUMBERS)["x"] == [2, 4]


def test_a_rare_word_counts_more_than_one_that_all_options_have() -> None:
    options = ("plant red", "plant blue", "plant red red")
    assert chosen("blue plant", options=options, x=NUMBERS)["x"][0] == 2


def test_without_a_shared_word_all_options_in_an_order_drawn_by_seed() -> None:
    orders = {tuple(chosen("nothing", seed=seed, x=NUMBERS)["x"]) for seed in range(20)}
    assert all(sorted(order) == [1, 2, 3, 4] for order in orders)
    assert len(orders) > 1
    assert chosen("nothing", seed=3, x=NUMBERS) == chosen("nothing", seed=3, x=NUMBERS)


def test_bounds_of_a_list_are_kept() -> None:
    assert len(chosen("copper moth", x={**NUMBERS, "maxItems": 1})["x"]) == 1
    assert chosen("copper moth", x={**NUMBERS, "minItems": 3})["x"][:2] == [2, 4]
    assert len(chosen("copper moth", x={**NUMBERS, "minItems": 3})["x"]) == 3


def test_objects_hold_scores_up_to_the_maximum_of_the_schema() -> None:
    found = chosen("copper moth", x=SCORES)["x"]
    assert [entry["option"] for entry in found] == [2, 4]
    assert found[0]["score"] == 1
    assert 0 < found[1]["score"] < 1
    ten = json.loads(json.dumps(SCORES).replace('"maximum": 1', '"maximum": 10'))
    assert chosen("copper moth", x=ten)["x"][0]["score"] == 10
    assert {entry["score"] for entry in chosen("nothing", x=SCORES)["x"]} == {1}


@pytest.mark.parametrize(
    ("question", "enough"),
    [("copper moth", True), ("Which insect is a copper moth?", True), ("copper moth fog", False)],
)
def test_a_yes_where_the_options_hold_what_the_question_says(question: str, enough: bool) -> None:
    assert chosen(question, x={"type": "boolean"})["x"] is enough


def test_no_options_are_no_yes() -> None:
    found = chosen("copper moth", options=(), x={"type": "boolean"}, y=NUMBERS, z=SCORES)
    assert found == {"x": False, "y": [], "z": []}


def test_texts_are_stretches_of_the_question() -> None:
    texts: Json = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    found = chosen("Which plant does the copper moth visit?", x=texts)["x"]
    assert 0 < len(found) <= 2
    assert all(text in "which plant does the copper moth visit" for text in found)
    assert chosen("a question", x={"type": "string"})["x"] == "a question"


def test_only_the_last_user_message_is_read() -> None:
    talk = [
        Message("system", "1. copper moth"),
        Message("user", prompt("copper", ("copper", "b"))),
        Message("assistant", "?"),
        Message("user", prompt("copper", ("b", "copper"))),
    ]
    schema = {"properties": {"x": NUMBERS}}
    assert json.loads(choose(talk, (), schema, random.Random(0)))["x"] == [2]


def test_lists_of_facts_are_no_options() -> None:
    assert options_in("- a\n* b\n1: c\n1.d\n 2. e\n3) f\nx 4. g") == [(2, "e"), (3, "f")]


def schemas() -> st.SearchStrategy[dict[str, Json]]:
    bounded = st.tuples(st.sampled_from([NUMBERS, SCORES]), st.integers(1, 6)).map(
        lambda pair: {**pair[0], "maxItems": pair[1]}
    )
    return st.dictionaries(
        st.sampled_from("abcd"), bounded | st.just({"type": "boolean"}), min_size=1
    )


@settings(deadline=None)
@given(
    st.text(max_size=60),
    st.lists(st.text(max_size=30), max_size=6),
    schemas(),
    st.sampled_from([LexicalBackbone, RandomBackbone]),
)
def test_answers_fit_the_schema_whatever_the_prompt_says(
    question: str,
    options: list[str],
    fields: Mapping[str, Json],
    kind: type[LexicalBackbone] | type[RandomBackbone],
) -> None:
    schema = {"type": "object", "properties": dict(fields), "required": list(fields)}
    talk = [Message("user", prompt(question, tuple(options)))]

    def answer() -> str:
        done = asyncio.run(kind(seed=1).complete(talk, tag="any.tag", schema=schema))
        return done.message.content or ""

    value = json.loads(answer())
    Draft202012Validator(schema).validate(value)
    assert answer() == answer()
    offered = {number for number, _ in options_in(talk[0].content or "")}
    for field in value.values():
        for entry in field if isinstance(field, list) else []:
            assert (entry["option"] if isinstance(entry, dict) else entry) in offered
