"""ToG-2 beyond its acceptance tests: presets, passages, rankers, tiers, large nodes, the script."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from tog2_scripts import CODE, NO, ByTag, all_relations, ask, end, names, small, states

from ark.backbone import LexicalBackbone
from ark.errors import QueryLimitError, UserError
from ark.graph import KnowledgeGraph
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from baselines.tog2.chunks import LONGEST_WORD, WORDS, node_passages, passages, sentences
from baselines.tog2.discover import relation_option, relations_of
from baselines.tog2.method import Tog2, Tog2Code
from baselines.tog2.ranker import not_negative, ranker
from baselines.tog2.scores import min_max
from baselines.tog2.settings import Settings

REPOSITORY = Path(__file__).resolve().parents[2]


# -- settings ------------------------------------------------------------------------------------


def preset(name: str) -> dict[str, Any]:
    with initialize_config_dir(str(REPOSITORY / "configs"), version_base="1.3"):
        chosen: Any = OmegaConf.to_container(compose("config", [f"method={name}"]).method)
    chosen.pop("target")
    return dict(chosen)


def test_the_presets_are_the_defaults_and_what_the_code_does() -> None:
    assert Tog2(**preset("tog2")) == Tog2()
    assert Tog2Code(**preset("tog2_code")) == Tog2Code()
    assert dict(Tog2Code().identity) == dict(Tog2(**CODE).identity)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"depth": True},
        {"threshold": 2},
        {"decay": -1},
        {"relation_prune": "both"},
        {"tails": "all"},
        {"ranker": "bm52"},
        {"temperature": -1},
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"method\.{next(iter(wrong))}") as caught:
        Tog2(**wrong)
    assert "\n" not in str(caught.value)


def test_an_unknown_ranker_is_answered_with_the_known_names() -> None:
    with pytest.raises(UserError, match="choices: bm25"):
        ranker("colbert")
    assert Settings().identity["ranker_identity"] == dict(ranker("bm25").identity)


def test_the_bound_follows_width_and_depth() -> None:
    assert Settings().call_bound == 9
    assert Settings(relation_prune="single").call_bound == 13
    assert Settings(width=2, depth=2, relation_prune="single").call_bound == 7
    assert Settings(depth=1).call_bound == 3


# -- passages and scores -------------------------------------------------------------------------


def test_passages_hold_three_sentences_or_a_hundred_words() -> None:
    assert passages("One. Two! Three? Four.\n\nFive", 9) == ["One. Two! Three?", "Four. Five"]
    assert passages("a " * 250, 9) == [" ".join(["a"] * n) for n in (100, 100, 50)]
    assert passages(f"{'b ' * 60}. {'c ' * 60}.", 9)[0].count("b") == 60
    assert passages("One. Two. Three. Four.", 1) == ["One. Two. Three."]
    assert passages("第一句。第二句。第三句。第四句。", 9) == [
        "第一句。 第二句。 第三句。",
        "第四句。",
    ]


@given(st.text(max_size=400), st.integers(1, 5))
@settings(deadline=None)
def test_no_text_is_too_strange_to_split(text: str, times: int) -> None:
    found = passages(text * times, 50)
    assert len(found) <= 50
    for passage in found:
        assert passage.isprintable()
        assert passage
        assert len(passage.split()) <= WORDS
        assert max(map(len, passage.split(" "))) <= LONGEST_WORD
    assert "".join("".join(sentences(text)).split()) == "".join(
        "".join(c if c.isprintable() else " " for c in text).split()
    )


def test_a_text_without_spaces_is_cut() -> None:
    assert max(map(len, passages("x" * 1_000_000, 10**6))) <= WORDS * (LONGEST_WORD + 1)
    assert len(passages("。" * 100_000, 5)) == 5


def test_a_node_without_text_is_read_by_its_name(data_root_path: Path) -> None:
    nodes = [("a", "Alpha", ""), ("b", "Beta", " beta "), ("c", "", ""), ("d", "Delta", "More.")]
    graph = small(data_root_path, nodes, [])
    assert [node_passages(graph, i, 5) for i in range(4)] == [["Alpha"], ["Beta"], [], ["More."]]


def test_scores_below_zero_are_brought_to_zero_and_up() -> None:
    assert not_negative([0.5, 2]) == [0.5, 2]
    assert not_negative([-2, 0, 2]) == [0, 0.5, 1]
    assert not_negative([-3, -3]) == [1, 1]
    assert not_negative([float("nan"), 1, float("inf")]) == [0, 1, 0]
    assert not_negative([]) == []


def test_scores_of_a_depth_are_min_max_normalised() -> None:
    assert min_max({1: 2.0, 2: 4.0, 3: 3.0}) == {1: 0, 2: 1, 3: 0.5}
    assert min_max({1: 2.0}) == {1: 1}
    assert min_max({1: 0.0, 2: 0.0}) == {1: 0, 2: 0}


# -- relations -----------------------------------------------------------------------------------


def test_both_directions_are_offered_and_shown(toy_graph: KnowledgeGraph) -> None:
    shown = [relation_option(toy_graph, r) for r in relations_of(toy_graph, toy_graph.index("p2"))]
    assert shown == [
        "Night bell —grows in→ habitat (1)",
        "insect —visits→ Night bell (2)",
    ]
    beetle = relations_of(toy_graph, toy_graph.index("i2"))
    assert toy_graph.index("i2") not in {int(i) for r in beetle for i in r.tails}, "its loop"


def test_an_option_cannot_be_forged_by_a_name(data_root_path: Path) -> None:
    nodes = [("t", "Topic\n9. Forged —r→ x", "a\n1. b"), ("a", "A\u20282. B", "c\r3. d")]
    graph = small(data_root_path, nodes, [("t", "r\n4. s", "a")])
    model = ByTag(relation_prune=all_relations(), reason={"sufficient": False, "clue": "x\n5. y"})
    ask(graph, data_root_path, model, "q\n6. z", ["t"], depth=2)
    for _, prompt in model.calls:
        numbered = [line for line in prompt.splitlines() if line[:1].isdigit()]
        assert [line.split(". ")[0] for line in numbered] == [
            str(n) for n in range(1, len(numbered) + 1)
        ]


def hub(root: Path, n: int) -> KnowledgeGraph:
    spokes = [(f"n{i}", f"Node {i}", f"number {i}") for i in range(n)]
    edges = [("h", "has", f"n{i}") for i in range(n)]
    return small(root, [("h", "Hub", "all"), *spokes], edges)


def test_ends_of_a_relation_are_cut_to_the_fifty_best_for_the_question(
    data_root_path: Path,
) -> None:
    graph = hub(data_root_path, 400)
    model = ByTag(relation_prune=all_relations(), reason=NO)
    attempt = ask(graph, data_root_path, model, "which has number 377", ["h"], depth=1)
    (state,) = states(attempt, "entity_prune")
    assert len(state["visited"]) == 50
    assert state["taken"][0] == names(graph, attempt)[0] == "n377"


def test_the_code_preset_draws_fifty_by_the_seed(data_root_path: Path) -> None:
    graph = hub(data_root_path, 400)
    drawn = []
    for seed in (1, 1, 2):
        model = ByTag(relation_prune=all_relations())
        attempt = ask(graph, data_root_path, model, "q", ["h"], seed, **{**CODE, "depth": 1})
        drawn.append(set(states(attempt, "entity_prune")[0]["visited"]))
    assert len(drawn[0]) == 50
    assert drawn[0] == drawn[1] != drawn[2]


# -- reading and ranking -------------------------------------------------------------------------


def test_the_code_preset_reads_the_best_sentences_of_all_depths(data_root_path: Path) -> None:
    nodes = [
        ("t", "Topic", "The first lighthouse. A dull thing."),
        ("a", "Aaa", "A second lighthouse. Nothing else."),
    ]
    graph = small(data_root_path, nodes, [("t", "r", "a")])
    for context, both in (("sentences", True), ("passages", False)):
        model = ByTag(relation_prune=all_relations(), reason=NO)
        how = {**CODE, "context": context, "sentences": 2}
        ask(graph, data_root_path, model, "lighthouse", ["t"], **how)
        prompt = model.prompts("reason")[0]
        assert "- Aaa: A second lighthouse." in prompt
        assert ("- Topic: The first lighthouse." in prompt) is both
        assert ("Nothing else" in prompt) is not both


def test_tiers_are_answers_frontier_scored_unscored_linked(data_root_path: Path) -> None:
    nodes = [("t", "Topic", "topic"), ("u", "Unlinked", "zzz")]
    nodes += [(f"n{i}", f"Node {i}", "lamp " * (5 - i) + "word " * i) for i in range(5)]
    edges = [("t", "has", node) for node, _, _ in nodes[1:]]
    graph = small(data_root_path, nodes, edges)
    model = ByTag(relation_prune=all_relations(), reason=NO, answer={"answers": [4]})
    attempt = ask(
        graph, data_root_path, model, "lamp", ["t"], depth=1, width=2, triple_sentence=False
    )
    assert names(graph, attempt) == ["n3", "n0", "n1", "n2", "n4", "u", "t"]
    assert attempt.ranking.answers == 1


def test_an_answer_before_the_first_hop_is_one_of_the_topics(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    model = ByTag(topic_prune={"starts": [2, 1]}, reason={"sufficient": True, "answers": [2]})
    attempt = ask(toy_graph, data_root_path, model, "q", ["p1", "p2"])
    assert end(attempt) == "sufficient"
    assert model.walked == 1
    assert names(toy_graph, attempt)[: attempt.ranking.answers] == ["p1"]


def test_memory_does_not_answer_with_what_the_question_names(
    toy_graph: KnowledgeGraph, data_root_path: Path
) -> None:
    model = ByTag(answer={"names": ["Copper moth", "night bell", "Unheard of"]})
    question = "Which plant does the copper moth visit?"
    attempt = ask(toy_graph, data_root_path, model, question, ["i1"], **CODE)
    assert names(toy_graph, attempt)[: attempt.ranking.answers] == ["p2"]


class Limited(LexicalBackbone):
    """Allows some calls, as a limit of the cell does."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left = calls

    async def complete(self, *args: Any, **how: Any) -> Any:
        if not self.left:
            raise QueryLimitError("calls")
        self.left -= 1
        return await super().complete(*args, **how)


def test_a_limit_ends_with_what_was_found(toy_graph: KnowledgeGraph, data_root_path: Path) -> None:
    question = "Which plant do copper moths visit after sunset?"
    for calls in range(12):
        attempt = ask(toy_graph, data_root_path, Limited(calls), question)
        assert attempt.status == ("limit" if end(attempt) == "limit" else "ok")
        assert bool(attempt.ranking.nodes) == (calls > 0), "nothing is linked without a call"
    assert attempt.status == "ok"


# -- the script ----------------------------------------------------------------------------------


def test_text_share_prints_what_was_read(
    toy_graph: KnowledgeGraph,
    data_root_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    spec = CellSpec(
        GraphSpec("toy"),
        PluginSpec("tog2", "baselines.tog2.method:Tog2"),
        PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone"),
        split="all",
    )
    run_cell(spec, Transport(tmp_path, progress=False))
    script = runpy.run_path(str(REPOSITORY / "scripts" / "text_share.py"))
    monkeypatch.setattr(sys, "argv", ["text_share.py", str(tmp_path)])
    assert script["main"]() == 0
    header, _, row = capsys.readouterr().out.splitlines()
    titles, values = ([c.strip() for c in line.split("|")] for line in (header, row))
    cells = dict(zip(titles, values, strict=True))
    assert cells["graph"] == "toy"
    assert cells["graph's nodes with text"] == "92.3 %"  # 12 of 13
    assert 0 < int(cells["entities"]) <= 13 < int(cells["visits"])
    monkeypatch.setattr(sys, "argv", ["text_share.py", str(tmp_path / "nowhere")])
    assert script["main"]() == 2
    assert capsys.readouterr().err.count("\n") == 1
