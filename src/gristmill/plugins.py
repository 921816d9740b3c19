"""File name -> class: `checks/frozen_frames.py` holds `FrozenFrames`; no list to edit.

Installed packages add plug-ins through the entry-point groups `gristmill.checks`, `gristmill.sources`
and so on. Two plug-ins of one name are an error, never a silent replacement.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from gristmill.errors import UnknownNameError, UsageError


def class_name(module: str) -> str:
    """`frozen_frames` -> `FrozenFrames`."""
    return "".join(part.capitalize() for part in module.split("_"))


@cache
def names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a kind ("checks", "sources", "export"), sorted; nothing is imported."""
    package = importlib.import_module(f"gristmill.{kind}")
    own = {m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")}
    added = [e.name for e in entry_points(group=f"gristmill.{kind}")]
    clash = (own & set(added)) | {n for n in added if added.count(n) > 1}
    if clash:
        raise UsageError(f"plug-in {kind}.{min(clash)} is provided twice; uninstall one of its packages")
    return tuple(sorted(own | set(added)))


@cache
def load(kind: str, name: str) -> type[Any]:
    """The plug-in's class."""
    if name not in names(kind):
        raise UnknownNameError(kind, name, names(kind))
    for entry in entry_points(group=f"gristmill.{kind}", name=name):
        return entry.load()
    module = importlib.import_module(f"gristmill.{kind}.{name}")
    try:
        return getattr(module, class_name(name))
    except AttributeError:
        raise UsageError(f"gristmill/{kind}/{name}.py must define class {class_name(name)}") from None
