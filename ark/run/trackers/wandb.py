"""Weights & Biases: one W&B run for each cell."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ark.errors import UserError
from ark.records import Json
from ark.run.trackers.guard import FINISH_TIMEOUT, START_TIMEOUT
from ark.run.trackers.public import config, per_query, scalars, title

# W&B's names (0.20 and later). Left alone it sends the host name, the command line, paths, the
# git remote, the list of installed packages, what is printed, and samples of the machine's load.
# A name that an installed version does not know is an error: better no tracking than too much.
_QUIET: Mapping[str, Any] = {
    "silent": True,
    "console": "off",
    "disable_code": True,
    "save_code": False,
    "disable_git": True,
    "disable_job_creation": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
    "host": "",
    "program": "",
    "symlink": False,
    "allow_offline_artifacts": False,
    # Otherwise a cell that was interrupted would lend its W&B run to the next cell of a sweep.
    "reinit": "create_new",
}


def mode(environ: Mapping[str, str] = os.environ) -> str:
    """WANDB_MODE where it is set, else online with a key in the environment, else offline."""
    return environ.get("WANDB_MODE") or ("online" if environ.get("WANDB_API_KEY") else "offline")


@dataclass
class WandbTracker:
    """The W&B run's id is the cell id, its group the sweep. All its files lie in the run folder."""

    project: str = "ark-harness"
    """W&B project."""
    start_timeout: float = START_TIMEOUT
    """Seconds for opening the W&B run; then the run goes on without it."""
    finish_timeout: float = FINISH_TIMEOUT
    """Seconds for sending everything."""
    _run: Any = field(default=None, init=False, repr=False)
    _cell: Mapping[str, Json] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.start_timeout <= 0 or self.finish_timeout <= 0:
            raise UserError("tracker.start_timeout and tracker.finish_timeout must be > 0 seconds")

    def start(self, cell: Mapping[str, Json]) -> None:
        """Open the W&B run; a second start of the same cell goes on in it."""
        # W&B reports its own faults to its makers, in offline mode too, unless told otherwise
        # before the import.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        try:
            import wandb
        except ImportError:
            raise UserError("not installed: python -m pip install wandb") from None
        self._cell = cell
        settings: Any = wandb.Settings(
            **_QUIET, init_timeout=self.start_timeout, login_timeout=self.start_timeout
        )
        chosen: Any = mode()
        self._run = wandb.init(
            project=self.project,
            id=str(cell["cell_id"]),
            name=title(cell) or None,
            group=cell.get("group"),
            resume="allow",
            mode=chosen,
            dir=str(cell["folder"]),
            config=config(cell),
            settings=settings,
        )

    def finish(self, result: Mapping[str, Json]) -> None:
        """Log numbers and the table in one step, and close."""
        if self._run is None:  # the start failed, and was reported
            return
        run, self._run = self._run, None
        offline = run.settings.mode == "offline"
        run.log({**scalars(result), **self._table(run, offline=offline)})
        run.finish()
        if offline:
            command = f"wandb sync {shlex.quote(str(run.settings.sync_dir))}"
            sys.stderr.write(f"wandb is offline; to upload this cell: {command}\n")

    def _table(self, run: Any, *, offline: bool) -> dict[str, Any]:
        """Values of the first questions."""
        columns, rows = per_query(self._cell)
        if not rows:
            return {}
        import wandb

        table: Any = wandb.Table(columns=list[Any](columns), data=list[Any](rows))
        if offline:
            # A table that is bound already stays a file of the run. Otherwise W&B also makes an
            # artifact of it, which waits for its upload in the home directory, named by its path.
            table.bind_to_run(run, "per_query", 0)
        return {"per_query": table}
