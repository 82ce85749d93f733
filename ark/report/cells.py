"""Finished readings as tables read them: ``result.json`` with its questions beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ark.errors import UserError
from ark.records import Json
from ark.report.per_query import PerQuery, read_per_query
from ark.report.result_check import read_result
from ark.run.identity import canonical_json

_NO_MODEL = {  # by module of the backbone; results of older versions do not say it themselves
    "ark.backbone.lexical": "rule-based",
    "ark.backbone.random_calls": "random",
    "ark.backbone.scripted": "scripted",
}
RULES = "rule-based"
NEEDS = ("cell.candidates", "cell.reading.cut", "cell.reading.candidates")
_OWN_TYPES = {"amazon": ["product"], "mag": ["paper"]}  # older results call these changed


@dataclass(frozen=True)
class Question:
    """What ``queries.jsonl`` says of a question. A cluster of "" stands alone."""

    text: str
    cluster: str
    answers: tuple[str, ...]
    program: bool | None = None  # whether it has one; None where the file does not say


@dataclass(frozen=True, eq=False)
class Cell:
    """One reading of one run. ``data`` is its result with the keys of older versions filled in."""

    path: Path
    data: Mapping[str, Json]

    @property
    def cell(self) -> Mapping[str, Json]:
        """Labels, identity and reading."""
        out: Mapping[str, Json] = self.data["cell"]
        return out

    @property
    def column(self) -> tuple[str, str]:
        """Graph and split."""
        return str(self.cell["graph"]), str(self.cell["split"])

    @property
    def graph_hash(self) -> str:
        """Of the graph's content."""
        return str(self.cell["identity"].get("graph", {}).get("content_hash", ""))

    @property
    def questions_hash(self) -> str:
        """Of the questions with their gold, in order."""
        return str(self.cell["identity"].get("questions", {}).get("sha256", ""))

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """By id. Empty where there is no ``queries.jsonl``: each question is then by itself."""
        folders = self.path.absolute().parents  # of the reading, of readings, of the run
        path = folders[min(2, len(folders) - 1)] / "queries.jsonl"
        if not path.is_file():
            return {}
        out = {}
        try:
            # Not splitlines(): texts may hold U+2028 and its like.
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line.strip():
                    row = json.loads(line)
                    out[str(row["id"])] = Question(
                        str(row.get("text", "")),
                        str(row.get("cluster") or ""),
                        tuple(map(str, row.get("answer_ids", ()))),
                        row["program"] is not None if "program" in row else None,
                    )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged ({error}): run the cell again") from None
        return out

    @cached_property
    def per_query(self) -> PerQuery | None:
        """None where the file is missing: then nothing can be tested. UserError if damaged."""
        return read_per_query(self.path, self.data)

    def clusters(self, ids: Iterable[str]) -> list[str]:
        """The cluster of each question; "" for one by itself."""
        known = self.questions
        return [known[i].cluster if i in known else "" for i in ids]


def find(paths: Sequence[str | Path]) -> list[Path]:
    """Result files: of a file itself, a sweep's ``sweep.json``, or all below a folder.

    Of a results folder its ``runs`` are taken, so that references and bundles do not mix in.
    Raises UserError for a path that leads to none.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_file():
            new = [path]
        elif (path / "sweep.json").is_file():
            new = _of_sweep(path / "sweep.json")
        elif path.is_dir():
            inside = path / "runs" if (path / "runs").is_dir() else path
            new = sorted(inside.rglob("result.json"))
        else:
            raise UserError(f"{path} does not exist: give result.json files or folders of runs")
        if not new:
            raise UserError(f"{path}: no result.json there; run a cell first: python run.py")
        found += new
    return list(dict.fromkeys(found))


def _of_sweep(file: Path) -> list[Path]:
    try:
        jobs = json.loads(file.read_text(encoding="utf-8"))["jobs"]
        made = [str(job["result"]) for job in jobs if job.get("result")]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{file} is no record of a sweep ({error!r}): run the sweep again"
        ) from None
    roots = file.parent, file.parents[2]  # paths start at the sweep's folder, or at the results
    return [next((r / n for r in roots if (r / n).is_file()), roots[0] / n) for n in made]


def load(path: Path) -> Cell:
    """One result with the questions beside it. UserError where they are damaged or disagree."""
    cell = Cell(path, filled(read_result(path, NEEDS)))
    _ = cell.per_query  # read once, now: a mean that its questions do not have is never printed
    return cell


def load_all(paths: Sequence[Path]) -> list[Cell]:
    """Every result once, in an order that does not depend on the order of ``paths``.

    Raises UserError where two files claim to be the same cell and say different things.
    """
    cells: dict[str, Cell] = {}
    for cell in map(load, paths):
        name = str(cell.cell["cell_id"])
        other = cells.setdefault(name, cell)
        if other is not cell and _says(other) != _says(cell):
            raise UserError(
                f"{other.path} and {cell.path} are one cell with two results; leave one"
            )
    return sorted(cells.values(), key=_order)


def _says(cell: Cell) -> str:
    return canonical_json([cell.data["measures"], cell.data["counts"]])


def _order(cell: Cell) -> tuple[str, ...]:
    c = cell.cell
    names = (c["graph"], c["split"], c["method"], str(c["backbone"]), c["preset"], c["ablation"])
    reading, changed = canonical_json(c["reading"]), canonical_json(c["changed"])
    return (*map(str, names), changed, reading, f"{c['repeat']:06d}", str(c["cell_id"]))


def filled(data: Mapping[str, Json]) -> dict[str, Json]:
    """A result with the keys that results of older versions lack."""
    cell = dict(data["cell"])
    identity, reading = cell.get("identity", {}), cell["reading"]
    backbone = identity.get("backbone") or {}
    module = str(backbone.get("target", "")).partition(":")[0]
    model = _NO_MODEL.get(module) or backbone.get("model")
    cell.setdefault("identity", {})
    blank: dict[str, Json] = {
        "changed": {},
        "forced": {},
        "backbone": None,
        "preset": "",
        "credit": "",
    }
    blank |= {"gold": "answer_ids", "repeat": 0, "tuned": "", "seed": 0}
    cell = {**blank, **cell}
    cell["changed"] = _changed(cell)
    if module in _NO_MODEL or "backbone_model" not in cell:
        cell["backbone_model"] = model if cell["backbone"] else None
    cell.setdefault("is_llm", bool(cell["backbone"]) and module not in _NO_MODEL)
    cell["ablation"] = cell.get("ablation") or "full"
    cell.setdefault(
        "treatment",
        {
            "backfill": reading.get("backfill", "none"),
            "relevance": identity.get("search"),
            "candidates": reading.get("candidates", "graph"),
            "candidate_types": reading.get("candidate_types"),
            "rerank": None,
            "seeds": "question",
            "token_budget": None,
        },
    )
    out = {**data, "cell": cell}
    for key in ("single_agents", "usage", "strata", "environment"):
        out.setdefault(key, {})
    return out


def _changed(cell: Mapping[str, Json]) -> dict[str, Json]:
    """Without the candidates that are the graph's own, which older versions named."""
    own = _OWN_TYPES.get(cell["graph"])
    given = {"candidates": own and "+".join(own), "search.types": own}
    return {k: v for k, v in cell["changed"].items() if v is None or v != given.get(k)}
