"""Experiments: sweeps with a name. ``configs/experiment/NAME.yaml`` lists overrides and axes.

A file has a title (its first comment line) and may have:

    set:    overrides of every job
    rows:   a list of alternatives, each a set of further overrides: one table row a piece
    sweep:  axes; every value of every axis is combined with every row
    report: what is made of the results (``Report``)

What the user writes in the command replaces the file's override of the same name; another choice of
a group also drops the file's overrides of that group's fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ark.cli.help import EXPERIMENTS, experiments
from ark.errors import UserError, unknown

SECTIONS = ("table", "analysis", "aggregation")
FIGURES = ("budget", "cost", "tools")


@dataclass(frozen=True)
class Report:
    """What is made of an experiment's results beside the long table."""

    title: str
    baseline: str | None = None
    """Rows are compared with the row of this name (``ark.report.sweep_table``)."""
    reference: bool = False
    """Published numbers beside ours."""
    sections: tuple[str, ...] = ("table",)
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment: overrides of each job, before the user's own, and its report."""

    name: str
    set: Mapping[str, str]
    rows: tuple[Mapping[str, str], ...]
    sweep: Mapping[str, tuple[str, ...]]
    report: Report

    def commands(self, own: Sequence[str]) -> list[list[str]]:
        """Override lists of a command, one for each row; axes as comma lists.

        ``own`` are the user's overrides and win.
        """
        mine = {_name(text) for text in own}
        groups = {name for name in mine if "." not in name}

        def kept(items: Mapping[str, Any]) -> dict[str, Any]:
            return {
                key: value
                for key, value in items.items()
                if key not in mine and key.partition(".")[0] not in groups
            }

        out = []
        for row in self.rows or ({},):
            single = {**kept(self.set), **kept(row)}
            axes = {k: v for k, v in kept(self.sweep).items() if k not in row}
            listed = [f"{key}={','.join(values)}" for key, values in axes.items()]
            command = [*(f"{key}={value}" for key, value in single.items()), *listed, *own]
            if command not in out:
                out.append(command)
        return out


def split_off(overrides: Sequence[str]) -> tuple[str | None, list[str]]:
    """The experiment that a command names, and its other overrides. Raises UserError for two."""
    names = [text.partition("=")[2] for text in overrides if _name(text) == "experiment"]
    rest = [text for text in overrides if _name(text) != "experiment"]
    if len(names) > 1 or any("," in name for name in names):
        raise UserError("one experiment at a time: experiment=NAME")
    return (names[0] if names else None), rest


def load(name: str) -> Experiment:
    """Read an experiment's file. Raises UserError for an unknown name or a wrong file."""
    from omegaconf import OmegaConf

    known = experiments()
    if name not in known:
        raise UserError(unknown("experiment", name, known))
    raw = OmegaConf.to_container(OmegaConf.load(EXPERIMENTS / f"{name}.yaml"))
    assert isinstance(raw, dict)
    report = dict(raw.pop("report", None) or {})
    parts = {key: raw.pop(key, None) or {} for key in ("set", "sweep")}
    rows = raw.pop("rows", None) or []
    if raw:
        known_keys = ("set", "rows", "sweep", "report")
        raise UserError(f"experiment {name}: {unknown('key', str(next(iter(raw))), known_keys)}")
    made = Report(
        known[name],
        report.get("baseline"),
        bool(report.get("reference", False)),
        tuple(report.get("sections", ("table",))),
        tuple(report.get("figures", ())),
    )
    for kind, given, allowed in (
        ("section", made.sections, SECTIONS),
        ("figure", made.figures, FIGURES),
    ):
        for one in given:
            if one not in allowed:
                raise UserError(f"experiment {name}: {unknown(kind, str(one), allowed)}")
    return Experiment(
        name,
        {str(k): _text(v) for k, v in parts["set"].items()},
        tuple({str(k): _text(v) for k, v in row.items()} for row in rows),
        {str(k): tuple(_text(v) for v in values) for k, values in parts["sweep"].items()},
        made,
    )


def _name(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def _text(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
