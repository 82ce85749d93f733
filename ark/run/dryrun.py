"""``dry_run=true``: what a command would take and what it can show, before anything is paid.

Graphs, indexes and questions are built as for the run itself; no run folder is written and no
model is called. Where the numbers come from stands beside them; what nobody can know is "unknown".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ark.backbone.prices import Price
from ark.errors import UserError
from ark.run.dryrun_row import Row
from ark.run.dryrun_table import render
from ark.run.estimate import (
    Effort,
    Finished,
    Most,
    RehearsalError,
    from_rehearsal,
    uses_model,
)
from ark.run.identity import asks_backbone, digest
from ark.run.journal import read_journal
from ark.run.meter import spent_before
from ark.run.session import Session, open_session
from ark.run.spec import CellSpec, Limits, Transport
from ark.scoring.intervals import cluster_codes, kish_n
from ark.scoring.power import smallest_difference
from ark.search.sent import sent, since

OWN_PRICE = "backbone.price"
NO_LIMITS = Limits()
NOTHING_LEFT = Effort(
    "nothing left to do", cost=0.0, seconds=0.0, most=Most(0, 0, 0, 0, bounded=True)
)


def dry_run(
    specs: Sequence[CellSpec],
    names: Sequence[str],
    transport: Transport,
    sweep_budget: Limits = NO_LIMITS,
) -> str:
    """A Markdown table with one row a cell, totals, and lines that say what it rests on.

    Args:
        specs: the cells, in the order in which they would run.
        names: what the rows are called, one a cell; words that all have are shown once.
        transport: where finished runs lie, calls in flight, the budget of a run.
        sweep_budget: limits of all runs together.

    Raises UserError where the only cell cannot be opened; in a sweep that cell is a row.
    """  # noqa: D413
    foreseen, encoded = _Foreseen(transport), sent()
    rows: list[Row] = []
    for spec, name in zip(specs, names, strict=True):
        try:
            session = open_session(spec, transport.results_dir, describe=False)
            rows.append(foreseen.row(session, name))
        except UserError as error:
            if len(specs) == 1:
                raise
            rows.append(Row(name, error=str(error)))
    made = [
        f"For vectors {counts['texts']} texts were sent to {model}: of the graph, if "
        "it had none, and of questions."
        for model, counts in since(encoded).items()
    ]
    return "\n".join([render(rows, transport, sweep_budget), *made])


@dataclass
class _Rehearsal:
    effort: Effort | None
    error: str = ""


class _Foreseen:
    """Rows of cells. What cells of a sweep have in common is found once."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._finished = Finished(transport.results_dir)
        self._rehearsals: dict[str, _Rehearsal] = {}

    def row(self, session: Session, name: str) -> Row:
        """What is left of a cell, and what it is worth."""
        agents = session.reading.lists
        entries = read_journal(session.folder)
        done = sum(
            entries.ended(query.id, agent) for query in session.queries for agent in range(agents)
        )
        total = len(session.queries) * agents
        spent = spent_before(session.folder, entries)
        found = self._effort(session, total - done)
        asks = asks_backbone(session.method)
        model = asks and uses_model(session)
        return Row(
            name,
            folder=session.folder.name,
            queries=len(session.queries),
            agents=agents,
            done=done,
            shows=_shows(session),
            effort=found.effort,
            error=found.error,
            model=session.backbone.label if model else "",
            price=_price(session) if model else None,
            cost=_cost(session, found.effort, model=model),
            most_cost=_most_cost(session, found.effort, model=model),
            seconds=_seconds(found.effort, self._transport.concurrency, model=model),
            spent=spent,
        )

    def _effort(self, session: Session, left: int) -> _Rehearsal:
        if not left:
            return _Rehearsal(NOTHING_LEFT)
        if asks_backbone(session.method) and uses_model(session):
            found = self._finished.effort(session)
            if found is not None:
                return _Rehearsal(found)
        # Models differ in nothing that a rehearsal could tell.
        run = dict(session.identity.run) | {"repeat": 0}
        if uses_model(session):
            run["backbone"] = session.backbone.identity.get("max_tokens")
        key = digest(run)
        if key not in self._rehearsals:
            try:
                self._rehearsals[key] = _Rehearsal(from_rehearsal(session))
            except RehearsalError as error:
                self._rehearsals[key] = _Rehearsal(None, f"the rehearsal failed ({error})")
        return self._rehearsals[key]


def _shows(session: Session) -> float:
    """Smallest paired difference of Hit@1, as if questions of a cluster were all alike."""
    n = len(session.queries)
    codes = cluster_codes([q.cluster or q.id for q in session.queries])
    worth = kish_n(np.bincount(codes)) if n else 1.0
    return smallest_difference(n, design_effect=max(1.0, n / worth))


def _price(session: Session) -> Price | None:
    price = getattr(session.backbone, "price", None)
    return price if isinstance(price, Price) else None


def _cost(session: Session, effort: Effort | None, *, model: bool) -> float | None:
    """Dollars an agent. What finished runs paid goes first (it knows the caches' discount)."""
    if effort is None:
        return None
    if not model or not effort.calls:
        return effort.cost
    price = _price(session)
    if price is None:  # a plug-in may know costs without a price; our adapter would name one
        return None if hasattr(session.backbone, "price") else effort.cost
    if effort.cost is not None and price.source != OWN_PRICE:
        return effort.cost
    return price.cost(effort.prompt, effort.completion)


def _most_cost(session: Session, effort: Effort | None, *, model: bool) -> float | None:
    most = None if effort is None else effort.most
    if not model:
        return None if effort is None else effort.cost
    if most is None:
        return None
    price = _price(session)
    if price is None or (price.longest_prompt or most.longest) < most.longest:
        return None
    return price.cost(most.prompt, most.completion)


def _seconds(effort: Effort | None, concurrency: int, *, model: bool) -> float | None:
    """Seconds of the clock an agent: models wait side by side, rules share one processor."""
    if effort is None or effort.seconds is None:
        return None
    return effort.seconds / concurrency if model else effort.seconds
