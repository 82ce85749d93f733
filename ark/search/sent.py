"""What this process has sent to endpoints for embeddings: it costs money and is in no journal."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

_LOCK = Lock()
_NAMES = ("requests", "texts", "tokens", "untold")
_SENT: dict[str, dict[str, int]] = {}


def note(model: str, texts: int, tokens: int | None) -> None:
    """One request that was answered. ``tokens`` None: the answer did not say."""
    with _LOCK:
        known = _SENT.setdefault(model, dict.fromkeys(_NAMES, 0))
        new = (1, texts, tokens or 0, tokens is None)
        for name, value in zip(_NAMES, new, strict=True):
            known[name] += value


def sent() -> dict[str, dict[str, int]]:
    """So far, by model: requests, texts, tokens, and requests whose tokens nobody told."""
    with _LOCK:
        return {model: dict(counts) for model, counts in _SENT.items()}


def since(before: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int | None]]:
    """Requests, texts and tokens (None if not all are known) after ``before``, by model."""
    out: dict[str, dict[str, int | None]] = {}
    for model, now in sent().items():
        new = {name: now[name] - before.get(model, {}).get(name, 0) for name in _NAMES}
        if new["requests"]:
            tokens = None if new["untold"] else new["tokens"]
            out[model] = {"requests": new["requests"], "texts": new["texts"], "tokens": tokens}
    return out
