"""Tokenizers that an index may use: our words, or the defaults of bm25s (STaRK's baseline)."""

from __future__ import annotations

import re
from collections.abc import Callable

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
    from bm25s.stopwords import STOPWORDS_EN

    stop = frozenset(STOPWORDS_EN)
    return lambda text: [token for token in cut(text) if token not in stop]


def _long_words(text: str) -> list[str]:
    return _LONG.findall(text.lower())
