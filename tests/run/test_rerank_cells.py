"""``rerank`` as a setting of a cell: what a run makes, candidates, ids and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rerank_cells import (
    ARK,
    BM25,
    LISTWISE,
    PLAIN,
    POINTWISE,
    SPEC,
    lists,
    once,
    picky,
    ran,
    transport,
)

from ark.agent import Fusion
from ark.backbone import LexicalBackbone
from ark.errors import UserError
from ark.protocols import Context
from ark.records import Attempt, Json, Ranking
from ark.run import GraphSpec, PluginSpec
from ark.run.jobs import Job, plan, run_jobs
from ark.run.journal import read_journal, read_trajectory
from ark.run.reranked import Reranked
from ark.run.session import open_session

HERE = "test_rerank_cells"


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


# -- what a run makes ----------------------------------------------------------------------------


def test_a_reranked_cell_says_what_it_is(tmp_path: Path) -> None:
    done = ran(SPEC, tmp_path)
    cell, usage = done.data["cell"], done.data["usage"]
    assert cell["method"] == "BM25 + listwise rerank (lexical)"
    assert (cell["preset"], cell["changed"], cell["ablation"]) == ("bm25", {}, "full")
    assert cell["backbone"] == LexicalBackbone.label
    settings = {"name": "listwise", "k": 20, "card_tokens": 60, "reverse": False}
    assert cell["treatment"]["rerank"] == settings
    run = cell["identity"]
    assert run["method"]["target"] == BM25.target
    assert run["backbone"]["backbone"] == "lexical"
    assert run["rerank"]["settings"] == settings
    assert run["rerank"]["list"]["fusion"] is None
    assert done.data["counts"]["failed"] == 0
    assert set(usage["by_tag"]) == {"bm25", "rerank.listwise"}
    assert 0 < usage["by_tag"]["rerank.listwise"]["calls"] <= done.data["counts"]["queries"]
    assert done.path.parents[2].name.startswith("toy-bm25-listwise-lexical-")


def test_without_it_nothing_changes(tmp_path: Path) -> None:
    identity = open_session(PLAIN, tmp_path, describe=False).identity
    assert "rerank" not in identity.run
    done = ran(PLAIN, tmp_path)
    assert done.data["cell"]["treatment"]["rerank"] is None
    assert done.data["cell"]["backbone"] is None


@pytest.mark.parametrize("method", [BM25, ARK], ids=lambda m: str(m.name))
def test_a_model_that_says_nothing_changes_nothing(tmp_path: Path, method: PluginSpec) -> None:
    spec = replace(PLAIN, method=method, backbone=picky("refuses"))
    plain, around = (ran(s, tmp_path) for s in (spec, replace(spec, rerank=LISTWISE)))
    assert plain.data["measures"] == around.data["measures"]
    usage = around.data["usage"]
    assert usage["fallbacks"] > plain.data["usage"]["fallbacks"]
    found = usage["by_tag"]["rerank.listwise"]
    assert found["calls"] == found["invalid"] == 2 * found["fallbacks"] > 0
    if method is BM25:
        assert lists(around) == {key: once(nodes) for key, nodes in lists(plain).items()}


@pytest.mark.parametrize("kind", ["voting", "ordering", "rrf", "random"])
def test_agents_are_fused_as_the_cell_fuses_them(tmp_path: Path, kind: str) -> None:
    random = PluginSpec("random", "ark.backbone.random_calls:RandomBackbone")
    spec = replace(PLAIN, method=ARK, backbone=random, fusion=Fusion(kind), limit=8)
    single = lists(ran(spec, tmp_path))
    around = ran(replace(spec, rerank=replace(LISTWISE, settings={"k": 2})), tmp_path)
    for (query, _), nodes in lists(around).items():
        wanted = once(node for agent in range(2) for node in single[query, agent])
        same = {"i1" if node == "i4" else node for node in wanted}
        assert {"i1" if node == "i4" else node for node in nodes} == same
        assert len(nodes) == len(same)
    assert len(lists(around)) == 8
    cell = around.data["cell"]
    assert cell["changed"] == {"agents": 2, "fusion": kind, "rerank.k": 2}
    assert cell["identity"]["rerank"]["list"]["fusion"]["kind"] == kind
    assert cell["reading"]["agents"] == 1


def test_messages_and_steps_follow_each_other(tmp_path: Path) -> None:
    done = ran(replace(SPEC, method=ARK, limit=3), tmp_path)
    folder = done.path.parents[2]
    for line in read_journal(folder).agents.values():
        stored = read_trajectory(folder, line)
        steps = stored["steps"]
        tags = [step["tag"] for step in steps]
        assert [step["number"] for step in steps] == list(range(1, len(steps) + 1))
        asked = "rerank.listwise" in tags
        assert tags == ["ark.step"] * (len(tags) - asked) + ["rerank.listwise"] * asked
        assert [m["role"] for m in stored["messages"]].count("system") == 2 + asked
        assert len(line.calls) == line.steps == len(tags)


def test_the_committed_set_keeps_its_size(tmp_path: Path) -> None:
    spec = replace(PLAIN, method=PluginSpec("sets", f"{HERE}:TwoOfThree"), backbone=picky("last"))
    done = ran(replace(spec, rerank=LISTWISE), tmp_path)
    for line in read_journal(done.path.parents[2]).agents.values():
        assert line.nodes == ("p3", "p1", "p2")
        assert line.answers == 2


@dataclass(frozen=True)
class TwoOfThree:
    """Three nodes, the first two as the answer."""

    label: ClassVar[str] = "Sets"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        nodes = tuple(ctx.graph.index(i) for i in ("p1", "p2", "p3"))
        return Attempt(Ranking(nodes, answers=2, picked_at=(1, 1, 2)))


# -- candidates and backfill ---------------------------------------------------------------------


def test_no_option_is_spent_on_what_cannot_be_an_answer(tmp_path: Path) -> None:
    spec = replace(SPEC, graph=GraphSpec("toy", {}, ("plant",)), backbone=picky("reverses"))
    plants = ran(spec, tmp_path)
    assert all(n.startswith("p") for nodes in lists(plants).values() for n in nodes)
    typed = ran(replace(SPEC, candidates="answer_type"), tmp_path)
    assert len({len({n[0] for n in nodes}) for nodes in lists(typed).values()} - {0, 1}) == 0
    ids = {open_session(s, tmp_path, describe=False).identity.run_id for s in (SPEC, spec)}
    ids.add(typed.data["cell"]["run_id"])
    assert len(ids) == 3


def test_equal_answers_are_one_option(tmp_path: Path) -> None:
    for nodes in lists(ran(SPEC, tmp_path)).values():
        assert not {"i1", "i4"} <= set(nodes)


def test_backfill_comes_before_the_reranker(tmp_path: Path) -> None:
    short = PluginSpec("sets", f"{HERE}:TwoOfThree")
    spec = replace(SPEC, method=short, backbone=picky("reverses"), limit=4)
    native, filled = (ran(replace(spec, backfill=b), tmp_path) for b in ("none", "bm25"))
    assert native.data["cell"]["run_id"] != filled.data["cell"]["run_id"]
    assert filled.data["cell"]["identity"]["rerank"]["list"]["backfill"] == "bm25"
    for key, nodes in lists(filled).items():
        assert lists(native)[key] == ("p3", "p2", "p1")
        assert nodes[-3:] == ("p3", "p2", "p1")
        assert len(nodes) > 3
    few = replace(spec, backfill="bm25", rerank=replace(LISTWISE, settings={"k": 4}))
    assert {len(nodes) for nodes in lists(ran(few, tmp_path)).values()} == {4}


# -- ids, settings that are forced or refused ----------------------------------------------------


CHANGES: dict[str, dict[str, Any]] = {
    "kind": {"rerank": POINTWISE},
    "k": {"rerank": replace(LISTWISE, settings={"k": 5})},
    "card_tokens": {"rerank": replace(LISTWISE, settings={"card_tokens": 40})},
    "reverse": {"rerank": replace(LISTWISE, settings={"reverse": True})},
    "none": {"rerank": None},
    "agents": {"method": replace(ARK, settings={"agents": 3})},
    "one agent": {"method": replace(ARK, settings={"agents": 1})},
    "fusion": {"fusion": Fusion("rrf")},
    "backfill": {"backfill": "bm25"},
    "candidates": {"candidates": "answer_type"},
    "types": {"graph": GraphSpec("toy", {}, ("plant",))},
    "backbone": {"backbone": picky("last")},
}


def test_what_changes_the_list_changes_the_run_id(tmp_path: Path) -> None:
    base = replace(SPEC, method=ARK)
    ids = {
        name: open_session(replace(base, **change), tmp_path, describe=False).identity.run_id
        for name, change in {"base": {}, **CHANGES}.items()
    }
    assert len(set(ids.values())) == len(ids), ids
    cut = open_session(replace(base, cut=5), tmp_path, describe=False).identity
    assert cut.run_id == ids["base"]  # still a reading


def test_the_fusion_of_one_agent_has_no_effect(tmp_path: Path) -> None:
    ids = {
        open_session(replace(SPEC, fusion=Fusion(k)), tmp_path, describe=False).identity.cell_id
        for k in ("voting", "rrf")
    }
    assert len(ids) == 1


@pytest.mark.parametrize(("wrong", "instead"), [("pool", "agents"), ("steps", "max_steps")])
def test_lists_of_fewer_are_no_reading(tmp_path: Path, wrong: str, instead: str) -> None:
    changes: dict[str, Any] = {wrong: 3}
    spec = replace(SPEC, method=ARK, **changes)
    with pytest.raises(UserError, match=f"{wrong}=3: .* set method.{instead} instead") as caught:
        open_session(spec, tmp_path, describe=False)
    assert "\n" not in str(caught.value)


def test_a_sweep_over_agents_makes_runs_of_their_own(tmp_path: Path) -> None:
    specs = [
        replace(PLAIN, method=replace(ARK, settings={"agents": n, "max_steps": t}), rerank=r)
        for r in (None, LISTWISE)
        for n, t in ((1, 20), (2, 20), (2, 3))
    ]
    made = transport(tmp_path)
    jobs = [Job((), spec, made, {"target": "ark.run.trackers:NoTracker"}) for spec in specs]
    planned = [job.spec for job in plan(jobs)]
    assert [s.pool for s in planned] == [2, None, None, None, None, None]
    assert [s.steps for s in planned[3:]] == [None] * 3
    assert planned[3:] == specs[3:]
    ends = run_jobs([replace(job, spec=replace(job.spec, limit=2)) for job in plan(jobs)])
    assert [end.state for end in ends if end] == ["done"] * 6
    folders = {end.done.path.parents[2] for end in ends if end and end.done}
    assert len(folders) == 4


def test_forced_handles_reach_the_method_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ark.run.session.IDS_FOLLOW_ANSWERS", ("toy",))
    session = open_session(replace(SPEC, method=ARK), tmp_path, describe=False)
    assert isinstance(session.method, Reranked)
    assert getattr(session.inner, "handles", "") == "opaque"
    assert session.labels()["forced"] == {"handles": "opaque"}
    assert "handles" not in session.labels()["changed"]
    assert session.identity.run["method"]["handles"] == "opaque"


def test_labels_of_the_method_come_through(tmp_path: Path) -> None:
    settings = {"agents": 2, "neighbor_query": False, "max_steps": 7}
    spec = replace(SPEC, method=replace(ARK, settings=settings))
    labels = open_session(spec, tmp_path, describe=False).labels()
    assert labels["ablation"] == "no_query"
    assert labels["method"] == "ARK + listwise rerank (lexical)"
    assert labels["changed"] == {
        "max_steps": 7,
        "neighbor_query": False,
        "agents": 2,
        "fusion": "voting",
    }
    own = replace(SPEC, method=PluginSpec("walker", f"{HERE}:Walker"), rerank=POINTWISE)
    session = open_session(own, tmp_path, describe=False)
    assert session.labels()["method"] == "Walker (rules) + pointwise rerank (lexical)"
    assert getattr(session.method, "links_seeds", False) is True


@dataclass(frozen=True)
class Walker:
    """Its list is its seeds."""

    label: ClassVar[str] = "Walker"
    label_without_model: ClassVar[str] = "Walker (rules)"
    links_seeds: ClassVar[bool] = True
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ({"content": "{}"},)
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        return Attempt(Ranking(ctx.seeds or ()))


def test_seeds_of_an_oracle_reach_the_method_inside(tmp_path: Path) -> None:
    spec = replace(SPEC, method=PluginSpec("walker", f"{HERE}:Walker"), seeds="oracle")
    session = open_session(spec, tmp_path)
    found = lists(ran(spec, tmp_path))
    for query in session.queries:
        assert set(found[query.id, 0]) == set(query.anchor_ids)
    with pytest.raises(UserError, match="starts from no seeds"):
        open_session(replace(SPEC, seeds="oracle"), tmp_path, describe=False)
