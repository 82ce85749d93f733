"""Show how one question was worked: python scripts/show.py RUN QUERY_ID [--agent N] [--full].

RUN is a run folder, or anything inside it (a result.json). Gold nodes are marked with a star.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ark.errors import UserError, nearest
from ark.records import AgentLine, Json
from ark.run.journal import read_journal, read_trajectory
from ark.text import clip

WIDTH, NAME = 160, 40  # characters of arguments and names
MOST = 8  # nodes of a list that are shown; gold ones always are
ROW = re.compile(r'^\[\d+\] ("(?:[^"\\]|\\.)*")', re.MULTILINE)


def find_run(path: Path) -> Path:
    """The run folder that ``path`` is, or lies in."""
    for folder in (path, *path.resolve().parents):
        if (folder / "run.json").is_file():
            return folder
    raise UserError(f"{path} is no run folder and lies in none: give results/runs/NAME")


def question(run: Path, query_id: str) -> dict[str, Json]:
    """The stored question. UserError with near ids where there is none."""
    known: list[str] = []
    file = run / "queries.jsonl"
    if not file.is_file():
        raise UserError(f"{file} is missing: run the cell again, it is written anew")
    # Not splitlines: questions may hold U+2028 and its like.
    for line in filter(None, file.read_text(encoding="utf-8").split("\n")):
        row: dict[str, Json] = json.loads(line)
        if row["id"] == query_id:
            return row
        known.append(row["id"])
    close = ", ".join(nearest(query_id, known) or known[:3])
    raise UserError(f"no question {query_id!r} in this run of {len(known)}; for example {close}")


def names_in(trajectory: dict[str, Json]) -> dict[str, str]:
    """Node id to name, from the rows that the observations of this trajectory show."""
    calls = [c for step in trajectory["steps"] for c in step["state"].get("calls", ())]
    texts = [m["content"] for m in trajectory["messages"] if m["role"] == "tool"]
    found: dict[str, str] = {}
    for call, text in zip(calls, texts, strict=False):
        rows = [json.loads(name) for name in ROW.findall(text)]
        ids = [*call.get("offered", ()), *call.get("selected", ())]
        found |= dict(zip(ids, rows, strict=False))
    return found


def marked(ids: Sequence[str], gold: set[str], names: Mapping[str, str]) -> Text:
    """Nodes in a row, gold ones starred and green. Text of strangers: never read as markup."""
    out = Text()
    shown = [*ids[:MOST], *(i for i in ids[MOST:] if i in gold)]
    for node_id in shown:
        star = node_id in gold
        name = clip(names.get(node_id, ""), NAME)
        label = f"{'★ ' if star else ''}{node_id}{f' {name}' if name else ''}; "
        out.append(label, style="bold green" if star else "")
    hidden = len(ids) - len(shown)
    return out.append(f"and {hidden} more", style="dim") if hidden else out


def show_step(
    console: Console, step: dict[str, Json], gold: set[str], names: Mapping[str, str]
) -> None:
    """One LLM call: what was called, what was offered, what was taken."""
    console.print(Rule(Text(f"step {step['number']} · {step['tag']}"), align="left"))
    state = step["state"]
    for call in state.get("calls", ()):
        style = "bold" if call.get("valid", True) else "bold red"
        console.print(Text(f"{call['tool']} {clip(call['arguments'], WIDTH)}", style=style))
        for name in ("offered", "selected"):
            if call.get(name):
                console.print(Text(f"  {name}: ").append_text(marked(call[name], gold, names)))
    if "calls" not in state:
        console.print(Text(clip(json.dumps(state, ensure_ascii=False), 4 * WIDTH)))


def show_messages(console: Console, messages: Sequence[dict[str, Json]]) -> None:
    """Every message in full."""
    for message in messages:
        console.print(Rule(Text(message["role"]), align="left"))
        console.print(Text(message["content"] or ""))
        for call in message.get("tool_calls", ()):
            function = call["function"]
            console.print(Text(f"{function['name']} {function['arguments']}", style="bold"))


def show_agent(console: Console, run: Path, line: AgentLine, gold: set[str], *, full: bool) -> None:
    """One agent from its first step to its list."""
    usage = ", ".join(f"{tag}: {u.calls} calls" for tag, u in line.usage.items())
    console.print(Rule(Text(f"agent {line.agent} · {line.status} · {usage}"), style="cyan"))
    if line.error:
        console.print(Text(line.error, style="red"))
    names: dict[str, str] = {}
    if line.trajectory is not None:
        trajectory = read_trajectory(run, line)
        names = names_in(trajectory)
        if full:
            show_messages(console, trajectory["messages"])
        else:
            for step in trajectory["steps"]:
                show_step(console, step, gold, names)
    console.print(Text("list: ").append_text(marked(line.nodes, gold, names)))


def main() -> None:
    """Find, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("query_id")
    parser.add_argument("--agent", type=int, help="only this agent")
    parser.add_argument("--full", action="store_true", help="all messages with all their text")
    options = parser.parse_args()
    console = Console(highlight=False)
    try:
        run = find_run(options.run)
        asked = question(run, options.query_id)
        entries = read_journal(run)
        lines = [x for (q, _), x in sorted(entries.agents.items()) if q == options.query_id]
        if options.agent is not None:
            lines = [x for x in lines if x.agent == options.agent]
        if not lines:
            raise UserError(f"no agent has ended on {options.query_id} yet; run the cell on")
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    gold = set(asked["answer_ids"])
    console.print(Text(asked["text"], style="bold"))
    console.print(Text("gold: ").append_text(marked(asked["answer_ids"], gold, {})))
    for line in lines:
        try:
            show_agent(console, run, line, gold, full=options.full)
        except UserError as error:
            sys.stderr.write(f"error: {error}\n")
            raise SystemExit(2) from None


if __name__ == "__main__":
    main()
