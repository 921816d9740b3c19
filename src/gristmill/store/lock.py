"""One writer at a time. The lock falls with its process, so a dead holder is no obstacle; readers need none."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from filelock import FileLock, Timeout

from gristmill.errors import StoreBusyError
from gristmill.store.files import read_json, write_json
from gristmill.store.trouble import told


class WriterLock:
    """The right to change a store.

    Beside the lock lies a note of who writes and since when. A clean close removes it, so a note that is
    found by the next holder means that a writer died and may have left half-written files.

    Args:
        folder: the store's folder, which exists.
        wait_s: how long to wait for another writer.

    Raises:
        StoreBusyError: another process writes; the message has its process id.
    """

    def __init__(self, folder: Path, wait_s: float = 0.0) -> None:
        self._note = folder / "writer.json"
        self._lock = FileLock(folder / "lock", timeout=wait_s)
        with told(folder, "locking"):
            try:
                self._lock.acquire()
            except Timeout:
                raise StoreBusyError(self._held(folder)) from None
            self.after_crash = self._note.exists()
            try:
                write_json(self._note, {"pid": os.getpid(), "host": socket.gethostname(), "since": int(time.time())})
            except OSError:
                self._lock.release()
                raise

    def release(self, *, clean: bool) -> None:
        """Let others write. Without `clean` the note stays and the next writer tidies up."""
        if clean:
            self._note.unlink(missing_ok=True)
        self._lock.release()

    def _held(self, folder: Path) -> str:
        holder = read_json(self._note, {})
        who = f"process {holder['pid']} on {holder['host']}" if {"pid", "host"} <= set(holder) else "another process"
        return f"{folder}: {who} is writing to this store; wait for it, or name another folder with --store"
