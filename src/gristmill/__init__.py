"""Gristmill turns raw robot recordings into training data that one can defend.

    import gristmill

    project = gristmill.open("path/to/dataset")
    audit = project.audit()
    project.curate("clean")

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gristmill.audit import Audit, Verdict
    from gristmill.finding import Finding, Kind, Span
    from gristmill.pipeline import Curation, Project
    from gristmill.snapshot import Snapshot

    open = Project.open

__all__ = ["Audit", "Curation", "Finding", "Kind", "Project", "Snapshot", "Span", "Verdict", "open"]

_HOME = {
    "Audit": "gristmill.audit",
    "Curation": "gristmill.pipeline",
    "Finding": "gristmill.finding",
    "Kind": "gristmill.finding",
    "Project": "gristmill.pipeline",
    "Snapshot": "gristmill.snapshot",
    "Span": "gristmill.finding",
    "Verdict": "gristmill.audit",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "open":
        return import_module("gristmill.pipeline").Project.open
    if name == "__version__":
        from importlib.metadata import version

        return version("gristmill")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
