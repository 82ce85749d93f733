"""Composed questions as files: written once beside the graphs, then read."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections import Counter
from pathlib import Path

from ark.errors import ArkError, UserError
from ark.graph import staging
from ark.protocols import Graph
from ark.queries.compose import COMPOSER_VERSION, SEED, Composed, compose
from ark.queries.forms import canonical, to_json
from ark.queries.load import load_queries
from ark.queries.mention import wording_of
from ark.queries.wording import Wording
from ark.records import Json, Query

QUESTIONS = "questions.jsonl"
META = "questions.json"
NONE = "no mention"
_PACKS = {
    "cwe": "ark.queries.wording_cwe:CWE",
    "hpo": "ark.queries.wording_hpo:HPO",
    "toy": "ark.queries.wording_toy:TOY",
}


def wording_for(name: str) -> Wording:
    """The wording pack of a graph. Raises UserError if there is none."""
    if name not in _PACKS:
        packs = ", ".join(sorted(_PACKS))
        raise UserError(
            f"no questions can be composed for graph {name!r} (only for {packs}): give queries=FILE"
        )
    module, _, attribute = _PACKS[name].partition(":")
    wording: Wording = getattr(importlib.import_module(module), attribute)
    return wording


def version(wording: Wording) -> str:
    """Version of the questions that composer and pack make together."""
    return f"{COMPOSER_VERSION}.{wording.version}"


def questions_folder(graph: Graph, name: str, root: Path, seed: int = SEED) -> Path:
    """Where a graph's composed questions lie under ``root``."""
    other = "" if seed == SEED else f"-seed{seed}"
    key = f"{name}-{graph.content_hash[:12]}-{version(wording_for(name))}{other}"
    return Path(root) / "questions" / key


def questions_for(graph: Graph, name: str, root: Path, seed: int = SEED) -> list[Query]:
    """The composed questions of a graph, composed first unless ``root`` has them.

    Raises UserError if the graph has no wording pack or the stored file is damaged, and ArkError
    if composing the shipped graph with the default seed gives other questions than it must.
    """
    folder = questions_folder(graph, name, root, seed)
    if not folder.exists():
        compose_questions(graph, wording_for(name), seed, None, folder)
    file, meta = folder / QUESTIONS, folder / META
    try:
        wanted = json.loads(meta.read_text(encoding="utf-8"))["sha256"]
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder} is not readable ({error}): delete the folder") from error
    if found != wanted:
        raise UserError(f"{file} was changed after it was composed: delete the folder {folder}")
    return load_queries(file, graph)


def compose_questions(
    graph: Graph, wording: Wording, seed: int, n: int | None, out_dir: Path
) -> dict[str, Json]:
    """Composes questions into the new folder ``out_dir`` and returns what ``questions.json`` says.

    ``questions.jsonl`` holds one question a line as canonical JSON. The folder appears whole or
    not at all. Raises UserError if it exists, ArkError if the questions are not those expected.
    """
    if out_dir.exists():
        raise UserError(f"{out_dir} exists: give a new folder")
    composed = compose(graph, wording, seed, n)
    if not composed.queries:
        raise UserError(f"no question could be composed for graph {wording.graph!r}")
    data = "".join(f"{canonical(to_json(q))}\n" for q in composed.queries).encode()
    meta = _meta(graph, wording, seed, composed)
    meta["sha256"] = hashlib.sha256(data).hexdigest()
    if n is None:
        check_expected(meta)
    with staging.folder(out_dir) as new:
        (new / QUESTIONS).write_bytes(data)
        (new / META).write_text(json.dumps(meta, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return meta


def expected() -> dict[str, dict[str, Json]]:
    """By graph, what its shipped graph and the default seed must give."""
    file = Path(__file__).with_name("expected.json")
    found: dict[str, dict[str, Json]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def check_expected(meta: dict[str, Json]) -> None:
    """Raises ArkError if these questions should equal the committed ones and do not.

    Other releases of the data, other seeds and other versions have nothing to equal.
    """
    wanted = expected().get(meta["graph"])
    keys = ("content_hash", "seed", "version")
    if wanted is None or any(wanted[key] != meta[key] for key in keys):
        return
    if wanted["sha256"] != meta["sha256"]:
        raise ArkError(
            f"questions of {meta['graph']!r} came out with sha256 {meta['sha256']} instead of "
            f"{wanted['sha256']}: composing is not deterministic here; please report this with "
            "your version of Python"
        )


def _meta(graph: Graph, wording: Wording, seed: int, composed: Composed) -> dict[str, Json]:
    queries = composed.queries
    splits = Counter(q.split for q in queries)
    conditions = {True: "textual", False: "relations only"}
    cells = Counter(
        f"{q.split} | {q.answer_type} | {q.hops} hop | {conditions[bool(q.textual)]}"
        for q in queries
    )
    return {
        "graph": wording.graph,
        "content_hash": graph.content_hash,
        "version": version(wording),
        "seed": seed,
        "asked": composed.asked,
        "count": len(queries),
        "splits": dict(splits),
        "cells": dict(cells),
        "patterns": dict(composed.patterns),
        "rejected": dict(composed.rejected),
        "clusters": len({q.cluster for q in queries}),
        "mentions": _by_wording(composed.mentions),
        "wordings": _by_wording(
            Counter((q.split.removesuffix("-0.1"), wording_of(q) or NONE) for q in queries)
        ),
    }


def _by_wording(counts: Counter[tuple[str, str]]) -> dict[str, Json]:
    """``{"test": {"name": 3, ...}, ..., "all": {...}}``."""
    found: dict[str, Counter[str]] = {}
    for (split, wording), count in counts.items():
        for part in (split, "all"):
            found.setdefault(part, Counter())[wording] += count
    return {split: dict(counter) for split, counter in found.items()}
