"""Plug-ins by name: ``package.module:Class`` and settings become an object, mistakes one line."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from ark.errors import UserError, unknown
from ark.records import Json
from ark.run.values import check_call

T = TypeVar("T")


def locate(target: str, kind: str) -> Any:
    """The class that ``target`` names. UserError for a wrong form, module or name."""
    module_name, colon, name = target.partition(":")
    if not colon or not module_name or not name:
        raise UserError(f"{kind}.target={target!r}: write it as package.module:Class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(f"{kind}.target={target}: no module {error.name!r}") from None
    except (ImportError, TypeError, ValueError) as error:
        raise UserError(f"{kind}.target={target}: cannot be imported ({error})") from None
    found = getattr(module, name, None)
    if not inspect.isclass(found):
        classes = [n for n, value in vars(module).items() if inspect.isclass(value)]
        raise UserError(f"{kind}.target={target}: {unknown('class', name, classes)}")
    return found


def build(target: str, kind: str, settings: Mapping[str, Json]) -> Any:
    """An instance with ``settings``; an unknown setting is a UserError with the nearest names."""
    return _make(locate(target, kind), kind, settings)


def setting_names(cls: Any) -> list[str]:
    """What a plug-in's constructor takes."""
    try:
        return list(inspect.signature(cls).parameters)
    except ValueError:
        raise UserError(f"{cls.__module__}:{cls.__name__} is no plug-in of this harness") from None


def _make(cls: type[T], kind: str, settings: Mapping[str, Json]) -> T:
    known = setting_names(cls)
    for name in settings:
        if name not in known:
            raise UserError(unknown("setting", f"{kind}.{name}", [f"{kind}.{k}" for k in known]))
    check_call(kind, cls, settings)
    try:
        return cls(**settings)
    except TypeError as error:
        raise UserError(f"{kind}: {error}") from None


def record(cls: type[T], kind: str, settings: Mapping[str, Json]) -> T:
    """A settings record of our own; like ``build``, but the class is known."""
    return _make(cls, kind, settings)
