"""One error tree, so that a caller can catch as much or as little as it likes.

GristmillError                  everything below; its text is one line that says what to do
+-- UsageError                  the request itself is wrong (exit status 2)
|   +-- UnknownNameError        a check, card, episode or snapshot that does not exist
|   +-- RecipeError             a recipe key that is unknown, of the wrong type or out of range
+-- CorpusError                 the recordings cannot be opened at all (exit status 2)
|   +-- UnsafeCorpusError       a path, link or array that would leave the corpus or run code
+-- RecordingError              one episode or camera cannot be read; the audit goes on without it
|   +-- VideoError              a video file or frame that does not decode
|       +-- MissingVideoError   the file is not there, or empty
+-- StoreError                  the store is too new or damaged (exit status 70)
|   +-- StoreBusyError          another process writes to it (exit status 2)
+-- SnapshotError               a snapshot or export disagrees with what it was made from
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class GristmillError(Exception):
    """Base of all errors that a user should see as one line."""

    exit_status = 70


class UsageError(GristmillError):
    """What was asked for cannot be done as asked."""

    exit_status = 2


class UnknownNameError(UsageError):
    """A name that does not exist, with the names that do."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = get_close_matches(name, known, n=3)
        shown = near or known[:12]
        more = "" if len(shown) == len(known) else ", ..."
        super().__init__(f"{what} has no {name!r}; known: {', '.join(shown) or 'none'}{more}")


class RecipeError(UsageError):
    """A recipe that cannot mean what it says; the text begins with the key's full path."""


class CorpusError(GristmillError):
    """The corpus cannot be opened; the text names the file and the fix."""

    exit_status = 2


class UnsafeCorpusError(CorpusError):
    """Opening the corpus would read outside it or execute what it holds."""


class RecordingError(GristmillError):
    """One recording, or a part of it, cannot be read."""

    exit_status = 1


class VideoError(RecordingError):
    """A camera's file cannot be opened or decoded."""


class MissingVideoError(VideoError):
    """A camera's file does not exist, or holds nothing."""


class StoreError(GristmillError):
    """The store cannot be used; nothing was changed."""


class StoreBusyError(StoreError):
    """Another process writes to the store; nothing was done."""

    exit_status = 2


class SnapshotError(GristmillError):
    """A snapshot does not match its hash or its recordings."""
