"""What may stand in one column, and what may be tested against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ark.errors import UserError
from ark.records import Json
from ark.report.cells import Cell
from ark.report.entry import Entry
from ark.run.identity import canonical_json

SHOWN = 12  # digits of a hash


def same_data(a: Cell, b: Cell) -> bool:
    """Whether graph content, questions and gold are the same."""
    return _data(a) == _data(b)


def _data(cell: Cell) -> tuple[str, str, str]:
    return cell.graph_hash, cell.questions_hash, str(cell.cell["gold"])


def data_differences(a: Cell, b: Cell) -> list[str]:
    """``graph content (1a2b…, 3c4d…)`` and so on; empty for the same data."""
    out = []
    if a.graph_hash != b.graph_hash:
        out.append(f"graph content ({a.graph_hash[:SHOWN]}, {b.graph_hash[:SHOWN]})")
    if a.cell["gold"] != b.cell["gold"]:
        out.append(f"gold ({a.cell['gold']}, {b.cell['gold']})")
    if a.questions_hash != b.questions_hash:
        n = [cell.data["counts"]["queries"] for cell in (a, b)]
        hashes = f"{a.questions_hash[:SHOWN]}, {b.questions_hash[:SHOWN]}"
        out.append(f"questions (n {n[0]}, {n[1]}; {hashes})")
    return out


def refuse_unlike(cells: Sequence[Cell]) -> None:
    """UserError that names two results of one graph and split with other data than each other."""
    first: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        other = first.setdefault(cell.column, cell)
        differ = data_differences(other, cell)
        if differ:
            graph, split = cell.column
            raise UserError(
                f"unlike data in one column, {graph} {split}: {', '.join(differ)} differ between "
                f"{other.path} and {cell.path}; leave one out, name a sweep "
                "(results/sweeps/NAME), or --allow-unequal marks it"
            )


def most_common_data(entries: Sequence[Entry]) -> Cell:
    """A cell with the data that most entries of a column have; the first of equals."""
    keys = [_data(e.first) for e in entries]
    return max(entries, key=lambda e: keys.count(_data(e.first))).first


def treatment_differences(a: Entry, b: Entry) -> list[str]:
    """``backfill differs (none, bm25)`` for each setting outside the method that is unequal."""
    return _differences(a.treatment, b.treatment)


def _differences(a: Mapping[str, Json], b: Mapping[str, Json], prefix: str = "") -> list[str]:
    out = []
    for name in sorted({*a, *b}):
        x, y = a.get(name), b.get(name)
        if canonical_json(x) == canonical_json(y):
            continue
        if isinstance(x, dict) and isinstance(y, dict):
            out += _differences(x, y, f"{name} ")
        else:
            plain = name.replace("_", " ")
            out.append(f"{prefix}{plain} differs ({_shown(x)}, {_shown(y)})")
    return out


def _shown(value: Json) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value)) or "none"
    if isinstance(value, dict):
        named = value.get("name")
        others = ", ".join(f"{k}={v}" for k, v in sorted(value.items()) if k != "name")
        return f"{named}: {others}" if named and others else canonical_json(value)
    return "none" if value is None else str(value)
