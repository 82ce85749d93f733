"""Labels of a result that follow from the run's identity or its reading: both must agree.

What follows from neither is taken as it is: docs/bundles.md lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ark.records import Json
from ark.report.bundle_replay import DERIVED, Contents
from ark.report.verify_difference import DifferenceError, same, same_json
from ark.report.verify_settings import check_changed, shipped
from ark.run.session import IDS_FOLLOW_ANSWERS

_REMOTE = ("ark.backbone.litellm:LiteLLMBackbone", "ark.backbone.openai_sdk:OpenAIBackbone")
_LOCAL = "ark.backbone.local:LocalBackbone"
_RULES = {
    "ark.backbone.lexical:LexicalBackbone": "rule-based controller (no LLM)",
    "ark.backbone.random_calls:RandomBackbone": "random valid calls (no LLM)",
    "ark.backbone.scripted:ScriptedBackbone": "scripted answers (no LLM)",
}  # with their names
_REPLAY = "ark.backbone.replay:ReplayBackbone"
IS_LLM = dict.fromkeys((*_REMOTE, _LOCAL), True) | dict.fromkeys((*_RULES, _REPLAY), False)
SILENT = frozenset(target for target, model in IS_LLM.items() if not model)
TAKEN = ("graph_version", "preset", "tuned")  # these stand nowhere else
KNOWN = (
    frozenset(
        (
            *DERIVED,
            *TAKEN,
            "graph",
            "split",
            "limit",
            "seed",
            "repeat",
            "candidates",
            "credit",
            "gold",
        )
    )
    | {"method", "ablation", "changed", "forced", "treatment"}
    | {"is_llm", "backbone", "backbone_model"}
)
FORCED = {"handles": "opaque"}


def check_labels(file: str, contents: Contents, cell: Mapping[str, Json]) -> None:
    """Raises DifferenceError at the first label that contradicts identity, reading or graph, or
    that no result has.
    """
    for name, value in cell.items():
        if name not in KNOWN:
            raise DifferenceError(file, f"cell.{name}", "nothing", value)
    run, reading = contents.run, cell["reading"]
    expected = {
        "graph": run["graph"]["source"],
        "split": run["questions"]["split"],
        "seed": run["seed"],
        "repeat": run.get("repeat", 0),
        "candidates": reading["candidates"],
        "gold": run["questions"].get("gold", "answer_ids"),
        "credit": contents.about["graph"]["credit"],
    }
    for name, value in expected.items():
        if name in cell:
            same(file, f"cell.{name}", value, cell[name])
    limit = cell.get("limit")  # of older versions
    if limit is not None and len(contents.queries) > limit:
        raise DifferenceError(file, "cell.limit", f"{len(contents.queries)} or more", limit)
    if "treatment" in cell:
        _check_treatment(file, run, reading, cell["treatment"])
    _check_forced(file, run, cell)
    _check_method(file, run, cell)
    check_changed(file, run, cell)
    _check_backbone(file, run, cell)


def _check_treatment(
    file: str, run: Mapping[str, Json], reading: Mapping[str, Json], found: Mapping[str, Json]
) -> None:
    types = found["candidate_types"]
    stated = None if types is None else sorted(set(types))
    same(file, "cell.treatment.candidate_types", reading["candidate_types"], stated)
    expected = {
        "backfill": reading.get("backfill"),
        "relevance": run["search"],
        "candidates": reading["candidates"],
        "candidate_types": types,
        "rerank": run.get("rerank", {}).get("settings"),
        "seeds": run.get("seeds", "question"),
        "token_budget": None,
    }
    same_json(file, expected, dict(found), "cell.treatment")


def _check_forced(file: str, run: Mapping[str, Json], cell: Mapping[str, Json]) -> None:
    """Either nothing, or handles, on a graph whose ids tell something."""
    forced = cell.get("forced", {})
    if not forced:
        same_json(file, {}, forced, "cell.forced")
        return
    allowed = run["graph"]["source"] in IDS_FOLLOW_ANSWERS
    same_json(file, FORCED if allowed else {}, forced, "cell.forced")
    same(file, "cell.forced.handles", run["method"].get("handles"), forced["handles"])


def _check_method(file: str, run: Mapping[str, Json], cell: Mapping[str, Json]) -> None:
    """The name of a shipped method, and of the ablation that its settings are."""
    cls = shipped(run["method"])
    if cls is None:
        return
    same(file, "cell.method", label_of(cls, run), cell["method"])
    if "ablation" in cell:
        ablations = getattr(cls, "ablations", {})
        fits = (
            name
            for name, values in ablations.items()
            if all(run["method"].get(field) == value for field, value in values.items())
        )
        same(file, "cell.ablation", next(fits, "full"), cell["ablation"])


def label_of(cls: Any, run: Mapping[str, Json]) -> str:
    """What tables call a shipped method on the backbone and with the reranker of a run."""
    silent = (run["backbone"] or {}).get("target") in SILENT
    label = str(getattr(cls, "label_without_model", cls.label) if silent else cls.label)
    if "rerank" not in run:
        return _named(label, run)
    around = f" + {run['rerank']['settings']['name']} rerank" + " (lexical)" * silent
    return _named(label + around, run)


def _named(label: str, run: Mapping[str, Json]) -> str:
    name = (run["backbone"] or {}).get("backbone", "lexical")
    return label.replace("lexical", str(name))


def _check_backbone(file: str, run: Mapping[str, Json], cell: Mapping[str, Json]) -> None:
    """Without a backbone no model made the calls; of those of this repository we know its name."""
    backbone = run["backbone"]
    if backbone is None:
        for name in ("backbone", "backbone_model"):
            same(file, f"cell.{name}", None, cell.get(name))
        same(file, "cell.is_llm", False, bool(cell.get("is_llm", False)))
        return
    target = backbone["target"]
    if target in IS_LLM and "is_llm" in cell:
        same(file, "cell.is_llm", IS_LLM[target], cell["is_llm"])
    model = backbone.get("model", backbone.get("backbone"))
    if "backbone_model" in cell:
        same(file, "cell.backbone_model", model, cell["backbone_model"])
    label = _RULES.get(target, model if target in _REMOTE else None)
    if label is not None:
        same(file, "cell.backbone", label, cell["backbone"])
