"""What every composed set must fulfil, on all graphs that have a wording pack."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ark.errors import ArkError, UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.program import Call, Constant, End, Executor, Program, parse
from ark.program.syntax import calls
from ark.program.words import split_words
from ark.queries import (
    WORDINGS,
    cache,
    check,
    compose_questions,
    load_queries,
    questions_folder,
    questions_for,
    questions_hash,
    wording_for,
    wording_of,
)
from ark.queries.compose import MAX_ANSWERS, compose
from ark.queries.describe import holds, shares_run
from ark.queries.names import NameBook
from ark.queries.wording_toy import TOY
from ark.records import Query
from ark.search.documents import document
from ark.text import tokens

GRAPHS = ("toy", "hpo", "cwe")


@pytest.fixture(scope="module", params=GRAPHS)
def composed(
    request: pytest.FixtureRequest, data_root_path: Path
) -> tuple[KnowledgeGraph, list[Query]]:
    graph: KnowledgeGraph = request.getfixturevalue(f"{request.param}_graph")
    return graph, questions_for(graph, request.param, data_root_path)


Composed = tuple[KnowledgeGraph, list[Query]]


def sample(queries: list[Query], n: int) -> list[Query]:
    return random.Random(1).sample(queries, min(n, len(queries)))


def program_of(query: Query) -> Program:
    assert query.program is not None
    return parse(query.program)


def test_gold_is_what_a_separate_checker_finds(composed: Composed) -> None:
    graph, queries = composed
    assert check(sample(queries, 300), graph) == []


def test_one_to_twenty_answers_none_of_them_named(composed: Composed) -> None:
    graph, queries = composed
    for query in queries:
        distinct = {graph.canonical(graph.index(i)) for i in query.answer_ids}
        assert 1 <= len(distinct) <= MAX_ANSWERS
        assert not set(query.answer_ids) & {m.node_id for m in query.mentions}
        assert [graph.index(i) for i in query.answer_ids] == sorted(
            map(graph.index, query.answer_ids)
        )


def test_no_anchor_in_two_splits(composed: Composed) -> None:
    _, queries = composed
    where: dict[str, set[str]] = {}
    for query in queries:
        split = query.split.removesuffix("-0.1")
        assert split in ("train", "val", "test")
        assert query.cluster in query.anchor_ids
        for anchor in query.anchor_ids:
            where.setdefault(anchor, set()).add(split)
    assert {len(splits) for splits in where.values()} == {1}


def test_cluster_is_the_most_specific_anchor(composed: Composed) -> None:
    graph, queries = composed
    for query in queries:
        degrees = {i: graph.degree(graph.index(i)) for i in query.anchor_ids}
        assert degrees[query.cluster] == min(degrees.values())


def test_mentions_name_one_node_and_stand_in_the_text(composed: Composed) -> None:
    graph, queries = composed
    held_out = graph.held_out()
    holders: Counter[str] = Counter()
    for i in range(graph.n_nodes):
        node = graph.node(i)
        names = (node.name, *node.aliases, *held_out.get(node.id, ()))
        holders.update({n.casefold() for n in names})
    for query in queries:
        for mention in query.mentions:
            node = graph.node(graph.index(mention.node_id))
            names = {
                "name": (node.name,),
                "synonym in graph": node.aliases,
                "held-out synonym": held_out.get(node.id, ()),
            }[mention.wording]
            assert mention.text in query.text
            assert mention.text.casefold() in {name.casefold() for name in names}
            assert holders[mention.text.casefold()] == 1
            assert mention.node_id in query.anchor_ids
            assert len(mention.text) >= 3
            assert not mention.text.isdigit()


def test_no_document_holds_the_held_out_synonym_of_a_mention(composed: Composed) -> None:
    graph, queries = composed
    mentions = [m for q in queries for m in q.mentions if m.wording == "held-out synonym"]
    for mention in mentions:
        i = graph.index(mention.node_id)
        wanted = f" {' '.join(tokens(mention.text))} "
        for shown in (graph.name(i), *graph.aliases(i), graph.text(i), document(graph, i)):
            assert wanted not in f" {' '.join(tokens(shown))} "
    assert len(mentions) > 100 or graph.n_nodes < 100


def test_a_third_of_the_mentions_each_where_there_is_a_synonym(
    composed: Composed, data_root_path: Path
) -> None:
    graph, queries = composed
    name = queries[0].id.split("-")[0]
    folder = questions_folder(graph, name, data_root_path)
    meta = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    book = NameBook(graph)
    told: dict[str, Counter[str]] = {}
    for query in queries:
        for mention in query.mentions:
            ways = book.ways(graph.index(mention.node_id))
            kind = mention.wording if len(ways) > 1 else "name, no synonym"
            for part in (query.split.removesuffix("-0.1"), "all"):
                told.setdefault(part, Counter())[kind] += 1
    assert meta["mentions"] == told
    asked = Counter(wording_of(q) or "no mention" for q in queries)
    assert meta["wordings"]["all"] == asked
    if name != "toy":
        for counts in told.values():
            shares = [counts[wording] for wording in WORDINGS]
            assert all(0.30 <= share / sum(shares) <= 0.37 for share in shares)
            assert min(shares) >= 15


def test_ids_texts_and_programs_are_distinct(composed: Composed) -> None:
    _, queries = composed
    for field in ("id", "text", "program"):
        assert len({getattr(q, field) for q in queries}) == len(queries)
    assert [q.id for q in queries] == sorted(q.id for q in queries)
    for query in queries:
        assert "{" not in query.text
        assert query.text[0].isupper()
        assert str(program_of(query)) == query.program


def test_textual_conditions_are_described_not_quoted(composed: Composed) -> None:
    graph, queries = composed
    seen = 0
    for query in queries:
        conditions = [c for c in calls(program_of(query).end.value) if c.function == "text"]
        assert query.textual is bool(conditions)
        named = {m.node_id for m in query.mentions}
        seeds = [graph.node(graph.index(i)) for i in query.anchor_ids if i not in named]
        for condition in conditions:
            words = [c.value for c in condition.arguments[1:] if isinstance(c, Constant)]
            assert 2 <= len(words) <= 3
            assert all(str(word) in query.text for word in words)
        for seed in seeds:  # a described anchor: some condition was taken from its text
            seen += 1
            texts = [
                [str(a.value) for a in c.arguments[1:] if isinstance(a, Constant)]
                for c in conditions
            ]
            words = set(split_words(seed.text))
            assert any(words.issuperset(t) for t in texts)
            assert not holds(query.text, seed.name)
            assert not shares_run(query.text, seed.text)
        assert seeds or named or conditions
    assert seen > 0


def test_no_single_clause_has_the_gold(composed: Composed) -> None:
    graph, queries = composed
    executor = Executor(graph)
    looked = 0
    for query in sample(queries, 300):
        whole = Call("type", (Constant(query.answer_type or ""),))
        top = program_of(query).end.value
        alone: list[Call] = []
        while isinstance(top, Call) and top.function == "text":
            alone.append(Call("text", (whole, *top.arguments[1:])))
            top = top.arguments[0]  # type: ignore[assignment]
        assert isinstance(top, Call)
        parts = top.arguments if top.function == "intersect" else (top,)
        alone += [Call("intersect", (whole, part)) for part in parts if part != whole]
        if len(alone) > 1:
            looked += 1
            gold = [graph.index(i) for i in query.answer_ids]
            for clause in alone:
                found = executor.run(Program((), End(clause)))
                assert not np.array_equal(found, gold), query.program
    assert looked > 0 or len(queries) < 100  # the toy graph has single clauses only


def test_committed_hashes_belong_to_this_version(composed: Composed) -> None:
    graph, queries = composed
    name = queries[0].id.split("-")[0]
    wanted = cache.expected()[name]
    assert wanted["content_hash"] == graph.content_hash
    assert wanted["version"] == cache.version(wording_for(name))
    assert wanted["seed"] == 0
    assert wanted["sha256"] == questions_hash(queries)


def test_hpo_shares(hpo_graph: KnowledgeGraph, data_root_path: Path) -> None:
    queries = questions_for(hpo_graph, "hpo", data_root_path)
    assert len(queries) == 1500
    assert Counter(q.split for q in queries) == {
        "train": 750, "val": 250, "test": 450, "test-0.1": 50,
    }  # fmt: skip
    types = Counter(q.answer_type for q in queries)
    assert 0.30 <= types["phenotype"] / 1500 <= 0.37
    assert set(types) == {"phenotype", "disease", "gene", "inheritance"}
    assert 0.40 <= sum(bool(q.textual) for q in queries) / 1500 <= 0.50
    assert 0.35 <= sum(q.hops == 2 for q in queries) / 1500 <= 0.55
    uses = Counter(anchor for q in queries for anchor in q.anchor_ids)
    generic = {"inheritance", "onset and course", "medical history"}
    usual = {a: n for a, n in uses.items() if hpo_graph.type(hpo_graph.index(a)) not in generic}
    assert max(usual.values()) <= 3
    assert len({q.cluster for q in queries}) > 1000
    # Any beginning of the test split is mixed: limit=50 must not be one kind of question.
    first = [q for q in queries if q.split.startswith("test")][:50]
    assert len({(q.answer_type, q.hops, q.textual) for q in first}) >= 8


def test_cwe_shares(cwe_graph: KnowledgeGraph, data_root_path: Path) -> None:
    queries = questions_for(cwe_graph, "cwe", data_root_path)
    assert len(queries) == 1500
    types = Counter(q.answer_type for q in queries)
    assert types["weakness"] == 900
    assert set(types) == {"weakness", "vulnerability", "category", "impact", "detection method"}
    assert 0.70 <= sum(bool(q.textual) for q in queries) / 1500 <= 0.80
    # A number that finds its node by itself is no anchor, named or described.
    anchors = {i for q in queries for i in q.anchor_ids}
    assert not [i for i in anchors if cwe_graph.type(cwe_graph.index(i)) == "vulnerability"]
    assert not [q for q in queries if re.search(r"(?:CVE|CWE)-?\d", q.text)]
    assert len({q.cluster for q in queries}) > 600
    first = [q for q in queries if q.split.startswith("test")][:50]
    assert len({(q.answer_type, q.hops, q.textual) for q in first}) >= 8


def test_the_page_on_questions_tells_these_shares(
    hpo_graph: KnowledgeGraph, cwe_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    told = []
    for name, graph in (("hpo", hpo_graph), ("cwe", cwe_graph)):
        questions_for(graph, name, data_root_path)
        folder = questions_folder(graph, name, data_root_path)
        meta = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        told += [(meta["mentions"][part], meta["wordings"][part]) for part in ("all", "test")]
    page = (Path(__file__).resolve().parents[2] / "docs" / "questions.md").read_text("utf-8")
    for at, row, key in (
        (0, "of nodes with a synonym: name", "name"),
        (0, "synonym in graph", "synonym in graph"),
        (0, "held-out synonym", "held-out synonym"),
        (0, "of nodes without: name", "name, no synonym"),
        (1, "name", "name"),
        (1, "synonym in graph", "synonym in graph"),
        (1, "held-out synonym", "held-out synonym"),
        (1, "no mention (described only)", "no mention"),
    ):
        assert f"| {row} | {' | '.join(f'{counts[at][key]:,}' for counts in told)} |\n" in page


def test_files(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "set"
    meta = compose_questions(toy_graph, TOY, 5, 12, folder)
    queries = load_queries(folder, toy_graph)
    assert json.loads((folder / "questions.json").read_text(encoding="utf-8")) == meta
    assert meta["sha256"] == questions_hash(queries)
    assert meta["seed"] == 5
    assert meta["count"] == len(queries) <= 12 == meta["asked"]
    assert sum(meta["splits"].values()) == sum(meta["cells"].values()) == len(queries)
    assert meta["rejected"]["no leaves"] > 0
    with pytest.raises(UserError, match="exists: give a new folder"):
        compose_questions(toy_graph, TOY, 5, 12, folder)


def test_seeds_differ_and_repeat(toy_graph: KnowledgeGraph) -> None:
    one, again, other = (compose(toy_graph, TOY, seed, 10).queries for seed in (1, 1, 2))
    assert one == again
    assert questions_hash(one) != questions_hash(other)


def test_cache(toy_graph: KnowledgeGraph, tmp_path: Path) -> None:
    first = questions_for(toy_graph, "toy", tmp_path)
    folder = questions_folder(toy_graph, "toy", tmp_path)
    assert (
        folder == tmp_path / "questions" / f"toy-{toy_graph.content_hash[:12]}-{cache.version(TOY)}"
    )
    stamp = (folder / "questions.jsonl").stat().st_mtime_ns
    assert questions_for(toy_graph, "toy", tmp_path) == first
    assert (folder / "questions.jsonl").stat().st_mtime_ns == stamp
    assert questions_for(toy_graph, "toy", tmp_path, seed=1) != first
    file = folder / "questions.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("Which", "What"), encoding="utf-8")
    with pytest.raises(UserError, match="was changed after it was composed: delete the folder"):
        questions_for(toy_graph, "toy", tmp_path)
    (folder / "questions.json").unlink()
    with pytest.raises(UserError, match="not readable"):
        questions_for(toy_graph, "toy", tmp_path)


def test_other_questions_than_expected_leave_nothing(
    toy_graph: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = cache.expected()
    wanted["toy"]["sha256"] = "0" * 64
    monkeypatch.setattr(cache, "expected", lambda: wanted)
    with pytest.raises(ArkError, match="composing is not deterministic here"):
        questions_for(toy_graph, "toy", tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))
    assert questions_for(toy_graph, "toy", tmp_path, seed=3)  # nothing is known about other seeds


def test_graphs_without_a_pack() -> None:
    with pytest.raises(
        UserError, match=r"graph 'table' \(only for cwe, hpo, toy\): give queries=FILE"
    ):
        wording_for("table")


_SCRIPT = """
import sys
from pathlib import Path
from ark.graph import KnowledgeGraph
from ark.queries.compose import compose
from ark.queries.wording_toy import TOY
from ark.queries import questions_hash
print(questions_hash(compose(KnowledgeGraph.open(Path(sys.argv[1])), TOY, 0).queries))
"""


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_hash_seed_does_not_matter(toy_graph: KnowledgeGraph, hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(toy_graph.path)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == cache.expected()["toy"]["sha256"]


def test_toy_is_rebuilt_alike(tmp_path: Path) -> None:
    graph = open_or_build(source_for("toy"), tmp_path)
    assert (
        questions_hash(questions_for(graph, "toy", tmp_path)) == cache.expected()["toy"]["sha256"]
    )
