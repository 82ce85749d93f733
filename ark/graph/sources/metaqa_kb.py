"""The knowledge base of MetaQA: its relations, its types, and the reading of ``kb.txt``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ark.errors import UserError
from ark.graph.data import GraphData

KB = "kb.txt"
MOVIE = "movie"
TARGETS: Mapping[str, str] = {
    "directed_by": "person",
    "written_by": "person",
    "starred_actors": "person",
    "release_year": "year",
    "in_language": "language",
    "has_genre": "genre",
    "has_tags": "tag",
    "has_imdb_rating": "imdb rating",
    "has_imdb_votes": "imdb votes",
}
"""Relation -> type of its tails; every head is a movie."""
TYPES = (MOVIE, *dict.fromkeys(TARGETS.values()))

_SHOWN = 60  # characters of a strange line that an error shows


def node_id(node_type: str, name: str) -> str:
    """The id of a node made from ``kb.txt``: files hold names only, and names repeat."""
    return f"{node_type}:{name}"


@dataclass
class _Found:
    """Nodes in the order in which the file names them, edges without repeats."""

    rows: dict[tuple[str, str], int]
    edges: dict[tuple[int, str, int], None]
    lines: int = 0

    def row(self, node_type: str, name: str) -> int:
        return self.rows.setdefault((node_type, name), len(self.rows))


def read_kb(file: Path) -> GraphData:
    """Nodes are pairs of type and name, where the type is that of the relation's side.

    So the film "Police" and the tag "Police" are two nodes, a person who directs and acts is one,
    and films of one name are one, since the file cannot tell them apart. Repeated lines are one
    edge. Raises UserError with the line of what is wrong.
    """
    found = _Found({}, {})
    for number, line in enumerate(lines_of(file), start=1):
        if line:
            _add(found, file, number, line)
    if not found.edges:
        raise UserError(f"{file} holds no fact: download kb.txt of MetaQA once more")
    relations = tuple(r for r in TARGETS if any(r == name for _, name, _ in found.edges))
    names = [name for _, name in found.rows]
    return GraphData(
        ids=[node_id(*pair) for pair in found.rows],
        types=[node_type for node_type, _ in found.rows],
        names=names,
        texts=[""] * len(names),
        source=[head for head, _, _ in found.edges],
        relation=[relations.index(relation) for _, relation, _ in found.edges],
        target=[tail for _, _, tail in found.edges],
        relations=relations,
        notes={
            "lines": found.lines,
            "repeated_lines": found.lines - len(found.edges),
            "names": len(set(names)),
        },
    )


def _add(found: _Found, file: Path, number: int, line: str) -> None:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) != 3 or not all(cells):
        raise UserError(
            f"{file}, line {number}: {line[:_SHOWN]!r} is not 'head|relation|tail': mend the line"
        )
    head, relation, tail = cells
    if relation not in TARGETS:
        raise UserError(
            f"{file}, line {number}: {relation[:_SHOWN]!r} is no relation of MetaQA "
            f"({', '.join(TARGETS)}): mend the line"
        )
    ends = found.row(MOVIE, head), found.row(TARGETS[relation], tail)
    found.edges[ends[0], relation, ends[1]] = None
    found.lines += 1


def lines_of(file: Path) -> list[str]:
    """Lines without their ends; empty ones are kept, those after the last are not.

    A byte order mark, which some editors put first, is no part of the first line.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise UserError(f"{file} cannot be read ({reason}): download it once more") from error
    return [line.strip("\r") for line in text.rstrip("\r\n").split("\n")]
