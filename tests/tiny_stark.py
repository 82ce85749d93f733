"""Writes tiny STaRK folders in the official on-disk format, without torch. An invented world.

They hold what breaks readers: NumPy scalars in the records, parallel edges, a loop, missing
values in every spelling, equal documents, repeated answers. PRIME has all ten types and both
directions of every edge; MAG and AMAZON are stored one way.
"""

from __future__ import annotations

import json
import pickle
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ark.graph.sources.stark import BENCHMARKS

PRIME_TYPES = BENCHMARKS["prime"].node_types
PRIME_RELATIONS = BENCHMARKS["prime"].relations
Pairs = Sequence[tuple[int, int, int]]  # source, target, relation


def prime() -> dict[str, Any]:
    def node(i: int, kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"id": f"X{i}", "type": kind, "name": name, "source": "Atlas", **more}

    info = {
        3: node(3, "drug", "Quietol", details={"half_life": np.float64("nan"), "state": "solid"}),
        0: node(0, "disease", "pebble fever", details={"mondo_definition": "Hot stones."}),
        1: node(1, "gene/protein", "PBL1", details={"alias": ["P1", "P2"], "_score": 1.5}),
        2: node(2, "molecular_function", "stone binding"),
        4: node(4, "pathway", "pebble signalling"),
        5: node(5, "anatomy", "left knee"),
        6: node(6, "effect/phenotype", "grey rash"),
        7: node(7, "biological_process", "stone growth"),
        8: node(8, "cellular_component", "stone vesicle"),
        9: node(9, "exposure", "dust"),
        10: node(10, "drug", "Loudol", details={"description": ""}),
        11: node(11, "gene/protein", "nan"),
    }
    half = [
        *((3, 1, "enzyme"), (3, 1, "target"), (3, 1, "target"), (3, 0, "indication")),
        *((10, 0, "contraindication"), (0, 1, "associated with"), (1, 4, "interacts with")),
        *((1, 5, "expression present"), (0, 6, "phenotype present"), (11, 1, "ppi")),
        *((7, 1, "interacts with"), (9, 0, "linked to"), (8, 1, "interacts with")),
    ]
    both = [(x, y, PRIME_RELATIONS.index(r)) for a, b, r in half for x, y in ((a, b), (b, a))]
    types = [PRIME_TYPES.index(info[i]["type"]) for i in range(len(info))]
    return _graph("prime", info, both, types)


def mag() -> dict[str, Any]:
    def other(i: int, kind: str, name: Any, **more: Any) -> dict[str, Any]:
        counts = {"PaperCount": np.int64(i + 1), "CitationCount": -1}
        return {"id": i, "DisplayName": name, "type": kind, "new_id": i, **counts, **more}

    def paper(i: int, title: str, year: Any, **places: Any) -> dict[str, Any]:
        absent = {"OriginalVenue": -1, "JournalDisplayName": -1, "ConferenceSeriesDisplayName": -1}
        absent["ConferenceInstancesDisplayName"] = -1
        text = {"title": title, "abstract": f"About {title.lower()}.", "Date": f"{int(year)}-05-06"}
        return {"id": i, "DocType": -1, "Year": year, "type": "paper", **absent, **text, **places}

    info = {
        0: other(0, "author", "Ida Stone"),
        1: other(1, "author", "Ben Rock"),
        2: other(2, "author", -1),
        3: other(3, "institution", "Pebble University"),
        4: other(4, "field_of_study", "Interleukin-1 in rocks", Level=np.int64(2)),
        5: paper(5, "Loud stones", 2011.0, OriginalVenue="Stone Letters"),
        6: paper(6, "Quiet stones", 2012, JournalDisplayName="Rock Review"),
        7: paper(7, "Grey stones", np.int64(2013), ConferenceSeriesDisplayName="ROCKCONF"),
    }
    edges = [
        *((0, 3, 0), (1, 3, 0), (5, 6, 1), (6, 5, 1), (6, 7, 1), (5, 4, 2), (6, 4, 2)),
        *((0, 5, 3), (1, 5, 3), (2, 5, 3), (1, 6, 3), (0, 7, 3)),
    ]
    return _graph("mag", info, edges, [0, 0, 0, 1, 2, 3, 3, 3])


def amazon() -> dict[str, Any]:
    def review(votes: Any, text: str) -> dict[str, Any]:
        scores = {"overall": np.float64(5), "verified": np.bool_(True), "vote": votes}
        return {"reviewerID": "A1", "summary": text, "reviewText": text, "style": None, **scores}

    def product(title: str, price: str, **more: Any) -> dict[str, Any]:
        lists = {"review": [], "qa": [], "feature": [], "description": [], "details": {}}
        return {"asin": "B0", "title": title, "price": price, "rank": "", **lists, **more}

    asked = {"question": "Is it grey?", "answer": "Yes.", "questionType": "yes/no"}
    info = {
        0: product(
            "Stone Bike",
            "$1,249.50",
            brand="Rocky",
            details={"product_dimensions": "2 x 3 inches ; 1 pounds"},
            feature=["Heavy", "ASIN: B0", "Grey"],
            review=[review(float("nan"), "fine"), review("1,234", "great"), review("7", "so so")],
            qa=[asked],
        ),
        1: product("Stone Helmet", "$5.00 - $9.00", brand="Rocky", category=["helmets"]),
        2: product("Stone Bell", "", description=["A bell."]),
        3: product("Stone Bell", "", description=["A bell."]),
        4: {"brand_name": np.str_("Rocky")},
        5: {"category_name": np.str_("bikes")},
        6: {"category_name": np.str_("helmets é")},
        7: {"color_name": np.str_("grey")},
    }
    edges = [
        *((0, 1, 0), (0, 1, 1), (2, 0, 1), (0, 2, 0), (1, 2, 1), (3, 3, 1)),
        *((0, 4, 2), (1, 4, 2), (0, 5, 3), (1, 6, 3), (0, 7, 4)),
    ]
    return _graph("amazon", info, edges, [0, 0, 0, 0, 1, 2, 2, 3])


GRAPHS = {"prime": prime, "mag": mag, "amazon": amazon}
QUESTIONS: Mapping[str, list[tuple[int, str, list[int]]]] = {
    "prime": [
        (3, "Which drug treats pebble fever?", [3]),
        (0, "Which genes does Quietol target?", [1]),
        (1, 'Which phenotype, "if any", goes with pebble fever?', [6]),
        (2, "What is linked to pebble fever,\nand hot?", [9, 0, 9]),
        (4, "Anything grey?", [6]),
    ],
    "mag": [
        (0, "Papers by Ida Stone", [5, 7]),
        (1, "Papers on interleukin-1", [5, 6]),
        (2, "The ROCKCONF paper", [7]),
        (3, "Quiet stones", [6]),
    ],
    "amazon": [
        (0, "Rocky things", [0, 1]),
        (1, "A bell", [2, 3]),
        (2, "A grey bike", [0]),
        (3, "A helmet", [1]),
    ],
}


def write_all(root: Path) -> Path:
    """The three graphs with their questions, as stark-qa's own root holds them."""
    for name in GRAPHS:
        write_graph(root, name)
        write_questions(root, name)
    return root


def write_graph(root: Path, name: str, **changes: Any) -> Path:
    """The six files of a graph, some of their contents replaced; returns their folder."""
    folder = root / name / BENCHMARKS[name].folder
    folder.mkdir(parents=True, exist_ok=True)
    for stem, value in {**GRAPHS[name](), **changes}.items():
        if isinstance(value, dict):
            (folder / f"{stem}.pkl").write_bytes(pickle.dumps(value, protocol=4))
        else:
            write_tensor(folder / f"{stem}.pt", np.asarray(value, np.int64))
    return folder


def write_questions(root: Path, name: str) -> Path:
    """First question: train, second: val, the others: test, the last of them: test-0.1."""
    folder = root / name
    rows = QUESTIONS[name]
    for part in ("stark_qa", "split"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    write_csv(folder / "stark_qa" / "stark_qa.csv", [(i, q, a) for i, q, a in sorted(rows)])
    human = [(n, q, a, a[:1]) for n, (_, q, a) in enumerate(rows[:3])]
    write_csv(folder / "stark_qa" / "stark_qa_human_generated_eval.csv", human)
    ids = [str(i) for i, _, _ in rows]
    parts = {"train": ids[:1], "val": ids[1:2], "test": ids[2:], "test-0.1": ids[-1:]}
    for split, chosen in parts.items():
        (folder / "split" / f"{split}.index").write_text("\n".join(chosen))
    return folder


def write_csv(path: Path, rows: Sequence[tuple[Any, ...]]) -> None:
    """Columns id, query, answer_ids and, with four cells, answer_ids_source."""
    head = ["id", "query", "answer_ids", "answer_ids_source"][: len(rows[0])]
    lines = [",".join(head)]
    for query_id, text, *golds in rows:
        cells = [str(query_id), _quoted(text), *(_quoted(json.dumps(g)) for g in golds)]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


def write_archive(root: Path, name: str, archive: Path, prefix: str = "") -> Path:
    """``processed.zip`` with the files of a written graph and some that nobody asks for."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    folder = root / name
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted((folder / "processed").rglob("*")):
            if file.is_file():
                out.write(file, prefix + file.relative_to(folder).as_posix())
        out.writestr(f"{prefix}processed/mag_cache/author_data.csv", "not wanted")
    return archive


# -- torch's file format -----------------------------------------------------------------------

_KINDS = {"i8": "LongStorage", "i4": "IntStorage", "f4": "FloatStorage", "f8": "DoubleStorage"}


def write_tensor(path: Path, values: Any, **changes: Any) -> None:
    """What ``torch.save`` writes for a contiguous tensor; ``tensor_pickle`` takes ``changes``."""
    array = np.ascontiguousarray(values)
    write_pt(path, tensor_pickle(array, **changes), array.tobytes())


def write_pt(
    path: Path, head: bytes, data: bytes, kind: int = zipfile.ZIP_STORED, order: str = "little"
) -> None:
    """A zip in torch's layout from the bytes of its parts."""
    name = path.stem
    with zipfile.ZipFile(path, "w", kind) as out:
        out.writestr(f"{name}/data.pkl", head)
        out.writestr(f"{name}/byteorder", order)
        out.writestr(f"{name}/data/0", data)
        out.writestr(f"{name}/version", "3\n")


def tensor_pickle(
    array: np.ndarray[Any, Any],
    *,
    shape: tuple[int, ...] | None = None,
    stride: tuple[int, ...] | None = None,
    offset: int = 0,
    numel: int | None = None,
    rebuild: str = "torch._utils _rebuild_tensor_v2",
    storage: str | None = None,
) -> bytes:
    """``data.pkl`` of a tensor, opcode by opcode (protocol 2), with whatever is to be wrong."""
    shape = array.shape if shape is None else shape
    if stride is None:
        stride = tuple(step // array.itemsize for step in array.strides)
    numel = array.size if numel is None else numel
    storage = storage or f"torch {_KINDS[array.dtype.str[1:]]}"
    stored = b"(" + _text("storage") + _global(storage) + _text("0") + _text("cpu") + _int(numel)
    arguments = (stored + b"tQ") + _int(offset) + _ints(shape) + _ints(stride) + b"\x89"
    hooks = _global("collections OrderedDict") + b")R"
    return b"\x80\x02" + _global(rebuild) + b"(" + arguments + hooks + b"tR."


def _global(pair: str) -> bytes:
    return b"c" + pair.replace(" ", "\n").encode() + b"\n"


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def _int(value: int) -> bytes:
    raw = value.to_bytes(9, "little", signed=True)
    return b"\x8a\x09" + raw


def _ints(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(_int, values)) + b"t"


def _graph(name: str, info: dict[int, Any], edges: Pairs, types: list[int]) -> dict[str, Any]:
    bench = BENCHMARKS[name]
    return {
        "node_info": info,
        "edge_index": [[e[0] for e in edges], [e[1] for e in edges]],
        "edge_types": [e[2] for e in edges],
        "node_types": types,
        "node_type_dict": dict(enumerate(bench.node_types)),
        "edge_type_dict": dict(enumerate(bench.relations)),
    }


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text
