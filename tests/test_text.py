"""Words, lines and snippets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ark.text import clip, one_line, snippet, tokens


def test_tokens_are_lower_cased_words_of_any_length() -> None:
    assert tokens("Type 1 Diabetes-mellitus, É") == ["type", "1", "diabetes", "mellitus", "é"]


@given(st.text())
def test_one_line_is_one_printable_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert line == line.strip()
    assert "  " not in line


@given(st.text(), st.integers(1, 50))
def test_clip_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(clip(text, limit)) <= limit


def test_snippet_stands_around_the_first_match() -> None:
    text = "word " * 60 + "needle " + "tail " * 60
    found = snippet(text, "NEEDLE other", 80)
    assert found is not None
    assert "needle" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) < 110
    assert snippet(text, "absent") is None
    assert snippet("short needle", "needle") == "short needle"
