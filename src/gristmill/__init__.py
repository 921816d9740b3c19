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
    from gristmill.harmonizing import Harmonized, harmonize
    from gristmill.pipeline import Curation, Project
    from gristmill.snapshot import Snapshot

    open = Project.open

__all__ = [
    "Audit",
    "Curation",
    "Finding",
    "Harmonized",
    "Kind",
    "Project",
    "Snapshot",
    "Span",
    "Verdict",
    "harmonize",
    "open",
]

_HOME = {
    "Audit": "gristmill.audit",
    "Curation": "gristmill.pipeline",
    "Finding": "gristmill.finding",
    "Harmonized": "gristmill.harmonizing",
    "Kind": "gristmill.finding",
    "Project": "gristmill.pipeline",
    "Snapshot": "gristmill.snapshot",
    "Span": "gristmill.finding",
    "Verdict": "gristmill.audit",
    "harmonize": "gristmill.harmonizing",
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
