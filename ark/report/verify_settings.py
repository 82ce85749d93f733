"""The label ``changed``: which settings are no defaults follows from the run's identity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from ark.agent.fusion import Fusion
from ark.backbone.local import LocalBackbone
from ark.errors import UserError
from ark.records import Json
from ark.report.bundle_private import scrubbed
from ark.report.verify_difference import DifferenceError, same_json
from ark.run.locate import locate
from ark.run.session import CANDIDATE_TYPES, DOCUMENTS
from ark.run.source import foreign_source
from ark.search.choose import changed

# Only these are imported: a bundle comes from a stranger and may name any module.
SHIPPED = frozenset(
    {
        "ark.agent.method:Ark",
        "ark.agent.method:ArkPlus",
        "ark.agent.oracle:Oracle",
        "baselines.af_retriever.method:AFRetriever",
        "baselines.bm25:BM25Baseline",
        "baselines.bm25_rel:BM25Relations",
        "baselines.closed_book:ClosedBook",
        "baselines.dense:DenseBaseline",
        "baselines.dense:HybridBaseline",
        "baselines.kg_agent.gold:KGAgentGold",
        "baselines.kg_agent.method:KGAgent",
        "baselines.ppr:PersonalizedPageRank",
        "baselines.propagate:Propagate",
        "baselines.string_match:StringMatch",
        "baselines.tog.method:Tog",
        "baselines.tog.method:TogBM25",
        "baselines.tog.method:TogFaithful",
        "baselines.tog.method:TogR",
        "baselines.tog.method:TogRBM25",
        "baselines.tog2.method:Tog2",
        "baselines.tog2.method:Tog2Code",
    }
)
LOCAL = "ark.backbone.local:LocalBackbone"
RERANK_DEFAULTS = {"k": 20, "card_tokens": 60, "reverse": False}  # of both of our rerankers
_HASH = re.compile("[0-9a-f]{16,}")
ANY = object()  # a value that the identity holds in another form, as a prompt by its hash


def shipped(method: Mapping[str, Json]) -> Any:
    """The class of a method of ours, as it is here; None for another's, or other code of it."""
    if method["target"] not in SHIPPED:
        return None
    try:
        cls = locate(method["target"], "method")
    except UserError:
        return None  # installed without the baselines
    return cls if foreign_source(cls) == method.get("source") else None


def check_changed(file: str, run: Mapping[str, Json], cell: Mapping[str, Json]) -> None:
    """Raises DifferenceError where ``changed`` leaves out, adds or misstates a setting."""
    if "changed" not in cell:
        return
    found = dict(cell["changed"])
    check_candidates(file, cell, found, CANDIDATE_TYPES.get(cell["graph"]))
    _check_documents(file, found)
    expected = {**_of_search(run, cell), **({"seed": run["seed"]} if run["seed"] else {})}
    expected |= {"seeds": run["seeds"]} if "seeds" in run else {}
    backbone = run["backbone"] or {}
    if backbone.get("target") == LOCAL:
        own = LocalBackbone.changed(backbone)
        expected |= {f"backbone.{name}": value for name, value in own.items()}
    expected |= {f"agent_limits.{k}": v for k, v in run.get("agent_limits", {}).items()}
    expected |= _of_rerank(run["rerank"]) if "rerank" in run else {}
    cls = shipped(run["method"])
    expected |= _of_method(run, found, cls) if cls else _of_another(run, found, expected)
    for name in cell.get("forced") or {}:
        expected.pop(name, None)
    for name in [n for n, value in expected.items() if value is ANY and n in found]:
        expected[name] = found[name]
    shown = {k: "a value" if v is ANY else scrubbed(v) for k, v in expected.items()}
    same_json(file, shown, found, "cell.changed")


def _of_method(run: Mapping[str, Json], found: Mapping[str, Json], cls: Any) -> dict[str, Any]:
    """Fields of a method that are no defaults, as the identity has them."""
    stored, plain = run["method"], _identity(cls)
    out: dict[str, Any] = {}
    for field in fields(cls) if is_dataclass(cls) else ():
        name, default = field.name, _json(field.default)
        if name in cls.reading_fields or name not in stored or field.default is MISSING:
            continue
        kept_as_is = plain.get(name, default) == default
        if stored[name] != plain.get(name, default):
            out[name] = stored[name] if kept_as_is else ANY
        elif not kept_as_is and name in found:  # another name of the default, as a prompt's file
            out[name] = ANY
    return out


def _of_another(
    run: Mapping[str, Json], found: Mapping[str, Json], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Of a method whose defaults are not known, what is named: as the identity has it."""
    out: dict[str, Any] = {}
    for name in found:
        if name in known or name == "seed" or name.startswith("search."):
            continue
        value = run["method"].get(name, ANY)
        out[name] = ANY if isinstance(value, str) and _HASH.fullmatch(value) else value
    return out


def _identity(cls: Any) -> Mapping[str, Json]:
    """What stands in the identity for the defaults; nothing where some field has none."""
    if not is_dataclass(cls) or any(
        f.default is MISSING and f.default_factory is MISSING for f in fields(cls)
    ):
        return {}
    made: Any = cls
    return {name: _json(value) for name, value in made().identity.items()}


def _of_search(run: Mapping[str, Json], cell: Mapping[str, Json]) -> dict[str, Any]:
    """Settings of the search that are no defaults, but for types that are the candidates."""
    out: dict[str, Any] = {}
    for field, value in changed(run["search"]).items():
        own = field == "types" and value == cell["reading"]["candidate_types"]
        name = f"search.{field}"
        if not own or name in (cell.get("changed") or {}):  # older versions named these too
            out[name] = value
    return out


def _of_rerank(stored: Mapping[str, Json]) -> dict[str, Any]:
    """The agents whose list is reranked, and settings of the reranker that are no defaults."""
    before, out = stored["list"], {}
    if before["agents"] > 1:
        fusion = before["fusion"]
        out = {"agents": before["agents"], "fusion": fusion["kind"]}
        out |= {} if fusion["ties"] == Fusion().ties else {"ties": fusion["ties"]}
    usual = RERANK_DEFAULTS | {"name": stored["settings"]["name"]}
    changed_ = {k: v for k, v in stored["settings"].items() if k not in usual or v != usual[k]}
    return out | {f"rerank.{k}": v for k, v in changed_.items()}


def check_candidates(
    file: str,
    cell: Mapping[str, Json],
    found: dict[str, Json],
    usual: Sequence[str] | None,
    *,
    sure: bool = False,
) -> None:
    """Takes ``candidates`` out of ``found``, once it is right.

    ``usual`` are the graph's own types; None where it has none, or (unless ``sure``) where what
    it has is not known.
    """
    types = cell["reading"]["candidate_types"]
    stated = found.pop("candidates", None)
    real = "+".join(types) if types else "every node"
    if stated is None:
        if (usual is not None or sure) and types != (sorted(usual) if usual else None):
            raise DifferenceError(file, "cell.changed.candidates", real, "nothing")
        return
    named = None if stated == "every node" else sorted(set(str(stated).split("+")))
    if named != types:
        raise DifferenceError(file, "cell.changed.candidates", real, stated)


def _check_documents(file: str, found: dict[str, Json]) -> None:
    """Takes settings of the graph's documents out: the content hash stands for them."""
    for name in [n for n in found if n.startswith("graph.")]:
        value, known = found.pop(name), name.removeprefix("graph.")
        if known not in DOCUMENTS or value == DOCUMENTS[known]:
            raise DifferenceError(file, f"cell.changed.{name}", "nothing", value)


def _json(value: Any) -> Json:
    """As JSON has it."""
    return list(value) if isinstance(value, tuple) else value
