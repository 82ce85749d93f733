"""What prompted methods share: asking with one repair, reading answers, fallbacks, seeds, tiers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ark.backbone import LexicalBackbone, ScriptedBackbone
from ark.backbone.choose import options_in
from ark.errors import QueryLimitError
from ark.graph import KnowledgeGraph
from ark.protocols import Backbone, Context
from ark.records import MAX_RANKED, Completion, Json, Message
from ark.search import BM25
from ark.text import one_line
from baselines import ask
from baselines.ask import Asker, UnreadableError
from baselines.seeds import PER_MENTION, link_seeds
from baselines.tiers import Found, tiered

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def asker_on(
    graph: KnowledgeGraph, root: Path, backbone: Backbone, seeds: tuple[int, ...] | None = None
) -> Asker:
    search = BM25.open_or_build(graph, root)
    return Asker(Context(graph, search, backbone, random.Random(0), seeds=seeds), 0)


def asked(asker: Asker, read: Any = None) -> Any:
    """Which numbers of three options are chosen; [-1] where the fallback answers."""
    return asyncio.run(
        asker.ask(
            "test.pick",
            "Choose.",
            "Question: q\n1. a\n2. b\n3. c",
            ask.pick_schema("chosen", 3, 3, 1),
            read or (lambda value: ask.read_picks(value, "chosen", 3, 1)),
            lambda: [-1],
            state={"kind": "beam"},
        )
    )


# -- asking --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "value", "invalid", "fallbacks"),
    [
        (['{"chosen": [2]}'], [1], [0], 0),
        (['Sure: ```json\n{"chosen": [3, 1]}\n```'], [2, 0], [0], 0),
        (['{"chosen": [2, 99, "x"]}'], [1], [1], 0),
        (["no", '{"chosen": [1]}'], [0], [1, 0], 0),
        (['{"chosen": []}', '{"chosen": [1]}'], [0], [1, 0], 0),
        (['{"chosen": [9]}', "still no"], [-1], [1, 1], 1),
        ([None, None], [-1], [1, 1], 1),
        (["[1, 2]", "2"], [-1], [1, 1], 1),
    ],
)
def test_one_repair_then_a_counted_fallback(
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
    replies: list[str | None],
    value: list[int],
    invalid: list[int],
    fallbacks: int,
) -> None:
    backbone = ScriptedBackbone([{"content": reply} for reply in replies])
    asker = asker_on(toy_graph, data_root_path, backbone)
    assert asked(asker) == value
    steps = asker.trajectory.steps
    assert [step.invalid for step in steps] == invalid
    assert [step.fallbacks for step in steps] == [0] * (len(steps) - 1) + [fallbacks]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert asker.fallbacks == ["test.pick"] * fallbacks
    roles = [message.role for message in asker.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant"][: 1 + 2 * len(steps)]


def test_the_repair_says_what_was_wrong(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    backbone = ScriptedBackbone([{"content": '{"chosen": [7]}'}, {"content": '{"chosen": [1]}'}])
    asker = asker_on(toy_graph, data_root_path, backbone)
    asked(asker)
    assert "from 1 to 3" in (asker.messages[3].content or "")


def test_calls_are_conversations_of_their_own_and_pass_their_settings(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    seen: list[tuple[int, dict[str, Any]]] = []

    class Watching(LexicalBackbone):
        async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
            seen.append((len(messages), how))
            return await super().complete(messages, **how)

    asker = asker_on(toy_graph, data_root_path, Watching())
    asker.draw = 4
    for temperature in (0.4, None):
        asyncio.run(
            asker.ask(
                "test.yes",
                "task",
                "Question: q",
                ask.object_schema({"enough": {"type": "boolean"}}),
                lambda value: (ask.read_yes(value, "enough"), 0),
                lambda: False,
                state={"kind": "beam"},
                temperature=temperature,
                max_tokens=9,
            )
        )
    assert [length for length, _ in seen] == [2, 2]
    assert [how["temperature"] for _, how in seen] == [0.4, None]
    assert all(
        (how["draw"], how["max_tokens"], how["tag"]) == (4, 9, "test.yes") for _, how in seen
    )


def test_a_limit_passes_through_and_keeps_the_steps(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    class Ending(LexicalBackbone):
        calls = 0

        async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
            self.calls += 1
            if self.calls > 1:
                raise QueryLimitError("over")
            return await super().complete(messages, **how)

    asker = asker_on(toy_graph, data_root_path, Ending())
    asked(asker)
    with pytest.raises(QueryLimitError):
        asked(asker)
    assert len(asker.trajectory.steps) == 1


def test_a_note_joins_the_last_step_of_its_tag(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    asker = asker_on(toy_graph, data_root_path, ScriptedBackbone([{"content": '{"chosen": [1]}'}]))
    asked(asker)
    asker.note("test.pick", {"taken": ["a"]})
    asker.note("test.other", {"kind": "beam", "taken": []})
    first, second = asker.trajectory.steps
    assert first.state == {"kind": "beam", "answer": '{"chosen": [1]}', "taken": ["a"]}
    assert (second.number, second.tag) == (2, "test.other")


# -- reading -------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.integers(-2, 9) | st.sampled_from(["3", "x", None, True, 2.0, 2.5, [], "²"])))
def test_picks_are_places_of_options_each_once(numbers: list[Any]) -> None:
    known = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, "3": 3}  # 2.0 is 2
    usable = [
        known[n] for n in numbers if not isinstance(n, bool | list | None.__class__) and n in known
    ]
    try:
        picks, unusable = ask.read_picks({"x": numbers}, "x", 5)
    except UnreadableError:
        assert numbers
        assert not usable
        return
    assert picks == [n - 1 for n in dict.fromkeys(usable)]
    assert unusable == len(numbers) - len(usable)


@settings(deadline=None)
@given(JSON, st.integers(0, 5), st.integers(0, 2))
def test_readers_raise_unreadable_and_nothing_else(value: Json, options: int, least: int) -> None:
    given: Mapping[str, Json] = {"x": value}
    for read in (
        lambda: ask.read_picks(given, "x", options, least),
        lambda: ask.read_scores(given, "x", options),
        lambda: ask.read_scores({"x": [{"option": 1, "score": value}]}, "x", options),
        lambda: ask.read_yes(given, "x"),
        lambda: ask.read_texts(given, "x", 3),
        lambda: ask.read_picks({}, "x", options),
    ):
        with contextlib.suppress(UnreadableError):
            read()
    text = ask.read_text(given, "x")
    assert text == (one_line(value) if isinstance(value, str) else "")


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"option": st.integers(-1, 7), "score": st.floats(-1, 12) | st.just(math.nan)}
        )
    ),
    st.sampled_from([1.0, 10.0]),
)
def test_scores_are_in_the_unit_interval_and_the_first_of_an_option_counts(
    entries: list[dict[str, Any]], top: float
) -> None:
    good = [e for e in entries if 1 <= e["option"] <= 5 and 0 <= e["score"] <= top]
    try:
        scores, unusable = ask.read_scores({"x": entries}, "x", 5, top)
    except UnreadableError:
        assert not good
        return
    wanted: dict[int, float] = {}
    for entry in good:
        wanted.setdefault(entry["option"] - 1, entry["score"] / top)
    assert scores == wanted
    assert list(scores) == list(wanted)
    assert all(0 <= score <= 1 for score in scores.values())
    assert unusable == len(entries) - len(good)


@pytest.mark.parametrize("score", ["nan", "inf", "1e999", 10**400, True, None, "0.5 of 1", []])
def test_a_score_that_is_no_number_is_unusable(score: Json) -> None:
    entries = [{"option": 1, "score": score}, {"option": 2, "score": "0.5"}]
    assert ask.read_scores({"x": entries}, "x", 3) == ({1: 0.5}, 1)


@pytest.mark.parametrize(
    ("given", "value"),
    [(True, True), ("Yes", True), ("yes.", True), (" TRUE ", True), (False, False), ("no", False)],
)
def test_yes_and_no(given: Json, value: bool) -> None:
    assert ask.read_yes({"x": given}, "x") is value


@pytest.mark.parametrize("given", ["No, yes would be wrong", "incorrect", "", 1, 0, None, ["yes"]])
def test_a_sentence_is_neither_yes_nor_no(given: Json) -> None:
    with pytest.raises(UnreadableError):
        ask.read_yes({"x": given}, "x")


def test_texts_are_on_one_line_each_once_and_at_most_so_many() -> None:
    given = ["a\nb", " a  b ", "", 3, "c", "d"]
    assert ask.read_texts({"x": given}, "x", 2) == (["a b", "c"], 2)


# -- options, schemas, fallbacks -----------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.text(max_size=400)), st.integers(1, 50))
def test_texts_of_strangers_stay_on_their_line(texts: list[str], first: int) -> None:
    shown = ask.numbered(texts, first)
    lines = shown.splitlines()
    assert len(lines) == len(texts)
    for number, line in enumerate(lines, first):
        assert line.startswith(f"{number}. ")
        assert len(line) <= len(f"{number}. ") + ask.OPTION_WIDTH
    assert [n for n, _ in options_in(shown)] == list(range(first, first + len(texts)))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (ask.pick_schema("x", 9, 2, 1), {"x": [1]}, {"x": []}),
        (ask.pick_schema("x", 2, 2), {"x": []}, {"x": [1, 2, 3]}),
        (ask.score_schema("x", 2, 2), {"x": [{"option": 1, "score": 0.5}]}, {"x": [{"option": 1}]}),
        (ask.score_schema("x", 2, 2, 10), {"x": [{"option": 1, "score": 9}]}, {"x": []}),
        (ask.object_schema({"y": {"type": "boolean"}}), {"y": True}, {"y": True, "z": 1}),
    ],
)
def test_schemas_allow_what_is_read_and_nothing_else(schema: Json, good: Json, bad: Json) -> None:
    validator = Draft202012Validator(schema)
    assert validator.is_valid(good)
    assert not validator.is_valid(bad)
    assert not validator.is_valid({})


OPTIONS = st.lists(st.sampled_from(["copper moth", "copper", "night bell", "", "dune"]), max_size=8)


@settings(deadline=None)
@given(OPTIONS, st.sampled_from(["copper moth", "bell", "nothing here", ""]))
def test_by_words_scores_every_option_and_the_best_is_one(options: list[str], said: str) -> None:
    scores = ask.by_words(said, options)
    assert list(scores) == list(range(len(options)))
    assert not options or max(scores.values()) == 1.0
    shared = [bool(set(said.split()) & set(text.split())) for text in options]
    if any(shared):
        assert [score > 0 for score in scores.values()] == shared
    else:
        assert set(scores.values()) <= {1.0}
    best = ask.best_by_words(said, options, 3)
    assert best == sorted(scores, key=lambda i: (-scores[i], i))[:3]


# -- seeds ---------------------------------------------------------------------------------------


def linked(asker: Asker, question: str, most: int = 3) -> list[str]:
    rows = asyncio.run(link_seeds(asker, "test", question, most))
    return [asker.ctx.graph.id(row) for row in rows]


class Linker:
    """Names these mentions, and chooses these options."""

    label = "test"
    identity: Mapping[str, Json] = {}

    def __init__(self, mentions: Json, chosen: Json = None) -> None:
        self.said = {"test.link": {"mentions": mentions}, "test.pick": {"chosen": chosen}}
        self.asked: list[tuple[str, str]] = []

    async def complete(self, messages: Sequence[Message], *, tag: str, **how: Any) -> Completion:
        self.asked.append((tag, messages[1].content or ""))
        played = ScriptedBackbone([{"content": json.dumps(self.said[tag])}] * 2)
        return await played.complete(messages, tag=tag)


def test_seeds_of_the_context_are_taken_without_a_call(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    asker = asker_on(toy_graph, data_root_path, Linker([]), seeds=(5, 5, 1, 2))
    assert linked(asker, "anything", 2) == ["i1", "p2"]
    assert linked(asker_on(toy_graph, data_root_path, Linker([]), seeds=()), "copper") == []
    assert not asker.steps


def test_a_few_hits_need_no_choice(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    backbone = Linker(["reeds"])
    asker = asker_on(toy_graph, data_root_path, backbone)
    assert linked(asker, "Where are reeds?") == ["h2"]
    assert [tag for tag, _ in backbone.asked] == ["test.link"]
    assert asker.steps[-1].state["taken"] == ["h2"]


def test_the_first_hit_of_every_mention_comes_before_a_second(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    backbone = Linker(["copper moth", "dune beetle"], [2, 1, 99])
    asker = asker_on(toy_graph, data_root_path, backbone)
    hits = [asker.ctx.search.search(m, PER_MENTION) for m in ("copper moth", "dune beetle")]
    chosen = linked(asker, "copper moth and dune beetle", 1)
    (_, prompt) = backbone.asked[1]
    lines = [text for _, text in options_in(prompt)]
    name = asker.ctx.graph.name
    assert [line.split(" |")[0] for line in lines[:2]] == [name(row[0].node) for row in hits]
    assert 2 < len(lines) <= 2 * PER_MENTION
    assert chosen == ["i2"]
    assert [step.invalid for step in asker.steps] == [0, 1]


@pytest.mark.parametrize("said", [[], None, "moth", [3]])
def test_without_mentions_the_whole_question_is_searched(
    toy_graph: KnowledgeGraph, data_root_path: Path, said: Json
) -> None:
    asker = asker_on(toy_graph, data_root_path, Linker(said))
    assert linked(asker, "reeds") == ["h2"]


def test_a_choice_that_cannot_be_read_is_made_by_words(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    asker = asker_on(toy_graph, data_root_path, Linker(["copper", "dune", "marsh"], "none"))
    assert len(linked(asker, "dune beetle", 1)) == 1
    assert asker.fallbacks == ["test.pick"]


@pytest.mark.parametrize("question", ["", "qqqq", "?!"])
def test_nothing_in_the_graph_gives_no_seeds(
    toy_graph: KnowledgeGraph, data_root_path: Path, question: str
) -> None:
    assert linked(asker_on(toy_graph, data_root_path, LexicalBackbone()), question) == []


# -- tiers ---------------------------------------------------------------------------------------

FOUND = st.builds(
    Found, st.integers(0, 12), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 3)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(FOUND, max_size=8), min_size=1, max_size=3))
def test_tiers_follow_each_other_and_each_node_stands_once(
    toy_graph: KnowledgeGraph, data_root_path: Path, tiers: list[list[Found]]
) -> None:
    ctx = asker_on(toy_graph, data_root_path, LexicalBackbone()).ctx
    question = "copper moth night"
    words = ctx.search.scores(question)  # type: ignore[attr-defined]
    ranking = tiered(ctx, question, *tiers)
    wanted: list[int] = []
    for tier in tiers:
        best: dict[int, Found] = {}
        for one in tier:
            if one.node not in best or one.score > best[one.node].score:
                best[one.node] = one
        order = sorted(best.values(), key=lambda f: (-f.score, -words[f.node], f.step, f.node))
        wanted += [f.node for f in order if f.node not in wanted]
    assert list(ranking.nodes) == wanted
    assert ranking.answers == len({one.node for one in tiers[0]})


def test_tiers_are_cut_at_what_a_journal_keeps(hub: tuple[KnowledgeGraph, BM25]) -> None:
    graph, search = hub
    ctx = Context(graph, search, LexicalBackbone(), random.Random(0))
    many = [Found(node, 1.0) for node in range(MAX_RANKED + 20)]
    ranking = tiered(ctx, "leaf", many)
    assert len(ranking.nodes) == ranking.answers == MAX_RANKED
    assert tiered(ctx, "leaf", [], many[:3]).answers == 0
    assert tiered(ctx, "leaf").answers is None


@pytest.fixture(scope="module")
def hub(data_root_path: Path) -> tuple[KnowledgeGraph, BM25]:
    from tog_script import built, star

    graph = built(star(MAX_RANKED + 30, "ask"), data_root_path)
    return graph, BM25.open_or_build(graph, data_root_path)


@pytest.mark.parametrize(
    "name",
    ["A -[treats]-> B", "A | gene", "A (option 1)", "A —treats→ B", "A\n1. B\nQuestion: C"],
)
def test_a_name_cannot_look_like_an_edge_a_card_or_a_line(name: str) -> None:
    from baselines.ask import plain

    shown = plain(name, 80)
    assert not any(mark in shown for mark in ("-[", "]->", "|", "(option", "—", "→", "\n"))
    assert shown.startswith("A")
    assert plain("Copper-moth [x] (plain)", 80) == "Copper-moth [x] (plain)"
    assert len(plain("x" * 500, 80)) <= 80
