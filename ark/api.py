"""The Python entry: open a graph, score a retriever. Hydra takes no part in it."""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ark.agent.toolbox import Toolbox
from ark.errors import QueryFailedError, UserError, unknown
from ark.graph import KnowledgeGraph, data_root, open_or_build, source_for, source_names
from ark.protocols import Context
from ark.queries import select
from ark.records import MAX_RANKED, Attempt, Json, Query, Ranking
from ark.report import footer, main_table
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell
from ark.run.session import CANDIDATE_TYPES, all_questions, with_candidates
from ark.scoring.runcheck import Checked, Types, check_run
from ark.scoring.runfile import RunFile, read_run_file
from ark.search import BM25
from ark.text import clip

Rank = Callable[[str, KnowledgeGraph], Iterable[str] | Awaitable[Iterable[str]]]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")
RERANKERS = {
    "listwise": PluginSpec("listwise", "baselines.rerank:Listwise"),
    "pointwise": PluginSpec("pointwise", "baselines.rerank:Pointwise"),
}


@dataclass(frozen=True)
class Loaded:
    """A graph with what stands on it."""

    graph: KnowledgeGraph
    search: BM25
    source: str
    settings: Mapping[str, Json]

    def tools(self) -> Toolbox:
        """ARK's tools with an empty answer list: ``tools().execute(ToolCall(...))``."""
        return Toolbox(self.graph, self.search)

    def questions(self, split: str = "test", limit: int | None = None) -> list[Query]:
        """Questions of a split with their gold."""
        spec = GraphSpec(self.source, self.settings)
        return select(all_questions(spec, self.graph, data_root(), split=split), split, limit)


def load_graph(name: str | Path = "hpo", **settings: Json) -> Loaded:
    """Open a graph by name, or a folder with tables; the first time it is built.

    ``settings`` are those of the graph's source: ``load_graph("prime", root="DIR")``. Raises
    UserError for an unknown name or setting (with the nearest ones) or broken files.
    """
    spec = _graph_spec(name, settings)
    graph = open_or_build(source_for(spec.source, **spec.settings), data_root())
    return Loaded(graph, BM25.open_or_build(graph, data_root()), spec.source, spec.settings)


def evaluate(
    rank: Rank | str | Path,
    graph: str | Path = "hpo",
    split: str = "test",
    limit: int | None = None,
    *,
    name: str | None = None,
    queries: str | Path | None = None,
    candidates: str = "graph",
    cut: int = 20,
    results_dir: str | Path | None = None,
    progress: bool = False,
    rerank: str | PluginSpec = "none",
    backbone: PluginSpec = LEXICAL,
    **settings: Json,
) -> Done:
    """Score a retriever exactly as ``run.py`` scores a method.

    ``rank(question, graph)`` returns node ids, best first (or is a coroutine function that does);
    a path is read as a run file instead (``ark.scoring.runfile``: TREC, JSON, JSON lines, CSV), and
    must name questions and nodes that exist (``scripts/score.py`` takes any file and counts).
    An error in ``rank`` is raised as it is. ``results_dir`` keeps the run folder and resumes from
    it while the source text of ``rank`` stays the same; without it the folder is temporary.
    ``rerank`` (none, listwise, pointwise, or a PluginSpec with settings) has ``backbone`` put the
    lists in a new order; nobody else asks it.
    Further keywords are settings of the graph's source, as for ``load_graph``.

    Raises UserError for a node or question that does not exist, and for wrong settings.
    """
    folder = Path(results_dir) if results_dir is not None else Path(tempfile.mkdtemp("-ark"))
    transport = Transport(folder, 1, progress=progress)
    spec = CellSpec(
        graph=_graph_spec(graph, settings),
        method=PluginSpec(name or "run file", f"{__name__}:RunFileMethod"),
        backbone=backbone,
        rerank=_reranker(rerank),
        split=split,
        limit=limit,
        queries=None if queries is None else Path(queries),
        candidates=candidates,
        cut=cut,
    )
    if isinstance(rank, str | Path):
        run = read_run_file(Path(rank))
        return score_run_file(run, spec, transport, name, strict=True)[0]
    if not callable(rank):
        raise UserError(f"rank must be a function or the path of a run file, not {rank!r}")
    source = _source(rank)
    if results_dir is not None and source is None and name is None:
        raise UserError(
            "results_dir: whether this rank has changed cannot be seen (a closure, a partial or an "
            "object), so finished answers might be those of another; give it a name of its own: "
            'ark.evaluate(rank, ..., name="mine-v2")'
        )
    method = FunctionMethod(rank, name or str(getattr(rank, "__name__", "rank")), source)
    spec = replace(spec, method=PluginSpec(method.name, f"{__name__}:FunctionMethod"))
    return run_cell(spec, transport, method=method)  # type: ignore[arg-type]


def score_run_file(
    run: RunFile,
    spec: CellSpec,
    transport: Transport,
    name: str | None = None,
    *,
    strict: bool = False,
) -> tuple[Done, Checked]:
    """Score a run file on the graph and questions of ``spec``, whose method is not used, nor its
    backbone where it has no ``rerank``.

    What cannot count is dropped and counted in ``Checked.counts``; with ``strict`` a question that
    no split has and an id that no node has are a UserError.
    """
    method = PluginSpec(name or "run file", f"{__name__}:RunFileMethod")
    spec = replace(spec, method=method, backbone=spec.backbone if spec.rerank else LEXICAL)
    checked = _check(run, spec)
    if strict:
        _refuse_strangers(run, spec, checked)
    types = None if spec.graph.candidate_types is None else list(spec.graph.candidate_types)
    made = RunFileMethod(
        checked.rankings, name or run.path.name, run.sha256, [spec.candidates, types]
    )
    return run_cell(spec, transport, method=made), checked  # type: ignore[arg-type]


def table(*results: Done) -> str:
    """Results as one Markdown table with its notes."""
    data = [r.data for r in results]
    return f"{main_table(data)}\n\n{footer(data)}"


def _reranker(chosen: str | PluginSpec) -> PluginSpec | None:
    if isinstance(chosen, PluginSpec):
        return chosen
    if chosen == "none":
        return None
    if chosen not in RERANKERS:
        raise UserError(unknown("rerank", str(chosen), ["none", *RERANKERS]))
    return RERANKERS[chosen]


def _graph_spec(name: str | Path, settings: Mapping[str, Json]) -> GraphSpec:
    if isinstance(name, Path) or (name not in source_names() and Path(name).is_dir()):
        return GraphSpec("table", {"path": str(name), **settings})
    return GraphSpec(name, settings, CANDIDATE_TYPES.get(name))


def _check(run: RunFile, spec: CellSpec) -> Checked:
    graph = open_or_build(source_for(spec.graph.source, **spec.graph.settings), data_root())
    every = all_questions(spec.graph, graph, data_root(), queries=spec.queries, split=spec.split)
    fixed = with_candidates(spec.graph, graph).candidate_types
    types: Types | None = None if fixed is None else lambda _: fixed
    if spec.candidates == "answer_type":
        types = lambda q: None if q.answer_type is None else (q.answer_type,)  # noqa: E731
    split = select(every, spec.split, spec.limit)
    return check_run(run, split, (q.id for q in every), graph, types)


def _refuse_strangers(run: RunFile, spec: CellSpec, checked: Checked) -> None:
    graph = spec.graph.source
    for what, ids in (
        (f"question ids are not in the questions of {graph}", checked.counts.unknown),
        (f"node ids are not in the graph {graph}", tuple(checked.counts.foreign)),
    ):
        if ids:
            first = ", ".join(clip(i, 40) for i in ids[:5])
            raise UserError(f"run file {run.path}: {len(ids)} {what}, first {first}")


def _source(function: Rank) -> str | None:
    if not inspect.isfunction(function) or function.__closure__:
        return None  # what it was made with is not in its text
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):  # typed at a prompt, or not a plain function
        return None


def _attempt(ids: Iterable[str], ctx: Context) -> Attempt:
    if ids is None:
        raise UserError("rank returned None; return a list of node ids")
    if isinstance(ids, str):
        raise UserError(f"rank returned the text {ids[:40]!r}; return a list of node ids")
    rows = []
    for node_id in list(ids)[: 10 * MAX_RANKED]:
        try:
            rows.append(ctx.graph.index(str(node_id)))
        except KeyError:
            raise UserError(
                f"rank returned {str(node_id)[:80]!r}, which is no node id of this graph; "
                "ids are graph.id(row)"
            ) from None
    return Attempt(Ranking(tuple(dict.fromkeys(rows))[:MAX_RANKED]))


@dataclass(frozen=True)
class FunctionMethod:
    """A user's function as a method."""

    rank: Rank
    name: str
    source: str | None
    reading_fields: ClassVar[frozenset[str]] = frozenset({"rank", "name", "source"})
    probe: ClassVar[Sequence[Mapping[str, Any]] | None] = None
    agents: ClassVar[int] = 1

    @property
    def label(self) -> str:
        """What tables print."""
        return self.name

    @property
    def identity(self) -> Mapping[str, Json]:
        """Name and source text; what the function calls cannot be seen."""
        return {"function": self.name, "source": self.source}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """Call the function."""
        assert isinstance(ctx.graph, KnowledgeGraph)
        found = self.rank(question, ctx.graph)
        return _attempt(await found if inspect.isawaitable(found) else found, ctx)


@dataclass(frozen=True)
class RunFileMethod:
    """Rankings that were made elsewhere: rows of nodes that count, by question id."""

    rankings: Mapping[str, tuple[int, ...]]
    label: str
    sha256: str
    candidates: Json
    reading_fields: ClassVar[frozenset[str]] = frozenset({"rankings", "label", "sha256"})
    probe: ClassVar[Sequence[Mapping[str, Any]] | None] = None
    agents: ClassVar[int] = 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """The hash of the file, and what was let through of it."""
        return {"run_file": self.sha256, "candidates": self.candidates}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The file's list for this question; a question that is not in it fails."""
        assert ctx.query is not None
        if ctx.query.id not in self.rankings:
            raise QueryFailedError("the run file has no ranking for this question")
        return Attempt(Ranking(self.rankings[ctx.query.id]))
