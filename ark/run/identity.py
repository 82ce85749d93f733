"""Ids: sha256 over canonical JSON of what changes answers (run) and how they are read (cell)."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from ark.protocols import Backbone, Graph, Method, Relevance
from ark.records import Json
from ark.run.source import foreign_source
from ark.run.spec import AgentLimits, CellSpec, Reading

if TYPE_CHECKING:
    from ark.run.reranked import Reranked

SCHEMA = 1  # of the run folder and result.json


def canonical_json(value: Json) -> str:
    """One text for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def canonical_bytes(value: Json) -> bytes:
    """Canonical JSON as UTF-8. A lone surrogate, which models do send, becomes a question mark."""
    return canonical_json(value).encode("utf-8", "replace")


def digest(value: Json) -> str:
    """16 hex digits of sha256 over canonical JSON."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()[:16]


@dataclass(frozen=True)
class Identity:
    """Both ids of a cell with every field that is in them."""

    run: Mapping[str, Json]
    reading: Mapping[str, Json]

    @property
    def run_id(self) -> str:
        """Names the folder; equal for all readings of one run."""
        return digest(self.run)

    @property
    def cell_id(self) -> str:
        """Run id and reading."""
        return digest({"run": self.run_id, "reading": self.reading})


def asks_backbone(method: Method) -> bool:
    """Whether a method talks to a backbone at all; if not, none stands in its id or its rows."""
    return bool(method.probe) or bool(getattr(method, "asks", False))


def agent_rng(seed: int, repeat: int, query: str, agent: int) -> random.Random:
    """What an agent of a question may draw from; the same whatever stands around the method."""
    seeded: dict[str, Json] = {"seed": seed, "query": query, "agent": agent}
    if repeat:
        seeded["repeat"] = repeat
    return random.Random(digest(seeded))


def run_identity(
    spec: CellSpec,
    graph: Graph,
    search: Relevance,
    method: Method,
    backbone: Backbone,
    questions: str,
    fingerprint: str,
    reranked: Reranked | None = None,
) -> dict[str, Json]:
    """What changes calls. ``questions`` is the hash of the selected questions, in order.

    ``reranked`` is what stands around ``method``, where something does.
    """
    gold = spec.graph.settings.get("gold") or "answer_ids"
    return {
        "schema": SCHEMA,
        "graph": {"source": spec.graph.source, "content_hash": graph.content_hash},
        "questions": {
            "split": spec.split,
            "sha256": questions,
            **({} if gold == "answer_ids" else {"gold": gold}),
        },
        "search": dict(search.identity),
        "method": {
            "target": spec.method.target,
            **_fields(method),
            **method.identity,  # may replace a field by what it stands for (a prompt's hash)
            **_source(type(method)),
        },
        "backbone": (
            {"target": spec.backbone.target, **backbone.identity, **_source(type(backbone))}
            if asks_backbone(method) or reranked
            else None
        ),
        "seed": spec.seed,
        "fingerprint": fingerprint,
        **({"seeds": spec.seeds} if spec.seeds != "question" else {}),
        **({"rerank": _rerank(spec, reranked)} if reranked else {}),
        **({"repeat": spec.repeat} if spec.repeat else {}),
        **({"agent_limits": limits} if (limits := _set(spec.agent_limits)) else {}),
    }


def _rerank(spec: CellSpec, reranked: Reranked) -> dict[str, Json]:
    assert spec.rerank is not None
    return {
        "target": spec.rerank.target,
        "settings": dict(reranked.reranker.identity),
        "list": reranked.before,
        **_source(type(reranked.reranker)),
    }


def _set(record: AgentLimits) -> dict[str, Json]:
    return {name: value for name, value in asdict(record).items() if value is not None}


def _fields(method: Method) -> dict[str, Json]:
    """Every setting but readings, so that a method cannot forget one. Others must be plain JSON."""
    if not is_dataclass(method) or method.probe is None:
        return {}
    kept = [f.name for f in fields(method) if f.name not in method.reading_fields]
    return {name: getattr(method, name) for name in kept}


def _source(cls: type) -> dict[str, Json]:
    """The source hash of a user's plug-in; nothing for our own, which the fingerprint holds."""
    source = foreign_source(cls)
    return {} if source is None else {"source": source}


def reading_identity(reading: Reading, candidate_types: tuple[str, ...] | None) -> dict[str, Json]:
    """How attempts are read. What has no effect is left out: the fusion of one agent, a pool of
    no more lists than agents, what becomes of agents over a budget that is not set.
    """
    out: dict[str, Json] = asdict(reading)
    if reading.agents == 1:
        out["fusion"] = None
    if reading.lists == reading.agents:
        out["pool"] = None
    if reading.steps is None:
        out["over_budget"] = None
    out["candidate_types"] = sorted(set(candidate_types)) if candidate_types else None
    return out
