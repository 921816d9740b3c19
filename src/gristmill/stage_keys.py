"""Under which key a stage's rows are kept: what was asked, in which version, with which shared work."""

from __future__ import annotations

from gristmill.check import Check, Reads, stage_key
from gristmill.digest import text_digest


def key_of(name: str, check: Check) -> str:
    """The key of a check's measurements: its stage key, with the versions of shared work and its columns.

    Rows of one key have one layout, so a changed set of columns is a new key even when a version was not raised.
    """
    layout = text_digest([f"{c.name}:{c.type}:{c.per}" for c in check.columns])[:4]
    return f"{stage_key(name, check, _shared_version(check.reads))}:{layout}"


def traces_key() -> str:
    """The key of stored camera traces."""
    from gristmill import traces

    return f"traces:{traces.VERSION}"


def _shared_version(reads: Reads) -> int:
    """One number for the versions of the shared work that a check reads."""
    version = 0
    if reads.motion:
        from gristmill import motion

        version += motion.VERSION
    if reads.traces:
        from gristmill import traces

        version += 1000 * traces.VERSION
    return version
