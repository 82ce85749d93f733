"""How tables name a result: method, backbone, preset, and every setting that is no default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ark.records import Json

TITLES = {"mrr": "MRR", "map": "MAP", "f1": "F1", "ndcg": "nDCG", "rprecision": "R-precision"}
FULL = "full"
GOLD = "answer_ids"
CUT = 20
# What an ablation changes is said by its name.
IMPLIED = {
    "no_neighbors": "neighbors",
    "no_query": "neighbor_query",
    "no_filter": "neighbor_filters",
}


def title(measure: str) -> str:
    """``hit@1`` as ``Hit@1``, ``mrr`` as ``MRR``."""
    base, at, k = measure.partition("@")
    return TITLES.get(base, base.replace("_", " ").capitalize()) + at + k


def row_name(result: Mapping[str, Json]) -> str:
    """Method and backbone of a result, as every table names them."""
    cell = result["cell"]
    return f"{cell['method']} · {cell['backbone']}" if cell["backbone"] else str(cell["method"])


def preset(result: Mapping[str, Json]) -> str:
    """The preset of a method where the method's label does not say it; else empty.

    What a label says in brackets, and of a reranker, is no part of the name: ``Oracle (knows the
    gold)`` is oracle.
    """
    cell = result["cell"]
    name, label = str(cell.get("preset") or ""), str(cell["method"])
    if "rerank" in label.rpartition(" + ")[2]:
        label = label.rpartition(" + ")[0]
    return "" if _plain(name) in (_plain(label), _plain(label.partition(" (")[0])) else name


def settings(result: Mapping[str, Json], *, of_row: bool = False) -> list[str]:
    """Ablation, changed settings and reading, as far as they are no defaults.

    So no two rows look alike. ``of_row``: without the number of the repetition, in which the cells
    of one row of a grid may differ.
    """
    cell = result["cell"]
    ablation = cell.get("ablation") or FULL
    parts = _reading(cell["reading"], before=True)
    if ablation != FULL:
        parts.append(str(ablation))
    for name, value in cell["changed"].items():
        if name != IMPLIED.get(ablation):
            parts.append(f"{name}={Path(value).name if isinstance(value, str) else value}")
    parts += _reading(cell["reading"], before=False)
    if cell.get("gold", GOLD) != GOLD:
        parts.append(f"gold {cell['gold']}")
    if not of_row and cell.get("repeat"):
        parts.append(f"repeat {cell['repeat']}")
    return parts


def _reading(reading: Mapping[str, Json], *, before: bool) -> list[str]:
    """Agents and fusion stand before the settings of the method, the rest behind them."""
    parts = []
    fusion, pool, agents = reading.get("fusion"), reading.get("pool"), reading["agents"]
    if before:
        some = pool is not None and pool > agents
        if fusion or some:
            parts.append(f"{agents} of {pool} agents" if some else f"{agents} agents")
        if fusion:
            parts[-1] += f", {fusion['kind']}"
            ties = fusion.get("ties", "earliest_position")
            parts += [f"ties {ties}"] if ties != "earliest_position" else []
        return parts
    if reading.get("steps") is not None:
        empty = " (longer counts as empty)" if reading.get("over_budget") == "as_published" else ""
        parts.append(f"{reading['steps']} steps{empty}")
    if reading.get("backfill", "none") != "none":
        parts.append(f"backfill {reading['backfill']}")
    if reading["candidates"] == "answer_type":
        parts.append("answer type given")
    if reading["cut"] != CUT:
        parts.append(f"cut {reading['cut']}")
    return parts


def in_brackets(result: Mapping[str, Json]) -> str:
    """Preset and settings behind a name, in brackets; empty where all are defaults."""
    named = preset(result)
    parts = [*([f"preset {named}"] if named else []), *settings(result)]
    return f" ({', '.join(parts)})" if parts else ""


def full_name(result: Mapping[str, Json]) -> str:
    """Name and settings in one text."""
    return row_name(result) + in_brackets(result)


def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
