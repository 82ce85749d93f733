"""Opens what a cell names: graph, search index, questions, method, backbone, ids, folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast

from ark.backbone.local import LocalBackbone
from ark.errors import UserError, unknown
from ark.graph import KnowledgeGraph, data_root, graph_folder, open_or_build, source_for
from ark.protocols import Backbone, Method
from ark.queries import load_queries, questions_for, questions_hash, select, wording_of
from ark.queries.files import questions_beside
from ark.queries.forms import to_json
from ark.queries.metaqa import metaqa_questions
from ark.queries.stark import STARK_GRAPHS, questions_of
from ark.records import Json, Query
from ark.run.fingerprint import fingerprint
from ark.run.identity import (
    Identity,
    asks_backbone,
    canonical_json,
    digest,
    reading_identity,
    run_identity,
)
from ark.run.locate import build, locate, setting_names
from ark.run.reranked import Reranked, reranker_of
from ark.run.result import write_atomic
from ark.run.spec import CellSpec, GraphSpec, Reading
from ark.search import Search, open_search
from ark.search.choose import changed

DOCUMENTS = {"version": "1.1.0", "quirks": "official", "add_rel": False, "view": "stored"}
IDS_FOLLOW_ANSWERS = ("amazon",)  # the order of node ids tells something (docs/graphs/amazon.md)
CANDIDATE_TYPES = {"amazon": ("product",), "mag": ("paper",)}  # as in configs/graph
ANNOUNCED = ("hpo", "cwe", *STARK_GRAPHS)


@dataclass(frozen=True)
class Session:
    """An opened cell."""

    spec: CellSpec
    graph: KnowledgeGraph
    search: Search
    queries: Sequence[Query]
    method: Method
    backbone: Backbone
    reading: Reading
    identity: Identity
    folder: Path
    forced: Mapping[str, Json] = field(default_factory=dict)
    """Settings that this graph does not leave to the user."""

    @property
    def inner(self) -> Method:
        """The method itself, without what stands around it."""
        return self.method.method if isinstance(self.method, Reranked) else self.method

    @property
    def reading_folder(self) -> Path:
        """Where this reading's result lies."""
        return self.folder / "readings" / self.identity.cell_id

    def _other(self) -> dict[str, Json]:
        """Settings beside the method's that are not the defaults: rows must not look alike."""
        own = self.spec.search.types == self.spec.graph.candidate_types
        chosen = {"relevance": self.spec.search.relevance, **self.spec.search.key}
        out = {f"search.{k}": v for k, v in changed(chosen).items() if not (k == "types" and own)}
        for name, default in DOCUMENTS.items():
            value = self.spec.graph.settings.get(name, default)
            if self.spec.graph.source in STARK_GRAPHS and value != default:
                out[f"graph.{name}"] = value
        if self.spec.seed:
            out["seed"] = self.spec.seed
        model = self.backbone.identity  # of the backbone itself: a run wraps it
        if asks_backbone(self.method) and model.get("backbone") == "local":
            own_settings = LocalBackbone.changed(model)
            out |= {f"backbone.{name}": value for name, value in own_settings.items()}
        limits = asdict(self.spec.agent_limits).items()
        out |= {f"agent_limits.{name}": most for name, most in limits if most is not None}
        if self.spec.seeds != "question":
            out["seeds"] = self.spec.seeds
        types = self.spec.graph.candidate_types
        if types != self.usual_types:
            out["candidates"] = "+".join(types) if types else "every node"
        return out

    def _tuned(self, asked: bool) -> str:
        """What was tuned of the backbone, where one is asked, else of the method."""
        said = [str(getattr(self.backbone if asked else self.method, "tuned", ""))]
        if self.inner is not self.method and not asks_backbone(self.inner):
            said.append(str(getattr(self.inner, "tuned", "")))
        return "; ".join(filter(None, said))

    @property
    def usual_types(self) -> tuple[str, ...] | None:
        """The node types that may be answers on this graph where nobody says otherwise."""
        own = self.graph.manifest.get("notes", {}).get("candidate_types")
        return CANDIDATE_TYPES.get(self.spec.graph.source, tuple(own) if own else None)

    def labels(self) -> dict[str, Json]:
        """What tables print of a cell, and what rows must share to be compared."""
        asked = asks_backbone(self.method)
        reranked = self.method if isinstance(self.method, Reranked) else None
        around: Mapping[str, Json] = {} if reranked is None else reranked.changed
        model = dict(self.backbone.identity)
        return {
            "graph": self.spec.graph.source,
            "graph_version": self.spec.graph.settings.get("version"),
            "method": method_label(self.method, self.backbone),
            "preset": self.spec.method.name,
            "backbone": self.backbone.label if asked else None,
            "backbone_model": model.get("model", model.get("backbone")) if asked else None,
            "is_llm": asked and getattr(self.backbone, "is_llm", True),
            "changed": {
                k: v
                for k, v in {**_changed(self.inner), **around, **self._other()}.items()
                if k not in self.forced
            },
            "forced": dict(self.forced),
            "ablation": _ablation(self.inner),
            "split": self.spec.split,
            "candidates": self.spec.candidates,
            "gold": self.spec.graph.settings.get("gold") or "answer_ids",
            "seed": self.spec.seed,
            "repeat": self.spec.repeat,
            "treatment": {
                "backfill": self.spec.backfill,
                "relevance": dict(self.search.identity),
                "candidates": self.spec.candidates,
                "candidate_types": list(self.spec.graph.candidate_types or ()) or None,
                "rerank": None if reranked is None else dict(reranked.reranker.identity),
                "seeds": self.spec.seeds,
                "token_budget": None,
            },
            "tuned": self._tuned(asked),
            "credit": self.graph.manifest.get("credit", ""),
        }


def open_session(
    spec: CellSpec, results_dir: Path, method: Method | None = None, *, describe: bool = True
) -> Session:
    """Open everything; builds graph, index and questions the first time. Raises UserError.

    ``describe=False`` writes nothing under ``results_dir``.
    """
    root = data_root()
    # Method and backbone first: their mistakes are cheap to find, a graph may take minutes.
    if method is None:
        method = build(spec.method.target, "method", spec.method.settings)
    forced: dict[str, Json] = {}
    if spec.graph.source in IDS_FOLLOW_ANSWERS and getattr(method, "handles", "") == "index":
        forced = {"handles": "opaque"}
        method = replace(method, **forced)  # type: ignore[type-var]
    reranker = reranker_of(spec)
    spec = _with_steps(spec, method)
    _check_seeds(spec, method)
    reading = spec.reading(method.agents if reranker is None else 1)
    backbone = _backbone(spec)
    graph = _opened(spec.graph, root)
    spec = replace(spec, graph=with_candidates(spec.graph, graph))
    for node_type in spec.graph.candidate_types or ():
        if node_type not in graph.node_types:
            raise UserError(unknown("graph.candidate_types", node_type, graph.node_types))
    queries = select(
        all_questions(spec.graph, graph, root, queries=spec.queries, split=spec.split),
        spec.split,
        spec.limit,
    )
    if spec.seeds == "oracle" and not all(query.anchor_ids for query in queries):
        raise UserError("seeds=oracle: these questions have no anchors (anchor_ids); drop it")
    search = open_search(graph, root, spec.search)
    reranked = None if reranker is None else Reranked.of(method, reranker, spec)
    mark = fingerprint(method, root)
    if reranked is not None:
        mark = digest([mark, fingerprint(cast(Method, reranked.rehearsed()), root)])
    identity = Identity(
        run_identity(
            spec, graph, search, method, backbone, questions_hash(queries), mark, reranked
        ),
        reading_identity(reading, spec.graph.candidate_types),
    )
    method = method if reranked is None else cast(Method, reranked)
    asked = [spec.backbone.name] if asks_backbone(method) else []
    around = [spec.rerank.name] if spec.rerank is not None else []
    name = "-".join((spec.graph.source, spec.method.name, *around, *asked, identity.run_id))
    folder = results_dir.absolute() / "runs" / re.sub(r"[^A-Za-z0-9._-]+", "_", name)
    if describe:
        _describe(folder, identity, queries)
    return Session(
        spec, graph, search, queries, method, backbone, reading, identity, folder, forced
    )


def method_label(method: Method, backbone: Backbone) -> str:
    """What tables print: a method that a model steers is not called so where none does."""
    if not asks_backbone(method) or getattr(backbone, "is_llm", True):
        return method.label
    label = str(getattr(method, "label_without_model", method.label))
    return label.replace("lexical", str(backbone.identity.get("backbone", "lexical")))


def _check_seeds(spec: CellSpec, method: Method) -> None:
    if spec.seeds == "oracle" and not getattr(method, "links_seeds", False):
        raise UserError(f"seeds=oracle: {method.label} starts from no seeds; drop it")


def _with_steps(spec: CellSpec, method: Method) -> CellSpec:
    """``steps`` left out where it is no less than the method's own budget; refused where a list
    after so many steps is not what a budget of so many would have given.
    """
    if spec.steps is None:
        return spec
    if not getattr(method, "readable_steps", False):
        raise UserError(
            f"steps={spec.steps}: what {method.label} does depends on its budget with these "
            "settings, so a shorter one cannot be read from it; set method.max_steps instead"
            if hasattr(method, "max_steps")
            else f"steps={spec.steps}: {method.label} takes no steps that could be counted"
        )
    most = getattr(method, "max_steps", None)
    return replace(spec, steps=None) if most is not None and spec.steps >= most else spec


def _ablation(method: Method) -> str:
    """The name of the ablation that a method's settings are; ``full`` for none."""
    for name, fields_ in getattr(method, "ablations", {}).items():
        if all(getattr(method, field) == value for field, value in fields_.items()):
            return str(name)
    return "full"


def _changed(method: Method) -> dict[str, Json]:
    """Settings that are not those of the preset, readings left out: tables name them."""
    changed: dict[str, Json] = _changed_fields(method) if is_dataclass(method) else {}
    return {k: v for k, v in changed.items() if k not in method.reading_fields}


def _changed_fields(record: Any) -> dict[str, Json]:
    return {
        f.name: getattr(record, f.name)
        for f in fields(record)
        if f.default is not MISSING and getattr(record, f.name) != f.default
    }


def _opened(spec: GraphSpec, root: Path) -> KnowledgeGraph:
    """The graph; a first build of a large one is announced, as it takes a while."""
    source = source_for(spec.source, **spec.settings)
    if spec.source in ANNOUNCED and not graph_folder(source, root).exists():
        sys.stderr.write(f"building graph, index and questions of {spec.source} (once)\n")
        sys.stderr.flush()
    return open_or_build(source, root)


def _backbone(spec: CellSpec) -> Backbone:
    settings = dict(spec.backbone.settings)
    if "seed" in setting_names(locate(spec.backbone.target, "backbone")):
        settings.setdefault("seed", spec.seed)  # it draws, and the run's seed decides
    made: Backbone = build(spec.backbone.target, "backbone", settings)
    return made


def with_candidates(spec: GraphSpec, graph: KnowledgeGraph) -> GraphSpec:
    """The same graph with the candidate types that its files name, where the user names none."""
    found = graph.manifest.get("notes", {}).get("candidate_types")
    if spec.candidate_types is not None or not found:
        return spec
    return replace(spec, candidate_types=tuple(found))


def all_questions(
    graph: GraphSpec,
    opened: KnowledgeGraph,
    root: Path,
    *,
    queries: Path | None = None,
    split: str = "test",
) -> list[Query]:
    """The questions of every split: a given file, the graph's own, or composed ones."""
    if queries is not None:
        return load_queries(queries, opened)
    if graph.source == "table":
        return load_queries(Path(str(graph.settings["path"])), opened)
    if graph.source == "files":
        return questions_beside(opened, graph.settings, split)
    if graph.source == "metaqa":
        return metaqa_questions(opened, graph.settings, split)
    if graph.source in STARK_GRAPHS:
        return questions_of(opened, graph.source, graph.settings, split)
    return questions_for(opened, graph.source, root)


def _describe(folder: Path, identity: Identity, queries: Sequence[Query]) -> None:
    """``run.json`` and ``queries.jsonl``: the folder can be read and cited by itself.

    Both follow from the identity, so a file that is missing or damaged is written again.
    """
    lines = [canonical_json({**to_json(q), "wording": wording_of(q)}) for q in queries]
    files = {
        "queries.jsonl": "\n".join(lines) + "\n",
        "run.json": canonical_json(dict(identity.run)) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / name
            wanted = text.encode("utf-8", "replace")
            if not path.is_file() or path.read_bytes() != wanted:
                write_atomic(path, text)
    except OSError as error:
        raise UserError(
            f"results_dir: cannot write to {folder} ({error.strerror}); choose another one"
        ) from None
