"""Where STaRK's files are looked for, what is said when they are not there, hostile archives.

Nothing asks the network: archives lie in a hub cache that the test makes by hand.
"""

from __future__ import annotations

import random
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_stark import write_all, write_archive

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.graph.sources.stark.names import BENCHMARKS, REVISION

OTHER = "1" * 40  # a revision whose hashes are not on record
GRAPHS = sorted(BENCHMARKS)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of built things; no name is looked up in it."""

    def lookup(*_: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setenv("ARK_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_all(tmp_path / "stark")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Gives the path of a file of the data set in the hub client's cache."""
    pytest.importorskip("huggingface_hub", reason="pip install -e '.[hub]'")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshots = tmp_path / "hub" / "datasets--snap-stanford--stark" / "snapshots"

    def place(file: str, revision: str = OTHER) -> Path:
        (snapshots / revision / file).parent.mkdir(parents=True, exist_ok=True)
        return snapshots / revision / file

    return place


def complaint(name: str, **settings: object) -> str:
    with pytest.raises(UserError) as caught:
        source_for(name, **settings).key()
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("name", GRAPHS)
def test_a_root_holds_the_graphs_or_is_one(root: Path, name: str) -> None:
    key = source_for(name, root=root).key()
    assert source_for(name, root=str(root / name)).key() == key
    assert source_for(name, root=root).question_folder() == root / name


@pytest.mark.parametrize("name", GRAPHS)
def test_a_root_without_it_says_what_belongs_there(tmp_path: Path, name: str) -> None:
    bench = BENCHMARKS[name]
    for place in (tmp_path / "nowhere", tmp_path):
        text = complaint(name, root=place)
        assert str(place) in text
        assert f"download {bench.archive} from https://huggingface.co/datasets/" in text
        assert f"tree/{REVISION} " in text
        assert f"DIR/{name}/{bench.folder}/ holds node_info.pkl, " in text
        assert f"qa/{name}/stark_qa/ and qa/{name}/split/" in text
        assert text.endswith("give graph.root=DIR")


@pytest.mark.parametrize("name", GRAPHS)
def test_every_file_that_is_missing_is_named(root: Path, name: str) -> None:
    bench = BENCHMARKS[name]
    folder = root / name / bench.folder
    for file in bench.files:
        (folder / file).rename(folder / "away")
        assert f"lacks {file} in {folder}: unpack {bench.archive}" in complaint(name, root=root)
        (folder / "away").rename(folder / file)
    for file in ("node_info.pkl", "edge_types.pt"):
        (folder / file).unlink()
    assert "lacks node_info.pkl, edge_types.pt in" in complaint(name, root=root)


def test_mags_names_need_no_file(root: Path) -> None:
    key = source_for("mag", root=root).key()
    for file in ("node_type_dict.pkl", "edge_type_dict.pkl"):
        (root / "mag" / "processed" / file).unlink()
    assert source_for("mag", root=root).key() == key


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("offline", [True, False])
def test_without_network_one_line_says_what_to_do(
    hub: Callable[[str], Path], data: Path, name: str, offline: bool
) -> None:
    del hub  # an empty cache
    text = complaint(name, offline=offline)
    bench = BENCHMARKS[name]
    why = "offline" if offline else "the data hub has no address here"
    assert f"needs {bench.archive} of snap-stanford/stark, which cannot be fetched ({why})" in text
    assert f"unpack it so that DIR/{name}/{bench.folder}/ holds" in text
    assert text.endswith("give graph.root=DIR")
    with pytest.raises(UserError, match=f"needs qa/{name}/stark_qa/stark_qa.csv of"):
        source_for(name, offline=offline).question_folder()
    assert not list(data.rglob("*"))


@pytest.mark.parametrize("name", GRAPHS)
def test_what_the_hub_gave_is_unpacked_once(
    root: Path, hub: Callable[[str], Path], data: Path, name: str
) -> None:
    bench = BENCHMARKS[name]
    archive = write_archive(root, name, hub(bench.archive))
    questions = root / name
    for file in ("stark_qa/stark_qa.csv", "stark_qa/stark_qa_human_generated_eval.csv"):
        hub(f"qa/{name}/{file}").write_bytes((questions / file).read_bytes())
    for split in ("train", "val", "test", "test-0.1"):
        file = f"split/{split}.index"
        hub(f"qa/{name}/{file}").write_bytes((questions / file).read_bytes())
    fetched = source_for(name, revision=OTHER)
    assert fetched.key() == source_for(name, root=root).key()  # by content, wherever it lies
    assert OTHER in fetched.provenance().origin
    unpacked = data / "downloads" / f"stark-{OTHER[:12]}" / name / bench.folder
    assert sorted(f.name for f in unpacked.iterdir()) == sorted(bench.files)
    folder = fetched.question_folder()
    assert (folder / "split" / "val.index").read_bytes() == (
        questions / "split" / "val.index"
    ).read_bytes()
    archive.unlink()
    again = source_for(name, revision=OTHER, offline=True)
    assert isinstance(open_or_build(again, data), KnowledgeGraph)
    assert again.question_folder() == folder


def test_a_file_with_another_hash_is_refused(
    root: Path, hub: Callable[..., Path], data: Path
) -> None:
    archive = write_archive(root, "prime", hub("skb/prime/processed.zip", REVISION))
    text = complaint("prime")
    assert f"{archive} has sha256 " in text
    assert "has f6f265f60b761784...: delete that file" in text
    questions = hub("qa/prime/stark_qa/stark_qa.csv", REVISION)
    questions.write_text("id,query,answer_ids\n")
    with pytest.raises(UserError, match=r"has a27e5d63da6044e5\.\.\.: delete that file"):
        source_for("prime").question_folder()
    assert not list(data.rglob("*"))


def rewritten(archive: Path, change: Callable[[zipfile.ZipFile, zipfile.ZipFile], None]) -> None:
    """Copies an archive through ``change(old, new)``."""
    old = archive.rename(archive.with_suffix(".old"))
    with zipfile.ZipFile(old) as before, zipfile.ZipFile(archive, "w") as after:
        change(before, after)


def _without_types(before: zipfile.ZipFile, after: zipfile.ZipFile) -> None:
    for member in before.namelist():
        if not member.endswith("edge_types.pt"):
            after.writestr(member, before.read(member))


def _elsewhere(before: zipfile.ZipFile, after: zipfile.ZipFile) -> None:
    for member in before.namelist():
        after.writestr(member.replace("processed/", "other/"), before.read(member))


def _with(name: str) -> Callable[[zipfile.ZipFile, zipfile.ZipFile], None]:
    def change(before: zipfile.ZipFile, after: zipfile.ZipFile) -> None:
        for member in before.namelist():
            after.writestr(member, before.read(member))
        after.writestr(name, "x")

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with("../../evil.pt"), "leads out of its folder"),
        (_with("/etc/evil.pt"), "leads out of its folder"),
        (_with("processed/../../node_types.pt"), "leads out of its folder"),
        (_with("copy/processed/node_info.pkl"), "node_info.pkl more than once"),
        (_without_types, "lacks edge_types.pt under processed/"),
        (_elsewhere, "lacks node_info.pkl, edge_index.pt"),
    ],
)
def test_archives_that_are_not_what_they_should_be(
    root: Path,
    hub: Callable[[str], Path],
    data: Path,
    tmp_path: Path,
    change: Callable[[zipfile.ZipFile, zipfile.ZipFile], None],
    said: str,
) -> None:
    archive = write_archive(root, "prime", hub("skb/prime/processed.zip"))
    rewritten(archive, change)
    text = complaint("prime", revision=OTHER)
    assert said in text
    assert str(archive) in text
    assert not [f for f in data.rglob("*") if f.is_file() or f.name.startswith(".building")]
    assert not list(tmp_path.rglob("evil.pt"))


def test_a_member_larger_than_any_release_is_not_unpacked(
    root: Path, hub: Callable[[str], Path], data: Path
) -> None:
    archive = write_archive(root, "prime", hub("skb/prime/processed.zip"))
    raw = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        member = opened.getinfo("processed/node_info.pkl")
    head = raw.index(b"PK\x01\x02", opened.start_dir)
    while not raw[head + 46 :].startswith(b"processed/node_info.pkl"):
        head = raw.index(b"PK\x01\x02", head + 4)
    claimed = (3 << 30).to_bytes(4, "little")
    assert raw[head + 24 : head + 28] == member.file_size.to_bytes(4, "little")
    archive.write_bytes(raw[: head + 24] + claimed + raw[head + 28 :])
    assert "would unpack to 3,221,225,472 bytes" in complaint("prime", revision=OTHER)
    assert not [f for f in data.rglob("*") if f.is_file()]


def test_cut_and_corrupted_archives_leave_nothing(
    root: Path, hub: Callable[[str], Path], data: Path
) -> None:
    archive = write_archive(root, "prime", hub("skb/prime/processed.zip"))
    whole = archive.read_bytes()
    draw = random.Random(0)
    for _ in range(40):
        archive.write_bytes(whole[: draw.randrange(len(whole))])
        assert "fetch it again" in complaint("prime", revision=OTHER)
        assert not [f for f in data.rglob("*") if f.is_file() or f.name.startswith(".building")]
    start = whole.index(b"node_info.pkl") + 60
    archive.write_bytes(whole[:start] + bytes([whole[start] ^ 255]) + whole[start + 1 :])
    assert "not a whole zip archive" in complaint("prime", revision=OTHER)
    assert not [f for f in data.rglob("*") if f.is_file() or f.name.startswith(".building")]
    archive.write_bytes(whole)
    assert source_for("prime", revision=OTHER).key() == source_for("prime", root=root).key()
