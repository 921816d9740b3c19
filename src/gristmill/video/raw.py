"""A camera whose frames are kept as arrays: in HDF5, Zarr or a log's raw image messages."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gristmill.digest import packets_digest
from gristmill.episode import CameraInfo
from gristmill.errors import RecordingError, VideoError
from gristmill.types import Luma, Rgb, TimesS
from gristmill.video.packets import CONTENT_HASH_BYTES, Packets

_CHUNK = 64
_CHUNK_BYTES = 32 << 20  # read at once; large pictures come in smaller chunks
# ITU-R BT.601: the weights of red, green and blue in luma, in 65,536ths.
_LUMA = (19595, 38470, 7471)


@dataclass(kw_only=True, eq=False)
class RawCamera:
    """Implements `gristmill.episode.Camera` on pixels that nothing has compressed, or that the container has.

    `read(start, stop)` gives frames start..stop as (n, h, w, 3) RGB or (n, h, w) grey, uint8; it may raise
    `RecordingError`. Where frames lie `alone`, as messages of a log do, one that cannot be read is lost without the
    others; elsewhere it is a damaged container that says so.
    """

    info: CameraInfo
    frames: int
    times_s: TimesS
    where: str  # how errors name it
    read: Callable[[int, int], np.ndarray]
    path: Path | None = None
    alone: bool = False

    def packets(self) -> Packets:
        """One packet a frame; each is a keyframe. Its content is its pixels."""
        content: list[bytes] = []
        sizes: list[int] = []
        for frame in self._single():
            if frame is None:  # it has a place among the others, and no content
                content.append(bytes(CONTENT_HASH_BYTES))
                sizes.append(0)
            else:
                data = np.ascontiguousarray(frame)
                content.append(hashlib.blake2b(data.data, digest_size=CONTENT_HASH_BYTES).digest())
                sizes.append(data.nbytes)
        rows = np.frombuffer(b"".join(content), np.uint8).reshape(-1, CONTENT_HASH_BYTES)
        return Packets(
            times_s=self.times_s[: len(sizes)],
            sizes=np.array(sizes, np.int32),
            keyframe=np.ones(len(sizes), bool),
            hashes=np.ascontiguousarray(rows[:, :8]).view(np.uint64).reshape(-1),
            digest=packets_digest(content),
        )

    def planes(self) -> Iterator[np.ndarray | None]:
        """Grey levels (h, w) frame by frame; None for a frame that cannot be read, of which no other depends."""
        for frame in self._single():
            yield None if frame is None else grey(frame[None])[0]

    def luma(self, *, chunk: int = _CHUNK) -> Iterator[Luma]:
        """Grey levels in chunks of at most `chunk` frames, in order."""
        for frames in self._chunks(chunk):
            yield grey(frames)

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """These frames in colour (n, h, w, 3)."""
        for number in frames:
            if not 0 <= number < self.frames:
                raise VideoError(f"{self.where}: there is no frame {number}; the episode has {self.frames}")
        if not len(frames):
            return np.empty((0, self.info.height or 0, self.info.width or 0, 3), np.uint8)
        # Neighbours are read together: what holds them is often packed in blocks of several frames.
        cuts = np.flatnonzero(np.diff(frames) != 1) + 1
        images = np.concatenate([self.read(int(run[0]), int(run[-1]) + 1) for run in np.split(np.array(frames), cuts)])
        return np.repeat(images[..., None], 3, axis=3) if images.ndim == 3 else images

    def _single(self) -> Iterator[np.ndarray | None]:
        """Frame by frame, None for those that are lost alone; raises as `read` does when that is none of them."""
        first: RecordingError | None = None
        shape: tuple[int, ...] | None = None
        for start, stop in self._spans(_CHUNK):
            try:
                frames = list(self.read(start, stop))
            except RecordingError as error:
                if not self.alone:
                    raise
                first = first or error
                frames = list(map(self._or_none, range(start, stop)))
            for frame in frames:
                if frame is None or (shape is not None and frame.shape != shape):  # alone, it was not compared
                    yield None
                    continue
                shape = frame.shape
                yield frame
        if first is not None and shape is None:
            raise first

    def _or_none(self, number: int) -> np.ndarray | None:
        try:
            return self.read(number, number + 1)[0]
        except RecordingError:
            return None  # counted by whoever asks; `luma` and `rgb` say what ails it

    def _spans(self, size: int) -> Iterator[tuple[int, int]]:
        size = max(1, min(size, _CHUNK_BYTES // max(1, 3 * (self.info.height or 1) * (self.info.width or 1))))
        for start in range(0, self.frames, size):
            yield start, min(start + size, self.frames)

    def _chunks(self, size: int) -> Iterator[np.ndarray]:
        for start, stop in self._spans(size):
            yield self.read(start, stop)


def grey(frames: np.ndarray) -> Luma:
    """Luma (n, h, w) of RGB frames (n, h, w, 3), by BT.601; grey frames (n, h, w) are given back."""
    if frames.ndim == 3:
        return frames
    out = np.empty(frames.shape[:3], np.uint8)
    # One picture at a time, in memory that stays in the cache.
    total = np.empty(frames.shape[1:3], np.uint32)
    part = np.empty_like(total)
    for image, into in zip(frames, out, strict=True):
        np.multiply(image[..., 0], _LUMA[0], out=total, dtype=np.uint32)
        for channel in (1, 2):
            total += np.multiply(image[..., channel], _LUMA[channel], out=part, dtype=np.uint32)
        total += 1 << 15
        np.right_shift(total, 16, out=into, dtype=np.uint32, casting="unsafe")
    return out
