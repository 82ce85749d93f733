"""Where runs stand: done, failed by reason, to do, spent, and what the rest may take."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ark.errors import UserError
from ark.records import Usage
from ark.report.tables import markdown
from ark.run.journal import read_journal
from ark.run.meter import paid_by_agent, spent_before
from ark.run.runner import PLAN
from ark.text import clip


@dataclass(frozen=True)
class Standing:
    """One run folder. Agents are counted, not questions: they are what is resumed."""

    folder: Path
    questions: int
    wanted: int
    done: int
    limited: int
    failed: Counter[str]
    spent: Usage
    lost_calls: int

    @property
    def left(self) -> int:
        """Agents to run, those that failed among them."""
        return self.wanted - self.done

    @property
    def expected(self) -> tuple[float, float | None]:
        """(calls, dollars) of what is left if it goes on as it went; cost None if unknown."""
        if not self.done:
            return 0.0, None
        share = self.left / self.done
        cost = None if self.spent.cost is None else self.spent.cost * share
        return self.spent.calls * share, cost


def standing(folder: Path) -> Standing:
    """Read a run folder. Raises UserError for another folder."""
    try:
        # Not splitlines: questions may hold U+2028 and its like.
        lines = (folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        agents = int(plan["agents"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder} is no run folder ({type(error).__name__}: {error}): give results/runs/NAME"
        ) from None
    ids = {json.loads(line)["id"] for line in lines if line.strip()}
    entries = read_journal(folder)
    known = [x for (query, i), x in entries.agents.items() if query in ids and i < agents]
    failed = Counter(clip(x.error or "no reason given", 100) for x in known if x.status == "failed")
    paid = sum(usage.calls for usage in paid_by_agent(folder).values())
    kept = sum(u.calls for x in entries.agents.values() for u in x.usage.values())
    return Standing(
        folder=folder,
        questions=len(ids),
        wanted=len(ids) * agents,
        done=sum(x.status != "failed" for x in known),
        limited=sum(x.status == "limit" for x in known),
        failed=failed,
        spent=spent_before(folder, entries),
        lost_calls=max(0, paid - kept),
    )


def status_table(folders: Sequence[Path]) -> str:
    """One row a run, then the reasons of failures."""
    header = ["run", "questions", "agents done", "by a limit", "failed", "to do", "spent"]
    header += ["expected for the rest"]
    rows, reasons = [], []
    for one in map(standing, folders):
        calls, cost = one.expected
        rest = "-" if not one.left else f"{calls:.0f} calls, {_money(cost)}" if one.done else "?"
        lost = f" ({one.lost_calls} calls of agents that never ended)" if one.lost_calls else ""
        tokens = one.spent.prompt_tokens + one.spent.completion_tokens
        spent = f"{one.spent.calls} calls, {tokens} tokens, {_money(one.spent.cost)}{lost}"
        counts = (one.questions, f"{one.done}/{one.wanted}", one.limited, one.failed.total())
        rows.append([one.folder.name, *map(str, counts), str(one.left), spent, rest])
        reasons += [f"{one.folder.name}: {n} x {why}" for why, n in one.failed.most_common(5)]
    return "\n\n".join([markdown(header, rows), *(["\n".join(reasons)] if reasons else [])])


def _money(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:.2f}"
