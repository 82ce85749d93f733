"""What ``python run.py --help`` prints, made from the config files without importing Hydra."""

from __future__ import annotations

from pathlib import Path

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
EXPERIMENTS = CONFIGS / "experiment"
HELP = """\
python run.py [-m] [group=choice ...] [setting=value ...]

Runs one cell (graph x method x backbone x settings) and prints its table. The same command
again goes on where it stopped. With -m, comma lists make a sweep: -m fusion=voting,rrf

Groups:
{groups}

Settings (with their defaults):
{settings}
  every field of a choice as group.field=value: method.agents=1 graph.path=DIR

Experiments, python run.py -m experiment=NAME, any setting overridden as above:
{experiments}

Exit codes: 0 done, 1 failed questions or sweep jobs, 2 a mistake in the command or the data,
3 a budget is spent, 4 the backbone refuses for good, 130 interrupted.
"""


def groups() -> dict[str, list[str]]:
    """Config groups with their choices, read from the folders; experiments are none."""
    folders = sorted(p for p in CONFIGS.iterdir() if p.is_dir() and p != EXPERIMENTS)
    return {f.name: sorted(c.stem for c in f.glob("*.yaml")) for f in folders}


def experiments() -> dict[str, str]:
    """Names of experiments with the first line of their file."""
    files = sorted(EXPERIMENTS.glob("*.yaml"))
    return {f.stem: f.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") for f in files}


def help_text() -> str:
    """Everything a first command needs."""
    choices = "\n".join(f"  {name:<10} {', '.join(c)}" for name, c in groups().items())
    body = (CONFIGS / "config.yaml").read_text(encoding="utf-8").split("_self_\n", 1)[1]
    settings = "\n".join(f"  {line}" if line else "" for line in body.strip().splitlines())
    known = "\n".join(f"  {name:<18} {title}" for name, title in experiments().items())
    return HELP.format(groups=choices, settings=settings, experiments=known)
