"""The engine of ``backbone=local``: one GGUF file in memory, one call at a time, in its own thread.

``xllamacpp`` is llama.cpp's server inside this process. It is imported and the file is loaded at
the first call. llama.cpp also opens a port on loopback; it answers nobody, as it wants a key that
only lives here.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import importlib.util
import os
import secrets
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from ark.errors import FatalBackboneError, QueryFailedError, QueryLimitError
from ark.records import Json
from ark.text import clip

NAME = "xllamacpp"
INSTALL = "pip install 'ark-harness[local]'"
SLOT_MEMORY = 1024  # MiB for the prefixes of conversations that wait: agents take turns
_BEFORE_LOADING = threading.Lock()


def engine_for(model: Path, lora: Path | None, context: int, threads: int | None) -> Engine:
    """The engine of these files, loaded at its first call. One stays in memory, the last used."""
    with _BEFORE_LOADING:
        return _kept(str(model), str(lora) if lora else None, context, threads)


@lru_cache(maxsize=1)
def _kept(model: str, lora: str | None, context: int, threads: int | None) -> Engine:
    return Engine(model, lora, context, threads or usable_cores())


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Engine:
    """A loaded model. ``chat`` may be called from several event loops."""

    def __init__(self, model: str, lora: str | None, context: int, threads: int) -> None:
        self._model, self._lora = model, lora
        self._context, self._threads = context, threads
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local-model")
        self._server: Any = None
        self._proved = False

    async def chat(self, request: Mapping[str, Json]) -> dict[str, Json]:
        """One chat completion in OpenAI's form; the loop goes on meanwhile.

        Raises QueryLimitError where the conversation is longer than the context, and
        FatalBackboneError where no call can succeed.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._chat, dict(request))

    def _chat(self, request: dict[str, Json]) -> dict[str, Json]:
        if self._server is None:
            self._server = self._load()
        try:
            done: dict[str, Json] = self._server.handle_chat_completions(request)
        except (ValueError, RuntimeError) as error:
            raise self._failed(str(error)) from None
        refusal = done.get("error")
        if not refusal:
            self._proved = True
            return done
        if refusal.get("type") == "exceed_context_size_error":
            raise QueryLimitError(
                f"the conversation has {refusal.get('n_prompt_tokens')} tokens, backbone.context "
                f"is {self._context}"
            )
        raise self._failed(str(refusal.get("message", refusal)))

    def _failed(self, reason: str) -> FatalBackboneError | QueryFailedError:
        """Before any answer the settings are wrong; after one it is this question."""
        text = f"the local model {Path(self._model).name} refuses the call: {clip(reason, 300)}"
        return QueryFailedError(text) if self._proved else FatalBackboneError(text)

    def _load(self) -> Any:
        if importlib.util.find_spec(NAME) is None:
            raise FatalBackboneError(f"backbone=local needs {NAME}: {INSTALL}")
        library: Any = importlib.import_module(NAME)
        params = library.CommonParams()
        params.model.path = self._model
        if self._lora is not None:
            params.lora_adapters = [library.CommonAdapterLoraInfo(self._lora, 1.0)]
        params.n_ctx, params.n_parallel = self._context, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.cache_ram_mib = SLOT_MEMORY
        params.api_keys = [secrets.token_hex(32)]
        params.ui = params.endpoint_slots = params.warmup = False
        params.verbosity = -1
        sys.stderr.write(
            f"loading {Path(self._model).name} (once); the first answer reads a whole prompt, "
            "which may take minutes\n"
        )
        sys.stderr.flush()
        try:
            return library.Server(params)
        except RuntimeError as error:
            raise FatalBackboneError(
                f"{NAME} cannot load {Path(self._model).name}"
                f"{f' with {Path(self._lora).name}' if self._lora else ''} ({error}): give a GGUF "
                "file of a chat model, backbone.model_path=FILE, or less backbone.context"
            ) from None


@lru_cache(maxsize=1)
def engine_version() -> str:
    """Name and version of the engine, as far as it is known."""
    try:
        return f"{NAME} {importlib.metadata.version(NAME)}"
    except importlib.metadata.PackageNotFoundError:
        return NAME
