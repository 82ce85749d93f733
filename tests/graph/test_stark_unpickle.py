"""Pickles of data are read, pickles of anything else are refused without a trace."""

from __future__ import annotations

import collections
import datetime
import gc
import importlib
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.errors import UserError
from ark.graph.sources.stark.unpickle import load_pickle

PLAIN = {
    0: {"name": "é \U0001f600", "n": -3, "big": 10**30, "x": 1.5, "none": None, "yes": True},
    1: [("a", "b"), [], {}, (), [[["deep"]]], "x" * 300, ["same"] * 3],
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def load(folder: Path, data: bytes, **more: Any) -> Any:
    path = folder / "node_info.pkl"
    path.write_bytes(data)
    return load_pickle(path, **more)


def complaint(folder: Path, data: bytes, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        load(folder, data, **more)
    text = str(caught.value)
    assert "\n" not in text
    assert str(folder / "node_info.pkl") in text
    return text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_of_every_protocol(tmp_path: Path, protocol: int) -> None:
    assert load(tmp_path, pickle.dumps(PLAIN, protocol)) == PLAIN


@given(values)
def test_any_plain_value(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    assert load(tmp_path_factory.getbasetemp(), pickle.dumps(value, 4)) == value


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize(
    "scalar",
    [
        *(np.int64(-5), np.int32(7), np.uint8(200), np.bool_(True), np.bool_(False)),
        *(np.float64(2.5), np.float64("inf"), np.str_("Rocky é \U0001f600"), np.str_("")),
        np.array([3], ">i4")[0],
    ],
    ids=repr,
)
def test_numpy_scalars_become_plain_values(tmp_path: Path, scalar: Any, protocol: int) -> None:
    (found,) = load(tmp_path, pickle.dumps([scalar], protocol))
    assert type(found) is type(scalar.item())
    assert found == scalar


def test_both_names_of_numpys_module_and_byte_orders(tmp_path: Path) -> None:
    big = np.array([1, -2], ">i8")
    data = pickle.dumps({"a": big[0], "b": [np.float64(0.1)] * 2, "c": np.float32(0.1)}, 3)
    for module in (b"numpy.core.multiarray", b"numpy._core.multiarray"):
        other = data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        found = load(tmp_path, other.replace(b"numpy.core.multiarray", module))
        assert found == {"a": 1, "b": [0.1, 0.1], "c": 0.1}
    assert str(load(tmp_path, pickle.dumps(np.float64("nan"), 4))) == "nan"


class Bomb:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self.made = (call, arguments)

    def __reduce__(self) -> Any:
        return self.made


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (os.system, f"{os.name}.system"),
        (subprocess.Popen, "Popen"),
        (eval, "eval"),
        (exec, "exec"),
        (open, "open"),
        (getattr, "getattr"),
        (importlib.import_module, "importlib.import_module"),
        (type, "type"),
        (collections.OrderedDict, "collections.OrderedDict"),
        (datetime.date, "datetime.date"),
        (np.load, "load"),
        (set, "set"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_else_is_refused_unrun(
    tmp_path: Path, call: Any, name: str, protocol: int
) -> None:
    mark = tmp_path / "ran"
    data = pickle.dumps({0: {"name": "x"}, 1: Bomb(call, f"touch {mark}")}, protocol)
    text = complaint(tmp_path, data)
    assert name in text
    assert "refused" in text
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(X\x04\x00\x00\x00exittR.",  # GLOBAL
        b"(X\x04\x00\x00\x00exitios\nsystem\n.",  # INST
        b"\x80\x04\x8c\x08builtins\x8c\x0dset.__class__\x93.",  # dotted name
        b"\x80\x04\x8c\x05numpy\x8c\x0ddtype.__new__\x93.",
        b"P17\n.",  # persistent id
        b"\x80\x02K\x11Q.",
    ],
)
def test_hand_made_requests_are_refused(tmp_path: Path, data: bytes) -> None:
    assert "refused, nothing was run" in complaint(tmp_path, data)


@pytest.mark.parametrize(
    "value",
    [
        np.array([1, 2]),
        np.array([None])[:1].dtype,
        np.datetime64("2020-01-01"),
        np.complex128(1),
        np.bytes_(b"x"),
        np.void(b"xx"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_other_numpy_things_are_refused(tmp_path: Path, value: Any) -> None:
    complaint(tmp_path, pickle.dumps({"a": value}, 4))


@pytest.mark.parametrize(
    "data",
    [
        b"\x82\x01.",  # extension code
        b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8tR.",  # a type alone is a value of ours: harmless
        b"cnumpy._core.multiarray\nscalar\n(K\x01K\x02tR.",
        b"cnumpy._core.multiarray\nscalar\n(cnumpy\ndtype\n(X\x02\x00\x00\x00f8tRC\x01atR.",
        b"cnumpy\ndtype\n(X\x01\x00\x00\x00OtR.",
        b"cnumpy\ndtype\n(K\x07tR.",
        b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8tR(K\x03X\x01\x00\x00\x00?tb.",
        b"",
        b".",
        b"not a pickle at all",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
        b"I" + b"9" * 6000 + b"\n.",
    ],
)
def test_broken_streams_are_one_line(tmp_path: Path, data: bytes) -> None:
    try:
        value = load(tmp_path, data)
    except UserError:
        complaint(tmp_path, data)
    else:
        assert type(value).__module__.startswith("ark.")


def test_what_a_pickle_sets_on_our_functions_is_gone_the_next_time(tmp_path: Path) -> None:
    scalar = b"cnumpy._core.multiarray\nscalar\n"
    poisoned = scalar + b"N}X\x0c\x00\x00\x00__defaults__(K\x01K\x02ts\x86b."
    made = load(tmp_path, poisoned)
    assert made.__defaults__ == (1, 2)
    assert load(tmp_path, scalar + b".").__defaults__ is None


def test_every_truncation_is_one_line(tmp_path: Path) -> None:
    data = pickle.dumps({0: {"name": "x", "n": np.float64(3)}, 1: {"name": np.str_("y")}}, 4)
    for stop in range(len(data)):
        complaint(tmp_path, data[:stop])


@given(st.binary(max_size=60))
def test_random_bytes_never_do_worse(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    try:
        load(folder, b"\x80\x04" + data)
    except UserError:
        complaint(folder, b"\x80\x04" + data)


def test_size_and_absence(tmp_path: Path) -> None:
    data = pickle.dumps("x" * 100)
    assert load(tmp_path, data, max_bytes=len(data)) == "x" * 100
    assert f"at most {len(data) - 1}" in complaint(tmp_path, data, max_bytes=len(data) - 1)
    with pytest.raises(UserError, match="No such file"):
        load_pickle(tmp_path / "none.pkl")


def test_the_collector_is_as_before(tmp_path: Path) -> None:
    assert gc.isenabled()
    load(tmp_path, pickle.dumps([]))
    complaint(tmp_path, b"")
    assert gc.isenabled()
    gc.disable()
    try:
        load(tmp_path, pickle.dumps([]))
        assert not gc.isenabled()
    finally:
        gc.enable()
