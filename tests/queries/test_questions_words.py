"""Names inside sentences, describing words, and the wording packs themselves."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ark.graph import KnowledgeGraph
from ark.program import Executor
from ark.program.words import split_words
from ark.queries.compose import apportion
from ark.queries.describe import Describer, holds, shares_run, vague_words
from ark.queries.mention import Namer, wording_of
from ark.queries.names import NameBook
from ark.queries.wording import Wording
from ark.queries.wording_cwe import ALL_TEMPLATES as CWE_TEMPLATES
from ark.queries.wording_cwe import CWE
from ark.queries.wording_hpo import ALL_TEMPLATES, HPO
from ark.queries.wording_toy import TOY
from ark.records import Mention, Node, Query
from ark.text import tokens


def test_names_that_stand_for_one_node_only(toy_graph: KnowledgeGraph) -> None:
    book = NameBook(toy_graph)
    named = {toy_graph.id(i) for i in range(toy_graph.n_nodes) if book.may_be_named(i)}
    # "Mercury" is a plant and a garden, "Copper moth" two insects but for case.
    assert named == {"p1", "p2", "p3", "p4", "i2", "i3", "h1", "h2", "h4"}


class Wild:
    """A graph of three nodes with what ``NameBook`` reads; texts tell how words are written."""

    n_nodes = 3
    _nodes = (
        Node(0, "a", "thing", "Odd Thing", "The odd blob is a blob.", ("Blob", "Clump, odd")),
        Node(1, "b", "thing", "Stack overflow", "A stack, the stack; see Stack here."),
        Node(2, "c", "stage", "Build and Test", "", ("'open",)),
    )

    def node(self, i: int) -> Node:
        return self._nodes[i]

    def id(self, i: int) -> str:
        return self._nodes[i].id

    def name(self, i: int) -> str:
        return self._nodes[i].name

    def type(self, i: int) -> str:
        return self._nodes[i].type

    def synonyms(self) -> dict[str, tuple[str, ...]]:
        return {"a": ("Blob", "Clump, odd"), "c": ("'open",)}

    def held_out(self) -> dict[str, tuple[str, ...]]:
        return {"a": ("Lump",), "b": ("Pile overrun",)}


def test_ways_to_name_a_node() -> None:
    book = NameBook(Wild(), titles=frozenset({"thing"}), small=frozenset({"stage"}))  # type: ignore[arg-type]
    assert book.ways(0) == {
        "name": ("Odd Thing",),
        "synonym in graph": ("Blob",),  # the other has a comma
        "held-out synonym": ("Lump",),
    }
    assert book.ways(1) == {"name": ("Stack overflow",), "held-out synonym": ("Pile overrun",)}
    assert book.ways(2) == {"name": ("Build and Test",)}  # a quotation mark is left open
    assert book.in_sentence(0) == "Odd Thing"
    assert book.in_sentence(0, "Blob") == "blob"
    assert book.in_sentence(1) == "stack overflow"
    assert book.in_sentence(2) == "build and test"


def test_every_wording_gets_the_same_share_of_what_allows_it() -> None:
    book = NameBook(Wild())  # type: ignore[arg-type]
    namer = Namer(book, random.Random(0))
    for _ in range(40):
        for nodes in ([0, 1], [2], [0]):
            found = namer.choose(nodes, "test")
            assert [wording for _, wording in namer.choose(nodes, "val")] != []  # is not kept
            namer.note("test", zip(nodes, (wording for _, wording in found), strict=True))
    counts = {wording: n for (split, wording), n in namer.used.items() if split == "test"}
    assert counts == {
        "name": 40,
        "synonym in graph": 40,
        "held-out synonym": 40,
        "name, no synonym": 40,
    }
    assert {split for split, _ in namer.used} == {"test"}


@pytest.mark.parametrize(
    ("wordings", "told"),
    [
        ((), None),
        (("name", "name"), "name"),
        (("name", "synonym in graph"), "synonym in graph"),
        (("held-out synonym", "synonym in graph", "name"), "held-out synonym"),
    ],
)
def test_the_hardest_wording_tells(wordings: tuple[str, ...], told: str | None) -> None:
    mentions = tuple(Mention("a", "x", wording) for wording in wordings)
    assert wording_of(Query("q", "?", ("b",), mentions=mentions)) == told


def test_no_rule_or_prompt_of_a_method_shares_a_run_with_the_templates() -> None:
    """As ``tests/backbone`` asks of the pack for ``hpo``."""
    sources = Path(__file__).resolve().parents[2] / "ark"
    runs = {
        tuple(words[k : k + 4])
        for template in CWE_TEMPLATES
        for words in [tokens(re.sub(r"[{}]", " ", template))]
        for k in range(len(words) - 3)
    }
    assert len(runs) > 200
    files = [*(sources / "backbone").glob("*.py"), *(sources / "agent").glob("**/*.jinja")]
    assert len(files) > 5
    for file in files:
        words = tokens(file.read_text(encoding="utf-8"))
        shared = {tuple(words[k : k + 4]) for k in range(len(words) - 3)} & runs
        assert not shared, f"{file.name} shares {shared}"


def test_hpo_names_in_sentences(hpo_graph: KnowledgeGraph) -> None:
    book = NameBook(hpo_graph, HPO.common)
    spelled = {
        "HP:0001250": "seizure",
        "HP:0003487": "Babinski sign",
        "HP:0001305": "Dandy-Walker malformation",
        "HP:0000007": "autosomal recessive inheritance",
        "HP:0001417": "X-linked inheritance",
        "OMIM:612313": "Glass syndrome",
        "NCBIGene:10": "NAT2",
    }
    assert {i: book.in_sentence(hpo_graph.index(i)) for i in spelled} == spelled
    twins = [i for i in range(hpo_graph.n_nodes) if hpo_graph.canonical(i) != i]
    assert len(twins) > 500
    assert not any(book.may_be_named(i) for i in twins)
    assert not any(book.may_be_named(hpo_graph.canonical(i)) for i in twins)


def test_describing_words(hpo_graph: KnowledgeGraph) -> None:
    describer = Describer(hpo_graph, Executor(hpo_graph).words)
    described = 0
    for i in hpo_graph.of_type("phenotype").tolist()[::50]:
        words = describer.candidates(i)
        node = hpo_graph.node(i)
        named = {w[:5] for name in (node.name, *node.aliases) for w in split_words(name)}
        assert set(words) <= set(split_words(node.text)) - vague_words()
        assert named.isdisjoint(w[:5] for w in words)
        assert len({w[:5] for w in words}) == len(words)
        described += len(words) >= 2
    assert described > 50


def test_holds_whole_words_only() -> None:
    assert holds("Which sand-dunes are dry?", "Sand dunes")
    assert not holds("Which sand dunes are dry?", "and dunes")


@pytest.mark.parametrize(
    ("question", "shares"),
    [
        ("Which has a low, SHRUB with grey?", True),
        ("Which has a low shrub or grey leaves?", False),
        ("low shrub", False),
    ],
)
def test_runs_of_four_words(question: str, shares: bool) -> None:
    assert shares_run(question, "A low shrub with grey leaves") is shares


@pytest.mark.parametrize("wording", [HPO, CWE, TOY], ids=lambda w: w.graph)
def test_packs_fill_every_slot(wording: Wording) -> None:
    def slots(text: str) -> list[str]:
        return sorted(set(re.findall(r"\{(\w+)\}", text)))

    def numbers(count: int) -> list[str]:
        return [str(k) for k in range(count)]

    for pattern in wording.patterns:
        for clause in pattern.clauses:
            assert len(set(clause.phrases)) == len(clause.phrases) > 0
            for phrase in clause.phrases:
                assert slots(phrase) == numbers(clause.leaves()), phrase
        total = sum(clause.leaves() for clause in pattern.clauses)
        for sentence in pattern.sentences:
            assert slots(sentence.replace("{nouns}", "")) == numbers(total), sentence
        both = sum(clause.leaves() for clause in pattern.clauses[:2])
        for phrase in pattern.together:
            assert slots(phrase) == numbers(both), phrase
        assert 1 <= len(pattern.clauses) <= 3
        assert 1 <= pattern.hops() <= 2
    assert len({p.name for p in wording.patterns}) == len(wording.patterns)
    assert {p.answer for p in wording.patterns} == set(wording.shares) == set(wording.nouns)
    assert all(slots(frame) == ["nouns", "what"] for frame in wording.frames)
    assert all(slots(text) == ["0", "1"] for text in wording.pairs)
    assert all(slots(text) == ["0", "1", "2"] for text in wording.triples)


@pytest.mark.parametrize("wording", [HPO, CWE], ids=lambda w: w.graph)
def test_wording_varies(wording: Wording) -> None:
    for pattern in wording.patterns:
        ways = len(wording.frames) * min(len(c.phrases) for c in pattern.clauses)
        assert ways + len(pattern.sentences) >= 3 * 2


def test_templates_are_complete() -> None:
    assert len(CWE_TEMPLATES) == len(set(CWE_TEMPLATES)) > 1000
    assert 'Which flaws belong to the category "{0}"?' in CWE_TEMPLATES
    assert "Which diseases show {0}?" in ALL_TEMPLATES
    assert "A patient has {0} and {1}. Which conditions fit?" in ALL_TEMPLATES
    assert len(ALL_TEMPLATES) == len(set(ALL_TEMPLATES)) > 1000


def test_apportion() -> None:
    assert apportion(10, [1, 1, 1]) == [4, 3, 3]
    assert apportion(1500, [3, 1, 2]) == [750, 250, 500]
    assert apportion(0, [2, 1]) == [0, 0]
