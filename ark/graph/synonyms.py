"""Which synonyms of a graph's nodes are held out, so that questions can use words it never shows.

A *group* is a node's aliases that say the same: equal but for case, hyphens, word order, small
words, British spelling and endings (a word counts by its first six letters). A group is
**distinct** if it does not say the node's name again (neither's words are all in the other) and
none of its synonyms names another node, as name, alias or synonym, without regard to case. A
distinct group may be **held out** if none of its synonyms stands word for word in the name, the
text or another alias of its node, nor holds the name or another alias. Half of each node's
distinct groups are taken, as far as they may be; which, and the odd one, is drawn with a seed.
Everything else stays in the graph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ark.text import tokens

SEED = 0
_STEM = 6  # "retina" and "retinal", "hypoplasia" and "hypoplastic", but not "hyperreflexia"
_SMALL = frozenset(("a", "an", "the", "of", "in", "on", "at", "to", "for", "by", "with", "and"))
_BRITISH = (
    (re.compile(r"ae|oe"), "e"),
    (re.compile(r"our"), "or"),
    (re.compile(r"(?<=[a-z]{3})is(?=e|i|a)"), "iz"),
    (re.compile(r"(?<=[a-z]{2})(?<=[bt])re$"), "er"),
)
Synonym = tuple[str, str, bool]
"""(node id, synonym, whether it is held out)."""


@dataclass(frozen=True, slots=True)
class Synonyms:
    """A node's name, its aliases, and what is said of it.

    Only ``synonyms``, some of the aliases, make a group; other aliases may fall into one.
    ``notes`` are pieces of text by the alias that they belong to and leave the graph with.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    synonyms: tuple[str, ...]
    text: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


def name_key(name: str) -> str:
    """Equal for names that are the same but for case and white space."""
    return " ".join(name.casefold().split())


def count_names(names: Iterable[Iterable[str]]) -> Counter[str]:
    """How many nodes carry each name, given all names, aliases and synonyms of every node."""
    return Counter(key for node in names for key in {name_key(name) for name in node})


def draw(nodes: Iterable[Synonyms], carriers: Counter[str], seed: int = SEED) -> list[Synonym]:
    """The synonyms in distinct groups, by node id, and whether each is held out.

    ``carriers`` is ``count_names`` of the whole graph.
    """
    import random  # not needed to open a graph, and takes longer than the rest of this module

    rng = random.Random(seed)
    rows: list[Synonym] = []
    for node in sorted(nodes, key=lambda n: n.id):
        groups = [
            group
            for group in _groups(node)
            if all(carriers[name_key(synonym)] == 1 for synonym in group)
        ]
        odd = rng.randrange(2) if len(groups) % 2 else 0
        free = _free(groups, node)
        rng.shuffle(free)
        taken = _hidden(free[: len(groups) // 2 + odd], node)
        rows += [(node.id, s, s in taken) for s in sorted(s for group in groups for s in group)]
    return rows


def by_node(path: Path, *, held_out: bool) -> dict[str, tuple[str, ...]]:
    """By node id the synonyms in a ``synonyms.arrow`` that are held out, or that are not."""
    with pa.memory_map(str(path)) as file:
        columns = (column.to_pylist() for column in pa.ipc.open_file(file).get_batch(0).columns)
        found: dict[str, list[str]] = {}
        for node_id, synonym, out in zip(*columns, strict=True):
            if out is held_out:
                found.setdefault(node_id, []).append(synonym)
    return {node_id: tuple(synonyms) for node_id, synonyms in found.items()}


def _groups(node: Synonyms) -> list[list[str]]:
    """The node's aliases by what they say, without those that say its name, less or more of it."""
    name_words, name_letters = _content(node.name), _letters(node.name)
    found: dict[str, list[str]] = {}
    spellings: dict[str, str] = {}
    for alias in sorted(node.aliases):
        words, letters = _content(alias), _letters(alias)
        if words <= name_words or words >= name_words or letters in name_letters:
            continue
        # "White list" and "whitelist" have other words but the same letters.
        key = spellings.setdefault(letters, " ".join(sorted(words)))
        found.setdefault(key, []).append(alias)
    wanted = set(node.synonyms)
    return [group for group in found.values() if not wanted.isdisjoint(group)]


def _free(groups: Sequence[Sequence[str]], node: Synonyms) -> list[Sequence[str]]:
    """The groups that may be held out."""
    spaced = {alias: _spaced(alias) for alias in node.aliases}
    name, text = _spaced(node.name), _spaced(node.text)
    notes = {note: _spaced(note) for note in node.notes.values()}
    free = []
    for group in groups:
        own = {node.notes[alias] for alias in group if alias in node.notes}
        told = [name, text, *(words for note, words in notes.items() if note not in own)]
        others = [words for alias, words in spaced.items() if alias not in group]
        mine = [spaced[alias] for alias in group]
        if not any(words in said for words in mine for said in (*told, *others)) and not any(
            other in words for words in mine for other in (name, *others)
        ):
            free.append(group)
    return free


def _hidden(groups: list[Sequence[str]], node: Synonyms) -> set[str]:
    """All synonyms of the groups that are not spelled by two remaining names side by side."""
    taken = {synonym for group in groups for synonym in group}
    kept = sorted(alias for alias in node.aliases if alias not in taken)
    shown = _spaced("\n".join((node.name, *kept, node.text)))
    hidden = [group for group in groups if not any(_spaced(s) in shown for s in group)]
    return taken if len(hidden) == len(groups) else _hidden(hidden, node)


def _spaced(text: str) -> str:
    """The words of a text between spaces: one such string is in another if its words are."""
    return f" {' '.join(tokens(text))} "


def _content(name: str) -> frozenset[str]:
    return frozenset(_singular(word)[:_STEM] for word in _american(name))


def _letters(name: str) -> str:
    return "".join(_american(name))


def _american(name: str) -> Iterator[str]:
    """Words without small ones and British spelling; too much may fall together."""
    for word in tokens(name):
        if word not in _SMALL:
            for spelling, other in _BRITISH:
                word = spelling.sub(other, word)  # noqa: PLW2901
            yield word


def _singular(word: str) -> str:
    if len(word) <= 3:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e")  # "processes" and "diseases" both had one s taken off
