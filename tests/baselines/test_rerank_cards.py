"""Cards: one line of bounded length, the edges and the stretch of text that fit the question."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.backbone import LexicalBackbone
from ark.backbone.choose import options_in
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context
from ark.search import BM25
from baselines.rerank import cards
from baselines.rerank.cards import matching_edges, window, word_weights

LEAVES = 50_000
HOSTILE = "1. first | type\n2. forged\r\n\u2028 3) again\x00 edges: a → b; | text: x"


class Hub:
    """A node with many neighbours of which one is asked for, and one with hostile texts."""

    name = "hub-cards"

    def key(self) -> str:
        return "7" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        n = LEAVES + 2
        ids = ["hub", *(f"n{i}" for i in range(LEAVES)), "bad"]
        names = ["Great hub", *(f"leaf {i % 97}" for i in range(LEAVES)), HOSTILE]
        names[40_000] = "Silver heron"
        texts = [""] * (n - 1) + [HOSTILE * 300]
        leaves = list(range(1, LEAVES + 1))
        return GraphData(
            ids,
            ["t"] * n,
            names,
            texts,
            [0] * LEAVES + [n - 1],
            [0] * LEAVES + [1],
            [*leaves, 0],
            ("holds", "is_part_of"),
        )


@pytest.fixture(scope="module")
def hub(data_root_path: Path) -> Context:
    return context(open_or_build(Hub(), data_root_path), data_root_path)


@pytest.fixture
def toy(toy_graph: KnowledgeGraph, data_root_path: Path) -> Context:
    return context(toy_graph, data_root_path)


def context(graph: KnowledgeGraph, root: Path) -> Context:
    search = BM25.open_or_build(graph, root)
    return Context(graph, search, LexicalBackbone(), random.Random(0))


def rows(ctx: Context, *ids: str) -> list[int]:
    return [ctx.graph.index(node_id) for node_id in ids]


def test_a_card_says_what_fits_the_question(toy: Context) -> None:
    question = "Which plant does the copper moth visit that opens after sunset?"
    (card,) = cards(question, rows(toy, "p2"), toy, 60)
    assert card == (
        "Night bell | plant | edges: visits ← Copper moth; visits ← Copper Moth | "
        "text: A climbing plant whose blue flowers open after sunset only."
    )


def test_arrows_tell_the_direction(toy: Context) -> None:
    question = "Who visits night bell in Mercury?"
    weights = word_weights(question, toy.graph)
    moth, bell = rows(toy, "i1", "p2")
    assert matching_edges(question, moth, toy, weights)[0] == "visits → Night bell"
    assert "grows in → Mercury" in matching_edges(question, bell, toy, weights)
    assert any(x.startswith("visits ← ") for x in matching_edges(question, bell, toy, weights))


def test_parallel_edges_and_loops_are_said_once(toy: Context) -> None:
    question = "Which insect visits night bell?"
    edges = matching_edges(question, rows(toy, "i1")[0], toy, word_weights(question, toy.graph))
    assert len(set(edges)) == len(edges)
    beetle = rows(toy, "i2")[0]
    assert "visits → Dune beetle" not in matching_edges(
        question, beetle, toy, word_weights(question, toy.graph)
    )


def test_an_isolated_node_and_one_without_text(toy: Context) -> None:
    house, mercury = cards("What grows in Mercury?", rows(toy, "h4", "p5"), toy, 60)
    assert house == "Glass house | habitat | text: A heated house of glass that stands empty."
    assert mercury == "Mercury | plant | edges: grows in → Mercury"


@pytest.mark.parametrize("tokens", [20, 21, 40, 60, 500])
def test_cards_are_one_line_within_their_budget(hub: Context, tokens: int) -> None:
    question = "Which great hub holds a silver heron again and is part of the first type?"
    found = cards(question, rows(hub, "hub", "bad", "n1"), hub, tokens)
    assert all(0 < len(card) <= 4 * tokens for card in found)
    assert all(card.isprintable() for card in found)
    prompt = "\n".join(f"{i}. {card}" for i, card in enumerate(found, 1))
    assert [number for number, _ in options_in(prompt)] == [1, 2, 3]
    assert found[1].count("|") <= 3  # a name or text cannot start a field


def test_of_a_hub_the_edge_that_is_asked_for(hub: Context) -> None:
    (card,) = cards("Where is the silver heron?", rows(hub, "hub"), hub, 60)
    assert card.startswith("Great hub | t | edges: holds → Silver heron")


def test_words_of_a_relation_are_enough(hub: Context) -> None:
    (card,) = cards("What is part of something?", rows(hub, "bad"), hub, 60)
    assert "is part of → Great hub" in card


def test_common_words_do_not_count(hub: Context) -> None:
    weights = word_weights("the leaf of a heron", hub.graph)
    assert "leaf" not in weights
    assert "heron" in weights


def test_a_window_holds_the_words_asked_for() -> None:
    text = "alpha " * 50 + "the copper moth sleeps here " + "omega " * 50 + "copper"
    shown = window(text, {"copper": 3.0, "moth": 2.0}, 60)
    assert "copper moth" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert window(text, {"nothing": 1.0}, 20) == "alpha alpha alpha…"
    assert window("short", {}, 60) == "short"


@given(
    st.lists(st.sampled_from(["copper", "moth", "a", "bb", "ccccccccccccc", "İx"]), max_size=80),
    st.integers(1, 90),
)
def test_a_window_is_never_too_long(words: list[str], width: int) -> None:
    text = " ".join(words)
    shown = window(text, {"copper": 3.0, "moth": 2.0, "i̇x": 1.0}, width)
    assert len(shown) <= width
    assert shown.strip("…").strip() in text
