"""One camera of one episode, read from a slice of a video file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gristmill.episode import CameraInfo
from gristmill.errors import MissingVideoError, VideoError
from gristmill.types import Luma, Rgb
from gristmill.video import decode
from gristmill.video.packets import FileIndex, Packets, demux, index_file


@dataclass(kw_only=True, eq=False)
class VideoCamera:
    """Implements `gristmill.episode.Camera` on a video file that may hold other episodes too.

    `where` is how errors name the recording ("episode 3, camera observation.images.top").
    """

    info: CameraInfo
    path: Path | None  # None: the file is missing
    start_s: float  # of the episode in the file
    frames: int  # promised by the metadata
    rate_hz: float  # declared
    where: str
    stop_s: float | None = None  # where another episode begins in the same file
    whole_file: bool = False  # no other episode lies in the file
    threads: int = 1  # of the decoder

    @cached_property
    def _packets(self) -> Packets:
        path = self._file
        with self._named():
            return demux(path, self.start_s, self.frames, self.rate_hz, stop_s=self.stop_s, whole_file=self.whole_file)

    def packets(self) -> Packets:
        """The episode's slice of the file, demuxed but not decoded."""
        return self._packets

    @property
    def index(self) -> FileIndex:
        """All packets of the file."""
        path = self._file
        with self._named():
            return index_file(path)

    def luma(self, *, chunk: int = 64) -> Iterator[Luma]:
        """Decoded luma in chunks of at most `chunk` frames, in order, at full resolution, levels as coded."""
        path, (first, stop) = self._file, self._slice()
        with self._named():
            yield from decode.luma(path, first, stop, chunk=chunk, threads=self.threads)

    def planes(self) -> Iterator[np.ndarray]:
        """The same frame by frame (h, w), without a copy: each is a view of the decoder's memory."""
        path, (first, stop) = self._file, self._slice()
        with self._named():
            yield from decode.planes(path, first, stop, threads=self.threads)

    def rgb(self, frames: Sequence[int]) -> Rgb:
        """These frames in colour (n, h, w, 3). Frames in ascending order are decoded in one pass.

        Raises:
            VideoError: also when the file has no frame at one of these times.
        """
        path = self._file
        images = []
        with self._named():
            for number in frames:
                at = self._file_frame(number)
                images.extend(
                    f.to_ndarray(format="rgb24") for f in decode.frames(path, at, at + 1, threads=self.threads)
                )
        if not images:
            return np.empty((0, self.info.height or 0, self.info.width or 0, 3), np.uint8)
        return decode.stacked(images, self.where)

    def file_range(self, start: int, stop: int) -> tuple[int, int]:
        """Where the episode's frames start..stop lie in the file: first and past-the-last frame number.

        Raises:
            VideoError: a frame of the range is missing from the file.
        """
        first = self._file_frame(start)
        last = self._file_frame(stop - 1) + 1 if stop > start else first
        if last - first != stop - start:
            raise VideoError(
                f"{self.where}: {self.path} holds {last - first} frames where {stop - start} are promised "
                f"(frames {start} to {stop}); cut the episode or re-encode it"
            )
        return first, last

    def _file_frame(self, number: int) -> int:
        """The file's frame that lies within half a frame of the time of the episode's frame `number`."""
        wanted_s = self.start_s + number / self.rate_hz
        times_s = self.index.times_s
        at = int(np.searchsorted(times_s, wanted_s - 0.5 / self.rate_hz))
        if not 0 <= number < self.frames or at == len(times_s) or times_s[at] - wanted_s > 0.5 / self.rate_hz:
            raise VideoError(
                f"{self.where}: {self.path} holds no frame {number} (at {wanted_s:.3f} s); cut the episode"
            )
        return at

    def _slice(self) -> tuple[int, int]:
        return self.index.locate(self.start_s, self.frames, self.rate_hz, self.stop_s)

    @property
    def _file(self) -> Path:
        if self.path is None:
            raise MissingVideoError(f"{self.where}: the video file is missing; restore it or leave this camera out")
        return self.path

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except VideoError as error:
            raise type(error)(f"{self.where}: {error}") from None
