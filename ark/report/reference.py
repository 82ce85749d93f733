"""Published numbers beside ours: which row of the paper a row of ours stands for, and what differs.

``results/reference/published_stark.csv`` holds published figures with source, n and confidence.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ark.errors import UserError, unknown
from ark.records import MAX_RANKED, Json
from ark.report.cells import Cell

REFERENCE = Path(__file__).resolve().parents[2] / "results/reference/published_stark.csv"
STARK = ("amazon", "mag", "prime")
METHOD = "BM25"
OWN_PAPER = "STaRK paper, tables 6-7"
TRACKER = "tracker"
MARKS = {"primary": "p", TRACKER: "t"}  # confidence: read in the source, or from a tracker
_TENTH = ("test", "test-0.1", "random 10% of test")  # stand in for each other, with a flag
_DATE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_AGENTS, _STEPS = 3, 20


@dataclass(frozen=True)
class Published:
    """A published row: percent by measure, without values that are known to be impossible."""

    graph: str
    split: str
    method: str
    n: int
    source: str
    values: Mapping[str, float]
    impossible: tuple[str, ...] = ()


def published(graph: str, split: str, method: str = METHOD) -> Published | None:
    """The row of STaRK's paper (arXiv 2404.13207, tables 6 and 7); None where there is none.

    ``split`` is test, test-0.1 or human. A value that contradicts the others of its row is named
    in ``impossible`` and left out: AMAZON's MRR on human questions.
    """
    rows = [
        row
        for row in reference()
        if (row.source, row.graph, row.split, row.method) == (OWN_PAPER, graph, split, method)
    ]
    if not rows:
        return None
    bad = tuple(row.measure for row in rows if row.impossible)
    values = {row.measure: row.percent for row in rows if row.measure not in bad}
    return Published(graph, split, method, rows[0].n or 0, OWN_PAPER, values, bad)


@dataclass(frozen=True)
class Figure:
    """One published number, in percent."""

    source: str
    table: str
    graph: str
    split: str
    n: int | None
    method: str
    backbone: str
    variant: str
    trained: bool
    measure: str
    value: str
    copied_from: str
    confidence: str
    note: str

    @property
    def percent(self) -> float:
        """The number."""
        return float(self.value)

    @property
    def impossible(self) -> bool:
        """Whether other numbers of its row contradict it."""
        return self.note.startswith("impossible")

    @property
    def where(self) -> str:
        """Source and table."""
        return self.source if self.source == OWN_PAPER else f"{self.source} {self.table}".strip()

    @property
    def name(self) -> str:
        """Method, backbone and variant."""
        name = " · ".join(x for x in (self.method, self.backbone) if x)
        return name + (f" ({self.variant})" if self.variant else "")


@dataclass(frozen=True)
class Beside:
    """A published number beside one of ours. ``flags``: in what they are not the same."""

    figure: Figure
    flags: tuple[str, ...]
    alike: bool  # split and n agree, and nobody doubts it: may be ranked with ours


@cache
def reference() -> tuple[Figure, ...]:
    """The rows of the file; none where the harness is used without its checkout.

    Raises UserError where the file is damaged.
    """
    if not REFERENCE.is_file():
        return ()
    try:
        with REFERENCE.open(encoding="utf-8", newline="") as file:
            return tuple(_figure(row) for row in csv.DictReader(file))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{REFERENCE} is damaged ({error!r}): restore it") from None


def _figure(row: Mapping[str, str]) -> Figure:
    float(row["value"])  # a damaged one is found here
    return Figure(
        source=row["source"],
        table=row["table"],
        graph=row["graph"],
        split=row["split"],
        n=int(row["n"]) if row["n"] else None,
        method=row["method"],
        backbone=row["backbone"],
        variant=row["variant"],
        trained=row["trained_on_graph"] == "yes",
        measure=row["metric"],
        value=row["value"],
        copied_from=row["copied_from"],
        confidence=row["confidence"],
        note=row["note"],
    )


def beside(cell: Cell, measure: str) -> Beside | None:
    """What is published for the method, backbone, variant and graph of a cell; None for nothing.

    Rows with a backbone that is no model (rule-based, random, scripted) have none: a published
    number was made with a model or, as BM25's, without any backbone.
    """
    if not belongs(cell):
        return None
    wanted = _variants(cell)
    found = [
        f
        for f in reference()
        if f.graph == cell.cell["graph"]
        and f.measure == measure
        and not f.impossible
        and _plain(f.method) == _plain(cell.cell["method"])
        and f.backbone == model_name(cell.cell["backbone_model"])
        and f.variant in wanted
        and split_fits(f, cell.cell["split"])
    ]
    if not found:
        return None
    split = cell.cell["split"]
    best = min(found, key=lambda f: (f.split != split, _rank(f), wanted.index(f.variant)))
    return compared(best, cell, measure)


def belongs(cell: Cell) -> bool:
    """Whether published numbers may stand beside a cell: it has a model, or asks no backbone."""
    return bool(cell.cell["is_llm"]) or not cell.cell["backbone"]


def compared(figure: Figure, cell: Cell, measure: str, *, alone: bool = False) -> Beside:
    """A figure with what sets it apart from a cell of ours.

    ``alone``: from the questions of that cell only, as for a row that stands for itself.
    """
    n, c = cell.data["counts"]["queries"], cell.cell
    flags = []
    if figure.split != c["split"]:
        flags.append(f"split {figure.split} there, {c['split']} here")
    if figure.n != n:
        flags.append(f"n {figure.n or 'not stated'} there, {n} here")
    if not alone:
        flags += _versions(figure, cell)
    if figure.source == OWN_PAPER and measure == "mrr" and c["reading"]["cut"] < MAX_RANKED:
        flags.append(f"MRR of {MAX_RANKED} ranks there, {c['reading']['cut']} here")
    if "counts as empty" in figure.note and c["reading"].get("over_budget") != "as_published":
        flags.append("there a trajectory longer than the budget counts as empty")
    if figure.copied_from:
        flags.append(f"copied there from: {figure.copied_from}")
    if figure.note:
        flags.append(figure.note)
    same = figure.split == c["split"] and figure.n == n
    alike = same and figure.confidence != TRACKER and not figure.note and not figure.impossible
    return Beside(figure, tuple(dict.fromkeys(flags)), alike)


def _versions(figure: Figure, cell: Cell) -> list[str]:
    """Other versions of model, index, settings or data than the published row had."""
    c, out = cell.cell, []
    ours = str(c["backbone_model"] or "").rpartition("/")[2]
    if figure.backbone and _spelled(ours) != _spelled(figure.backbone):
        out.append(f"version {figure.backbone} there, {ours} here")
    search = c["identity"].get("search") or {}
    index = search.get("tokenizer") == "bm25s" and search.get("documents") == "text"
    if figure.method == METHOD and not index:
        out.append("its index is search=stark, not this one")
    known = {"agents", "max_steps", "neighbors", "neighbor_query", "neighbor_filters"}
    changed = sorted(k for k in c["changed"] if k not in known and not k.startswith("search."))
    if changed:
        out.append(f"settings changed here: {', '.join(changed)}")
    if c["reading"].get("backfill", "none") != "none":
        out.append(f"backfill {c['reading']['backfill']} here")
    if c["reading"]["candidates"] != "graph":
        out.append("answer type given here")
    if not cell.data["environment"].get("selfcheck"):
        out.append("data not checked against the release here (scripts/selfcheck.py)")
    return out


def split_fits(figure: Figure, split: str) -> bool:
    """The same split, or another part of the test questions."""
    return figure.split == split or (figure.split in _TENTH and split in _TENTH)


def model_name(model: str | None) -> str:
    """A litellm model as papers write it: behind the last slash, lower case, without its date.

    ``openai/gpt-4.1-2025-04-14`` is ``gpt-4.1``, ``ollama/qwen3:8b`` is ``qwen3-8b``.
    """
    return _DATE.sub("", _spelled(str(model or "").rpartition("/")[2]))


def _spelled(name: str) -> str:
    """Case, and the colon that some servers write, are spelling and no version."""
    return name.lower().replace(":", "-")


def _variants(cell: Cell) -> list[str]:
    """Variants of a published row that a cell may stand for, the nearest first."""
    c, reading = cell.cell, cell.cell["reading"]
    if c["ablation"] != "full":
        return [str(c["ablation"])]
    kind = (reading.get("fusion") or {}).get("kind", "voting")
    method = c["identity"].get("method") or {}
    most = c["changed"].get("max_steps", method.get("max_steps", _STEPS))
    steps = reading.get("steps") or most
    budget = f"agents={reading['agents']} max_steps={steps}"
    if not c["backbone"]:
        return [""]
    if (reading["agents"], steps) != (_AGENTS, _STEPS):
        return [budget] if kind == "voting" else []
    return ["", "full", "voting", budget] if kind == "voting" else [kind]


def _rank(figure: Figure) -> tuple[bool, bool]:
    return figure.confidence == TRACKER, bool(figure.copied_from)


def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def of_table(name: str, columns: Iterable[tuple[str, str]]) -> list[Figure]:
    """Every figure of a published table (``all``: of all tables) on these graphs and splits.

    Of several splits that fit a column the same one is taken where it exists. Raises UserError
    for an unknown table.
    """
    tables = {_plain(f.table): f.table for f in reference()}
    if name != "all" and _plain(name) not in tables:
        raise UserError(unknown("published table", name, {*tables.values(), "all"}))
    wanted = [(g, s) for g, s in columns]
    return [
        f
        for f in reference()
        if (name == "all" or _plain(f.table) == _plain(name))
        and any(f.graph == g and split_fits(f, s) for g, s in wanted)
    ]


def footer_line(result: Mapping[str, Json], titles: Mapping[str, str]) -> str | None:
    """What the benchmark's paper reports for BM25, and how its index differs from this one."""
    cell = result["cell"]
    if cell["graph"] not in STARK or cell["method"] != METHOD:
        return None
    row = published(cell["graph"], cell["split"])
    if row is None:
        return None
    values = [f"{titles[m]} {v:.2f}" for m, v in row.values.items()]
    values += [f"{titles[m]} left out as impossible" for m in row.impossible]
    search = cell["identity"].get("search", {})
    unlike = ""
    if search.get("tokenizer") != "bm25s" or search.get("documents") != "text":
        unlike += "; its index is search=stark, not this one"
    if cell["reading"]["cut"] < MAX_RANKED:
        unlike += f"; its MRR is of {MAX_RANKED} ranks, cut={MAX_RANKED}"
    return (
        f"Published {row.method} on {row.graph} {row.split}: {', '.join(values)}; n {row.n} "
        f"({row.source}){unlike}."
    )
