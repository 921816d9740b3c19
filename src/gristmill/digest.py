"""Content digests by channel group: what a measurement was computed from, whatever file it lay in.

Renumbering, repacking or converting a recording leaves them alone, because paths, row numbers and
container bytes do not enter. BLAKE2b, 128 bits, in hexadecimal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from gristmill.episode import Channel, Episode

_SIZE = 16


def text_digest(parts: Iterable[str]) -> str:
    """Digest of a sequence of texts; ("a", "b") and ("ab",) differ."""
    h = hashlib.blake2b(digest_size=_SIZE)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()


def episode_digest(episode: Episode) -> str:
    """`values_digest` of an episode, with the times that further clocks of its streams gave.

    Raises:
        RecordingError: it cannot be read.
    """
    digest = values_digest(episode.channels, episode.rate_hz)
    if not episode.clocks:
        return digest
    h = hashlib.blake2b(digest.encode(), digest_size=_SIZE)
    for stream, clocks in sorted(episode.clocks.items()):
        for name, times_s in clocks.items():  # the order counts: the first one is used
            h.update(_heading(stream, name, (), times_s.shape, times_s.dtype))
            h.update(_bytes(times_s))
    return h.hexdigest()


def values_digest(channels: Mapping[str, Channel], rate_hz: float) -> str:
    """Digest of all low-dimensional values with their names, times and declared rate.

    The order of the features in the file does not matter; dtype and byte order as recorded do not
    matter either, beyond the values that they hold: everything is hashed as little-endian.
    """
    h = hashlib.blake2b(digest_size=_SIZE)
    h.update(repr(float(rate_hz)).encode())
    times = None
    for key in sorted(channels):
        channel = channels[key]
        values = channel.values
        h.update(_heading(key, channel.role, channel.names, values.shape, values.dtype))
        h.update(_bytes(values))
        if channel.times_s is not times:
            times = channel.times_s
            h.update(_bytes(times))
    return h.hexdigest()


@lru_cache(maxsize=256)
def _heading(key: str, role: str, names: tuple[str, ...], shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """What is digested of a channel beside its values; most episodes of a corpus have the same."""
    return f"{key}\x1f{role}\x1f{names!r}\x1f{shape}\x1f{dtype.str[1:]}".encode()


def packets_digest(payloads: Iterable[bytes | memoryview]) -> str:
    """Digest of a camera's compressed packets, in order."""
    h = hashlib.blake2b(digest_size=_SIZE)
    for payload in payloads:
        h.update(len(payload).to_bytes(8, "little"))
        h.update(payload)
    return h.hexdigest()


def _bytes(array: np.ndarray) -> memoryview | bytes:
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    array = np.ascontiguousarray(array)
    return array.data if array.size else b""
