"""``string_match``: which names are found, what is next to them, and what stands in."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build
from ark.protocols import Context
from ark.records import Attempt
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.search import BM25
from ark.text import tokens
from baselines.names import NameIndex
from baselines.string_match import StringMatch

NAMES = ("Marsh", "Marsh fever", "fever", "old marsh", "MET", "a", "Ωmega Straße", "!!", "marsh")


Rank = Callable[..., tuple[list[str], str, int]]
"""Ids for a question, what they are, and whether that is a fallback."""


@dataclass(frozen=True)
class Names:
    """One node a name; the fourth has two aliases; a chain of edges."""

    name: str = "names"

    def key(self) -> str:
        return "3" * 64

    def provenance(self) -> Provenance:
        return Provenance("test", "1", "MIT", "", "")

    def read(self) -> GraphData:
        n = len(NAMES)
        aliases = [("Fen", "fen-land") if i == 3 else () for i in range(n)]
        ids = [f"n{i}" for i in range(n)]
        chain = list(range(n - 1))
        return GraphData(
            ids,
            ["t"] * n,
            NAMES,
            [""] * n,
            chain,
            [0] * (n - 1),
            [i + 1 for i in chain],
            ("r",),
            aliases,
        )


@pytest.fixture(scope="module")
def index(data_root_path: Path) -> NameIndex:
    return NameIndex(open_or_build(Names(), data_root_path))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Is MARSH FEVER old?", {"marsh fever": [1]}),
        ("marsh fever and the marsh", {"marsh fever": [1], "marsh": [0, 8]}),
        ("old marsh fever", {"old marsh": [3], "marsh fever": [1]}),  # they overlap, none is inside
        ("marshfever, oldmarsh", {}),
        ("from fen to fen-land", {"fen land": [3], "fen": [3]}),
        ("a met", {"a": [5], "met": [4]}),
        ("ωMEGA strasse", {}),
        ("the ωMEGA straße", {"ωmega straße": [6]}),
        ("!!", {}),
        ("", {}),
    ],
)
def test_names_are_runs_of_whole_words(
    index: NameIndex, text: str, wanted: dict[str, list[int]]
) -> None:
    found = index.find(tokens(text))
    assert {" ".join(n.words): n.nodes.tolist() for n in found} == wanted
    assert [len(n.words) for n in found] == sorted((len(n.words) for n in found), reverse=True)


@settings(max_examples=200)
@given(st.lists(st.sampled_from("old marsh fever met fen land a the ωmega straße".split())))
def test_find_is_every_span_that_is_a_name_without_the_nested(words: list[str]) -> None:
    known = {tuple(tokens(n)) for n in (*NAMES, "Fen", "fen-land")}
    n = len(words)
    spans = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n + 1)
        if tuple(words[i:j]) in known and any(words[i:j])
    ]
    kept = [s for s in spans if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in spans)]
    found = INDEX[0].find(words)
    assert {n.words for n in found} == {tuple(words[i:j]) for i, j in kept}
    assert len(found) == len({n.words for n in found})


INDEX: list[NameIndex] = []


@pytest.fixture(autouse=True)
def _index(index: NameIndex) -> None:
    INDEX[:] = [index]  # hypothesis takes no fixtures


def ask(graph: KnowledgeGraph, root: Path, question: str, **how: int) -> Attempt:
    search = BM25.open_or_build(graph, root)
    context = Context(graph, search, LexicalBackbone(), random.Random(0))
    return asyncio.run(StringMatch(**how).attempt(question, context, 0))


@pytest.fixture
def rank(toy_graph: KnowledgeGraph, data_root_path: Path) -> Rank:
    def ranked(question: str, **how: int) -> tuple[list[str], str, int]:
        attempt = ask(toy_graph, data_root_path, question, **how)
        (step,) = attempt.trajectory.steps
        ids = [toy_graph.id(i) for i in attempt.ranking.nodes]
        return ids, step.state["source"], step.fallbacks

    return ranked


def test_nodes_next_to_most_names_come_first(rank: Rank) -> None:
    # Silverleaf: h1 h3 i3. Night bell: h3 i1 i4. Marsh candle: h2 i1 i3.
    found, source, fallbacks = rank("Silverleaf, Night bell and Marsh candle")
    assert set(found[:3]) == {"h3", "i1", "i3"}
    assert set(found[3:]) == {"h1", "h2", "i4"}
    assert (source, fallbacks) == ("neighbors", 0)


def test_ties_go_by_the_search_and_then_by_node_number(rank: Rank) -> None:
    assert rank("silverleaf")[0] == ["i3", "h1", "h3"]  # none holds the word
    assert rank("silverleaf where a statue stands at the gate")[0][0] == "h3"


def test_nodes_of_one_name_count_as_one(rank: Rank) -> None:
    # Copper moth is i1 and i4, both next to Night bell (p2); i1 is next to Marsh candle (p4).
    found, _, _ = rank("copper moth")
    assert set(found) == {"p2", "p4", "h3"}
    assert "i1" not in found
    both, _, _ = rank("copper moth and ribbon fly")
    assert both[0] == "p4"  # next to both names; p2 is next to one, though to two of its nodes


def test_an_alias_is_a_name(rank: Rank) -> None:
    assert set(rank("who visits the moonbell")[0]) == {"h3", "i1", "i4"}


def test_named_nodes_stand_in_where_nothing_is_next_to_them(rank: Rank) -> None:
    assert rank("Glass house") == (["h4"], "named", 1)


def test_the_search_stands_in_where_nothing_is_named(
    rank: Rank,
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
) -> None:
    hits = BM25.open_or_build(toy_graph, data_root_path).search("blue flowers at sunset", 100)
    found = [toy_graph.id(h.node) for h in hits]
    assert found
    assert rank("blue flowers at sunset") == (found, "search", 1)
    assert rank("") == ([], "search", 1)
    assert rank("silverleaf", min_characters=11)[1] == "search"
    assert rank("silverleaf", min_characters=10)[1] == "neighbors"


def test_stand_ins_are_counted_in_the_result(
    tmp_path: Path, data_root_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    questions = tmp_path / "queries.csv"
    questions.write_text(
        'id,query,answer_ids\nq1,Who visits Silverleaf?,"[""i3""]"\n'
        'q2,What has copper wings?,"[""i1""]"\nq3,Glass house,"[""h4""]"\n'
    )
    method = PluginSpec("string_match", "baselines.string_match:StringMatch")
    lexical = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
    spec = CellSpec(GraphSpec("toy"), method, lexical, split="all", queries=questions)
    done = run_cell(spec, Transport(results_dir=tmp_path, progress=False))
    used = json.loads(done.path.read_text())["usage"]
    assert used["fallbacks"] == used["by_tag"]["string_match"]["fallbacks"] == 2
    assert used["calls"] == 0


def test_settings_are_checked() -> None:
    with pytest.raises(UserError, match=r"method\.min_characters=0"):
        StringMatch(min_characters=0)
