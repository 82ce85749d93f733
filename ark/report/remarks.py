"""What a reader must know of some rows beside any table, short or long: one line a remark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ark.records import Json
from ark.report.entry import GOLD_PROGRAMS, KNOWS_GOLD

COMPOSED = ("hpo", "cwe", "toy")  # sources whose questions are made from programs
KG_AGENT, DENSE = "baselines.kg_agent.", "baselines.dense:"
OUTSIDE = ("backfill", "relevance", "rerank", "seeds", "token_budget")


def remarks(cells: Sequence[Mapping[str, Json]]) -> list[str]:
    """Of the ``cell`` of each result that a table shows."""
    methods = [((cell.get("identity") or {}).get("method") or {}, cell) for cell in cells]
    return [*_gold(methods), *_composed(methods), *_vectors(methods)]


def _gold(methods: Sequence[tuple[Mapping[str, Json], Mapping[str, Json]]]) -> list[str]:
    knows = any(method.get("target") in KNOWS_GOLD for method, _ in methods)
    return ["Rows that know the gold are no systems: they are never ranked."] if knows else []


def _composed(methods: Sequence[tuple[Mapping[str, Json], Mapping[str, Json]]]) -> list[str]:
    near = {
        str(cell["graph"])
        for method, cell in methods
        if str(method.get("target", "")).startswith(KG_AGENT)
        and method["target"] != GOLD_PROGRAMS
        and cell["graph"] in COMPOSED
    }
    if not near:
        return []
    return [
        f"{' and '.join(sorted(near))}: the questions are made from programs in a language like "
        "the one that KG-Agent writes, which may favour its rows."
    ]


def _vectors(methods: Sequence[tuple[Mapping[str, Json], Mapping[str, Json]]]) -> list[str]:
    found = {
        f"{cell['method']} takes vectors of {_model(method)}, whatever the relevance of the cell "
        "is."
        for method, cell in methods
        if str(method.get("target", "")).startswith(DENSE)
    }
    return sorted(found)


def _model(method: Mapping[str, Json]) -> str:
    vectors = method.get("vectors") or {}
    name, mark = vectors.get("name") or method.get("model"), vectors.get("model")
    cut = method.get("max_tokens")
    return f"{name or method.get('encoder')} ({mark}, {cut} tokens)"


def unequal(cells: Sequence[Mapping[str, Json]]) -> list[str]:
    """That rows differ in what stands outside the method (design, rule 11)."""
    out = []
    for name in OUTSIDE:
        values = {_shown((cell.get("treatment") or {}).get(name)): None for cell in cells}
        if len(values) > 1:
            out.append(f"{name.replace('_', ' ')} differs ({', '.join(values)})")
    if not out:
        return []
    return [f"Unequal: {'; '.join(out)}. Compare rows that share them."]


def _shown(value: Json) -> str:
    if isinstance(value, Mapping):
        return str(value.get("name") or value.get("relevance") or value)
    return "none" if value is None else str(value)
