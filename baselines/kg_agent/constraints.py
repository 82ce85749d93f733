"""Which nodes of a set have a wanted value: ``get_entity_by_constraint`` and ``judge``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ark.protocols import Ints
from ark.records import Scalar
from baselines.kg_agent.dates import overlaps, read_date
from baselines.kg_agent.engine import Engine
from baselines.kg_agent.errors import CallError, quoted
from baselines.kg_agent.literals import (
    EXTREMES,
    MORE,
    ORDER,
    SAME,
    extreme,
    holds,
    majority,
    plain,
    wanted,
)
from baselines.kg_agent.sets import NodeSet


@dataclass(frozen=True, slots=True)
class Constraint:
    """``more``: the operators contains and != are known."""

    relation: str
    op: str
    value: str
    strict: bool = True
    more: bool = False


def constrained(
    engine: Engine,
    nodes: NodeSet,
    constraint: Constraint,
    bound_name: Callable[[str, Iterable[str]], str | None],
) -> Ints:
    """Rows of the set whose values satisfy a constraint, ascending. Raises CallError.

    ``bound_name`` binds a name that no node of the set has to one that some have, or to None.
    """
    op = SAME.get(constraint.op, constraint.op)
    known = (*ORDER, *EXTREMES, *(MORE if constraint.more else ()))
    if op not in known:
        raise CallError("operator", f"unknown operator {quoted(op)}; known: {' '.join(known)}")
    if op not in EXTREMES and not constraint.value:
        raise CallError("value", f"{op} needs a value after it")
    if not len(nodes):
        return np.empty(0, dtype=np.int64)
    times = engine.times(nodes, constraint.relation)
    if times is not None:
        return _of_times(times, op, constraint.value)
    tails = engine.tails(nodes, constraint.relation)
    if not tails:
        names = [r.name for r in engine.relations(nodes) if r.way != "in"]
        name = bound_name(constraint.relation, names)
        if name is None:
            raise engine.missing(constraint.relation, nodes)
        tails = engine.tails(nodes, name)
    if op in EXTREMES:
        return np.array(extreme(tails, largest=op == "argmax"), dtype=np.int64)
    kind = majority(value for values in tails.values() for value in values)
    target = wanted(constraint.value, kind, op, strict=constraint.strict)
    kept = [i for i, values in tails.items() if any(holds(v, kind, op, target) for v in values)]
    return np.array(kept, dtype=np.int64)


def _of_times(times: dict[int, list[tuple[Scalar, Scalar]]], op: str, value: str) -> Ints:
    """Nodes with a time from .. to that meets a date; a missing end is open."""
    if op != "=":
        raise CallError("operator", "a time from .. to is compared with = and a date only")
    date = read_date(plain(value))
    if date is None:
        raise CallError("value", f"{quoted(value)} is no date")

    def meets(span: tuple[Scalar, Scalar]) -> bool:
        start, end = (read_date(plain(str(each))) for each in span)
        return overlaps(start, end, date)

    kept = [i for i, spans in times.items() if any(map(meets, spans))]
    return np.array(kept, dtype=np.int64)
