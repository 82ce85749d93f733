"""Are these files the released ones? Facts about a graph and its questions, and what was expected.

Facts come in an order such that one change shows in one line: a fact that follows from another
one that differs is not counted a second time (``FOLLOWS``). See docs/selfcheck.md.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ark.errors import UserError
from ark.graph import GraphSource, KnowledgeGraph, data_root, file_hashes
from ark.graph.sources.files import FilesSource
from ark.graph.sources.stark import BENCHMARKS, StarkSource
from ark.graph.sources.stark.names import QUESTION_FILES, SHA256
from ark.graph.sources.stark.official_view import official_counts
from ark.queries.splits import HUMAN, TENTH
from ark.queries.stark import stark_questions
from ark.records import Json, Query
from ark.run.environment import SELFCHECK
from ark.run.result import write_atomic
from ark.run.session import all_questions, with_candidates
from ark.run.spec import GraphSpec

Verdict = Literal["PASS", "DIFFERS", "INFO", "SKIPPED"]
CONVERT, LOAD = "files convert", "questions load"
_NODES = ("nodes by type", "nodes", "ids", "node types")
_CONTENT = (*_NODES, "candidates", "names", "documents", "attributes")
_EDGES = ("edges by relation", "edges as stark-qa loads them", "edges")
_OUTSIDE, _HUMAN_OUTSIDE = "gold outside candidates", "human gold outside candidates"
_ASKED = (
    *(LOAD, "questions by split", "splits", "questions", _OUTSIDE, "range of gold", "gold"),
    *(_HUMAN_OUTSIDE, "human questions"),
)

# A fact is not compared where one of these differs: it would only say the same again.
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "nodes": ("nodes by type",),
    "ids": ("nodes by type", "nodes"),
    "node types": ("nodes by type", "nodes"),
    "candidates": _NODES,
    "names": _NODES,
    "documents": (*_NODES, "names"),
    "attributes": (*_NODES, "names", "documents"),
    "edges as stark-qa loads them": ("edges by relation",),
    "edges": ("edges by relation", "edges as stark-qa loads them"),
    "splits": ("questions by split",),
    "questions": ("questions by split",),
    _OUTSIDE: (*_NODES, "candidates", "questions by split"),
    "range of gold": ("questions by split", _OUTSIDE),
    "gold": ("questions by split", _OUTSIDE, "range of gold"),
    _HUMAN_OUTSIDE: (*_NODES, "candidates", "questions by split"),
    "human questions": ("questions by split", _HUMAN_OUTSIDE),
}

# STaRK: questions by split, and the least and the greatest answer of composed questions.
_QUESTIONS = {
    "amazon": {"train": 5_910, "val": 1_548, "test": 1_642, "test-0.1": 164, "human": 81},
    "mag": {"train": 7_993, "val": 2_665, "test": 2_665, "test-0.1": 266, "human": 84},
    "prime": {"train": 6_162, "val": 2_241, "test": 2_801, "test-0.1": 280, "human": 98},
}
_GOLD = {"amazon": [0, 957_191], "mag": [1_172_740, 1_872_965], "prime": [3, 129_373]}
_CANDIDATES = {
    "amazon": (957_192, "0", "957191"),
    "mag": (700_244, "1172724", "1872967"),
    "prime": (129_375, "0", "129374"),
}


@dataclass(frozen=True)
class Line:
    """What was expected, what was found, and what that means."""

    verdict: Verdict
    what: str
    expected: Json = None
    found: Json = None
    note: str = ""

    def __str__(self) -> str:
        expected, found = self.expected, self.found
        if self.verdict == "DIFFERS" and isinstance(expected, dict) and isinstance(found, dict):
            keys = [k for k in {**expected, **found} if expected.get(k) != found.get(k)]
            expected = {k: expected.get(k) for k in keys}
            found = {k: found.get(k) for k in keys}
        parts = []
        if self.expected is not None:
            parts.append(f"expected {_shown(expected)}")
        if self.found is not None:
            parts.append(f"found {_shown(found)}")
        parts += [self.note] if self.note else []
        return f"{self.verdict:<8} {self.what}: {', '.join(parts)}"


def benchmark_of(source: GraphSource) -> str | None:
    """Which of STaRK's graphs this is: from its own files, or exported as plain ones."""
    name = source.benchmark if isinstance(source, FilesSource) else source.name
    return name if name in BENCHMARKS else None


def official(source: GraphSource) -> dict[str, Json]:
    """What is known of one of STaRK's graphs beforehand; empty for other graphs."""
    name = benchmark_of(source)
    if name is None:
        return {}
    bench = BENCHMARKS[name]
    count, first, last = _CANDIDATES[name]
    known: dict[str, Json] = {
        CONVERT: True,
        "nodes by type": dict(bench.per_type),
        "nodes": bench.nodes,
        "ids": "from 0 without gaps",
        "candidates": {"count": count, "first": first, "last": last},
        "edges as stark-qa loads them": bench.edges,
        LOAD: True,
        "questions by split": _QUESTIONS[name],
        _OUTSIDE: 0,
        "range of gold": _GOLD[name],
    }
    if isinstance(source, FilesSource):
        return known  # its files are not those of the release
    files = {f: SHA256.get(f"qa/{name}/{f}") for f in QUESTION_FILES}
    return known | {f"file {f}": sha for f, sha in files.items() if sha is not None}


def graph_facts(spec: GraphSpec, source: GraphSource, graph: KnowledgeGraph) -> dict[str, Json]:
    """Counts and hashes of a built graph, and the sha256 of the files it was built from."""
    n = graph.n_nodes
    schema = graph.schema
    rows = _candidates(spec, graph)
    source_, relation, target = graph.edges()
    edges = hashlib.sha256()
    for column in (source_, relation, target):
        edges.update(column.astype("<i8").tobytes())
    facts: dict[str, Json] = {
        CONVERT: True,
        "nodes by type": {row["name"]: row["count"] for row in schema["types"]},
        "nodes": n,
        "node types": _digest(graph.type(i) for i in range(n)),
        "candidates": {
            "count": len(rows),
            "first": graph.id(int(rows[0])),
            "last": graph.id(int(rows[-1])),
        },
        "names": _digest(graph.name(i) for i in range(n)),
        "documents": _digest(graph.text(i) for i in range(n)),
        "attributes": _digest(_json(graph.node(i).attrs) for i in range(n)),
        "edges by relation": {row["name"]: row["count"] for row in schema["relations"]},
        "edges": edges.hexdigest(),
    }
    if benchmark_of(source) is not None:
        dense = all(graph.id(i) == str(i) for i in range(n))
        facts["ids"] = "from 0 without gaps" if dense else "not dense"
        facts["edges as stark-qa loads them"] = official_counts(graph)["edges"]
    facts |= {f"file {name}": sha for name, sha in source.provenance().files.items()}
    return facts


def question_facts(spec: GraphSpec, source: GraphSource, graph: KnowledgeGraph) -> dict[str, Json]:
    """Counts and hashes of the questions. A file that cannot be read is a fact, not an error."""
    facts: dict[str, Json] = {}
    try:
        if isinstance(source, StarkSource):
            folder = source.question_folder()
            files = {f: folder / f for f in QUESTION_FILES if (folder / f).is_file()}
            for name, file in files.items():
                facts[f"file {name}"] = file_hashes([file])[file.name]
            queries = stark_questions(source.name, folder, source.gold)
        else:
            queries = all_questions(spec, graph, data_root())
    except UserError as error:
        return facts | {LOAD: str(error)}
    composed = [q for q in queries if q.split != HUMAN]
    human = [q for q in queries if q.split == HUMAN]
    counts = Counter(q.split for q in queries)
    counts["test"] += counts[TENTH]
    inside = {graph.id(int(i)) for i in _candidates(spec, graph)}
    answers = [a for q in composed for a in q.answer_ids]
    facts |= {
        LOAD: True,
        "questions by split": {s: k for s, k in sorted(counts.items()) if k},
        "splits": _digest(f"{q.split}\0{q.id}" for q in composed),
        "questions": _digest(sorted(f"{q.id}\0{q.text}" for q in composed)),
        _OUTSIDE: sum(a not in inside for a in answers),
        "gold": _digest(sorted(_gold(q) for q in composed)),
    }
    if answers and all(a.isdecimal() for a in answers):
        facts["range of gold"] = [min(map(int, answers)), max(map(int, answers))]
    if human:
        outside = sum(a not in inside for q in human for a in q.answer_ids)
        facts[_HUMAN_OUTSIDE] = outside
        facts["human questions"] = _digest(f"{_gold(q)}\0{q.text}" for q in human)
    return facts


def compare(expected: Mapping[str, Json], found: Mapping[str, Json]) -> list[Line]:
    """One line for each fact. Files come last: they follow from whatever was read from them."""
    order = [CONVERT, *_CONTENT, *_EDGES, *_ASKED]
    names = list(dict.fromkeys((*found, *expected)))
    contents = [what for what in order if what in names]
    lines: list[Line] = []
    for what in contents:
        if found.get(CONVERT) is not True and what != CONVERT:
            lines.append(Line("SKIPPED", what, note=f"follows from: {CONVERT}"))
        elif what in _ASKED and what != LOAD and found.get(LOAD) is not True:
            lines.append(Line("SKIPPED", what, note=f"follows from: {LOAD}"))
        else:
            lines.append(_line(what, expected, found, FOLLOWS.get(what, ()), lines))
    for what in names:
        if what not in contents and found.get(CONVERT) is not True:
            lines.append(Line("SKIPPED", what, note=f"follows from: {CONVERT}"))
        elif what not in contents:
            group = _ASKED if "/" in what else (CONVERT, *_CONTENT, *_EDGES)
            lines.append(_line(what, expected, found, group, lines))
    return lines


def save(graph: KnowledgeGraph, lines: Sequence[Line], compared: str) -> Path:
    """``selfcheck.json`` in the graph's folder; results that come later carry its sha256."""
    path = graph.path / SELFCHECK
    said: dict[str, Json] = {
        "graph": graph.manifest["name"],
        "content_hash": graph.content_hash,
        "compared_with": compared,
        "differs": sum(line.verdict == "DIFFERS" for line in lines),
        "lines": [asdict(line) for line in lines],
    }
    try:
        write_atomic(path, json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path} ({error.strerror}): make it writable") from error
    return path


def _line(
    what: str,
    expected: Mapping[str, Json],
    found: Mapping[str, Json],
    follows: Iterable[str],
    before: Sequence[Line],
) -> Line:
    if what not in expected:
        return Line("INFO", what, found=found[what], note="nothing to compare with")
    wanted, got = expected[what], found.get(what)
    if _equal(what, wanted, got):
        return Line("PASS", what, wanted, got)
    bad = [line.what for line in before if line.verdict == "DIFFERS" and line.what in follows]
    if bad:
        return Line("SKIPPED", what, wanted, got, f"follows from: {bad[0]}")
    return Line("DIFFERS", what, wanted, got, "" if what in found else "not there")


def _equal(what: str, wanted: Json, got: Json) -> bool:
    if what.startswith("file ") and isinstance(got, str):
        return got.startswith(str(wanted))  # of some files only the beginning is on record
    if what == "nodes by type" and isinstance(got, dict):
        return all(got.get(k) == v for k, v in wanted.items())  # MAG: only papers are published
    return bool(wanted == got)


def _candidates(
    spec: GraphSpec, graph: KnowledgeGraph
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    types = with_candidates(spec, graph).candidate_types
    if types is None:
        return np.arange(graph.n_nodes, dtype=np.int64)
    return np.sort(np.concatenate([graph.of_type(t) for t in types if t in graph.node_types]))


def _gold(query: Query) -> str:
    return "\0".join((query.id, *query.answer_ids))


def _digest(texts: Iterable[str]) -> str:
    """sha256 over the length in bytes and the UTF-8 bytes of each text."""
    sha = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        sha.update(b"%d:" % len(raw))
        sha.update(raw)
    return sha.hexdigest()


def _json(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _shown(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items()) or "nothing"
    if isinstance(value, list):
        return " to ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
