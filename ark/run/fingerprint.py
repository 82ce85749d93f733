"""A hash of behaviour: what a preset makes of the toy graph with scripted answers.

It is part of the run id, so code that changes prompts, schemas, observations or rankings gives a
new id, and old journals are never continued by code that would have answered differently.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from pathlib import Path
from typing import Any

from ark.backbone import ScriptedBackbone
from ark.errors import FatalBackboneError, UserError
from ark.graph import open_or_build, source_for
from ark.protocols import Context, Method
from ark.records import Json
from ark.run.checks import checked
from ark.run.executors import run_coroutine
from ark.run.identity import canonical_json, digest
from ark.run.source import PACKAGES
from ark.search import BM25

QUESTION = "Which plant in the walled garden do moths visit after sunset?"


def fingerprint(method: Method, root: Path) -> str:
    """Computed once for each state of the code and settings, then read from ``root``."""
    if method.probe is None:
        return code_hash(type(method))[:16]
    key = digest({"code": code_hash(type(method)), "method": dict(method.identity)})
    cache = root / "fingerprints" / f"{type(method).__name__}-{key}"
    if cache.is_file() and (stored := cache.read_text(encoding="ascii").strip()):
        return stored
    value = digest(behaviour(method, root))
    cache.parent.mkdir(parents=True, exist_ok=True)
    staging = cache.with_suffix(".new")
    staging.write_text(value, encoding="ascii")
    staging.replace(cache)
    return value


def behaviour(method: Method, root: Path) -> Json:
    """Messages, tool schemas and rankings of two agents on the toy graph. Uses BM25 only."""
    graph = open_or_build(source_for("toy"), root)
    backbone = _Recorder(list(method.probe or ()))
    context = Context(graph, BM25.open_or_build(graph, root), backbone, random.Random(0))
    if prepare := getattr(method, "prepare", None):  # outside the loop, where Ctrl-C would wait
        prepare(context.search)
    out: list[Json] = []
    for agent in range(2):  # whatever method.agents is: it is a reading
        try:
            attempt = run_coroutine(method.attempt(QUESTION, context, agent))
            attempt = checked(attempt, graph.n_nodes)
        except UserError:  # what is missing on this machine is no behaviour: no id may rest on it
            raise
        except Exception as error:  # its failure on the toy graph is behaviour too
            if isinstance(error, FatalBackboneError) and not method.probe:
                raise  # nothing was asked but an endpoint for vectors, which is down
            out.append({"error": type(error).__name__})
            continue
        out.append(
            {
                "messages": [m.to_json() for m in attempt.trajectory.messages],
                "ranking": [graph.id(i) for i in attempt.ranking.nodes],
                "answers": attempt.ranking.answers,
                "status": attempt.status,
            }
        )
    return {"attempts": out, "asked": backbone.asked}


def code_hash(method_class: type) -> str:
    """sha256 over the sources of this package, the baselines and the method's own module."""
    root = Path(__file__).resolve().parents[2]
    files = [
        path
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.suffix in (".py", ".jinja")
    ]
    own = inspect.getsourcefile(method_class)
    if own and Path(own).resolve() not in files:
        files.append(Path(own).resolve())
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path.name}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class _Recorder(ScriptedBackbone):
    """Also keeps how it was asked: tags, tools and sampling are behaviour too."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(script or [{"content": "nothing"}])
        self.asked: list[Json] = []

    async def complete(self, messages: Any, **how: Any) -> Any:
        self.asked.append(canonical_json(how))
        return await super().complete(messages, **how)
