"""Finding in a question the names of nodes that a tool has shown, and the type it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ark.backbone.conversation import Row
from ark.text import tokens

# Words that carry little by themselves; chunks of a question end at them.
HARD_BREAKS = frozenset(
    "and or but with without that which who whose whom where when while having also both as "
    "by for from into than then is are was were be been has have had does do did can may".split()
)
SOFT_BREAKS = frozenset(
    "a an the of in on at to it its their them this these those there any some all no not i "
    "me my we us our you your what name list find give show tell please".split()
)


@dataclass(frozen=True)
class Link:
    """A shown node whose name or shown alias stands in the question, at words start to end."""

    row: Row
    start: int
    end: int


def links(question: str, rows: Iterable[Row]) -> list[Link]:
    """Longest names first come out; a name inside a longer linked name is dropped."""
    words = f" {' '.join(tokens(question))} "  # a name is a run of whole words in it
    found: dict[int, Link] = {}
    for row in rows:
        for called in (row.name, row.alias):
            name = tokens(called)
            if row.index in found or sum(map(len, name)) < 3:
                continue
            at = _position(words, name)
            if at is not None:
                found[row.index] = Link(row, at, at + len(name))
    kept = [
        link for link in found.values() if not any(_inside(link, other) for other in found.values())
    ]
    return sorted(kept, key=lambda x: (x.start, x.row.index))


def _position(words: str, name: Sequence[str]) -> int | None:
    at = words.find(f" {' '.join(name)} ")
    return None if at < 0 else words.count(" ", 0, at)


def _inside(link: Link, other: Link) -> bool:
    shorter = link.end - link.start < other.end - other.start
    return shorter and other.start <= link.start and link.end <= other.end


def chunks(question: str) -> list[str]:
    """Stretches of a question that may be names: cut at hard breaks, then at soft ones too."""
    out: list[str] = []
    for breaks in (HARD_BREAKS, HARD_BREAKS | SOFT_BREAKS):
        for piece in _pieces(question):
            current: list[str] = []
            for word in [*tokens(piece), None]:
                if word is not None and word not in breaks:
                    current.append(word)
                    continue
                content = [w for w in current if w not in SOFT_BREAKS]
                if content and sum(map(len, content)) > 3:
                    out.append(" ".join(current))
                current = []
    return sorted(dict.fromkeys(out), key=_promise)


def _promise(chunk: str) -> int:
    """Long chunks first: a name of several words is sure to be one."""
    return -sum(word not in SOFT_BREAKS for word in chunk.split())


def _pieces(question: str) -> list[str]:
    for mark in ',;:?!()"“”':
        question = question.replace(mark, "\n")
    return question.split("\n")


def rest_of(question: str, linked: Sequence[Link]) -> str:
    """The content words of a question outside the linked names."""
    covered = {i for link in linked for i in range(link.start, link.end)}
    skip = HARD_BREAKS | SOFT_BREAKS
    words = [w for i, w in enumerate(tokens(question)) if i not in covered and w not in skip]
    return " ".join(words)


def asked_type(question: str, types: Sequence[str], linked: Sequence[Link]) -> str | None:
    """The first node type that the question names (singular or plural) outside linked names."""
    covered = {i for link in linked for i in range(link.start, link.end)}
    words = [None if i in covered else stem(w) for i, w in enumerate(tokens(question))]
    best: tuple[int, int, str] | None = None
    for node_type in types:
        name = [stem(w) for w in tokens(node_type.replace("_", " "))]
        for at in range(len(words) - len(name) + 1):
            if name and words[at : at + len(name)] == name:
                key = (at, -len(name), node_type)
                best = key if best is None else min(best, key)
                break
    return best[2] if best else None


def stem(word: str) -> str:
    """A word without the ending of a plural."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2] if not word.endswith("ases") else word[:-1]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
