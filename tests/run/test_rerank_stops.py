"""``rerank`` as a setting of a cell: stops, limits, failures, and the ways in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rerank_cells import (
    ARK,
    LISTWISE,
    PLAIN,
    REPOSITORY,
    SPEC,
    lists,
    once,
    picky,
    pure,
    ran,
    transport,
)

import ark
from ark.agent import Fusion
from ark.backbone import LexicalBackbone
from ark.cli.compose import compose_one
from ark.cli.console import run_command
from ark.errors import QueryFailedError, UserError
from ark.graph import KnowledgeGraph
from ark.protocols import Context
from ark.records import Attempt, Completion, Json, Message, Ranking, Trajectory, Usage
from ark.run import PluginSpec, run_cell
from ark.run.dryrun import dry_run
from ark.run.journal import JOURNAL, TRAJECTORIES, read_journal
from ark.run.locate import build
from ark.run.spec import AgentLimits

HERE = "test_rerank_stops"


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


# -- stops, limits, failures ---------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0.1, 0.6, 0.95])
def test_a_killed_run_goes_on_to_the_same_result(tmp_path: Path, kept: float) -> None:
    spec = replace(SPEC, method=ARK, limit=8)
    whole, done = ran(spec, tmp_path / "a"), ran(spec, tmp_path / "b")
    for name in (JOURNAL, TRAJECTORIES):
        file = done.path.parents[2] / name
        file.write_bytes(file.read_bytes()[: int(kept * file.stat().st_size)])
    done.path.unlink()
    again = run_cell(spec, transport(tmp_path / "b", concurrency=2))
    assert pure(again.data) == pure(whole.data)


def test_limits_are_of_all_agents_and_the_reranker_together(tmp_path: Path) -> None:
    spec = replace(SPEC, backbone=picky("refuses"), agent_limits=AgentLimits(calls=1))
    done = ran(spec, tmp_path)
    counts = done.data["counts"]
    assert counts["limit"] > 0
    assert counts["limit"] + counts["ok"] == counts["queries"]
    there = {key: once(nodes) for key, nodes in lists(ran(PLAIN, tmp_path)).items()}
    assert lists(done) == there
    inside = replace(SPEC, method=ARK, agent_limits=AgentLimits(calls=2), limit=3)
    lines = read_journal(ran(inside, tmp_path).path.parents[2]).agents.values()
    assert {line.status for line in lines} == {"limit"}
    assert all(len(line.calls) == 2 for line in lines)


@dataclass(frozen=True)
class Flaky:
    """Its second agent fails on questions of odd length, by status or by error."""

    how: str
    label: ClassVar[str] = "Flaky"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 2
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        if agent and len(question) % 2:
            if self.how == "error":
                raise QueryFailedError("odd")
            if self.how == "twice":
                return Attempt(Ranking((1, 1)))
            return Attempt(Ranking(()), "failed", Trajectory())
        return Attempt(Ranking((0, 1, 2)), "limit" if agent else "ok")


@pytest.mark.parametrize("how", ["error", "status", "twice"])
def test_an_agent_that_fails_fails_its_question(tmp_path: Path, how: str) -> None:
    spec = replace(PLAIN, method=PluginSpec("flaky", f"{HERE}:Flaky", {"how": how}))
    plain, around = (ran(s, tmp_path) for s in (spec, replace(spec, rerank=LISTWISE)))
    assert around.failed == plain.failed > 0
    for key in ("ok", "limit", "failed"):
        assert around.data["counts"][key] == plain.data["counts"][key]


def test_agents_inside_draw_as_they_do_alone(tmp_path: Path) -> None:
    method = PluginSpec("drawn", f"{HERE}:Drawn")
    spec = replace(PLAIN, method=method, backbone=picky("refuses"), fusion=Fusion("ordering"))
    for repeat in (0, 1):
        alone = lists(ran(replace(spec, repeat=repeat), tmp_path))
        around = lists(ran(replace(spec, repeat=repeat, rerank=LISTWISE), tmp_path))
        for (query, _), nodes in around.items():
            assert nodes == once(node for agent in range(3) for node in alone[query, agent])


@dataclass(frozen=True)
class Drawn:
    """Three agents that draw a node each."""

    label: ClassVar[str] = "Drawn"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 3
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        return Attempt(Ranking((ctx.rng.randrange(ctx.graph.n_nodes),)))


class Paid:
    """A model, as far as prices and the cache are concerned."""

    label = "paid"
    identity: ClassVar[Mapping[str, Json]] = {"backbone": "paid"}

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        done = await LexicalBackbone().complete(messages, **how)
        return replace(done, usage=Usage(1, 100, 10, 0.01))


def test_the_cache_serves_the_agents_inside(tmp_path: Path) -> None:
    spec = replace(PLAIN, method=ARK, backbone=PluginSpec("paid", f"{HERE}:Paid"), limit=4)
    cached = transport(tmp_path, cache="read_write")
    plain = run_cell(spec, cached)
    around = run_cell(replace(spec, rerank=LISTWISE), cached)
    assert around.data["cell"]["method"] == "ARK + listwise rerank"
    by_tag = around.data["usage"]["by_tag"]
    assert by_tag["ark.step"]["calls"] == plain.data["usage"]["calls"] > 0
    assert around.data["cache"]["hits"] == by_tag["ark.step"]["calls"]
    assert around.data["cell"]["is_llm"] is True


# -- entries -------------------------------------------------------------------------------------


def test_a_dry_run_counts_the_calls(tmp_path: Path) -> None:
    text = dry_run([SPEC, replace(SPEC, method=ARK)], ["bm25", "ark"], transport(tmp_path))
    assert "rehearsal" in text
    assert "failed" not in text
    assert not (tmp_path / "runs").exists()


def bm25(query: str, graph: KnowledgeGraph) -> list[str]:
    return [graph.id(hit.node) for hit in ark.load_graph("toy").search.search(query, 100)]


def test_the_python_entry_reranks_too(tmp_path: Path) -> None:
    mine = ark.evaluate(bm25, graph="toy", split="all", rerank="listwise")
    theirs = ran(SPEC, tmp_path)
    assert mine.data["measures"] == theirs.data["measures"]
    assert mine.data["cell"]["method"] == "bm25 + listwise rerank (lexical)"
    assert mine.data["cell"]["backbone"] == LexicalBackbone.label
    (tmp_path / "run.json").write_text(
        json.dumps({q.id: bm25(q.text, ark.load_graph("toy").graph) for q in questions()})
    )
    own = PluginSpec("few", LISTWISE.target, {"k": 20})
    filed = ark.evaluate(tmp_path / "run.json", graph="toy", split="all", rerank=own)
    assert filed.data["measures"] == theirs.data["measures"]
    with pytest.raises(UserError, match="did you mean listwise"):
        ark.evaluate(bm25, graph="toy", rerank="list")
    with pytest.raises(ZeroDivisionError):
        ark.evaluate(lambda _q, _g: [str(1 // 0)], graph="toy", split="all", rerank="pointwise")


def questions() -> list[Any]:
    return ark.load_graph("toy").questions("all")


def test_from_the_command_line(tmp_path: Path, data_root_path: Path) -> None:
    arguments = ["graph=toy", "method=bm25", "rerank=listwise", "rerank.k=5", "split=all"]
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "run.py"), *arguments, f"results_dir={tmp_path}"],
        env={**os.environ, "ARK_DATA": str(data_root_path), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "BM25 + listwise rerank (lexical)" in done.stdout
    assert "rerank.k=5" in done.stdout


def test_a_sweep_over_rerankers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = ["-m", "graph=toy", "method=bm25", "split=all", f"results_dir={tmp_path}"]
    assert run_command([*cell, "rerank=none,listwise,pointwise"], "") == 0
    lines = capsys.readouterr().out.splitlines()
    paths = [x.removeprefix("result: ") for x in lines if x.startswith("result: ")]
    results = [json.loads(Path(path).read_text())["cell"] for path in paths]
    assert [r["method"] for r in results] == [
        "BM25",
        "BM25 + listwise rerank (lexical)",
        "BM25 + pointwise rerank (lexical)",
    ]
    assert [r["treatment"]["rerank"] is None for r in results] == [True, False, False]
    assert len({r["run_id"] for r in results}) == 3


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        ("rerank=lists", "did you mean listwise"),
        ("rerank.k=5", "rerank.k"),
        ("+rerank.k=5", "no effect with rerank=none"),
        ("rerank.target=x", "package.module:Class"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, wrong: str, wanted: str) -> None:
    arguments = ["graph=toy", "method=bm25", wrong, f"results_dir={tmp_path}"]
    with pytest.raises(UserError, match=wanted) as caught:
        run_command(arguments, "")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["listwise", "pointwise"])
def test_the_configs_give_the_defaults(name: str) -> None:
    rerank = compose_one(["graph=toy", "method=bm25", f"rerank={name}"]).spec.rerank
    assert rerank is not None
    made = build(rerank.target, "rerank", rerank.settings)
    assert made == build(rerank.target, "rerank", {})
    assert dict(made.identity) == {"name": name, **rerank.settings}
    assert compose_one(["graph=toy"]).spec.rerank is None
