"""Runs and results for analysis and figures: found under paths, opened once, named in one way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ark.errors import UserError
from ark.records import Json
from ark.report.names import preset
from ark.report.per_query import PerQuery, read_per_query
from ark.report.result_check import read_result
from ark.run.journal import Entries, read_journal

NO_LLM = "no LLM"
NEEDS = tuple(f"usage.{name}" for name in ("calls", "tokens", "cost"))
BUDGET = ("agents", "max_steps")  # what a budget grid varies: never part of a row's name there


@dataclass(frozen=True)
class Result:
    """One reading of a run: ``path`` is its result.json, ``data`` what stands in it."""

    path: Path
    data: Mapping[str, Json]

    @property
    def cell(self) -> Mapping[str, Json]:
        """What identifies it."""
        cell: Mapping[str, Json] = self.data["cell"]
        return cell

    @property
    def reading(self) -> Mapping[str, Json]:
        """How the run's lists were read."""
        reading: Mapping[str, Json] = self.cell["reading"]
        return reading

    @property
    def agents(self) -> int:
        """Agents that were fused."""
        return int(self.reading["agents"])

    @property
    def pool(self) -> int:
        """Agents out of which those were chosen."""
        return int(self.reading.get("pool") or self.agents)

    @property
    def steps(self) -> int | None:
        """Calls of each agent that count; None for all."""
        steps: int | None = self.reading.get("steps")
        return steps

    @cached_property
    def per_query(self) -> PerQuery | None:
        """The questions; None where the file is missing. UserError if damaged."""
        return read_per_query(self.path, self.data)

    @property
    def has_model(self) -> bool:
        """Whether a language model made the calls."""
        known = self.cell.get("is_llm")
        backbone = str(self.cell.get("backbone") or NO_LLM)
        return NO_LLM not in backbone if known is None else bool(known)


@dataclass(frozen=True)
class Run:
    """A run folder, with those of its results that were asked for (none if it is unfinished)."""

    folder: Path
    results: tuple[Result, ...] = ()
    suffix: str = field(default="", compare=False)

    @cached_property
    def identity(self) -> Mapping[str, Json]:
        """What stands in run.json."""
        return read_json(self.folder / "run.json")

    @cached_property
    def entries(self) -> Entries:
        """The journal."""
        return read_journal(self.folder)

    @cached_property
    def questions(self) -> dict[str, Mapping[str, Json]]:
        """Stored questions by id, in the order of the split."""
        file = self.folder / "queries.jsonl"
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line) for line in lines if line.strip()]
            return {row["id"]: row for row in rows}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{file} cannot be read ({type(error).__name__}): run the cell again, it is "
                "written anew"
            ) from None

    @property
    def where(self) -> tuple[str, str, str]:
        """Graph, split and method, as every table names a run."""
        if self.results:
            cell = self.results[0].cell
            items = [list((r.cell.get("changed") or {}).items()) for r in self.results]
            common = {k: v for k, v in items[0] if all((k, v) in other for other in items)}
            name = name_of({**cell, "changed": common}) + self.suffix  # of the run, not a reading
            return str(cell["graph"]), str(cell["split"]), name
        known = self.identity
        try:
            method = str(known["method"].get("target", "?")).rpartition(":")[2]
            split = str(known.get("questions", {}).get("split", "?"))
            return str(known["graph"]["source"]), split, method + self.suffix
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{self.folder / 'run.json'} is no run's ({error!r}): run the same command again"
            ) from None


def cluster_of(row: Mapping[str, Json]) -> str:
    """What a question's interval resamples: its cluster, or the question itself."""
    return str(row.get("cluster") or row["id"])


def name_of(cell: Mapping[str, Json], leave_out: Sequence[str] = ()) -> str:
    """Method, backbone, and what was changed; rows without a model say so."""
    parts = [str(cell["method"])]
    backbone = cell.get("backbone")
    if backbone:
        silent = cell.get("is_llm") is False and NO_LLM not in backbone
        parts.append(f"{backbone} ({NO_LLM})" if silent else str(backbone))
    named = preset({"cell": cell})
    if named:
        parts.append(f"preset {named}")
    if cell.get("ablation") not in (None, "", "full"):
        parts.append(str(cell["ablation"]))
    for name, value in (cell.get("changed") or {}).items():
        if name.rpartition(".")[2] not in leave_out:
            parts.append(f"{name}={Path(value).name if isinstance(value, str) else value}")
    if cell.get("repeat"):
        parts.append(f"repeat {cell['repeat']}")
    return " · ".join(parts)


def reading_of(reading: Mapping[str, Json], leave_out: Sequence[str] = ()) -> str:
    """Settings of a reading that tell two of them apart."""
    parts = []
    fusion = reading.get("fusion")
    pool, agents = reading.get("pool"), reading["agents"]
    if "agents" not in leave_out and (agents > 1 or (pool or 1) > 1):
        parts.append(f"{agents} of {pool} agents" if pool and pool > agents else f"{agents} agents")
    if fusion and agents > 1:
        ties = fusion.get("ties", "earliest_position")
        parts.append(fusion["kind"] + ("" if ties == "earliest_position" else f", ties {ties}"))
    if "max_steps" not in leave_out and reading.get("steps") is not None:
        parts.append(f"{reading['steps']} steps, {reading.get('over_budget', 'truncated')}")
    if reading.get("backfill", "none") != "none":
        parts.append(f"backfill {reading['backfill']}")
    if reading.get("candidates") == "answer_type":
        parts.append("answer type given")
    if reading.get("cut", 20) != 20:
        parts.append(f"cut {reading['cut']}")
    return ", ".join(parts)


def read_json(file: Path) -> dict[str, Json]:
    """One JSON object. UserError where it cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(data, dict):
            return data
        reason = "no object"
    except (OSError, ValueError) as error:
        reason = type(error).__name__
    raise UserError(f"{file} cannot be read ({reason}): run the same command again")


def load_result(file: Path) -> Result:
    """A result.json, held against the questions beside it. UserError where it is none."""
    result = Result(file.absolute(), read_result(file, NEEDS))
    _ = result.per_query
    return result


def find_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs under ``paths``, by graph, split and name; each once, with the results asked for.

    A path is a run folder (all its readings), a result.json or its folder (that reading), a sweep
    folder, or any folder of these. Raises UserError where nothing is there.
    """
    found: dict[Path, dict[Path, None]] = {}
    for path in paths:
        for folder, files in _under(Path(path)):
            found.setdefault(folder, {}).update(dict.fromkeys(files))
    runs = [Run(f, tuple(load_result(file) for file in files)) for f, files in found.items()]
    runs.sort(key=lambda run: (*run.where, run.folder.name))
    same = Counter(run.where for run in runs)
    return [
        run if same[run.where] == 1 else Run(run.folder, run.results, f" · {run.folder.name[-16:]}")
        for run in runs
    ]


def find_results(paths: Sequence[Path]) -> list[Result]:
    """The results under ``paths``, as ``find_runs`` orders them. UserError where there is none."""
    results = [result for run in find_runs(paths) for result in run.results]
    if not results:
        raise UserError("no result.json there: let the run end first (same command again)")
    return results


def _under(path: Path) -> list[tuple[Path, list[Path]]]:
    """Run folders at or under a path, each with its result files."""
    if path.is_file():
        return [_run_of(path)]
    if (path / "result.json").is_file():
        return [_run_of(path / "result.json")]
    if (path / "sweep.json").is_file():
        return _sweep(path)
    folders = [path] if (path / "run.json").is_file() else []
    folders = folders or sorted(file.parent for file in path.rglob("run.json"))
    if not folders:
        raise UserError(f"{path} is no run folder and holds none: give results/runs/NAME")
    return [(f.absolute(), sorted(f.absolute().glob("readings/*/result.json"))) for f in folders]


def _sweep(path: Path) -> list[tuple[Path, list[Path]]]:
    """Finished jobs of a sweep; results are named from its folder, or from the results folder."""
    jobs = read_json(path / "sweep.json").get("jobs", [])
    names = [str(job["result"]) for job in jobs if job.get("result")]
    if not names:
        raise UserError(f"{path} has no finished job: run its command again")
    here = path.resolve()
    starts = [here, *here.parents[1:2]]
    found = [next((s / n for s in starts if (s / n).is_file()), here / n) for n in names]
    return [_run_of(file.resolve()) for file in found]


def _run_of(file: Path) -> tuple[Path, list[Path]]:
    file = file.absolute()
    if file.name != "result.json" or not file.is_file():
        raise UserError(f"{file} is no result.json: give one, or results/runs/NAME")
    if len(file.parents) < 3 or not (file.parents[2] / "run.json").is_file():
        raise UserError(f"{file} lies in no run folder (RUN/readings/CELL/result.json)")
    return file.parents[2], [file]
