"""How far results spread over choices that should not matter much: agents' draws, prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ark.records import Json
from ark.report.tables import row_name


def agreement_lines(results: Sequence[Mapping[str, Json]]) -> list[str]:
    """For each run: on how many questions its agents' lists differ; fusion acts only there."""
    lines: dict[str, None] = {}
    for data in results:
        counts, cell = data["counts"], data["cell"]
        differ = counts.get("agents_differ")
        if differ is None:
            continue
        answered = counts["ok"] + counts["limit"]
        where = f"{cell['graph']} {cell['split']}, {row_name(data)}"
        if differ:
            lines[f"{where}: agents' lists differ on {differ} of {answered} questions."] = None
        else:
            lines[
                f"{where}: agents' lists are equal on all {answered} questions, so no fusion can "
                "change anything there."
            ] = None
    return list(lines)


def prompt_lines(results: Sequence[Mapping[str, Json]], measure: str = "hit@1") -> list[str]:
    """Spread of a measure over rows that differ in their prompt only; one line a group."""
    groups: dict[str, dict[str, tuple[str, float]]] = {}
    for data in results:
        cell = data["cell"]
        changed = dict(cell.get("changed", {}))
        prompt = str(changed.pop("prompt", "ours"))
        rest = (cell["identity"]["graph"], cell["identity"]["questions"], row_name(data), changed)
        key = json.dumps([*rest, cell["reading"], cell.get("repeat", 0)], sort_keys=True)
        mean = data["measures"].get(measure, {}).get("mean")
        if mean is not None:
            where = f"{cell['graph']} {cell['split']}, {row_name(data)}"
            groups.setdefault(key, {})[Path(prompt).name] = (where, mean)
    lines = []
    for rows in groups.values():
        if len(rows) > 1:
            where = next(iter(rows.values()))[0]
            means = [mean for _, mean in rows.values()]
            each = ", ".join(f"{name} {100 * mean:.1f}" for name, (_, mean) in sorted(rows.items()))
            lines.append(
                f"{where}: Hit@1 from {100 * min(means):.1f} to {100 * max(means):.1f} over "
                f"{len(rows)} prompts ({each})."
            )
    return lines
