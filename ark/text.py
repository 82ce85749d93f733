"""Words: one definition of a token for indexing, querying, snippets and highlighting."""

from __future__ import annotations

import re

TOKEN_PATTERN = r"(?u)\b\w+\b"
LONGEST_WORD = 40  # characters that a window moves to end at a word
_TOKEN = re.compile(TOKEN_PATTERN)


def tokens(text: str) -> list[str]:
    """Lower-cased words of ``text`` in order; no stemming, no stop words."""
    return _TOKEN.findall(text.lower())


def one_line(text: str) -> str:
    """Strangers' text on one line: runs of white space and control characters become a space."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def clip(text: str, limit: int) -> str:
    """``one_line`` cut to ``limit`` characters, with an ellipsis where something is missing."""
    line = one_line(text)
    return line if len(line) <= limit else line[: max(0, limit - 1)].rstrip() + "…"


def snippet(text: str, query: str, width: int = 160) -> str | None:
    """``width`` characters around the first query word in ``text``; None without a match."""
    wanted = set(tokens(query))
    for match in _TOKEN.finditer(text):
        if match.group().lower() in wanted:
            return _window(text, match.start(), width)
    return None


def _window(text: str, at: int, width: int) -> str:
    start = max(0, min(at - width // 3, len(text) - width))
    end = min(len(text), start + width)
    # Move to word borders, so that a reader never sees half a word; some texts have none.
    if start > 0:
        space = text.rfind(" ", max(0, start - LONGEST_WORD), start)
        start = (0 if start <= LONGEST_WORD else start) if space < 0 else space + 1
    if end < len(text):
        space = text.find(" ", end, end + LONGEST_WORD)
        end = (len(text) if len(text) < end + LONGEST_WORD else end) if space < 0 else space
    body = one_line(text[start:end])
    return f"{'…' if start > 0 else ''}{body}{'…' if end < len(text) else ''}"
