"""TensorBoard event files, written by tensorboardX (no TensorFlow, no PyTorch)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ark.errors import UserError
from ark.records import Json
from ark.run.trackers.public import config, scalars


@dataclass
class TensorboardTracker:
    """One event file a cell, in ``tensorboard/CELLID`` of the run folder."""

    _writer: Any = field(default=None, init=False, repr=False)
    _folder: Path = field(default=Path(), init=False, repr=False)

    def start(self, cell: Mapping[str, Json]) -> None:
        """Open the event file and write the settings."""
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise UserError("not installed: python -m pip install tensorboardX") from None
        self._folder = Path(str(cell["folder"])) / "tensorboard" / str(cell["cell_id"])
        self._writer = SummaryWriter(logdir=str(self._folder))
        settings = json.dumps(config(cell), indent=1, ensure_ascii=False)
        self._writer.add_text("config", "".join(f"    {line}\n" for line in settings.splitlines()))

    def finish(self, result: Mapping[str, Json]) -> None:
        """Write the numbers, at step 0, and close."""
        if self._writer is None:  # the start failed, and was reported
            return
        from tensorboardX.proto.summary_pb2 import Summary

        writer, self._writer = self._writer, None
        numbers = scalars(result).items()
        # Not add_scalar: it would write hit@1 as hit_1.
        values = [Summary.Value(tag=name, simple_value=value) for name, value in numbers]
        writer.file_writer.add_summary(Summary(value=values), 0)
        writer.close()
        # tensorboardX ends the name with the host's; a run folder may be given away.
        for file in self._folder.glob("events.out.tfevents.*"):
            stem = ".".join(file.name.split(".")[:4])
            if file.name != stem:
                file.replace(file.with_name(stem))
