"""Reads pickles of plain data without running what they ask for.

Plain containers, strings and numbers need no global at all. What STaRK's files may hold beside
them are NumPy scalars (values of DataFrame rows; AMAZON's brand, category and color names are
``numpy.str_``). They are admitted by the exact pair of module and name, and built by code of our
own: no class and no function of NumPy is ever called with what a file says. Everything else is
refused by name before it is looked up.
"""

from __future__ import annotations

import gc
import pickle
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from ark.errors import UserError

# What a broken or hostile stream makes the unpickler raise.
BROKEN = (
    pickle.UnpicklingError,
    ValueError,  # UnicodeDecodeError is one
    EOFError,
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    RecursionError,
    MemoryError,
    struct.error,
)
_SCALAR = {("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar")}
_DTYPE = ("numpy", "dtype")
_FORMATS = {  # NumPy's type code: struct's
    "b1": "?",
    **{f"i{2**k}": code for k, code in enumerate("bhiq")},
    **{f"u{2**k}": code for k, code in enumerate("BHIQ")},
    "f2": "e",
    "f4": "f",
    "f8": "d",
}


def load_pickle(path: Path, *, max_bytes: int | None = None) -> Any:
    """The object in a pickle file made of plain data and NumPy scalars (as Python's own).

    Raises UserError if the file is missing, larger than ``max_bytes``, not a whole pickle, or
    asks for any other global; nothing that it names has been imported or called then.
    """
    try:
        size = path.stat().st_size
        if max_bytes is not None and size > max_bytes:
            raise UserError(
                f"{path} has {size:,} bytes and at most {max_bytes:,} are read: "
                "download the file again"
            )
        with path.open("rb") as file, without_gc():
            return _PlainUnpickler(file, path).load()
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}): mend the file") from error
    except BROKEN as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise UserError(
            f"{path} is not a readable pickle of plain data ({reason}): download the file again"
        ) from error


@contextmanager
def without_gc() -> Iterator[None]:
    """No garbage collection inside: it would walk millions of new containers again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def refused(path: Path, module: str, name: str) -> UserError:
    """The error for a global that a file of data has no business with."""
    wanted = " ".join(f"{module}.{name}".split())[:160]
    return UserError(
        f"{path} asks for {wanted!r}, which plain data never does: refused, nothing was run; "
        "delete the file and download it from its official place"
    )


class _PlainUnpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._path = path

    def find_class(self, module: str, name: str, /) -> Callable[..., Any]:
        # A new function each time: a pickle can set attributes on whatever comes back from here.
        if (module, name) in _SCALAR:
            return lambda kind, raw: _scalar(kind, raw)  # noqa: PLW0108
        if (module, name) == _DTYPE:
            return lambda code, *_: _Kind(code)
        raise refused(self._path, module, name)

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise refused(self._path, "persistent id", str(pid))


class _Kind:
    """A NumPy dtype as far as a scalar needs it. A pickle fills it through ``__setstate__``."""

    __slots__ = ("code", "known", "order")

    def __init__(self, code: str) -> None:
        if not isinstance(code, str) or not (code in _FORMATS or code[:1] == "U"):
            raise pickle.UnpicklingError(f"NumPy type {code!r} is not one of plain data")
        self.code = code
        self.order = "<"
        self.known: dict[bytes, Any] = {}

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError(f"byte order {order!r}")
        self.order = ">" if order == ">" else "<"
        self.known.clear()


def _scalar(kind: Any, raw: Any) -> Any:
    """A bool, int, float or str. Ratings and the like repeat millions of times: one object each."""
    if type(kind) is not _Kind or type(raw) is not bytes:
        raise pickle.UnpicklingError("a NumPy scalar without its type or bytes")
    value = kind.known.get(raw)
    if value is None:
        if kind.code[0] == "U":
            coding = "utf-32-be" if kind.order == ">" else "utf-32-le"
            return raw.decode(coding, "surrogatepass").rstrip("\0")
        (value,) = struct.unpack(kind.order + _FORMATS[kind.code], raw)
        if kind.code in ("f2", "f4"):
            value = _shortest(value, kind.code)
        if len(kind.known) < 4096:
            kind.known[raw] = value
    return value


def _shortest(value: float, code: str) -> float:
    """The float that prints as the narrow one does (0.1 and not 0.10000000149011612)."""
    import numpy as np

    return float(str(np.dtype(code).type(value)))
