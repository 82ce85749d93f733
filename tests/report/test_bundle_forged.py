"""Every seeded forgery is found where it was made, also by a forger who mends the hashes."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ark.agent import Fusion
from ark.backbone.lexical import LexicalBackbone
from ark.errors import UserError
from ark.records import Completion, Json, Message
from ark.report import bundle_archive
from ark.report.bundle import pack
from ark.report.bundle_archive import SUMS, read_archive, sums, write_archive
from ark.report.verify import verify
from ark.run import CellSpec, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.identity import digest

HERE = "test_bundle_forged"
Members = dict[str, bytes]


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
        used = replace(made.usage, prompt_tokens=tokens, completion_tokens=9, cost=tokens * 1e-6)
        return replace(made, usage=used)


@pytest.fixture(scope="module")
def honest(data_root_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Members:
    spec = CellSpec(
        GraphSpec("toy"),
        PluginSpec("ark", "ark.agent.method:Ark"),
        PluginSpec("priced", f"{HERE}:Priced"),
        split="all",
        fusion=Fusion("random"),
    )
    folder = tmp_path_factory.mktemp("forged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARK_DATA", str(data_root_path))
        patch.syspath_prepend(str(Path(__file__).parent))
        done = run_cell(spec, Transport(results_dir=folder, progress=False))
        run_cell(replace(spec, backfill="bm25"), Transport(results_dir=folder, progress=False))
        (folder / "b.zip").write_bytes(pack(done.path.parents[2]).data)
    return read_archive(folder / "b.zip")


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch, data_root_path: Path) -> None:
    monkeypatch.setenv("ARK_DATA", str(data_root_path))


Verdict = Callable[..., list[str]]


@pytest.fixture
def verdict(honest: Members, tmp_path: Path) -> Verdict:
    """Differences after an edit, by a forger who recomputes SHA256SUMS or does not."""

    def of(edit: Callable[[Members], None], *, mend: bool = True, graph: str = "none") -> list[str]:
        members = dict(honest)
        edit(members)
        if mend:
            members[SUMS] = sums(members)
        file = tmp_path / "forged.zip"
        file.write_bytes(write_archive(members))
        return verify(file, graph=graph).differences

    return of


def journal(
    change: Callable[[dict[str, Json]], None], which: Callable[[dict[str, Json]], bool]
) -> Callable[[Members], None]:
    """An edit of the first journal line that fits."""

    def edit(members: Members) -> None:
        lines = [json.loads(line) for line in members["journal.jsonl"].splitlines()]
        change(next(line for line in lines if which(line)))
        dump = [json.dumps(line, sort_keys=True) for line in lines if line]
        members["journal.jsonl"] = ("\n".join(dump) + "\n").encode()

    return edit


def an_agent(line: dict[str, Json]) -> bool:
    return line.get("kind") == "agent" and len(line["nodes"]) > 1


def a_question(line: dict[str, Json]) -> bool:
    return line.get("kind") == "query" and len(line["lists"][0]) > 1


def result(change: Callable[[dict[str, Json]], None]) -> Callable[[Members], None]:
    """An edit of the first reading's result.json."""

    def edit(members: Members) -> None:
        name = next(n for n in sorted(members) if n.endswith("result.json"))
        data = json.loads(members[name])
        change(data)
        members[name] = json.dumps(data).encode()

    return edit


def flip(nodes: list[Json]) -> None:
    nodes[0], nodes[1] = nodes[1], nodes[0]


def one_flipped_rank(members: Members) -> None:
    journal(lambda line: flip(line["nodes"]), an_agent)(members)


def one_flipped_rank_in_both_lines(members: Members) -> None:
    """In every line of one question, so that only the fused list tells."""
    lines = [json.loads(line) for line in members["journal.jsonl"].splitlines()]
    query = next(line["query"] for line in lines if a_question(line))
    for line in lines:
        if line["query"] == query:
            for one in line.get("lists", [line.get("nodes")]):
                if len(one) > 1:
                    flip(one)
    members["journal.jsonl"] = ("\n".join(map(json.dumps, lines)) + "\n").encode()


def drop(name: str, query: str) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        kept = [
            line
            for line in members[name].decode().splitlines(keepends=True)
            if query not in re.split(r'[",: ]+', line)
        ]
        members[name] = "".join(kept).encode()

    return edit


def first_question(honest: Members) -> str:
    return str(json.loads(honest["questions.jsonl"].splitlines()[0])["id"])


def test_the_honest_bundle_passes(verdict: Verdict) -> None:
    assert verdict(lambda members: None, graph="auto") == []


@pytest.mark.parametrize("mend", [True, False], ids=["sums mended", "sums as they were"])
@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (one_flipped_rank, r"journal.jsonl, query \S+, agent 0, rank 1: expected \S+, found \S+"),
        (one_flipped_rank_in_both_lines, r"per_query.csv, query \S+, "),
        (
            journal(lambda line: line["lists"][0].pop(), a_question),
            r"journal.jsonl, query \S+, agent 0, length of its list",
        ),
        (
            journal(lambda line: line["calls"][0].__setitem__(3, 0.01), an_agent),
            r"journal.jsonl, query \S+, agent 0, usage of ark.step, cost: expected 0.01\d*, found",
        ),
        (
            journal(lambda line: line["calls"][0].__setitem__(1, 1), an_agent),
            r"usage of ark.step, prompt_tokens",
        ),
        (
            journal(lambda line: line["usage"]["ark.step"].update(cost=0.01), an_agent),
            r"usage of ark.step, cost: expected .*, found 0.01",
        ),
        (
            journal(lambda line: line["usage"].update(cost=0.01), a_question),
            r"journal.jsonl, query \S+, usage, cost",
        ),
        (
            journal(lambda line: line.update(status="limit"), an_agent),
            r"journal.jsonl, query \S+, status: expected limit, found ok",
        ),
        (journal(lambda line: line.clear(), a_question), "PASS"),
        (journal(lambda line: line.clear(), an_agent), r"journal.jsonl, query \S+, agents"),
        (
            result(lambda r: r["measures"]["hit@1"].update(mean=0.99)),
            r"result.json, measures.hit@1.mean: expected 0\.\d+, found 0.99",
        ),
        (
            result(lambda r: r["measures"]["mrr"].update(low=0.5)),
            r"result.json, measures.mrr.low: expected 0\.\d+, found 0.5",
        ),
        (
            result(lambda r: r["measures"]["recall@20"].update(design_effect=1.5)),
            r"result.json, measures.recall@20.design_effect",
        ),
        (result(lambda r: r["usage"].update(cost=0.0)), r"result.json, usage.cost"),
        (result(lambda r: r["counts"].update(failed=1)), r"result.json, counts.failed"),
        (result(lambda r: r["strata"].pop("hops")), r"result.json, strata.hops"),
        (
            result(lambda r: r["single_agents"]["mrr"].reverse() or r["single_agents"].pop("mrr")),
            r"result.json, single_agents.mrr",
        ),
        (result(lambda r: r.update(significance="high")), r"result.json, significance"),
        (
            result(lambda r: r["cell"].update(seed=5)),
            r"result.json, cell.seed: expected 0, found 5",
        ),
        (result(lambda r: r["cell"].update(split="val")), r"result.json, cell.split"),
        (
            result(lambda r: r["cell"].update(backbone_model="priced-9")),
            r"result.json, cell.backbone_model",
        ),
        (
            result(lambda r: r["cell"]["treatment"].update(backfill="other")),
            r"result.json, cell.treatment.backfill",
        ),
        (
            result(lambda r: r["cell"].update(ablation="no_query")),
            r"result.json, cell.ablation: expected full, found no_query",
        ),
        (
            result(lambda r: r["cell"].update(gold="answer_ids_source")),
            r"result.json, cell.gold: expected answer_ids, found answer_ids_source",
        ),
        (result(lambda r: r["cell"].update(method="ARK 2")), r"result.json, cell.method"),
        (result(lambda r: r["cell"].update(forced={"a": 1})), r"result.json, cell.forced"),
        (
            result(lambda r: r["cell"].update(forced={"handles": "opaque"})),
            r"result.json, cell.forced",
        ),
        (result(lambda r: r["cell"].update(human="yes")), r"result.json, cell.human: expected not"),
        (
            result(lambda r: r["cell"]["treatment"].update(rerank="model")),
            r"result.json, cell.treatment.rerank: expected None, found model",
        ),
        (result(lambda r: r["cell"]["treatment"].update(more=1)), r"cell.treatment.more"),
        (result(lambda r: r["cell"]["treatment"].pop("seeds")), r"cell.treatment.seeds"),
        *(
            (result(lambda r, k=k, v=v: r["cell"]["changed"].update({k: v})), rf"cell.changed.{k}")
            for k, v in (
                ("max_steps", 5),
                ("max_steps", 20),
                ("handles", "opaque"),
                ("seed", 3),
                ("candidates", "gene"),
                ("search.k1", 1.5),
                ("graph.color", "red"),
                ("wishes", 3),
            )
        ),
        (
            result(lambda r: r["cell"]["identity"].update(seed=5)),
            r"result.json, cell.identity.seed: expected 0, found 5",
        ),
        (
            result(lambda r: r["cell"]["reading"]["fusion"].update(kind="rrf")),
            r"result.json, cell.cell_id",
        ),
    ],
)
def test_one_edit_is_found_at_its_place(
    verdict: Verdict, edit: Callable[[Members], None], place: str, mend: bool
) -> None:
    found = verdict(edit, mend=mend)
    if place == "PASS":  # a question's line only repeats its agents' lines: nothing is lost
        assert found == [] or (not mend and found[0].startswith(SUMS))
        return
    assert re.search(place, found[-1]), found
    assert len(found) == (1 if mend else 2)
    assert mend or found[0].startswith(f"{SUMS}, line ")


def test_an_edited_seed_is_found(verdict: Verdict) -> None:
    def of_the_run(members: Members, *, mend_ids: bool) -> None:
        run = json.loads(members["run.json"])
        run["seed"] = 7
        members["run.json"] = (
            json.dumps(run, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        )
        if mend_ids:
            about = json.loads(members["bundle.json"])
            about["run_id"] = digest(run)
            members["bundle.json"] = json.dumps(about).encode()

    assert "bundle.json, run_id" in verdict(lambda m: of_the_run(m, mend_ids=False))[0]
    assert "cell.identity.seed" in verdict(lambda m: of_the_run(m, mend_ids=True))[0]


def test_an_edited_seed_with_every_id_mended_moves_the_random_fusion(
    verdict: Verdict,
) -> None:
    def edit(members: Members) -> None:
        run = json.loads(members["run.json"])
        run["seed"] = 7
        members["run.json"] = (
            json.dumps(run, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        )
        about = json.loads(members["bundle.json"])
        about["run_id"] = digest(run)
        members["bundle.json"] = json.dumps(about).encode()
        for old in bundle_archive.cells_of(members):
            files = {n: members.pop(n) for n in list(members) if f"/{old}/" in n}
            data = json.loads(files[f"readings/{old}/result.json"])
            new = digest({"run": digest(run), "reading": data["cell"]["reading"]})
            data["cell"].update(identity=run, run_id=digest(run), cell_id=new, seed=7)
            data["cell"]["changed"]["seed"] = 7
            files[f"readings/{old}/result.json"] = json.dumps(data).encode()
            members.update({n.replace(old, new): d for n, d in files.items()})

    assert "per_query.csv, query" in verdict(edit)[0]


def test_a_removed_question_is_found(verdict: Verdict, honest: Members) -> None:
    query = first_question(honest)
    place = verdict(drop("questions.jsonl", query))[0]
    assert place.startswith(f"journal.jsonl, query {query}")
    place = verdict(drop("journal.jsonl", query))[0]
    assert re.search(rf"per_query.csv, query {query}, status: expected missing, found ok", place)

    def everywhere(members: Members) -> None:
        for name in ("questions.jsonl", "journal.jsonl"):
            drop(name, query)(members)
        for name in [n for n in members if n.endswith((".csv", ".trec", "backfill.jsonl"))]:
            drop(name, query)(members)

    assert re.search(r"result.json, counts.queries: expected 26, found 27", verdict(everywhere)[0])


def test_derived_files_and_the_card_are_compared(verdict: Verdict) -> None:
    def swap(ending: str, old: bytes, new: bytes) -> Callable[[Members], None]:
        def edit(members: Members) -> None:
            name = next(n for n in sorted(members) if n.endswith(ending))
            assert old in members[name]
            members[name] = members[name].replace(old, new, 1)

        return edit

    assert "run.trec, line 1" in verdict(swap("run.trec", b" Q0 ", b" Q1 "))[0]
    assert "qrels.trec, line 1" in verdict(swap("qrels.trec", b" 0 ", b" 1 "))[0]
    assert "card.md, line" in verdict(swap("card.md", b"priced", b"gpt"))[0]
    assert "column 1" in verdict(swap("per_query.csv", b"query", b"Query"))[0]
    assert "per_query.csv, query" in verdict(swap("per_query.csv", b",ok,", b",limit,"))[0]
    assert "cell.credit" in verdict(swap("bundle.json", b"Toy garden", b"My garden"))[0]


def test_what_only_the_graph_can_tell(verdict: Verdict) -> None:
    def other_type(members: Members) -> None:
        members["nodes.jsonl"] = members["nodes.jsonl"].replace(b'"insect"', b'"plant"', 1)

    def other_backfill(members: Members) -> None:
        name = next(n for n in sorted(members) if n.endswith("backfill.jsonl"))
        rows = [json.loads(line) for line in members[name].splitlines()]
        longest = max(rows, key=lambda row: len(row[1]))
        longest[1] = longest[1][:19]  # the last rank of a full list: maybe nothing reads it
        longest[1].append("h4" if "h4" not in longest[1] else "h3")
        members[name] = ("\n".join(map(json.dumps, rows)) + "\n").encode()

    def other_text(members: Members) -> None:
        rows = [json.loads(line) for line in members["questions.jsonl"].splitlines()]
        rows[0]["text_sha256"] = "0" * 64
        members["questions.jsonl"] = ("\n".join(map(json.dumps, rows)) + "\n").encode()

    assert verdict(other_type) == []
    assert "nodes.jsonl, node" in verdict(other_type, graph="auto")[0]
    assert "text_sha256" in verdict(other_text, graph="auto")[0]
    assert verdict(other_backfill, graph="auto") != []


# -- archives that are none --------------------------------------------------------------------


def archive(tmp_path: Path, *files: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files:
            made.writestr(name, data)
    (tmp_path / "hostile.zip").write_bytes(out.getvalue())
    return tmp_path / "hostile.zip"


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "readings/../run.json",
        "readings/x/result.json",
        "readings/0123456789abcdef/../../x",
        "C:\\run.json",
        "RUN.JSON",
        "a.pkl",
    ],
)
def test_no_name_leads_anywhere(honest: Members, tmp_path: Path, name: str) -> None:
    info = zipfile.ZipInfo("run.json")
    info.filename = name
    file = archive(tmp_path, *[(n, d) for n, d in honest.items() if n != "card.md"], (info, b"x"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="do not trust this one"):
        verify(file)
    assert sorted(tmp_path.rglob("*")) == before


def test_links_and_repeated_members_are_refused(honest: Members, tmp_path: Path) -> None:
    link = zipfile.ZipInfo("run.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    rest = [(n, d) for n, d in honest.items() if n != "run.json"]
    with pytest.raises(UserError, match="something else than a plain file"):
        verify(archive(tmp_path, *rest, (link, b"/etc/passwd")))
    file = archive(tmp_path, *honest.items())
    with zipfile.ZipFile(file, "a") as made:
        made.comment = b"names of patients"
    with pytest.raises(UserError, match="has comments"):
        verify(file)
    with pytest.warns(UserWarning, match="Duplicate name"):
        file = archive(tmp_path, *honest.items(), ("run.json", b"{}"))
    with pytest.raises(UserError, match=r"has run\.json twice"):
        verify(file)


def test_bombs_are_not_unpacked(
    honest: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_archive, "MOST_UNPACKED", 1 << 20)
    bomb = {**honest, "journal.jsonl": b"\n" * (2 << 20)}
    with pytest.raises(UserError, match="would unpack to more than 1 MB"):
        verify(archive(tmp_path, *bomb.items()))
    file = archive(tmp_path, *{**honest, "card.md": b"x" * 5000}.items())
    lie = file.read_bytes().replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    file.write_bytes(lie)
    with pytest.raises(UserError, match="do not trust this one"):
        verify(file)
    monkeypatch.setattr(bundle_archive, "MOST_PACKED", 100)
    with pytest.raises(UserError, match="is larger than"):
        verify(file)


def test_files_that_are_no_archive(honest: Members, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no bundle"):
        verify(tmp_path / "none.zip")
    (tmp_path / "cut.zip").write_bytes(write_archive(honest)[:-100])
    with pytest.raises(UserError, match="no whole zip file"):
        verify(tmp_path / "cut.zip")
    data = bytearray(write_archive(honest))
    data[200] ^= 0xFF
    (tmp_path / "bad.zip").write_bytes(bytes(data))
    with pytest.raises(UserError, match="do not trust this one"):
        verify(tmp_path / "bad.zip")
    rest = {n: d for n, d in honest.items() if n != "nodes.jsonl"}
    with pytest.raises(UserError, match=r"lacks nodes\.jsonl"):
        verify(archive(tmp_path, *rest.items()))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("journal.jsonl", b'"answers":', b'"answers":-'),
        ("journal.jsonl", b'"seconds":', b'"seconds":NaN,"x":'),
        ("journal.jsonl", b'"kind":"agent"', b'"kind":"agent","kind":"agent"'),
        ("journal.jsonl", b'"kind":"agent"', b'"kind":"agent","strange":1'),
        ("journal.jsonl", b'"nodes":[', b'"nodes":[' + b"[" * 100_000),
        ("journal.jsonl", b'"nodes":["', b'"nodes":["' + b"x" * 5_000),
        ("questions.jsonl", b'"hops":', b'"hops":1e999,"x":'),
        ("questions.jsonl", b'"wording":"name"', b'"wording":"<script>"'),
        ("journal.jsonl", b'"kind":"agent"', b'"kind":"agent","\\u001b[2J":1'),
        ("nodes.jsonl", b"null]", b'"nowhere"]'),
        ("bundle.json", b'"format": 1', b'"format": 99'),
        ("bundle.json", b'"name": "toy', b'"nome": "toy'),
        ("run.json", b'"seed":0', b'"seed":'),
    ],
)
def test_malformed_members_end_in_one_line(
    honest: Members, tmp_path: Path, name: str, old: bytes, new: bytes
) -> None:
    assert old in honest[name]
    members = {**honest, name: honest[name].replace(old, new, 1)}
    members[SUMS] = sums(members)
    (tmp_path / "m.zip").write_bytes(write_archive(members))
    with pytest.raises(UserError, match=r"is malformed: [^\n]{5,400}$") as raised:
        verify(tmp_path / "m.zip", graph="none")
    assert str(raised.value).isprintable()
