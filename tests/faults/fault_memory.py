"""Resident memory of a run as it goes: a scripted backbone that looks at its process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ark.backbone import ScriptedBackbone
from ark.records import Completion, Message
from ark.run import CellSpec, GraphSpec, PluginSpec

SCRIPT: list[Mapping[str, Any]] = [
    {"calls": [{"name": "search_in_graph", "arguments": {"query": "lamp of copper", "size": 30}}]},
    {"calls": [{"name": "search_in_neighborhood", "arguments": {"node_index": 20}}]},
    {"calls": [{"name": "add_to_answer", "arguments": {"answer_nodes": [20, 21, 22]}}]},
    {"calls": [{"name": "finish", "arguments": {}}]},
]


def resident() -> int:
    """Bytes of this process in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Sampled(ScriptedBackbone):
    """``scripted``, and the resident memory at every ``every``-th question begun."""

    samples: ClassVar[list[int]] = []

    def __init__(self, every: int) -> None:
        super().__init__(SCRIPT)
        self._every, self._begun = every, 0
        Sampled.samples = []

    async def complete(self, messages: Sequence[Message], **how: Any) -> Completion:
        """As ``scripted``."""
        if messages[-1].role == "user":
            if self._begun % self._every == 0:
                Sampled.samples.append(resident())
            self._begun += 1
        return await super().complete(messages, **how)


def memory_cell(graph: Path, every: int) -> CellSpec:
    """One agent a question on a made graph."""
    return CellSpec(
        GraphSpec("table", {"path": str(graph)}),
        PluginSpec("ark", "ark.agent.method:Ark", {"agents": 1}),
        PluginSpec("scripted", "fault_memory:Sampled", {"every": every}),
    )
