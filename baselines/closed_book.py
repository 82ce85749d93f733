"""``method=closed_book``: the model answers by names from memory; the graph only grounds them.

One call. Of the graph the model is told which types of nodes there are, and nothing else. A
question whose first name is right is one that the model may know by heart: tables tell such
questions apart (``ark.report.recalled``). A backbone that is no model tests no memory; the row of
one says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ark.errors import QueryLimitError, UserError, unknown
from ark.protocols import Context, Graph
from ark.records import MAX_RANKED, Attempt, Json, Ranking, Status
from ark.text import clip, one_line, tokens
from baselines.ask import Asker, object_schema, read_texts
from baselines.common import PerGraph, number, settings, whole_number
from baselines.names import NameIndex

TAG = "closed_book.answer"
SEVERAL = ("first", "all")
MOST_TYPES = 40  # that the prompt names
NAME_WIDTH = 120
CLOSEST = 5  # hits among which the runner-up of a name is looked for

TASK = (
    "Answer the question from what you know; there is nothing to look up. Every answer is the name "
    "of one thing of these types: {types}. Give at most {most} different names, the likeliest "
    "first, written as reference works write them, and none that you do not believe. Answer with a "
    'JSON object: {{"names": ["name", ...]}}.'
)

_index = PerGraph(NameIndex)


@dataclass(frozen=True)
class ClosedBook:
    """What a model knows without the graph."""

    label: ClassVar[str] = "Closed book"
    label_without_model: ClassVar[str] = "Closed book (no LLM: no memory test)"
    reading_fields: ClassVar[frozenset[str]] = frozenset()
    probe: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"content": '{"names": ["Moonbell", "the plant Sand thistle", "Mercury", "dew", "Oak"]}'},
    )

    names: int = 20
    """Names that are asked for and read at most."""
    fuzzy: bool = True
    """A name that no node has is searched for, and stands for the best hit if that is clear."""
    margin: float = 1.5
    """The best hit is clear where its BM25 score is at least this many times the next node's."""
    several: str = "first"
    """Where nodes share a name: first (the one of lowest row) or all of them, by row."""
    temperature: float | None = None
    """Sampling temperature; None leaves the backbone's default."""
    max_tokens: int | None = None
    """Longest answer in tokens; None leaves the backbone's default."""

    def __post_init__(self) -> None:
        whole_number("names", self.names, 1)
        number("margin", self.margin, 1, 1e6)
        if self.several not in SEVERAL:
            raise UserError(unknown("method.several", self.several, SEVERAL))
        if self.max_tokens is not None:
            whole_number("max_tokens", self.max_tokens, 1)
        if self.temperature is not None:
            number("temperature", self.temperature, 0, 10)

    @property
    def agents(self) -> int:
        """One."""
        return 1

    @property
    def identity(self) -> Mapping[str, Json]:
        """All settings; the prompt is in the behaviour fingerprint."""
        return settings(self)

    async def attempt(self, question: str, ctx: Context, agent: int) -> Attempt:
        """Names of the model, as nodes; those that mean no node are left out."""
        asker = Asker(ctx, agent)
        status: Status = "ok"
        names: list[str] = []
        try:
            names = await asker.ask(
                TAG,
                TASK.format(types=_types(ctx.graph), most=self.names),
                f"Question: {one_line(question)}",
                object_schema(
                    {
                        "names": {
                            "type": "array",
                            "items": {"type": "string"},
                            "maxItems": self.names,
                        }
                    }
                ),
                lambda value: read_texts(value, "names", self.names),
                list,
                state={"kind": "evidence"},
                temperature=self.temperature,
                max_tokens=self.max_tokens,
            )
        except QueryLimitError:
            status = "limit"
        found: dict[int, None] = {}
        said: list[Json] = []
        for name in names:
            nodes, how = self.ground(name, ctx)
            found.update(dict.fromkeys(nodes))
            meant = [ctx.graph.id(i) for i in nodes]
            said.append({"name": clip(name, NAME_WIDTH), "how": how, "nodes": meant})
        asker.note(TAG, {"kind": "evidence", "names": said})
        kept = tuple(found)[:MAX_RANKED]
        return Attempt(Ranking(kept, len(kept)), status, asker.trajectory)

    def ground(self, name: str, ctx: Context) -> tuple[list[int], str]:
        """Nodes that a name means, and how that is known: name, search, or nothing.

        A name is compared, as its words in lower case, with all names and aliases.
        """
        words = tokens(name)
        exact = [int(i) for i in _index(ctx.graph).nodes(words)] if words else []
        if exact:
            return (exact if self.several == "all" else exact[:1]), "name"
        if not self.fuzzy:
            return [], "nothing"
        hits = ctx.search.search(name, CLOSEST)
        if not hits:
            return [], "nothing"
        best = ctx.graph.canonical(hits[0].node)
        others = [hit.score for hit in hits if ctx.graph.canonical(hit.node) != best]
        if len(hits) == CLOSEST and not others:
            return [], "nothing"  # nothing to hold the best against
        if others and hits[0].score < self.margin * others[0]:
            return [], "nothing"
        return [hits[0].node], "search"


def _types(graph: Graph) -> str:
    named = [clip(each, NAME_WIDTH) for each in graph.node_types[:MOST_TYPES]]
    more = len(graph.node_types) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
