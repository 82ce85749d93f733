"""Bundles of real runs: they say what the run says, agree with themselves, and hold no text."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.backbone.lexical import LexicalBackbone
from ark.errors import UserError
from ark.graph import KnowledgeGraph, data_root
from ark.protocols import Context
from ark.records import Attempt, Completion, Json, Message, Ranking
from ark.report.bundle import pack
from ark.report.bundle_archive import read_archive
from ark.report.bundle_private import without_paths
from ark.report.export import export
from ark.report.finished import open_finished
from ark.report.verify import Report, verify
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell
from ark.scoring.runfile import read_run_file

HERE = "test_bundle"
REPOSITORY = Path(__file__).resolve().parents[2]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
ARK = PluginSpec("ark", "ark.agent.method:Ark")
TOY = CellSpec(GraphSpec("toy"), ARK, LEXICAL, split="all")
METHODS = {"bm25": "baselines.bm25:BM25Baseline", "ppr": "baselines.ppr:PersonalizedPageRank"}
KEY = "sk-planted-0123456789abcdef"


@dataclass(frozen=True)
class Priced:
    """The rule-based controller, with tokens and a price on every call."""

    is_llm: ClassVar[bool] = True
    label: ClassVar[str] = "priced"
    identity: ClassVar[Mapping[str, Json]] = {"model": "priced-1"}

    async def complete(
        self, messages: Sequence[Message], *, tag: str, **settings: Any
    ) -> Completion:
        made = await LexicalBackbone().complete(messages, tag=tag, **settings)
        tokens = sum(len(m.content or "") for m in messages) // 4
        used = replace(made.usage, prompt_tokens=tokens, completion_tokens=9, cost=tokens * 1e-7)
        return replace(made, usage=used, model="/srv/models/priced-1")


@dataclass(frozen=True)
class Leaky:
    """A method whose errors hold all that must not leave: a key, a node's text, a path."""

    label: ClassVar[str] = "Leaky"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = ()
    agents: ClassVar[int] = 1
    identity: ClassVar[Mapping[str, Json]] = {}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        found = [hit.node for hit in ctx.search.search(question, 5)]
        if len(question) % 2:
            text = ctx.graph.text(found[0]) if found else ""
            raise RuntimeError(f"{os.environ['ARK_TEST_API_KEY']} {text} {__file__}")
        return Attempt(Ranking(tuple(found)))


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    assert data_root() == data_root_path


def run(spec: CellSpec, folder: Path) -> Done:
    return run_cell(spec, Transport(results_dir=folder, progress=False))


def bundle_of(done: Done, tmp_path: Path) -> Path:
    file = tmp_path / "bundle.zip"
    file.write_bytes(pack(done.path.parents[2]).data)
    return file


def check(file: Path, **settings: Any) -> Report:
    report = verify(file, **settings)
    assert report.differences == []
    return report


@pytest.fixture(scope="module")
def hpo(
    hpo_graph: KnowledgeGraph, data_root_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Done:
    folder = tmp_path_factory.mktemp("hpo")
    spec = CellSpec(GraphSpec("hpo"), ARK, LEXICAL, limit=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(data_root_path))
        for kind in ("voting", "random", "rrf"):
            done = run(replace(spec, fusion=Fusion(kind)), folder)
        run(replace(spec, candidates="answer_type", backfill="bm25"), folder)
        run(replace(spec, steps=3, over_budget="as_published"), folder)
        two = PluginSpec("ark", ARK.target, {"agents": 2})
        return run(replace(spec, method=two, pool=3), folder) and done


@pytest.fixture(scope="module")
def packed(hpo: Done, data_root_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(data_root_path))
        return bundle_of(hpo, tmp_path_factory.mktemp("packed"))


def test_all_readings_of_a_real_run_follow_from_its_bundle(packed: Path) -> None:
    report = check(packed)
    assert sum(line.startswith("reading ") for line in report.passed) == 6
    assert any("60 agents" in line and "sum of single calls" in line for line in report.passed)
    assert any("nodes have its types" in line for line in report.passed)
    assert any("20 questions have the hash" in line for line in report.passed)
    assert any("lists are what BM25 finds" in line for line in report.passed)
    assert report.notes == []


def test_no_graph_and_no_texts_are_needed(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "nothing"))
    report = check(packed)
    assert "is not here: not checked" in report.notes[0]
    assert "backfill.jsonl: taken as it is" in report.notes[1]
    assert sum(line.startswith("reading ") for line in report.passed) == 6
    assert not (tmp_path / "nothing").exists()
    assert check(packed, graph="none").notes[0] == "graph: not asked for, not checked"


def test_no_name_or_text_of_a_node_or_question_is_packed(
    hpo: Done, packed: Path, hpo_graph: KnowledgeGraph
) -> None:
    members = read_archive(packed)
    every = b"\n".join(members.values()).decode()
    folder = hpo.path.parents[2]
    questions = (folder / "queries.jsonl").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in questions]
    for line in members["nodes.jsonl"].decode().splitlines():
        row = hpo_graph.index(json.loads(line)[0])
        texts += [hpo_graph.name(row), hpo_graph.text(row)[:40], *hpo_graph.aliases(row)]
    long = [text for text in texts if len(text) > 8]
    assert len(long) > 100
    assert [text for text in long if text in every] == []
    assert str(folder.parent) not in every
    assert str(data_root()) not in every


def test_the_trec_files_are_those_of_the_exporter(hpo: Done, packed: Path, tmp_path: Path) -> None:
    members = read_archive(packed)
    finished, cell = open_finished(hpo.path), hpo.data["cell"]["cell_id"]
    assert members[f"readings/{cell}/run.trec"].decode() == export(finished, "trec")
    assert members[f"readings/{cell}/qrels.trec"].decode() == export(finished, "qrels")
    (tmp_path / "run.trec").write_bytes(members[f"readings/{cell}/run.trec"])
    assert len(read_run_file(tmp_path / "run.trec").lists) > 0


def test_the_same_run_gives_the_same_bytes(hpo: Done, packed: Path) -> None:
    assert pack(hpo.path.parents[2]).data == packed.read_bytes()


def test_one_reading_can_be_packed_alone(hpo: Done, tmp_path: Path) -> None:
    for name in (hpo.path, hpo.path.parent):
        bundle = pack(name)
        assert (bundle.readings, bundle.questions) == (1, 20)
        (tmp_path / "one.zip").write_bytes(bundle.data)
        check(tmp_path / "one.zip", graph="none")


@pytest.mark.parametrize("method", ["bm25", "ppr"])
def test_methods_without_a_backbone_and_without_calls(tmp_path: Path, method: str) -> None:
    spec = replace(TOY, method=PluginSpec(method, METHODS[method]))
    report = check(bundle_of(run(spec, tmp_path), tmp_path))
    assert any(", 0 calls" in line for line in report.passed)


def test_costs_and_errors_of_a_run_with_prices_and_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priced = run(replace(TOY, backbone=PluginSpec("priced", f"{HERE}:Priced")), tmp_path)
    assert priced.data["usage"]["cost"] > 0
    file = bundle_of(priced, tmp_path)
    check(file)
    members = read_archive(file)
    assert "/srv/models" not in members["journal.jsonl"].decode()
    assert f"${priced.data['usage']['cost']:.4f}" in members["card.md"].decode()
    monkeypatch.setenv("ARK_TEST_API_KEY", KEY)
    leaky = run(replace(TOY, method=PluginSpec("leaky", f"{HERE}:Leaky")), tmp_path)
    folder = leaky.path.parents[2]
    assert 0 < leaky.failed < leaky.data["counts"]["queries"]
    kept = (folder / "journal.jsonl").read_text()
    assert "test_bundle.py" in kept  # what is to be kept back is there
    assert KEY not in kept
    file = bundle_of(leaky, tmp_path)
    report = check(file)
    assert any("20 questions" in p or "questions, lists" in p for p in report.passed)
    every = b"\n".join(read_archive(file).values()).decode()
    assert '"error":"RuntimeError"' in every
    for text in (KEY, "copper wings", "shrub", str(tmp_path), "test_bundle.py"):
        assert text not in every


def test_a_prompt_file_leaves_its_name_and_not_its_path(tmp_path: Path) -> None:
    prompt = tmp_path / "mine.jinja"
    shutil.copy(REPOSITORY / "ark" / "agent" / "prompts" / "ours.jinja", prompt)
    method = PluginSpec("ark", ARK.target, {"prompt": str(prompt)})
    done = run(replace(TOY, method=method), tmp_path)
    assert str(prompt) in done.path.read_text()
    file = bundle_of(done, tmp_path)
    check(file)
    every = b"\n".join(read_archive(file).values()).decode()
    assert "…/mine.jinja" in every
    assert str(tmp_path) not in every


def test_a_secret_in_a_setting_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(TOY, tmp_path)
    monkeypatch.setenv("SOME_ACCESS_TOKEN", str(done.data["cell"]["run_id"]))
    with pytest.raises(UserError, match="environment variable SOME_ACCESS_TOKEN"):
        pack(done.path.parents[2])


def test_a_stale_reading_and_a_folder_without_one_are_refused(tmp_path: Path) -> None:
    done = run(TOY, tmp_path)
    folder = done.path.parents[2]
    journal = (folder / "journal.jsonl").read_text().splitlines()
    (folder / "journal.jsonl").write_text("\n".join(journal[:-9]) + "\n")
    with pytest.raises(UserError, match="does not follow from the journal any more"):
        pack(folder)
    run(TOY, tmp_path)
    assert pack(folder).readings == 1
    with pytest.raises(UserError, match="no finished run"):
        pack(tmp_path)
    shutil.rmtree(folder / "readings")
    with pytest.raises(UserError, match="no finished run"):
        pack(folder)


def test_a_run_whose_graph_is_not_here_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(TOY, tmp_path)
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "empty"))
    with pytest.raises(UserError, match=r"is not under .*empty: run the cell again"):
        pack(done.path.parents[2])


def test_questions_of_a_file_are_checked_where_they_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = tmp_path / "q.csv"
    questions.write_text(
        "id,query,answer_ids,cluster\n"
        'a,who flies at night?,"[""i1""]",Secret cluster\n'
        'b,what grows in dunes?,"[""p3""]",Secret cluster\n'
    )
    done = run(replace(TOY, queries=questions, limit=2), tmp_path)
    file = bundle_of(done, tmp_path)
    assert "Secret" not in b"".join(read_archive(file).values()).decode()
    for given in (questions, done.path.parents[2] / "queries.jsonl"):
        report = check(file, questions=given)
        assert any("2 questions have the hash" in line for line in report.passed)
    questions.write_text(questions.read_text().replace("at night", "by day"))
    report = verify(file, questions=questions)
    assert report.differences[0].startswith("questions.jsonl, query a, text_sha256")


def test_both_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(TOY, tmp_path)

    def script(name: str, *arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(REPOSITORY / "scripts" / name), run_name="__main__")
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    code, out, _ = script("bundle.py", done.path.parents[2])
    file = tmp_path / "bundles" / f"{done.path.parents[2].name}.zip"
    assert code == 0
    assert out.startswith(f"{file}: 1 readings, 27 questions")
    code, out, _ = script("verify.py", file)
    assert code == 0
    assert out.endswith("\nPASS\n")
    code, _, err = script("bundle.py", tmp_path)
    assert code == 2
    assert err.startswith("error: ")
    code, _, err = script("verify.py", done.path)
    assert code == 2
    assert "no whole zip file" in err


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("see /home/ann/x/prompt.txt now", "see …/prompt.txt now"),
        ("/home/ann/models/q.gguf", "…/q.gguf"),
        ("C:\\Users\\ann\\m.gguf", "…/m.gguf"),
        ("~/data/nodes.csv", "…/nodes.csv"),
        ("https://hpo.jax.org/app/license", "https://hpo.jax.org/app/license"),
        ("openai/gpt-4.1-mini and/or", "openai/gpt-4.1-mini and/or"),
        ("rate 3/4", "rate 3/4"),
    ],
)
def test_paths_are_cut_and_addresses_are_not(text: str, kept: str) -> None:
    assert without_paths(text) == kept
