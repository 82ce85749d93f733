"""Invented graphs of STaRK's size: official counts, types and keys, texts of realistic length.

Words follow a Zipf-Mandelbrot law whose head is cut (stop words never reach an index of STaRK's
baseline); degrees follow a power law. All of it is drawn from one seed.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ark.graph import GraphData, Provenance
from ark.graph.sources.stark import BENCHMARKS
from ark.graph.sources.stark.convert import documents_of
from ark.graph.sources.stark.names import AMAZON, MAG, PRIME
from ark.graph.sources.stark.nodes import AttrColumn, TextColumn, node_attrs, node_name
from stark_bench import made_amazon

SEED = 20261130
HUB = 100_000  # neighbours of one field of study, at full size
WORDS = 400_000
ABSTRACT = 160  # words, on average
DETAILS = 190  # of a PRIME node: 1.3 kB
MAG_TYPES = (1_104_554, 8_701, 59_469, 700_244)  # their sum is exact, the first three approximate
MAG_SHARES = (2.0, 9.7, 14.5, 13.5)  # millions of edges by relation (paper, Table 1)
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """Counts of one graph at ``scale`` times its size."""

    name: str
    scale: float

    def of(self, count: float) -> int:
        """A scaled count, never 0."""
        return max(2, round(count * self.scale))

    @property
    def types(self) -> Ints:
        """Type number of every node, in STaRK's order."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def counts(self) -> list[int]:
        """Nodes of each type."""
        exact = {"mag": MAG_TYPES, "amazon": made_amazon.TYPES}
        return [self.of(count) for count in exact.get(self.name, tuple(PRIME.per_type.values()))]

    @property
    def hub(self) -> int:
        """Row of the node with ``HUB`` neighbours (MAG): the first field of study."""
        return self.of(MAG_TYPES[0]) + self.of(MAG_TYPES[1])


def words(scale: float) -> NDArray[np.object_]:
    """Distinct invented words; the shortest ones are the most frequent."""
    first, second = "bcdfghklmnprstvz", "aeiou"
    syllables = [a + b for a in first for b in second]
    out = []
    for i in range(max(2_000, round(WORDS * scale))):
        word, rest = "", i + len(syllables)
        while rest:
            rest, digit = divmod(rest, len(syllables))
            word += syllables[digit]
        out.append(word)
    return np.array(out, dtype=object)


class Text:
    """Draws runs of words."""

    def __init__(self, scale: float) -> None:
        self._rng = np.random.default_rng(SEED)
        self._words = words(scale)
        weights = (np.arange(len(self._words)) + 30.0) ** -1.05
        self._sums = np.cumsum(weights / weights.sum())

    def runs(self, lengths: Ints) -> Iterator[str]:
        """One text for each length, in words."""
        for start in range(0, len(lengths), 2_000):
            part = lengths[start : start + 2_000]
            drawn = np.searchsorted(self._sums, self._rng.random(int(part.sum())))
            drawn = np.minimum(drawn, len(self._words) - 1)
            cells, at = self._words[drawn].tolist(), 0
            for length in part.tolist():
                yield " ".join(cells[at : at + length])
                at += length


def records(size: Size) -> Iterator[dict[str, Any]]:
    """``node_info`` of every node in order, with the official keys that documents show."""
    rng = np.random.default_rng(SEED + 1)
    types, text = size.types, Text(size.scale)
    if size.name == "amazon":
        yield from made_amazon.records(size.counts, text.runs, rng)
        return
    mean = ABSTRACT if size.name == "mag" else DETAILS
    long = np.clip(rng.lognormal(np.log(mean) - 0.08, 0.4, len(types)), 20, 700).astype(np.int64)
    if size.name == "mag":
        long[types < 3] = 1
    names = Text(size.scale).runs(rng.integers(2, 10 if size.name == "mag" else 5, len(types)))
    make = _mag if size.name == "mag" else _prime
    for i, (kind, name, body) in enumerate(
        zip(types.tolist(), names, text.runs(long), strict=True)
    ):
        yield make(i, kind, name, body)


def _mag(i: int, kind: int, name: str, body: str) -> dict[str, Any]:
    node_type = MAG.node_types[kind]
    if node_type != "paper":
        counts = {"PaperCount": i % 97, "CitationCount": i % 89}
        own = " ".join(name.split()[:3])
        return {"id": i, "mag_id": i + 7, "Rank": 1, "DisplayName": own, "type": node_type} | counts
    absent = {"ConferenceSeriesDisplayName": -1, "ConferenceInstancesDisplayName": -1}
    places = {"OriginalVenue": -1, "JournalDisplayName": f"journal {i % 5_000}", **absent}
    year = 1990 + i % 30
    about = {"title": name, "abstract": body, "Date": f"{year}-01-01", "Year": year}
    return {"id": i, "mag_id": i + 7, "DocType": "Journal", "type": node_type, **places, **about}


def _prime(i: int, kind: int, name: str, body: str) -> dict[str, Any]:
    half = len(body) // 2
    details = {"description": body[:half], "summary": body[half:], "_score": float(i % 50)}
    details |= {"alias": [f"a{i}", f"b{i}"], "half_life": float("nan")}
    node_type = PRIME.node_types[kind]
    return {"id": f"X{i}", "type": node_type, "name": name, "source": "NCBI", "details": details}


def edges(size: Size) -> tuple[Ints, Ints, Ints]:
    """(source, relation, target) as the benchmark stores them: PRIME both ways, others once."""
    rng = np.random.default_rng(SEED + 2)
    n = len(size.types)
    if size.name == "prime":
        near, far = _pairs(rng, size.of(PRIME.edges) // 2, (0, n), (0, n))
        relation = rng.integers(0, len(PRIME.relations), len(near))
        both = np.concatenate([near, far]), np.concatenate([far, near])
        return both[0], np.concatenate([relation, relation]), both[1]
    if size.name == "amazon":
        return _amazon_edges(size, rng)
    authors, places, fields, papers = (size.of(count) for count in MAG_TYPES)
    author, field = (0, authors), (size.hub + 1, fields - 1)
    paper, place = (n - papers, papers), (authors, places)
    ends = ((author, place), (paper, paper), (paper, field), (author, paper))
    hub = min(size.of(HUB), papers)
    total = size.of(MAG.edges) // 2 - hub
    columns = [(rng.permutation(papers)[:hub] + paper[0], np.full(hub, size.hub))]
    numbers = [np.full(hub, 2)]
    for i, (own, other) in enumerate(ends):
        wanted = round(total * MAG_SHARES[i] / sum(MAG_SHARES))
        columns.append(_pairs(rng, wanted, own, other))
        numbers.append(np.full(len(columns[-1][0]), i))
    source, target = (np.concatenate([pair[side] for pair in columns]) for side in (0, 1))
    return source, np.concatenate(numbers), target


def _amazon_edges(size: Size, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Products to products twice, to brands, to categories, to colours."""
    total, firsts = size.of(AMAZON.edges) // 2, np.cumsum([0, *size.counts])
    columns, numbers = [], []
    for i, kind in enumerate((0, 0, 1, 2, 3)):
        wanted = round(total * made_amazon.SHARES[i] / sum(made_amazon.SHARES))
        other = int(firsts[kind]), size.counts[kind]
        columns.append(_pairs(rng, wanted, (0, size.counts[0]), other))
        numbers.append(np.full(len(columns[-1][0]), i))
    source, target = (np.concatenate([pair[side] for pair in columns]) for side in (0, 1))
    return source, np.concatenate(numbers), target


def _pairs(
    rng: np.random.Generator, wanted: int, own: tuple[int, int], other: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Distinct pairs without loops or reversals; ends are (first row, count), targets skewed."""
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < wanted:
        draw = max(1_000, (wanted - len(keys)) * 5 // 4)
        source = own[0] + rng.integers(0, own[1], draw)
        target = other[0] + (other[1] * rng.random(draw) ** 2).astype(np.int64)
        if own == other:
            source, target = np.maximum(source, target), np.minimum(source, target)
        kept = source != target
        keys = np.unique(np.concatenate([keys, source[kept] << 32 | target[kept]]))
    keys = keys[np.sort(rng.permutation(len(keys))[:wanted])]
    return keys >> 32, keys & 0xFFFFFFFF


@dataclass(frozen=True)
class MadeSource:
    """A ``GraphSource`` of such a graph, its documents written by the real code, no files read."""

    size: Size
    scratch: Path

    @property
    def name(self) -> str:
        """Folder name."""
        return f"made-{self.size.name}"

    def key(self) -> str:
        """By seed and size; this folder is a scratch folder of the benchmark."""
        return f"{SEED}{round(self.size.scale * 10**6):08d}"

    def provenance(self) -> Provenance:
        """Nobody's data."""
        return Provenance("drawn from a seed", "1", "CC0-1.0", "invented", "Invented data.")

    def read(self) -> GraphData:
        """Draws it."""
        bench, size = BENCHMARKS[self.size.name], self.size
        documents, types = documents_of(bench.name), size.types
        self.scratch.mkdir(parents=True, exist_ok=True)
        labels, texts, attrs = TextColumn(self.scratch), TextColumn(self.scratch), AttrColumn()
        for i, (kind, record) in enumerate(zip(types.tolist(), records(size), strict=True)):
            node_type = bench.node_types[kind]
            labels.append(node_name(documents.label(record, node_type), i))
            texts.append(documents.document(record, node_type, version="1.1.0", quirks="official"))
            attrs.append(node_attrs(bench.name, record))
        source, relation, target = edges(size)
        return GraphData(
            ids=pa.array(np.arange(len(types))).cast(pa.string()),
            types=pa.DictionaryArray.from_arrays(types.astype(np.int32), list(bench.node_types)),
            names=labels.finish(),
            texts=texts.finish(),
            attrs=attrs.finish(),
            source=source,
            relation=relation,
            target=target,
            relations=bench.relations,
        )


def write_folder(size: Size, root: Path) -> Path:
    """The graph in the official on-disk format below ``root``; returns ``root``."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    write_tensor = importlib.import_module("tiny_stark").write_tensor
    bench = BENCHMARKS[size.name]
    folder = root / size.name / bench.folder
    folder.mkdir(parents=True, exist_ok=True)
    source, relation, target = edges(size)
    write_tensor(folder / "edge_index.pt", np.stack([source, target]))
    write_tensor(folder / "edge_types.pt", relation)
    write_tensor(folder / "node_types.pt", size.types)
    for stem, names in (("node_type_dict", bench.node_types), ("edge_type_dict", bench.relations)):
        (folder / f"{stem}.pkl").write_bytes(pickle.dumps(dict(enumerate(names)), 4))
    with (folder / "node_info.pkl").open("wb") as file:
        pickle.dump(dict(enumerate(records(size))), file, 4)
    return root
