"""Trackers are told how a cell goes. Files stay the truth: no error of a tracker harms a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ark.errors import UserError
from ark.protocols import Tracker
from ark.records import Json


class NoTracker:
    """Tells nobody."""

    def start(self, cell: Mapping[str, Json]) -> None:
        """Nothing."""

    def finish(self, result: Mapping[str, Json]) -> None:
        """Nothing."""


class WandbTracker:
    """One W&B run for each cell, with the cell id as its id. Offline unless WANDB_MODE says so."""

    def __init__(self, project: str = "ark-harness") -> None:
        os.environ.setdefault("WANDB_MODE", "offline")
        try:
            import wandb
        except ImportError:
            raise UserError("tracker=wandb needs wandb: pip install wandb") from None
        self._wandb: Any = wandb
        self._project = project
        self._run: Any = None

    def start(self, cell: Mapping[str, Json]) -> None:
        """Open the W&B run; a second start of the same cell goes on in it."""
        self._run = self._wandb.init(
            project=self._project,
            id=cell["cell_id"],
            resume="allow",
            dir=cell["folder"],
            config={k: v for k, v in cell.items() if k != "folder"},
            settings=self._wandb.Settings(silent=True),
        )

    def finish(self, result: Mapping[str, Json]) -> None:
        """Log means and counts, and close."""
        means = {name: m["mean"] for name, m in result["measures"].items()}
        counts = {k: v for k, v in result["counts"].items() if v is not None}
        self._run.log({**means, **counts})
        self._run.finish()


class Careful:
    """Keeps a tracker's errors away from the run; they are told on standard error."""

    def __init__(self, inner: Tracker) -> None:
        self._inner = inner

    def start(self, cell: Mapping[str, Json]) -> None:
        """Pass on; report a failure."""
        self._try(self._inner.start, cell)

    def finish(self, result: Mapping[str, Json]) -> None:
        """Pass on; report a failure."""
        self._try(self._inner.finish, result)

    def _try(self, call: Callable[[Mapping[str, Json]], None], value: Mapping[str, Json]) -> None:
        try:
            call(value)
        except Exception as error:  # noqa: BLE001 (any error of a third party's service)
            sys.stderr.write(f"tracker: {type(error).__name__}: {error}; the run goes on\n")
