"""The Python entry: open a graph, score a retriever. Hydra takes no part in it."""

from __future__ import annotations

import hashlib
import inspect
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ark.agent.toolbox import Toolbox
from ark.errors import QueryFailedError, UserError
from ark.graph import KnowledgeGraph, data_root, open_or_build, source_for
from ark.protocols import Context
from ark.queries import load_queries, questions_for, select
from ark.records import MAX_RANKED, Attempt, Json, Query, Ranking
from ark.report import footer, main_table
from ark.run import CellSpec, Done, GraphSpec, PluginSpec, Transport, run_cell
from ark.search import BM25

Rank = Callable[[str, KnowledgeGraph], Iterable[str] | Awaitable[Iterable[str]]]
LEXICAL = PluginSpec("lexical", "ark.backbone.lexical:LexicalBackbone")  # asked by nobody here


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
        if self.source == "table":
            found = load_queries(Path(str(self.settings["path"])), self.graph)
        else:
            found = questions_for(self.graph, self.source, data_root())
        return select(found, split, limit)


def load_graph(name: str | Path = "hpo") -> Loaded:
    """Open a graph by name, or a folder with tables; the first time it is built.

    Raises UserError for an unknown name (with the nearest ones) or broken files.
    """
    spec = _graph_spec(name)
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
) -> Done:
    """Score a retriever exactly as ``run.py`` scores a method.

    ``rank(question, graph)`` returns node ids, best first (or is a coroutine function that does);
    a path is read as a run file instead: TREC lines or a JSON object of question id to node ids.
    An error in ``rank`` is raised as it is. ``results_dir`` keeps the run folder and resumes from
    it while the source text of ``rank`` stays the same; without it the folder is temporary.

    Raises UserError for a node or question that does not exist, and for wrong settings.
    """
    method: FunctionMethod | RunFileMethod
    if isinstance(rank, str | Path):
        method = RunFileMethod.read(Path(rank), name)
    else:
        method = FunctionMethod(rank, name or str(getattr(rank, "__name__", "rank")), _source(rank))
    label = name or ("run file" if isinstance(method, RunFileMethod) else method.name)
    spec = CellSpec(
        graph=_graph_spec(graph),
        method=PluginSpec(label, f"{type(method).__module__}:{type(method).__name__}"),
        backbone=LEXICAL,
        split=split,
        limit=limit,
        queries=None if queries is None else Path(queries),
        candidates=candidates,
        cut=cut,
    )
    if isinstance(method, RunFileMethod):
        method.check(spec)
    folder = Path(results_dir) if results_dir is not None else Path(tempfile.mkdtemp("-ark"))
    return run_cell(spec, Transport(folder, 1, progress=progress), method=method)  # type: ignore[arg-type]


def table(*results: Done) -> str:
    """Results as one Markdown table with its notes."""
    data = [r.data for r in results]
    return f"{main_table(data)}\n\n{footer(data)}"


def _graph_spec(name: str | Path) -> GraphSpec:
    if isinstance(name, Path) or Path(name).is_dir():
        return GraphSpec("table", {"path": str(name)})
    return GraphSpec(name)


def _source(function: Rank) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):  # typed at a prompt, or not a plain function
        return None


def _attempt(ids: Iterable[str], ctx: Context) -> Attempt:
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
    """Rankings that were made elsewhere."""

    rankings: Mapping[str, Sequence[str]]
    label: str
    sha256: str
    path: Path = field(default=Path())
    reading_fields: ClassVar[frozenset[str]] = frozenset({"rankings", "label", "sha256", "path"})
    probe: ClassVar[Sequence[Mapping[str, Any]] | None] = None
    agents: ClassVar[int] = 1

    @classmethod
    def read(cls, path: Path, name: str | None) -> RunFileMethod:
        """A JSON object of lists, or TREC lines ``question Q0 node rank score tag``."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"run file {path}: cannot be read ({error})") from None
        rankings = _from_json(path, text) if text.lstrip()[:1] == "{" else _from_trec(path, text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return cls(rankings, name or path.name, digest, path)

    def check(self, spec: CellSpec) -> None:
        """Raises UserError if the file ranks for a question that the graph's set does not have."""
        from ark.run.session import all_questions

        graph = open_or_build(source_for(spec.graph.source, **spec.graph.settings), data_root())
        known = {q.id for q in all_questions(spec, graph, data_root())}
        strange = [q for q in self.rankings if q not in known]
        if strange:
            raise UserError(
                f"run file {self.path}: {len(strange)} question ids are not in the questions of "
                f"{spec.graph.source}, first {', '.join(strange[:5])}"
            )

    @property
    def identity(self) -> Mapping[str, Json]:
        """The hash of the file."""
        return {"run_file": self.sha256}

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:  # noqa: ARG002
        """The file's list for this question; a question that is not in it fails."""
        assert ctx.query is not None
        if ctx.query.id not in self.rankings:
            raise QueryFailedError("the run file has no ranking for this question")
        return _attempt(self.rankings[ctx.query.id], ctx)


def _from_json(path: Path, text: str) -> dict[str, list[str]]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"run file {path}: not valid JSON ({error})") from None
    if not all(isinstance(v, list) for v in value.values()):
        raise UserError(f"run file {path}: each question id must have a list of node ids")
    return {str(q): [str(n) for n in nodes] for q, nodes in value.items()}


def _from_trec(path: Path, text: str) -> dict[str, list[str]]:
    """Score descending, then order of lines: the rank column is not trusted (trec_eval too)."""
    scored: dict[str, list[tuple[float, int, str]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        try:
            query, _, node, _, score, *_ = parts
            scored.setdefault(query, []).append((-float(score), number, node))
        except ValueError:
            raise UserError(
                f"run file {path}, line {number}: expected 'question Q0 node rank score tag'"
            ) from None
    return {query: [node for _, _, node in sorted(rows)] for query, rows in scored.items()}
