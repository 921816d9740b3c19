"""Memory that was freed is given back to the system at the seams of a run, so that peaks do not add up.

Arrow and glibc keep freed pages for later, the latter in one arena a thread, and Lance reads with many threads.
Without this a run's peak is the sum of its stages' peaks rather than their maximum.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import pyarrow as pa

_M_ARENA_MAX = -8


def frugal() -> None:
    """For a process that is ours alone: one allocator for all, and few arenas, so that free memory is shared.

    It takes an eighth off the peak of a large audit. Call it before anything large is read.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    if sys.platform.startswith("linux"):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 2)


def release() -> None:
    """Give back what is free; some milliseconds at most."""
    pa.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim():  # type: ignore[no-untyped-def]
    """Glibc's malloc_trim, or None where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
