"""Command line: compose a cell from configs, run it, print its table.

Hydra's config groups and override grammar are used through its compose API, not ``@hydra.main``:
error lines, exit codes and output folders are ours. Nothing below this file knows Hydra.
"""

from __future__ import annotations

import itertools
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ark.errors import ArkError, FatalBackboneError, UserError, unknown

if TYPE_CHECKING:
    from ark.run import CellSpec, Done, Transport

CONFIGS = Path(__file__).resolve().parent / "configs"
DONE, FAILED, USER_ERROR, FATAL, INTERRUPTED = 0, 1, 2, 4, 130
HELP = """\
python run.py [-m] [group=choice ...] [setting=value ...]

Runs one cell (graph x method x backbone x settings) and prints its table. The same command
again goes on where it stopped. With -m, comma lists make a sweep: -m fusion=voting,rrf

Groups:
{groups}

Settings (with their defaults):
{settings}
  every field of a choice as group.field=value: method.agents=1 graph.path=DIR

Exit codes: 0 done, 1 failed questions or sweep jobs, 2 a mistake in the command or the data,
4 the backbone refuses for good, 130 interrupted.
"""


def groups() -> dict[str, list[str]]:
    """Config groups with their choices, read from the folders."""
    folders = sorted(p for p in CONFIGS.iterdir() if p.is_dir())
    return {f.name: sorted(c.stem for c in f.glob("*.yaml")) for f in folders}


def help_text() -> str:
    """Made from the config files, without importing Hydra."""
    choices = "\n".join(f"  {name:<10} {', '.join(c)}" for name, c in groups().items())
    body = (CONFIGS / "config.yaml").read_text(encoding="utf-8").split("_self_\n", 1)[1]
    settings = "\n".join(f"  {line}" if line else "" for line in body.strip().splitlines())
    return HELP.format(groups=choices, settings=settings)


@dataclass(frozen=True)
class Job:
    """One composed cell, and the overrides that made it."""

    overrides: tuple[str, ...]
    spec: CellSpec
    transport: Transport
    tracker: Mapping[str, Any]
    official: Path | None


def main(arguments: Sequence[str]) -> int:
    """Run and return the exit code."""
    if any(a in ("-h", "--help") for a in arguments):
        print(help_text(), end="")
        return DONE
    command = shlex.join(["python", "run.py", *arguments])
    try:
        sweep = any(a in ("-m", "--multirun") for a in arguments)
        overrides = [a for a in arguments if a not in ("-m", "--multirun")]
        jobs = [compose_job(o) for o in expand(overrides, sweep=sweep)]
        find_official(jobs)
        return run_sweep(jobs, command) if sweep else run_one(jobs[0], command)
    except KeyboardInterrupt:
        return _interrupted(command)
    except ArkError as error:
        return _complain(error)
    except ModuleNotFoundError as error:
        return _complain(UserError(f"{error}: python -m pip install -e '.[demo]' in this folder"))
    except OSError as error:
        return _complain(UserError(f"{error.filename or 'file'}: {error.strerror or error}"))


def _complain(error: ArkError) -> int:
    sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
    return FATAL if isinstance(error, FatalBackboneError) else USER_ERROR


def _interrupted(command: str) -> int:
    print(f"resume: {command}", flush=True)
    return INTERRUPTED


# -- composing ---------------------------------------------------------------------------------


def expand(overrides: Sequence[str], *, sweep: bool) -> list[tuple[str, ...]]:
    """Overrides of each job: the product of all comma lists, in the order written."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    for text in overrides:
        if text.startswith("-"):
            raise UserError(f"unknown option {text}; see python run.py --help")
        if text.lstrip("+~").startswith("hydra"):
            raise UserError(f"{text}: Hydra only composes here, its own settings have no effect")
        if "=" not in text and not text.startswith("~"):
            owners = [f"{g}={text}" for g, choices in groups().items() if text in choices]
            hint = f"did you mean {' or '.join(owners)}?" if owners else "write setting=value"
            raise UserError(f"cannot read {text!r}; {hint}")
    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except (HydraException, ValueError) as error:
        raise UserError(f"cannot read the command: {_first_line(error)}") from None
    axes: list[list[str]] = []
    for text, override in zip(overrides, parsed, strict=True):
        if not override.is_sweep_override():
            values = [text]
        elif not sweep:
            raise UserError(f"{text} is a sweep; add -m")
        else:
            key = override.get_key_element()
            try:
                values = [f"{key}={value}" for value in override.sweep_string_iterator()]
            except HydraException as error:
                raise UserError(f"cannot sweep over {text}: {_first_line(error)}") from None
        for value in values:
            _check_group(value)
        axes.append(values)
    return list(itertools.product(*axes))


def _check_group(override: str) -> None:
    key, equals, value = override.partition("=")
    choices = groups().get(key)
    if equals and choices is not None and value not in choices:
        raise UserError(f"{unknown(key, value, choices)}")


def compose_job(overrides: Sequence[str]) -> Job:
    """Compose the configs and turn them into plain records. Every mistake is a UserError."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            config = compose("config", list(overrides), return_hydra_config=True)
            chosen = dict(config.hydra.runtime.choices)
            own = OmegaConf.masked_copy(config, [str(k) for k in config if k != "hydra"])
            plain = OmegaConf.to_container(own, resolve=True)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise _composition_error(error, overrides) from None
    assert isinstance(plain, dict)
    values: dict[str, Any] = {str(key): value for key, value in plain.items()}
    _check_keys(values)
    try:
        return to_job(values, chosen, overrides)
    except KeyError as error:
        raise UserError(f"the setting {error} is missing; it cannot be taken away") from None


def _check_keys(values: Mapping[str, Any]) -> None:
    """Exactly the groups and settings of the configs, groups as mappings, the rest as scalars."""
    from omegaconf import OmegaConf

    known = {*map(str, OmegaConf.load(CONFIGS / "config.yaml")), *groups()} - {"defaults"}
    known -= {"ablation"}  # its files speak of the method
    for key in values:
        if key not in known and key != "ablation":
            raise UserError(unknown("setting", key, known))
    for key in sorted(known):
        if key not in values:
            raise UserError(f"{key} is missing; it cannot be taken away")
        if key in groups() and not isinstance(values[key], dict):
            raise UserError(f"{key} must be one of {', '.join(groups()[key])}")
    for key in ("method", "backbone", "tracker"):
        if "target" not in values[key]:
            raise UserError(f"{key}.target is missing; it cannot be taken away")
    for key in ("split", "candidates", "results_dir"):
        if not isinstance(values[key], str) or not values[key]:
            raise UserError(f"{key}={values[key]} must be a text")
    for key in ("queries", "official"):
        if values[key] is not None and (not isinstance(values[key], str) or not values[key]):
            raise UserError(f"{key}={values[key]} must be a path or null")


def _composition_error(error: Exception, overrides: Sequence[str]) -> UserError:
    text = _first_line(error)
    if text.startswith("Could not override"):
        key = text.split("'")[1]
        known = _settings(overrides, key)
        if key in known:  # a key below it was given, which the line does not show
            return UserError(
                f"{key} has no fields of that name: {key}={{name: value}} sets it whole"
            )
        return UserError(unknown("setting", key, known))
    return UserError(f"cannot compose the configuration: {text}")


def _settings(overrides: Sequence[str], wrong: str) -> list[str]:
    """Known settings near a wrong one: those of its group's chosen file, or the top ones."""
    from omegaconf import OmegaConf

    group = wrong.partition(".")[0]
    defaults: Any = OmegaConf.load(CONFIGS / "config.yaml")
    if group not in groups() or "." not in wrong:
        return [k for k in defaults if k != "defaults"] + list(groups())
    choice = {k: v for d in defaults["defaults"] if not isinstance(d, str) for k, v in d.items()}
    choice |= {k: v for k, _, v in (o.partition("=") for o in overrides)}
    file = CONFIGS / group / f"{choice[group]}.yaml"
    return [f"{group}.{name!s}" for name in OmegaConf.load(file)]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def to_job(values: dict[str, Any], chosen: Mapping[str, str], overrides: Sequence[str]) -> Job:
    """Plain values of the configs as the records that the runner takes."""
    from ark.agent import Fusion
    from ark.run import CellSpec, GraphSpec, PluginSpec, Transport
    from ark.run.locate import record
    from ark.search import BM25Settings

    graph = dict(values["graph"])
    types = graph.pop("candidate_types", None)
    if types is not None and not isinstance(types, list):
        raise UserError("graph.candidate_types must be a list: graph.candidate_types=[a,b]")
    source = str(graph.pop("source"))
    for key in ("path", "root"):
        if not isinstance(graph.get(key), str | None):
            raise UserError(f"graph.{key}={graph[key]} must be the path of a folder")
    missing = [f"graph.{key}" for key, value in graph.items() if value == "???"]
    if missing:
        raise UserError(f"graph={chosen['graph']} needs {missing[0]}: add {missing[0]}=DIR")
    plugins = {}
    for kind in ("method", "backbone"):
        settings = dict(values[kind])
        plugins[kind] = PluginSpec(str(chosen[kind]), str(settings.pop("target")), settings)
    queries = values["queries"]
    spec = CellSpec(
        graph=GraphSpec(source, graph, None if types is None else tuple(map(str, types))),
        method=plugins["method"],
        backbone=plugins["backbone"],
        search=record(BM25Settings, "search", values["search"]),
        fusion=record(Fusion, "fusion", values["fusion"]),
        split=str(values["split"]),
        limit=values["limit"],
        queries=None if queries is None else Path(str(queries)),
        candidates=str(values["candidates"]),
        cut=values["cut"],
        seed=values["seed"],
    )
    transport = Transport(
        results_dir=Path(str(values["results_dir"])),
        concurrency=values["concurrency"],
        max_failures=values["max_failures"],
        progress=values["progress"],
    )
    official = values["official"]
    return Job(
        tuple(overrides),
        spec,
        transport,
        values["tracker"],
        None if official is None else Path(str(official)),
    )


# -- running -----------------------------------------------------------------------------------


def run_job(job: Job) -> Done:
    """Run one cell with its tracker."""
    from ark.run import run_cell
    from ark.run.locate import build

    settings = dict(job.tracker)
    tracker = build(str(settings.pop("target")), "tracker", settings)
    return run_cell(job.spec, job.transport, tracker)


def find_official(jobs: Sequence[Job]) -> None:
    """A wrong folder of the official evaluator is found before anything runs."""
    for folder in {job.official for job in jobs if job.official is not None}:
        from ark.scoring.official_process import interpreter

        interpreter(folder)


def official_lines(job: Job, done: Done) -> list[str]:
    """What STaRK's own evaluator says of a finished cell, where ``official`` asks for it."""
    if job.official is None:
        return []
    from ark.report.official import verdict

    return verdict(done.path, job.official, progress=job.transport.progress)


def run_one(job: Job, command: str) -> int:
    """One cell: its table, its strata, and the path of its result as the last line."""
    from ark.report import footer, main_table, strata_table
    from ark.run import InterruptedRunError

    try:
        done = run_job(job)
    except InterruptedRunError:
        return _interrupted(command)
    parts = [main_table([done.data]), strata_table([done.data]), footer([done.data])]
    print("\n\n".join(part for part in parts if part), flush=True)
    for line in official_lines(job, done):
        print(line)
    print(f"result: {done.path}", flush=True)
    if done.failed:
        sys.stderr.write(f"{done.failed} questions failed, most often: {done.reason}\n")
    return FAILED if done.failed > job.transport.max_failures else DONE


def run_sweep(jobs: Sequence[Job], command: str) -> int:
    """All jobs, one table at the end, then one ``result:`` line a job. A failed job is a row."""
    from ark.report import failure_table, footer, main_table
    from ark.run import InterruptedRunError

    finished: list[Done] = []
    errors: list[tuple[str, str]] = []
    official: list[str] = []
    too_many = 0
    interrupted = False
    for number, job in enumerate(jobs, start=1):
        name = " ".join(job.overrides)
        sys.stderr.write(f"job {number}/{len(jobs)}: {name}\n")
        try:
            done = run_job(job)
        except (InterruptedRunError, KeyboardInterrupt):
            interrupted = True
            break
        except Exception as error:  # noqa: BLE001 (whatever it is: a row, and its traceback)
            if not isinstance(error, ArkError):
                traceback.print_exception(error)
            errors.append((name, f"{type(error).__name__}: {error}"))
            continue
        finished.append(done)
        try:
            official += [f"job {number}: {line}" for line in official_lines(job, done)]
        except ArkError as error:
            errors.append((name, f"{type(error).__name__}: {error}"))
        too_many += done.failed > job.transport.max_failures
    data = [done.data for done in finished]
    if data:
        print("\n\n".join([main_table(data), footer(data)]))
    for line in official:
        print(line)
    if errors:
        print(f"\n{len(errors)} of {len(jobs)} jobs failed:\n{failure_table(errors)}")
    for done in finished:
        print(f"result: {done.path}")
    if interrupted:
        return _interrupted(command)
    return FAILED if errors or too_many else DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
