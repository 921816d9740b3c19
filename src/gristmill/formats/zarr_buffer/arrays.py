"""One array of a buffer: which of its chunks are there, and its rows, each chunk decoded once.

Zarr puts an array's fill value in place of a chunk that is not there, without a word. So what is there is looked up
first, in the list of files and in the index of each shard. Zarr may also leave a chunk out that holds nothing but the
fill value, and no file tells whether it did so; only the user can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from gristmill.errors import CorpusError, RecordingError
from gristmill.formats.zarr_buffer import claims
from gristmill.formats.zarr_buffer.metadata import PICTURE_CODEC, ArrayMeta
from gristmill.formats.zarr_buffer.places import Archive, Folder, Member
from gristmill.types import IntArray, Mask

_ABSENT = -1


class StoredArray:
    """An array in the place of a buffer.

    Args:
        meta: its declaration, checked.
        place: where the buffer lies.
        members: the files below the array's folder, by their names within it.
        fills: the user says that chunks which are not there hold the fill value.
    """

    def __init__(
        self, meta: ArrayMeta, place: Folder | Archive, members: Mapping[str, Member], *, fills: bool = False
    ) -> None:
        self.meta = meta
        self.fills = fills and meta.has_fill
        self._place = place
        self._present = np.zeros(meta.grid[0], np.int64)  # (chunks along time,) how many chunks of these rows are there
        self._stamps = np.zeros(meta.file_grid[0], "<u8")  # (files along time,) of all files of these rows together
        self._oversized: set[int] = set()  # chunks along time that are larger than any encoding of theirs
        for name, member in members.items():
            at = meta.coordinates(name)
            if at is not None:
                self._add(name, at, member)
        self._kept: tuple[int, int, np.ndarray] | None = None

    @property
    def length(self) -> int:
        """Rows, as declared."""
        return self.meta.shape[0]

    @cached_property
    def complete(self) -> Mask:
        """(chunks along time,) whether everything of these rows is there, or is known without."""
        if self.fills:
            return np.ones(len(self._present), bool)
        return self._present == prod(self.meta.grid[1:])

    @cached_property
    def whole(self) -> bool:
        """Whether no row lacks a chunk."""
        return bool(self.complete.all())

    def absent(self, start: int, stop: int) -> Mask:
        """(stop - start,) rows of which a chunk is not there."""
        rows = np.arange(start, stop) // self.meta.chunk[0]
        return ~self.complete[rows]

    def stamp(self, start: int, stop: int) -> bytes:
        """Changes when the bytes behind these rows change."""
        step = self.meta.stored[0]
        return self._stamps[start // step : -(-min(stop, self.length) // step)].tobytes()

    def read(self, start: int, stop: int, where: str, *, ahead_bytes: int = 0) -> np.ndarray:
        """Rows start..stop, read-only. The rows decoded last are kept, so that neighbours cost nothing.

        Args:
            start: first row.
            stop: behind the last row.
            where: how errors name the recording.
            ahead_bytes: decode so much at once, because what follows will be asked for next.

        Raises:
            RecordingError: a chunk cannot be decoded, or the array has fewer rows.
        """
        if stop > self.length:
            raise RecordingError(
                f"{where}: {self.meta.name} ends at row {self.length} and the episode at row {stop}; leave it out"
            )
        if self._kept is not None and self._kept[0] <= start and stop <= self._kept[1]:
            return self._kept[2][start - self._kept[0] : stop - self._kept[0]]
        step = self.meta.chunk[0]
        begin, last = start // step * step, min(-(-stop // step) * step, self.length)
        head = None
        if self._kept is not None and self._kept[0] <= start < self._kept[1] < stop:
            begin, head = self._kept[1], self._kept[2][start - self._kept[0] :]
        row_bytes = max(1, prod(self.meta.shape[1:]) * self.meta.dtype.itemsize)
        further = min(max(last, begin + ahead_bytes // row_bytes // step * step), self.length)
        found = self._decoded(begin, further)
        if isinstance(found, Exception) and further > last:
            further = last  # what is broken may lie behind the rows that were asked for
            found = self._decoded(begin, last)
        if isinstance(found, Exception):
            raise self._broken(begin, last, where, found)
        found.setflags(write=False)
        self._kept = begin, further, found
        if head is None:
            return found[start - begin : stop - begin]
        rows = np.concatenate([head, found[: stop - begin]])
        rows.setflags(write=False)
        return rows

    # -- inner -------------------------------------------------------------------------------------

    def _add(self, name: str, at: tuple[int, ...], member: Member) -> None:
        text = f"{name}:{member.stamp}".encode("utf-8", "surrogatepass")
        self._stamps[at[0]] ^= np.frombuffer(hashlib.blake2b(text, digest_size=8).digest(), "<u8")[0]
        if not self.meta.sharded:
            self._present[at[0]] += 1
            if member.size > claims.limit(self.meta):
                self._oversized.add(at[0])
            return
        sizes = self._shard(name, member).reshape(self.meta.chunks_per_file)
        # Chunks of a shard that lie beyond the array's end are never there.
        inside = tuple(
            slice(0, max(0, n - a * k)) for n, a, k in zip(self.meta.grid, at, self.meta.chunks_per_file, strict=True)
        )
        sizes = sizes[inside]
        first = at[0] * self.meta.chunks_per_file[0]
        rows = sizes.reshape(len(sizes), -1)
        self._present[first : first + len(rows)] += np.count_nonzero(rows != _ABSENT, axis=1)
        large = np.flatnonzero((rows > claims.limit(self.meta)).any(axis=1))
        self._oversized.update((first + large).tolist())

    def _shard(self, name: str, member: Member) -> IntArray:
        """(chunks,) size of each chunk of a shard, -1 where there is none."""
        count = prod(self.meta.chunks_per_file)
        size = claims.index_bytes(count)
        start = max(0, member.size - size) if self.meta.index_at_end else 0
        full = f"{self.meta.name}/{name}"
        try:
            index = claims.shard_index(self._place.read(full, start, size), count)
        except (ValueError, RecordingError):
            return np.zeros(count, np.int64)  # told when the shard is read, for then the episode's name is known
        return np.where((index == _ABSENT).all(axis=1), _ABSENT, index[:, 1])

    def _decoded(self, first: int, last: int) -> np.ndarray | Exception:
        """Rows, or why they cannot be decoded: every codec fails in its own way."""
        large = [c for c in self._oversized if first // self.meta.chunk[0] <= c < -(-last // self.meta.chunk[0])]
        if large:
            return RecordingError(f"chunk {min(large)} along time is larger than its declared shape allows")
        try:
            return np.asarray(self._array[first:last])
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - handed to the caller, who tells it with the episode's name
            return error

    def _broken(self, first: int, last: int, where: str, error: Exception) -> RecordingError:
        """Says which chunk it was, by asking for one after the other."""
        step = self.meta.chunk[0]
        for at in range(first, last, step):
            found = self._decoded(at, min(at + step, last))
            if isinstance(found, Exception):
                first, last, error = at, min(at + step, last), found
                break
        why = " ".join(str(error).split())[:160] or type(error).__name__
        return RecordingError(
            f"{where}: {self.meta.name}, chunk {first // step} along time (rows {first} to {last}) cannot be decoded "
            f"({why}); restore it or leave the episode out"
        )

    def verify(self) -> None:
        """Let Zarr look at the declaration.

        Raises:
            CorpusError: it cannot make an array of it, or a library is not installed.
        """
        assert self._array is not None

    @cached_property
    def _array(self) -> Any:
        """Zarr's array. Only declarations that were checked get here."""
        zarr = library()
        if any(name == PICTURE_CODEC for name, _ in self.meta.codecs):
            register_picture_codec()
        path = self._place.prefix + self.meta.name
        try:
            return zarr.open_array(
                _guarded(self._place.store(), path, self.meta), path=path, mode="r", zarr_format=self.meta.version
            )
        except Exception as error:
            why = " ".join(str(error).split())[:160]
            raise CorpusError(f"{self.meta.name}: Zarr cannot open it ({why}); restore its metadata") from error


def library() -> Any:
    """Zarr.

    Raises:
        CorpusError: it is not installed, or too old.
    """
    try:
        import zarr
    except ImportError:
        raise CorpusError("reading replay buffers needs zarr; pip install 'gristmill[zarr]'") from None
    if int(zarr.__version__.partition(".")[0]) < 3:
        raise CorpusError(f"zarr {zarr.__version__} is too old; pip install 'gristmill[zarr]'")
    return zarr


def register_picture_codec() -> None:
    """Make the codec of UMI's pictures known to numcodecs; it reads the first image of each chunk.

    Raises:
        CorpusError: imagecodecs is not installed.
    """
    import numcodecs.registry

    if getattr(numcodecs.registry.codec_registry.get(PICTURE_CODEC), "of_gristmill", False):
        return
    try:
        import imagecodecs
        from imagecodecs.numcodecs import Jpegxl
    except ImportError:
        raise CorpusError(
            "the pictures are coded as JPEG XL, which needs imagecodecs; pip install 'gristmill[zarr]'"
        ) from None

    class FirstImage(Jpegxl):
        """A chunk that holds an animation would grow without bound, so only its first image is decoded."""

        of_gristmill = True

        def decode(self, buf: Any, out: Any = None) -> Any:
            return imagecodecs.jpegxl_decode(buf, index=0, out=out, numthreads=1)

        @classmethod
        def from_config(cls, config: Mapping[str, Any]) -> FirstImage:
            return cls()  # all that a file states of it concerns encoding

    numcodecs.registry.register_codec(FirstImage, PICTURE_CODEC)


def _guarded(store: Any, path: str, meta: ArrayMeta) -> Any:
    """A store that looks at each chunk before a codec gets it."""
    from zarr.abc.store import RangeByteRequest
    from zarr.storage import WrapperStore

    class Guarded(WrapperStore):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            buffer = await super().get(key, prototype, byte_range)
            member = key[len(path) + 1 :]
            if buffer is None or not key.startswith(f"{path}/") or meta.coordinates(member) is None:
                return buffer
            data = buffer.as_numpy_array().data
            if not meta.sharded:
                claims.check(meta, data)
            elif byte_range is None:
                _check_shard(meta, data)
            elif isinstance(byte_range, RangeByteRequest) and (meta.index_at_end or byte_range.start):
                claims.check(meta, data)
            return buffer

    return Guarded(store)


def _check_shard(meta: ArrayMeta, data: memoryview) -> None:
    """Look at each chunk of a shard that was read as a whole."""
    count = prod(meta.chunks_per_file)
    size = claims.index_bytes(count)
    try:
        index = claims.shard_index(bytes(data[-size:] if meta.index_at_end else data[:size]), count)
    except ValueError as error:
        raise RecordingError(f"a shard of {meta.name} is damaged: {error}; restore it") from None
    for offset, length in index.tolist():
        if (offset, length) != (_ABSENT, _ABSENT):
            claims.check(meta, data[offset : offset + length])
