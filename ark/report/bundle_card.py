"""``card.md`` of a bundle: what was run on what, what came out, and how to check it.

A pure function of the other members, so that an edited card is found too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ark.records import Json
from ark.report.bundle_replay import Contents
from ark.text import clip

SHOWN = ("hit@1", "hit@5", "recall@20", "mrr")


def card(contents: Contents) -> bytes:
    """The card as UTF-8 Markdown."""
    about, graph = contents.about, contents.about["graph"]
    results = list(contents.results.values())
    cell = results[0]["cell"]
    parts = [
        f"# {_cell(about['name'])}",
        _list(
            ("method", cell["method"]),
            ("preset", cell.get("preset")),
            ("settings that are not the preset's", _settings(cell.get("changed"))),
            ("backbone", cell.get("backbone") or "none"),
            ("a model made the calls", _yes(cell.get("is_llm"))),
            ("tuned", cell.get("tuned") or "nothing stated"),
            ("questions", f"{len(contents.queries)} of split {cell['split']}"),
            ("seed", contents.run["seed"]),
            ("repeat", contents.run.get("repeat", 0)),
            ("run id", about["run_id"]),
        ),
        "## Graph",
        _list(
            ("name", graph["name"]),
            ("version", graph["version"]),
            ("source", graph["source"]),
            ("licence", graph["licence"]),
            ("credit and citation", graph["credit"]),
            ("nodes, edges", f"{graph['nodes']}, {graph['edges']}"),
            ("content hash", graph["content_hash"]),
            ("questions hash", contents.run["questions"]["sha256"]),
        ),
        "## Results",
        "Mean and 95 % interval over the whole split, failed and missing questions as 0.",
        _table(contents),
        "## Stamp",
        _list(*_stamp(results[0].get("environment") or {})),
        "## Check",
        "`python scripts/verify.py FILE` computes every number above again from the journal, "
        "without a key, a network or the graph. It proves that this bundle agrees with itself, "
        "not that a model was asked.",
        "No text of a question, node or message and no name of a node is in this bundle: ids, "
        "types and hashes only. Errors are class names.",
    ]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _table(contents: Contents) -> str:
    head = ["reading", *SHOWN, "n", "failed", "missing", "calls", "tokens", "cost"]
    rows = [head, ["---"] * len(head)]
    for cell_id, data in contents.results.items():
        counts, usage = data["counts"], data["usage"]
        cost = "unknown" if usage["cost"] is None else f"${usage['cost']:.4f}"
        rows.append(
            [
                f"{cell_id}: {_settings(data['cell']['reading'])}",
                *(_estimate(data["measures"].get(name)) for name in SHOWN),
                *(str(counts[key]) for key in ("queries", "failed", "missing")),
                *(str(usage[key]) for key in ("calls", "tokens")),
                cost,
            ]
        )
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _estimate(found: Mapping[str, Json] | None) -> str:
    if found is None:
        return "–"
    mean, low, high = (f"{100 * found[key]:.2f}" for key in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def _stamp(environment: Mapping[str, Json]) -> Iterable[tuple[str, Json]]:
    yield "code", environment.get("commit") or "unknown"
    yield "Python", environment.get("python") or "unknown"
    packages = environment.get("packages") or {}
    yield "packages", ", ".join(f"{k} {v}" for k, v in sorted(packages.items()) if v)


def _settings(found: Mapping[str, Json] | None) -> str:
    """``agents=3, fusion.kind=voting``: what is set, nested names with dots."""
    if not found:
        return "none"
    out = []
    for name, value in sorted(found.items()):
        if isinstance(value, Mapping):
            out += [f"{name}.{key}={each}" for key, each in sorted(value.items())]
        elif value is not None:
            out.append(f"{name}={value}")
    return ", ".join(out)


def _list(*items: tuple[str, Json]) -> str:
    return "\n".join(f"* {name}: {_cell(value)}" for name, value in items)


def _cell(value: Json) -> str:
    """One line that neither ends a table cell nor opens a tag."""
    return clip(str(value), 600).replace("|", "\\|").replace("<", "&lt;")


def _yes(value: Json) -> str:
    return "not stated" if value is None else ("yes" if value else "no")
