"""Texts to vectors: all-MiniLM-L6-v2 on the processor, an endpoint, or a class of the user's own.

MiniLM (arXiv 2002.10957) as sentence-transformers trained it (arXiv 1908.10084): the mean of the
last layer over the tokens of the text.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ark.errors import UserError, unknown
from ark.graph import data_root
from ark.records import Json

MINILM, LITELLM = "minilm", "litellm"
ENCODERS = (MINILM, LITELLM)
ENDPOINT = "ark.backbone.embeddings:LiteLLMEncoder"  # by name: no library of it is known here
FETCH = "python scripts/get_model.py minilm"
INSTALL = "pip install 'ark-harness[dense]'"
# The files that scripts/get_model.py fetches.
FILES = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MOST_TOKENS = 512  # positions that the model has
_LONGEST = 20_000  # characters that are cut into tokens: more than 512 tokens have

Floats = NDArray[np.float32]


class Encoder(Protocol):
    """A vector for each text, which depends on that text alone."""

    @property
    def identity(self) -> Mapping[str, Json]:
        """What changes vectors: model, its hash, cut. No URLs or keys."""
        ...

    def ready(self) -> None:
        """Raises UserError where a package, a file or a key is missing; loads nothing."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Shape (texts, dimensions), of any length each: what reads them scales them to 1."""
        ...


@lru_cache(maxsize=4)
def encoder_of(kind: str, model: str | None, max_tokens: int) -> Encoder:
    """The encoder of these settings; one object a process, so that a model is loaded once."""
    if kind == MINILM:
        if model is not None:
            raise UserError(f"model={model} is for encoder=litellm; leave it out here")
        return MiniLM(max_tokens)
    if kind == LITELLM:
        if not model:
            raise UserError("encoder=litellm needs a model: model=PROVIDER/NAME beside it")
        made: Encoder = _class(ENDPOINT)(model)
        return made
    if ":" not in kind:
        raise UserError(f"{unknown('encoder', kind, ENCODERS)}; or package.module:Class")
    if model is not None:
        raise UserError(f"model={model} is for encoder=litellm; leave it out, {kind} takes none")
    return _own(kind)


def _class(target: str) -> Any:
    module, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        raise UserError(f"encoder={target}: cannot be imported ({error})") from None


def _own(target: str) -> Encoder:
    """An object of the user's class. Raises UserError where it is no encoder."""
    found = _class(target)
    needed = "name a class as package.module:Class, made without arguments"
    if not callable(found):
        raise UserError(f"encoder={target} is a {type(found).__name__}: {needed}")
    try:
        made = found()
    except TypeError as error:
        raise UserError(f"encoder={target} cannot be made ({error}): {needed}") from error
    lost = [name for name in ("identity", "ready", "encode") if not hasattr(made, name)]
    if lost:
        raise UserError(
            f"encoder={target} has no {' and no '.join(lost)}: {needed}, with the members of "
            "Encoder in ark/search/encoder.py"
        )
    try:
        json.dumps(dict(made.identity), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"encoder={target}: its identity must be a mapping of plain JSON ({error})"
        ) from error
    own: Encoder = made
    return own


class MiniLM:
    """all-MiniLM-L6-v2 with int8 weights through onnxruntime, 384 dimensions.

    Texts go through the model one at a time and without padding, on as many threads as there are
    cores: a vector does not depend on other texts, and batches were slower here.
    """

    def __init__(self, max_tokens: int = 256) -> None:
        if not 8 <= max_tokens <= MOST_TOKENS:
            raise UserError(f"max_tokens={max_tokens} must be from 8 to {MOST_TOKENS}")
        self._max_tokens = max_tokens
        self._loading = Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def identity(self) -> Mapping[str, Json]:
        """The files by hash, so that other weights are another encoder."""
        hashes = {name.partition(".")[0]: sha[:16] for name, sha in FILES.items()}
        return {
            "name": "all-MiniLM-L6-v2 int8",
            **hashes,
            "max_tokens": self._max_tokens,
            "pooling": "mean",
        }

    def ready(self) -> None:
        """Whether the packages and the files are there; not what is in them."""
        if reason := missing():
            raise UserError(reason)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Shape (texts, 384), float32."""
        model, tokenizer = self._load()
        cut = [_clean(text) for text in texts]
        tokens = [found.ids for found in tokenizer.encode_batch(cut)]
        if len(tokens) == 1:
            return np.stack([_mean(model, tokens[0])])
        with ThreadPoolExecutor(usable_cores()) as pool:
            rows = list(pool.map(lambda ids: _mean(model, ids), tokens))
        return np.stack(rows) if rows else np.empty((0, 384), dtype=np.float32)

    def _load(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                self.ready()
                files = {name: _checked(_folder() / name, sha) for name, sha in FILES.items()}
                self._loaded = _opened(files, self._max_tokens)
            return self._loaded


def missing() -> str | None:
    """Why MiniLM cannot be used here, with the fix; None where it can."""
    for package in ("onnxruntime", "tokenizers"):
        if importlib.util.find_spec(package) is None:
            return f"the dense encoder needs the package {package}: {INSTALL}"
    for name in FILES:
        if not (_folder() / name).is_file():
            return f"the dense encoder has no {_folder() / name}: {FETCH}"
    return None


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _folder() -> Path:
    return data_root() / "models" / "minilm"


def _checked(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror}): {FETCH}") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise UserError(f"{path} is not the file it should be: delete it, then {FETCH}")
    return data


def _opened(files: Mapping[str, bytes], max_tokens: int) -> tuple[Any, Any]:
    """(session, tokenizer) of the bytes whose hashes were checked."""
    # By name: a type checker need not have these packages.
    onnxruntime: Any = importlib.import_module("onnxruntime")
    tokenizers: Any = importlib.import_module("tokenizers")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # sums in one order
    options.log_severity_level = 3
    model = onnxruntime.InferenceSession(
        files["model.onnx"], options, providers=["CPUExecutionProvider"]
    )
    tokenizer = tokenizers.Tokenizer.from_buffer(files["tokenizer.json"])
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return model, tokenizer


def _mean(model: Any, ids: Sequence[int]) -> Floats:
    """The mean of the last layer: without padding the mask is 1 everywhere."""
    tokens = np.array([ids], dtype=np.int64)
    inputs = {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": np.zeros_like(tokens),
    }
    (layer,) = model.run(None, inputs)
    mean: Floats = layer[0].mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean


def _clean(text: str) -> str:
    # Half a character from a broken file becomes a question mark: the tokenizer takes UTF-8 only.
    return text[:_LONGEST].encode("utf-8", "replace").decode("utf-8")
