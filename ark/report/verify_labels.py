"""Labels of a result that also stand in the run's identity or in its reading: both must agree."""

from __future__ import annotations

from collections.abc import Mapping

from ark.records import Json
from ark.report.bundle_replay import Contents
from ark.report.verify_difference import DifferenceError, same, same_json

NO_MODEL = (
    "ark.backbone.lexical:LexicalBackbone",
    "ark.backbone.random_calls:RandomBackbone",
    "ark.backbone.scripted:ScriptedBackbone",
)  # shipped backbones behind which no model stands


def check_labels(file: str, contents: Contents, cell: Mapping[str, Json]) -> None:
    """Raises DifferenceError at the first label that contradicts identity, reading or graph."""
    run, reading = contents.run, cell["reading"]
    expected = {
        "graph": run["graph"]["source"],
        "split": run["questions"]["split"],
        "seed": run["seed"],
        "repeat": run.get("repeat", 0),
        "candidates": reading["candidates"],
        "credit": contents.about["graph"]["credit"],
    }
    for name, value in expected.items():
        if name in cell:
            same(file, f"cell.{name}", value, cell[name])
    limit = cell.get("limit")
    if limit is not None and len(contents.queries) > limit:
        raise DifferenceError(file, "cell.limit", f"{len(contents.queries)} or more", limit)
    _check_treatment(file, run, reading, cell.get("treatment") or {})
    _check_settings(file, run, cell)


def _check_treatment(
    file: str, run: Mapping[str, Json], reading: Mapping[str, Json], found: Mapping[str, Json]
) -> None:
    expected = {
        "backfill": reading.get("backfill"),
        "relevance": run["search"],
        "candidates": reading["candidates"],
    }
    for name, value in expected.items():
        if name in found:
            same_json(file, value, found[name], f"cell.treatment.{name}")
    if "candidate_types" in found:
        types = found["candidate_types"]
        stated = None if types is None else sorted(set(types))
        same(file, "cell.treatment.candidate_types", reading["candidate_types"], stated)


def _check_settings(file: str, run: Mapping[str, Json], cell: Mapping[str, Json]) -> None:
    """Changed settings are those of the run; without a backbone no model made the calls."""
    for name, value in (cell.get("changed") or {}).items():
        stands = run["method"].get(name, run["search"].get(name.removeprefix("search.")))
        if stands is not None and name not in ("prompt", "candidates", "seed"):
            same_json(file, stands, value, f"cell.changed.{name}")
    if run["backbone"] is None:
        for name in ("backbone", "backbone_model"):
            same(file, f"cell.{name}", None, cell.get(name))
        same(file, "cell.is_llm", False, bool(cell.get("is_llm", False)))
        return
    if run["backbone"]["target"] in NO_MODEL:
        same(file, "cell.is_llm", False, bool(cell.get("is_llm", False)))
    model = run["backbone"].get("model", run["backbone"].get("backbone"))
    if "backbone_model" in cell:
        same(file, "cell.backbone_model", model, cell["backbone_model"])
