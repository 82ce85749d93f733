"""Tokenizers that an index may use: our words, or the defaults of bm25s (STaRK's baseline)."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ark.text import tokens

Tokenizer = Callable[[str], list[str]]
TOKENIZERS = ("words", "bm25s")
STOPWORDS = ("english",)
_LONG = re.compile(r"(?u)\b\w\w+\b")


def tokenizer(kind: str, stopwords: str | None) -> Tokenizer:
    """The function from a text to its tokens, in order and with repeats.

    ``words`` takes words of any length, ``bm25s`` those of two characters and more; both in lower
    case and without stemming. ``english`` leaves out the list of that name in bm25s.
    """
    cut = tokens if kind == "words" else _long_words
    if stopwords is None:
        return cut
    stop = _english()
    return lambda text: [token for token in cut(text) if token not in stop]


def _long_words(text: str) -> list[str]:
    return _LONG.findall(text.lower())


@cache
def _english() -> frozenset[str]:
    """The list, without the imports of its package, which take longer than opening an index."""
    package = importlib.util.find_spec("bm25s")
    for folder in (package.submodule_search_locations if package else None) or ():
        file = Path(folder) / "stopwords.py"
        spec = importlib.util.spec_from_file_location("bm25s_stopwords", file)
        if spec is not None and spec.loader is not None and file.is_file():
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return frozenset(module.STOPWORDS_EN)
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)
