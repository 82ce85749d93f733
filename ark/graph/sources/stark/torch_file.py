"""Reads one tensor from a ``.pt`` file without torch.

Such a file is a zip with ``NAME/data.pkl`` (a pickle that rebuilds the tensor from a storage) and
``NAME/data/KEY`` (the storage's raw bytes, uncompressed and aligned). The pickle goes through an
unpickler that admits ``torch._utils._rebuild_tensor_v2``, the plain storage types and the empty
``OrderedDict`` of hooks, and the numbers it gives are checked against the storage that is there.
"""

from __future__ import annotations

import math
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError
from ark.graph.sources.stark.unpickle import BROKEN, refused

_REBUILD = ("torch._utils", "_rebuild_tensor_v2")
_HOOKS = ("collections", "OrderedDict")
_STORAGES = {
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
}
_SMALL = 1 << 20  # a tensor's pickle has some hundred bytes
_COMPRESSED = 1 << 30  # torch never compresses; what somebody zipped again fits in memory
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, length of the name, of the extra field
_BLOCK = 1 << 24


def load_tensor(path: Path) -> NDArray[np.generic]:
    """The tensor in a file that ``torch.save`` wrote, read-only and mapped where stored plainly.

    Contiguous tensors of integers, floats and bools only. The storage's checksum is compared.
    Raises UserError, one line, for everything else: a missing, truncated or corrupted file,
    another kind of object, a shape that the storage does not hold.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive)
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}): mend the file") from error
    except (*BROKEN, zipfile.BadZipFile, NotImplementedError, zlib.error) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise UserError(
            f"{path} is not a readable tensor of torch.save ({reason}): download the file again"
        ) from error


class _Storage(NamedTuple):  # a tuple, because a pickle cannot change one that it has got
    kind: str
    key: str
    numel: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]


def _read(path: Path, archive: zipfile.ZipFile) -> NDArray[np.generic]:
    heads = [m for m in archive.infolist() if m.filename.split("/")[1:] == ["data.pkl"]]
    if len(heads) != 1:
        raise ValueError(f"{len(heads)} members data.pkl instead of one")
    name = heads[0].filename.split("/")[0]
    tensor = _TensorUnpickler(_small(archive, heads[0].filename), path).load()
    if type(tensor) is not _Tensor:
        raise ValueError(f"it holds no tensor but {type(tensor).__name__}")
    dtype = np.dtype(tensor.storage.kind)
    order = f"{name}/byteorder"
    big = order in archive.namelist() and _small(archive, order).strip() == b"big"
    dtype = dtype.newbyteorder(">" if big else "<")
    raw = _bytes(path, archive, f"{name}/data/{tensor.storage.key}")
    if len(raw) != tensor.storage.numel * dtype.itemsize:
        raise ValueError(f"a storage of {len(raw)} bytes for {tensor.storage.numel} {dtype}")
    stop = tensor.offset + math.prod(tensor.shape)
    if stop > tensor.storage.numel:
        raise ValueError(f"a tensor that ends at {stop} of {tensor.storage.numel} values")
    values = raw.view(dtype)[tensor.offset : stop].reshape(tensor.shape)
    values.flags.writeable = False
    return values


def _small(archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    if size > _SMALL:
        raise ValueError(f"{name} has {size} bytes")
    return archive.read(name)


def _bytes(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[np.uint8]:
    """A member's bytes after a look at its checksum: a map of the file, or a copy if compressed."""
    member = archive.getinfo(name)
    if member.flag_bits & 1:
        raise ValueError(f"{name} is encrypted")
    if member.compress_type != zipfile.ZIP_STORED:
        if member.file_size > _COMPRESSED:
            raise ValueError(f"{name} is compressed and has {member.file_size} bytes")
        return np.frombuffer(archive.read(member), np.uint8).copy()
    if member.file_size != member.compress_size:
        raise ValueError(f"{name} has two sizes")
    with path.open("rb") as file:
        file.seek(member.header_offset)
        signature, name_length, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        if signature != b"PK\x03\x04":
            raise ValueError(f"{name} has no local header")
        start = member.header_offset + _LOCAL_HEADER.size + name_length + extra
        if start + member.file_size > path.stat().st_size:
            raise ValueError(f"{name} reaches over the end of the file")
    if member.file_size == 0:
        return np.empty(0, np.uint8)
    raw = np.memmap(path, np.uint8, "r", start, (member.file_size,)).view(np.ndarray)
    found = 0
    for at in range(0, len(raw), _BLOCK):
        found = zlib.crc32(raw[at : at + _BLOCK].data, found)
    if found != member.CRC:
        raise ValueError(f"{name} has a wrong checksum")
    return raw


class _TensorUnpickler(pickle.Unpickler):
    def __init__(self, data: bytes, path: Path) -> None:
        super().__init__(BytesIO(data))
        self._path = path

    def find_class(self, module: str, name: str, /) -> Callable[..., Any] | str:
        # Functions are made anew: a pickle can set attributes on whatever comes back from here.
        if (module, name) == _REBUILD:
            return lambda *given: _rebuild(*given)  # noqa: PLW0108
        if (module, name) == _HOOKS:
            return lambda: None
        if module == "torch" and name in _STORAGES:
            return name
        raise refused(self._path, module, name)

    def persistent_load(self, pid: Any, /) -> _Storage:
        word, kind, key, _, numel = pid
        if word != "storage" or kind not in _STORAGES or not _count(numel):
            raise pickle.UnpicklingError("a persistent id that is no storage")
        if not isinstance(key, str) or not key.isdigit():
            raise pickle.UnpicklingError(f"a storage called {key!r}")
        return _Storage(_STORAGES[kind], key, numel)


def _rebuild(
    storage: Any, offset: Any, shape: Any, stride: Any, _grad: Any, _hooks: Any, _more: Any = None
) -> _Tensor:
    whole = (offset, *shape, *stride)
    if type(storage) is not _Storage or len(shape) != len(stride) or not all(map(_count, whole)):
        raise pickle.UnpicklingError("a tensor without storage, offset, shape and stride")
    step = 1
    for length, given in zip(reversed(shape), reversed(stride), strict=True):
        # Other strides are never in these files; a stride of 0 makes a huge array of few bytes.
        if length > 1 and given != step and 0 not in shape:
            raise pickle.UnpicklingError(f"shape {shape} with strides {stride}: not contiguous")
        step *= length
    return _Tensor(storage, offset, tuple(shape))


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
