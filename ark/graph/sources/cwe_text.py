"""Prose of the CWE catalogue: XHTML to plain text, and references to other entries cut out."""

from __future__ import annotations

import re
from typing import Any

_INLINE = frozenset(("b", "i", "em", "strong", "sup", "sub", "a", "code"))

_NUMBER = r"(?:CWE|CVE|CAPEC)-\d+(?:-\d+)?"
# A number with its entry's name in brackets, which may themselves hold brackets.
_NAMED = re.compile(rf"{_NUMBER} \(((?!{_NUMBER})[^()]*(?:\([^()]*\)[^()]*)*)\)")
_ANY = re.compile(rf"\[REF-\d+\]|{_NUMBER}")
_GAP = "\0"  # stands where something was cut until the text around it is mended
_LIST = re.compile(rf"{_GAP}(?:(?:\s|,|;|&|/|\bor\b|\band\b)*{_GAP})*")
_LEAD = r"(?:\b(?:see|also|like|such as|as in|e\.g\.|i\.e\.|category)|\s|,|:)*"
_BRACKETS = re.compile(rf"\s*\({_LEAD}{_GAP}\s*\)", re.IGNORECASE)
_BEFORE_MARK = re.compile(rf"\s*{_GAP}(?=\s*[,.;:)\]])")


def prose(element: Any) -> str:
    """The text of an element on one line; paragraphs and list items are kept apart."""
    parts: list[str] = []
    _collect(element, parts)
    return " ".join("".join(parts).split())


def _collect(element: Any, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        block = str(child.tag).rpartition("}")[2] not in _INLINE
        parts.append(" " if block else "")
        _collect(child, parts)
        parts.append((" " if block else "") + (child.tail or ""))


def without_references(text: str) -> str:
    """The text without numbers of other entries (``CWE-79``, ``CVE-...``, ``CAPEC-...``, ``REF``).

    "CWE-79 (Name)" leaves "Name", "(CWE-79)" and "(see CWE-79)" leave nothing.
    """
    if "-" not in text:
        return text
    cut = _ANY.sub(_GAP, _NAMED.sub(r"\1", text))
    if cut == text:
        return text
    cut = _BRACKETS.sub("", _LIST.sub(_GAP, cut))
    return " ".join(_BEFORE_MARK.sub("", cut).replace(_GAP, "").split())
