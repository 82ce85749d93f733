"""Prompts are template files, rendered in a sandbox. Users may bring their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ark.errors import UserError, unknown
from ark.protocols import Graph
from ark.records import Json
from ark.text import clip, one_line

if TYPE_CHECKING:
    from jinja2 import Template

FOLDER = Path(__file__).parent / "prompts"
FIELDS = (
    "types",
    "relations",
    "signatures",
    "tools",
    "global_k",
    "global_k_max",
    "neighbor_k",
)


def shipped() -> list[str]:
    """Names of the prompts in the package."""
    return sorted(p.stem for p in FOLDER.glob("*.jinja"))


@dataclass(frozen=True)
class Prompt:
    """A template and its hash, which is part of a run's identity; the path is not."""

    source: str

    @classmethod
    def load(cls, name_or_file: str) -> Prompt:
        """A shipped prompt by name, or a template file by path."""
        if name_or_file in shipped():
            return cls((FOLDER / f"{name_or_file}.jinja").read_text(encoding="utf-8"))
        path = Path(name_or_file).expanduser()
        if not path.is_file():
            hint = unknown("prompt", name_or_file, shipped())
            raise UserError(f"method.prompt: {hint}, and no such file")
        try:
            return cls(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise UserError(f"method.prompt={name_or_file}: not UTF-8 text ({error})") from None

    @property
    def sha256(self) -> str:
        """Hash of the template text."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    def render(
        self,
        graph: Graph,
        tools: Sequence[Mapping[str, Json]],
        numbers: Mapping[str, int],
        *,
        signatures: bool = False,
    ) -> str:
        """The system message. A broken template or an unknown field is a UserError."""
        try:
            return _compiled(self.source).render(
                types=json.dumps(list(graph.node_types), ensure_ascii=False),
                relations=json.dumps(list(graph.relations), ensure_ascii=False),
                signatures=[tuple(map(one_line, s)) for s in graph.signatures if signatures],
                tools=[t["function"] for t in tools],
                **numbers,
            )
        except Exception as error:  # noqa: BLE001 (a user's template can fail in any way)
            reason = clip(str(error) or type(error).__name__, 200)
            raise UserError(
                f"method.prompt: the template fails ({reason}); its fields are {', '.join(FIELDS)}"
            ) from None


@lru_cache(maxsize=8)
def _compiled(source: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    return environment.from_string(source)
