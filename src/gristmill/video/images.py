"""A camera whose frames are single images inside parquet or HDF5 files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.error import FFmpegError

from gristmill.digest import packets_digest
from gristmill.episode import CameraInfo
from gristmill.errors import VideoError
from gristmill.types import Luma, Rgb, TimesS
from gristmill.video.decode import stacked
from gristmill.video.packets import CONTENT_HASH_BYTES, Packets
from gristmill.video.raw import grey


@dataclass(kw_only=True, eq=False)
class ImageCamera:
    """Implements `gristmill.episode.Camera` on encoded images.

    `read(start, stop)` gives the bytes of the episode's images start..stop, None for an empty cell. Images that were
    encoded with red and blue exchanged are `swapped`: they are decoded as what was seen.
    """

    info: CameraInfo
    frames: int
    times_s: TimesS
    where: str  # how errors name it
    read: Callable[[int, int], Iterator[bytes | None]]
    path: Path | None = None
    swapped: bool = False

    def packets(self) -> Packets:
        """One packet an image; each is a keyframe."""
        content: list[bytes] = []
        sizes: list[int] = []
        for number, data in enumerate(self.read(0, self.frames)):
            data = self._present(number, data)
            content.append(hashlib.blake2b(data, digest_size=CONTENT_HASH_BYTES).digest())
            sizes.append(len(data))
        rows = np.frombuffer(b"".join(content), np.uint8).reshape(-1, CONTENT_HASH_BYTES)
        return Packets(
            times_s=self.times_s[: len(sizes)],
            sizes=np.array(sizes, np.int32),
            keyframe=np.ones(len(sizes), bool),
            hashes=np.ascontiguousarray(rows[:, :8]).view(np.uint64).reshape(-1),
            # The same bytes are other pictures when red and blue are exchanged.
            digest=packets_digest([*content, b"swapped"] if self.swapped else content),
        )

    def planes(self) -> Iterator[np.ndarray | None]:
        """Grey levels (h, w) frame by frame; None for an image that cannot be decoded, of which no other depends."""
        for number, data in enumerate(self.read(0, self.frames)):
            try:
                plane = self._plane(number, data)
            except VideoError:
                plane = None  # counted by whoever asks; `luma` and `rgb` say what ails it
            yield plane

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """Grey levels in chunks of at most `chunk` frames, in order."""
        waiting: list[np.ndarray] = []
        for number, data in enumerate(self.read(0, self.frames)):
            try:
                image = self._plane(number, data)
            except VideoError:
                if waiting:
                    yield np.stack(waiting)  # what came before is whole
                raise
            if waiting and (len(waiting) == chunk or image.shape != waiting[0].shape):
                yield np.stack(waiting)
                waiting = []
            waiting.append(image)
        if waiting:
            yield np.stack(waiting)

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """These frames in colour (n, h, w, 3)."""
        images = []
        for number in frames:
            if not 0 <= number < self.frames:
                raise VideoError(f"{self.where}: there is no frame {number}; the episode has {self.frames}")
            data = next(iter(self.read(number, number + 1)), None)
            images.append(self._decode(number, data, "bgr24" if self.swapped else "rgb24"))
        if not images:
            return np.empty((0, self.info.height or 0, self.info.width or 0, 3), np.uint8)
        return stacked(images, self.where)

    def _plane(self, number: int, data: bytes | None) -> np.ndarray:
        if self.swapped:
            return grey(self._decode(number, data, "bgr24")[None])[0]
        return self._decode(number, data, "gray")

    def _present(self, number: int, data: bytes | None) -> bytes:
        if not data:
            raise VideoError(f"{self.where}: frame {number} holds no image; restore the file or cut the episode")
        return data

    def _decode(self, number: int, data: bytes | None, layout: str) -> np.ndarray:
        try:
            with av.open(io.BytesIO(self._present(number, data)), "r") as container:
                for frame in container.decode(video=0):
                    return frame.to_ndarray(format=layout)
        except (FFmpegError, IndexError, ValueError) as error:
            raise VideoError(f"{self.where}: frame {number} is not a readable image ({error})") from None
        raise VideoError(f"{self.where}: frame {number} is not a readable image")
