"""The reader of ``.pt`` files: what torch writes comes back, what is wrong is one line."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_stark import tensor_pickle, write_pt, write_tensor

from ark.errors import UserError
from ark.graph.sources.stark.torch_file import load_tensor

EDGES = np.arange(12, dtype=np.int64).reshape(2, 6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "edge_index.pt"


def complaint(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_tensor(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


@pytest.mark.parametrize("dtype", ["i8", "i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(12,), (2, 6), (3, 1, 4), (1, 12), (0,), (2, 0)])
def test_values_and_shapes(path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    array = (np.arange(size) - 3).astype(dtype).reshape(shape)
    write_tensor(path, array)
    found = load_tensor(path)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert np.array_equal(found, array)
    assert not found.flags.writeable


def test_a_scalar_and_a_part_of_a_storage(path: Path) -> None:
    write_tensor(path, np.array(7, np.int64), shape=(), stride=())
    assert load_tensor(path).shape == ()
    write_tensor(path, EDGES, shape=(2, 2), stride=(2, 1), offset=3)
    assert load_tensor(path).tolist() == [[3, 4], [5, 6]]


def test_the_file_is_mapped_and_not_copied(path: Path) -> None:
    write_tensor(path, EDGES)
    base: Any = load_tensor(path)
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_compressed_and_big_endian_files(path: Path) -> None:
    write_pt(path, tensor_pickle(EDGES), EDGES.tobytes(), zipfile.ZIP_DEFLATED)
    assert load_tensor(path).tolist() == EDGES.tolist()
    write_pt(path, tensor_pickle(EDGES), EDGES.astype(">i8").tobytes(), order="big")
    assert load_tensor(path).tolist() == EDGES.tolist()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stride": (0, 0)}, "not contiguous"),
        ({"shape": (6, 2), "stride": (1, 6)}, "not contiguous"),
        ({"shape": (1 << 40,), "stride": (0,)}, "not contiguous"),
        ({"shape": (6,), "stride": (2,)}, "not contiguous"),
        ({"shape": (6,), "stride": (-1,)}, "UnpicklingError"),
        ({"shape": (-6,), "stride": (1,)}, "UnpicklingError"),
        ({"shape": (12,)}, "UnpicklingError"),
        ({"offset": 1}, "ends at 13 of 12"),
        ({"offset": -1}, "UnpicklingError"),
        ({"shape": (2, 7), "stride": (7, 1)}, "ends at 14 of 12"),
        ({"shape": (1 << 40,), "stride": (1,)}, "of 12 values"),
        ({"numel": 11}, "96 bytes for 11"),
        ({"numel": 13}, "96 bytes for 13"),
        ({"numel": -12}, "UnpicklingError"),
        ({"storage": "torch BFloat16Storage"}, "torch.BFloat16Storage"),
        ({"storage": "torch UntypedStorage"}, "torch.UntypedStorage"),
        ({"storage": "torch IntStorage"}, "96 bytes for 12"),
        ({"rebuild": "torch._utils _rebuild_parameter"}, "torch._utils._rebuild_parameter"),
        ({"rebuild": "torch._utils _rebuild_sparse_tensor"}, "refused"),
        ({"rebuild": "os system"}, "'os.system', which plain data never does: refused"),
    ],
)
def test_what_the_storage_does_not_hold(path: Path, changes: dict[str, Any], said: str) -> None:
    write_tensor(path, EDGES, **changes)
    assert said in complaint(path)


@pytest.mark.parametrize(
    "head",
    [
        b"\x80\x02}.",
        b"\x80\x02K\x01.",
        b"\x80\x02ctorch\nLongStorage\n.",
        b"\x80\x02(X\x07\x00\x00\x00storageK\x01tQ.",
        b"\x80\x02X\x03\x00\x00\x00oddQ.",
        b"\x80\x02cposix\nsystem\n(X\x04\x00\x00\x00exittR.",
        b"\x80\x02",
        b"",
        b"\x80\x02" + b"0" * (1 << 20),
    ],
)
def test_other_things_than_a_tensor(path: Path, head: bytes) -> None:
    write_pt(path, head, EDGES.tobytes())
    complaint(path)


def test_a_state_set_on_a_storage_changes_nothing(path: Path) -> None:
    stored = b"(X\x07\x00\x00\x00storagectorch\nLongStorage\n"
    stored += b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x0ctQ"
    poison = b"}X\x04\x00\x00\x00kindX\x01\x00\x00\x00Osb"
    rest = b"K\x00(K\x0ct(K\x01t\x89NtR."
    head = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
    write_pt(path, head + stored + rest, EDGES.tobytes())
    assert load_tensor(path).tolist() == list(range(12))
    write_pt(path, head + stored + poison + rest, EDGES.tobytes())
    complaint(path)


def test_a_missing_a_foreign_and_an_ambiguous_file(path: Path) -> None:
    assert "No such file" in complaint(path)
    path.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")  # how the format before began
    assert "not a zip file" in complaint(path)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a/data.pkl", tensor_pickle(EDGES))
        out.writestr("b/data.pkl", tensor_pickle(EDGES))
    assert "2 members data.pkl" in complaint(path)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a/data.pkl", tensor_pickle(EDGES))
    assert "a/data/0" in complaint(path)


def test_every_truncation_is_one_line(path: Path) -> None:
    write_tensor(path, EDGES)
    whole = path.read_bytes()
    for stop in range(len(whole)):
        path.write_bytes(whole[:stop])
        complaint(path)


def test_a_flipped_bit_in_the_data_is_seen_and_elsewhere_does_no_harm(path: Path) -> None:
    write_tensor(path, EDGES)
    whole = path.read_bytes()
    start = whole.index(EDGES.tobytes())
    draw = random.Random(0)
    for at in [start, start + 95, *draw.sample(range(len(whole)), 300)]:
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        if start <= at < start + EDGES.nbytes:
            assert "wrong checksum" in complaint(path)
            continue
        try:
            found = load_tensor(path).tolist()
        except UserError:
            complaint(path)
        else:
            assert found == EDGES.tolist()
