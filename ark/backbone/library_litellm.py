"""litellm as a library to live with: imported quietly, closed with the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import logging
import os
import warnings
from collections.abc import AsyncGenerator, Iterable
from typing import Any
from urllib.parse import urlsplit

NAME = "litellm"  # by name: its annotations would cost each run of the type checker 20 to 40 s
PROBE_SECONDS = 3.0


def import_quietly() -> tuple[Any, type[Exception]]:
    """litellm, quiet and off the network, and the base class of its exceptions."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = _without_dotenv()
    litellm.suppress_debug_info = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # it logs requests and answers
    # Answers of unexpected shape are dealt with in wire.py.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    warnings.filterwarnings("ignore", ".*`ReadOnly` qualifier", UserWarning)
    return litellm, importlib.import_module("openai").OpenAIError


def _without_dotenv() -> Any:
    """The module. In its mode DEV, the default, it would load ``.env`` into the environment."""
    before = os.environ.get("LITELLM_MODE")
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    try:
        return importlib.import_module(NAME)
    finally:
        os.environ.pop("LITELLM_MODE")
        if before is not None:
            os.environ["LITELLM_MODE"] = before


async def closer(litellm: Any) -> AsyncGenerator[None, None]:
    """A generator whose end closes litellm's connections; the loop ends it with itself."""
    cleanup = importlib.import_module(f"{NAME}.llms.custom_httpx.async_client_cleanup")
    try:
        yield
    finally:
        await cleanup.close_litellm_async_clients()
        _close_plain(litellm.in_memory_llm_clients_cache.cache_dict.values())
        litellm.in_memory_llm_clients_cache.flush_cache()


def _close_plain(clients: Iterable[Any]) -> None:
    """Close what embeddings were asked through: clients that need no loop."""
    for client in list(clients):
        close = getattr(client, "close", None)
        if close is not None and not inspect.iscoroutinefunction(close):
            close()


async def listens(url: str | None) -> bool:
    """Whether something takes a connection at ``url``; True where that cannot be asked."""
    if url is None:
        return True
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        opening = asyncio.open_connection(parts.hostname, port)
        _, writer = await asyncio.wait_for(opening, PROBE_SECONDS)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
