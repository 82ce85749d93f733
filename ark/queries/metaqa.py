"""MetaQA's published questions, with a gold program from the question type and the topic.

A type such as ``actor_to_movie_to_year`` names the walk: from the topic, an actor, to films, to
years. The topic is taken out of the set after every hop, or "films by the director of X" would
hold X. Questions come in a fixed shuffle, one of each number of hops in turn, since the files are
sorted by type: the first ``limit`` questions are a fair part.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph, source_for
from ark.graph.sources.metaqa import MetaQASource
from ark.graph.sources.metaqa_kb import MOVIE, TARGETS, TYPES, lines_of, node_id
from ark.queries.load import load_queries
from ark.queries.splits import TENTH
from ark.records import Json, Mention, Query

HOPS = (1, 2, 3)
SPLITS: Mapping[str, str] = {"train": "train", "val": "dev", "test": "test"}
"""Our names of the splits and those of the files."""
_RELATIONS: Mapping[str, str] = {
    "actor": "starred_actors",
    "director": "directed_by",
    "writer": "written_by",
    "year": "release_year",
    "language": "in_language",
    "genre": "has_genre",
    "tag": "has_tags",
    "tags": "has_tags",
    "imdbrating": "has_imdb_rating",
    "imdbvotes": "has_imdb_votes",
}
_QUERIES = "queries.csv"
_SHOWN = 60


def metaqa_questions(
    graph: KnowledgeGraph, settings: Mapping[str, Json], split: str | None = None
) -> list[Query]:
    """The questions beside the graph; of official files only those that ``split`` needs.

    Raises UserError for missing or broken files, with file and line.
    """
    source = source_for("metaqa", **settings)
    assert isinstance(source, MetaQASource)
    found = (
        _official(graph, source.folder, split)
        if source.official
        else _tables(graph, source.folder / _QUERIES)
    )
    return _in_turn(found)


# -- programs ------------------------------------------------------------------------------------


def program_of(qtype: str, topic: str, taken_out: Sequence[str] = ()) -> str:
    """The gold program of a question type from the node ``topic``.

    ``taken_out``: ids that leave the set after every hop; the topic alone where it is empty.
    Raises ValueError for a type that is no walk of MetaQA.
    """
    lines = [f"topic = node({json.dumps(topic, ensure_ascii=False)})"]
    out = "topic"
    if taken_out and tuple(taken_out) != (topic,):
        out = "named"
        ids = ", ".join(json.dumps(i, ensure_ascii=False) for i in taken_out)
        lines.append(f"named = node({ids})")
    at = "topic"
    for hop, (function, relation) in enumerate(_walk(qtype), start=1):
        lines.append(f'hop{hop} = minus({function}({at}, "{relation}"), {out})')
        at = f"hop{hop}"
    return "\n".join([*lines, f"end({at})"])


def _walk(qtype: str) -> Iterator[tuple[str, str]]:
    places = qtype.split("_to_")
    if len(places) < 2:
        raise ValueError(f"question type {qtype[:_SHOWN]!r} is no walk")
    for here, there in itertools.pairwise(places):
        kind = there if here == MOVIE else here
        if kind not in _RELATIONS or MOVIE not in (here, there):
            raise ValueError(f"question type {qtype[:_SHOWN]!r} is no walk of MetaQA")
        yield ("forward" if here == MOVIE else "backward"), _RELATIONS[kind]


def _node_type(place: str) -> str:
    """The node type of a place of a question type."""
    return MOVIE if place == MOVIE else TARGETS[_RELATIONS[place]]


def _ends(qtype: str) -> tuple[str, str, int]:
    """Node types of topic and answers, and the number of hops. Raises ValueError."""
    hops = len(list(_walk(qtype)))
    if hops not in HOPS:
        raise ValueError(f"question type {qtype[:_SHOWN]!r} has {hops} hops; MetaQA has 1 to 3")
    places = qtype.split("_to_")
    return _node_type(places[0]), _node_type(places[-1]), hops


# -- official files ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A line of a question file with where it stands."""

    file: Path
    number: int
    text: str
    qtype: str

    def wrong(self, what: str) -> UserError:
        return UserError(f"{self.file}, line {self.number}: {what}: mend the line")


def _official(graph: KnowledgeGraph, folder: Path, split: str | None) -> list[Query]:
    wanted = SPLITS if split in (None, "all") else {_base(split): ""}
    found: list[Query] = []
    for name, theirs in SPLITS.items():
        if name in wanted:
            for hops in HOPS:
                lines = _lines(folder / f"{hops}-hop", theirs)
                found += (_question(graph, hops, name, theirs, line) for line in lines)
    if not found:
        names = " or ".join(f"{h}-hop/vanilla/qa_{SPLITS[n]}.txt" for h in HOPS for n in wanted)
        raise UserError(f"{folder} holds no questions ({names}): download MetaQA once more")
    return found


def _base(split: str | None) -> str:
    """The split whose file holds it: ``test-0.1`` is drawn from ``test``."""
    base = "test" if split == TENTH else str(split)
    if base not in SPLITS:
        raise UserError(unknown("split of MetaQA", base, (*SPLITS, TENTH, "all")))
    return base


def _lines(folder: Path, split: str) -> Iterator[_Line]:
    """Questions with their types; nothing where the folder lacks the split."""
    file, kinds = folder / "vanilla" / f"qa_{split}.txt", folder / f"qa_{split}_qtype.txt"
    if not file.is_file():
        return
    if not kinds.is_file():
        raise UserError(f"no {kinds}: it lies beside the folder vanilla of a MetaQA download")
    texts, types = lines_of(file), lines_of(kinds)
    if len(texts) != len(types):
        raise UserError(
            f"{file} has {len(texts)} lines and {kinds.name} {len(types)}: take both from one "
            "download"
        )
    for number, (text, qtype) in enumerate(zip(texts, types, strict=True), start=1):
        yield _Line(file, number, text, qtype.strip())


def _question(graph: KnowledgeGraph, hops: int, split: str, theirs: str, line: _Line) -> Query:
    text, tab, answers = line.text.partition("\t")
    start, end = text.find("["), text.rfind("]")
    if not tab or start < 0 or end <= start + 1:
        raise line.wrong(f"{line.text[:_SHOWN]!r} is not 'question with [topic]<tab>answer|answer'")
    try:
        topic_type, answer_type, walked = _ends(line.qtype)
    except ValueError as error:
        raise line.wrong(str(error)) from None
    if walked != hops:
        raise line.wrong(f"type {line.qtype!r} has {walked} hops in a folder of {hops}")
    name = text[start + 1 : end].strip()
    topic = _node(graph, line, topic_type, name)
    named = [i for i in (node_id(t, name) for t in TYPES) if _has(graph, i)]
    gold = [_node(graph, line, answer_type, a.strip()) for a in answers.split("|") if a.strip()]
    if not gold:
        raise line.wrong("no answer")
    plain = " ".join((text[:start] + name + text[end + 1 :]).split())
    return _with_walk(
        Query(
            f"{hops}h-{theirs}-{line.number - 1}",
            plain,
            tuple(dict.fromkeys(gold)),
            split=split,
            mentions=(Mention(topic, " ".join(name.split())),),
        ),
        graph,
        line.qtype,
        topic,
        named,
    )


def _node(graph: KnowledgeGraph, line: _Line, node_type: str, name: str) -> str:
    """The node of a name: of the type that the walk says, or of any that has the name."""
    for kind in (node_type, *TYPES):
        if _has(graph, node_id(kind, name)):
            return node_id(kind, name)
    raise line.wrong(f"{name[:_SHOWN]!r} is no name in kb.txt")


def _has(graph: KnowledgeGraph, wanted: str) -> bool:
    try:
        graph.index(wanted)
    except KeyError:
        return False
    return True


# -- tables --------------------------------------------------------------------------------------


def _tables(graph: KnowledgeGraph, file: Path) -> list[Query]:
    """``queries.csv`` with the columns ``qtype`` and ``topic_id`` beside those of every table."""
    if not file.is_file():
        raise UserError(f"no {file}: put it beside the tables, or give queries=FILE")
    queries = load_queries(file, graph)
    walks = _columns(file)
    found = []
    for row, query in enumerate(queries, start=1):
        qtype, topic = walks[query.id]
        try:
            graph.index(topic)
            found.append(_with_walk(query, graph, qtype, topic, ()))
        except KeyError:
            raise UserError(f"{file}, row {row}: topic_id {topic!r} is no node") from None
        except ValueError as error:
            raise UserError(f"{file}, row {row}: {error}: mend the row") from None
    return found


def _columns(file: Path) -> dict[str, tuple[str, str]]:
    """Question id -> type and topic."""
    # As ``load_queries`` reads it, which has found the rest of the file to be in order.
    import pyarrow as pa
    from pyarrow import csv

    names = ("id", "qtype", "topic_id")
    table = csv.read_csv(
        file,
        read_options=csv.ReadOptions(block_size=file.stat().st_size + 1),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    lost = [name for name in names if name not in table.column_names]
    if lost:
        raise UserError(f"{file} lacks the column(s) {', '.join(lost)}: use graph=table")
    twice = [name for name in names if table.column_names.count(name) > 1]
    if twice:
        raise UserError(f"{file} has the column {twice[0]!r} twice")
    ids, kinds, topics = (table.column(name).to_pylist() for name in names)
    rows = zip(ids, kinds, topics, strict=True)
    return {key.strip(): (kind.strip(), topic.strip()) for key, kind, topic in rows}


# -- both ----------------------------------------------------------------------------------------


def _with_walk(
    query: Query, graph: KnowledgeGraph, qtype: str, topic: str, named: Sequence[str]
) -> Query:
    """The question with all that its type says. Raises ValueError for an unknown type."""
    _, answer_type, hops = _ends(qtype)
    types = {graph.type(graph.index(i)) for i in query.answer_ids}
    return replace(
        query,
        cluster=topic,
        hops=hops,
        textual=False,
        answer_type=answer_type if types == {answer_type} else None,
        anchor_ids=(topic,),
        mentions=query.mentions or (Mention(topic, graph.name(graph.index(topic))),),
        program=program_of(qtype, topic, named),
    )


def _in_turn(queries: Iterable[Query]) -> list[Query]:
    """Shuffled by the hash of ids, then one of each number of hops in turn."""
    by_hops: dict[int, list[Query]] = {hops: [] for hops in HOPS}
    for query in queries:
        by_hops[query.hops or 1].append(query)
    for some in by_hops.values():
        some.sort(key=lambda q: hashlib.sha256(q.id.encode()).digest())
    rounds = itertools.zip_longest(*by_hops.values())
    return [query for each in rounds for query in each if query is not None]
