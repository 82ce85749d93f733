"""Sources of graphs by name. Each is imported only when it is asked for."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from ark.errors import UserError, unknown
from ark.graph.data import GraphSource

_SOURCES = {
    "amazon": "ark.graph.sources.stark:AmazonSource",
    "cwe": "ark.graph.sources.cwe:CweSource",
    "files": "ark.graph.sources.files:FilesSource",
    "hpo": "ark.graph.sources.hpo:HpoSource",
    "mag": "ark.graph.sources.stark:MagSource",
    "metaqa": "ark.graph.sources.metaqa:MetaQASource",
    "prime": "ark.graph.sources.stark:PrimeSource",
    "table": "ark.graph.sources.table:TableSource",
    "toy": "ark.graph.toy:ToySource",
}


def source_names() -> tuple[str, ...]:
    """Names that ``source_for`` takes, ascending."""
    return tuple(sorted(_SOURCES))


def source_for(name: str, /, **settings: Any) -> GraphSource:
    """The source called ``name`` with its settings (``table`` takes ``path``).

    Raises UserError for an unknown name or setting, and for a missing one.
    """
    if name not in _SOURCES:
        raise UserError(unknown("graph", name, _SOURCES))
    module, _, attribute = _SOURCES[name].partition(":")
    kind: Any = getattr(importlib.import_module(module), attribute)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    for setting in settings:
        if setting not in fields:
            raise UserError(unknown(f"setting of graph {name}", setting, fields))
    for setting, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and settings.get(setting) is None:
            raise UserError(f"graph {name!r} needs a {setting}: give graph.{setting}=...")
    source: GraphSource = kind(**settings)
    return source
